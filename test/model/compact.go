package model

// compacting adds what compaction between two moments, in Redis's time, may and, unless it was cut, must have taken out.
func (w *world) compacting(open *Latitude, before, after uint64) {
	c := &w.topic.Config
	if !c.Compact {
		return
	}
	lag := uint64(c.MinCompactionLagMs)
	may, must := w.log.cleanable(after, lag), w.log.cleanable(before, lag)
	mayNewest, mustNewest := w.log.newest(may), w.log.newest(must)
	open.MayLack = func(r *Record) bool {
		return r.AppendMs < may && (superseded(r, mayNewest) || r.tombstoneOver(after, c.DeleteRetentionMs))
	}
	if c.MinCleanableDirtyRatio == 0 {
		open.MustLack = func(r *Record) bool { return r.AppendMs < must && superseded(r, mustNewest) }
	}
	for i := range w.log.Records { // from now on consumers are given time to see the tombstones
		if r := &w.log.Records[i]; r.Clean == 0 && r.AppendMs < may {
			r.Clean = before
		}
	}
}

// cleanable is the append time below which compaction works: never on the newest append, or on what is younger than
// min.compaction.lag.ms.
func (l *Log) cleanable(now, lag uint64) (below uint64) {
	for i := range l.Records {
		if r := &l.Records[i]; !r.Ghost {
			below = r.AppendMs
		}
	}
	if lag > 0 {
		below = min(below, now-lag+1)
	}
	return below
}

// newest is the newest offset of each key among the records appended before a time.
func (l *Log) newest(below uint64) map[string]int64 {
	offsets := map[string]int64{}
	for i := range l.Records {
		if r := &l.Records[i]; !r.Ghost && r.Key != nil && r.AppendMs < below {
			offsets[string(r.Key)] = r.Offset
		}
	}
	return offsets
}

// superseded tells whether a record has no key, or a newer one has its.
func superseded(r *Record, newest map[string]int64) bool {
	offset, ok := newest[string(r.Key)]
	return r.Key == nil || ok && offset > r.Offset
}

// tombstoneOver tells whether a record is a tombstone that consumers had delete.retention.ms to see.
func (r *Record) tombstoneOver(now uint64, retention int64) bool {
	return r.Value == nil && r.Clean > 0 && now-r.Clean > uint64(retention)
}
