package model

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/korvet-io/korvet/internal/iceberg/tables"
	"github.com/korvet-io/korvet/internal/partition"
	"github.com/korvet-io/korvet/internal/redisstream"
)

// tierView is what of a partition is where.
type tierView struct {
	view  redisstream.View
	table string        // the topic's; "": none
	end   int64         // of the table
	files []tables.File // by rising offset
	bytes []int64       // of the view's streams, the open one last
	// compared: this storage worker has seen that the table is the log's, before which it drops nothing that the table has.
	compared bool
}

// lookAtTiers looks into Redis and the table.
func (w *world) lookAtTiers() (v tierView, err error) {
	v.compared = w.keeper.copier.Compared(w.ref)
	if v.view, err = w.hands.Look(w.ctx, w.keys); err != nil {
		return v, err
	}
	if v.bytes, err = w.hands.Weigh(w.ctx, v.view.Streams(w.keys), 0); err != nil {
		return v, err
	}
	state, files, location, err := w.tableFiles()
	if v.table = location; err != nil || state == nil {
		return v, err
	}
	v.end, v.files = state.Ends[w.ref.Partition], files.Data[w.ref.Partition]
	return v, nil
}

// above is what of the partition is at or above an offset, in bytes: data files, and what Redis alone has.
func (v *tierView) above(offset int64) (total int64) {
	for i := range v.files {
		if v.files[i].Last >= offset {
			total += v.files[i].Bytes
		}
	}
	from := max(offset, v.end)
	for i, s := range v.view.Segments {
		total += part1(v.bytes[i], s.Base, s.Last, from, s.Last < v.end)
	}
	open := v.bytes[len(v.bytes)-1]
	first, last := v.view.LocalStart, redisstream.EndOffset(v.view.LastSeq)-1
	if n := len(v.view.Segments); n > 0 {
		first = max(first, v.view.Segments[n-1].Last+1)
	}
	return total + part1(open, first, last, from, false)
}

// part1 is the part of a stream's bytes that is at or above an offset.
func part1(bytes, base, last, from int64, none bool) int64 {
	if none || last < base {
		return 0
	}
	below := min(max(0, from-base), last-base+1)
	return bytes - int64(float64(bytes)*(float64(below)/float64(last-base+1)))
}

// checkMove compares what a step of the storage worker did to the tiers with what it may, and must when it was whole. before and
// after are in Redis's time.
func (w *world) checkMove(was *tierView, before, after uint64, whole bool) error {
	is, err := w.lookAtTiers()
	if err != nil {
		return err
	}
	c := &w.topic.Config
	if was.table != "" && is.table == "" { // turned off
		if !w.off() {
			return fmt.Errorf("table %s is gone", was.table)
		}
		if is.view.TieredEnd != 0 || is.view.LocalStart != is.view.LogStart || is.view.LogStart < was.view.LocalStart {
			return fmt.Errorf("the remote tier is off, and %s", places(&is))
		}
		w.part.local, w.part.tiered = is.view.LocalStart, 0
		w.forgetDeletions()
		w.done.UpkeepDone("off", 1)
		return nil
	}
	if whole && w.leaving() {
		return fmt.Errorf("the remote tier is off, and table %s is still there after the tick", is.table)
	}
	if is.end < was.end || is.view.TieredEnd < was.view.TieredEnd || is.view.TieredEnd > is.end {
		return fmt.Errorf("it was %s, and is %s", places(was), places(&is))
	}
	if err := w.checkDropped(was, &is, before, after, whole); err != nil {
		return err
	}
	w.part.local, w.part.tiered = is.view.LocalStart, is.view.TieredEnd
	w.forgetRemote()
	if !whole || !c.RemoteStorage || c.RemoteCopyDisable {
		return nil
	}
	if is.view.TieredEnd != is.end {
		return fmt.Errorf("after a whole tick the registry says that the table ends at %d: it does at %d", is.view.TieredEnd, is.end)
	}
	if n := len(was.view.Segments); n > 0 && c.RemoteCopyLagMs == 0 {
		if last := was.view.Segments[n-1].Last; last >= is.view.LogStart && is.end <= last {
			return fmt.Errorf("after a whole tick the table ends at %d: segments are sealed up to %d", is.end, last)
		}
	}
	return nil
}

// off tells whether the topic's table, if it has one, is to go.
func (w *world) off() bool {
	return !w.topic.Config.RemoteStorage && w.topic.Config.RemoteDeleteOnDisable
}

func places(v *tierView) string {
	return fmt.Sprintf("the log from %d, in Redis from %d, noted as tiered up to %d, the table's end %d", v.view.LogStart, v.view.LocalStart, v.view.TieredEnd, v.end)
}

// checkDropped compares the segments that are gone from Redis with those that may be.
func (w *world) checkDropped(was, is *tierView, before, after uint64, whole bool) error {
	c := &w.topic.Config
	if c.Compact { // compaction drops what it has emptied
		return nil
	}
	local := max(was.view.LocalStart, is.view.LogStart)
	left := int64(0)
	for _, b := range is.bytes {
		left += b
	}
	rest, oldest := int64(0), true
	for _, b := range was.bytes {
		rest += b
	}
	for i, s := range was.view.Segments {
		rest -= was.bytes[i]
		kept := slices.ContainsFunc(is.view.Segments, func(o redisstream.Segment) bool { return o.Number == s.Number })
		tiered := c.RemoteStorage && s.Last < is.view.TieredEnd
		ms, bytes := c.LocalRetentionMs, c.LocalRetentionBytes
		may := s.Last < is.view.LogStart || tiered && (ms >= 0 && after > s.LastMs+uint64(ms) || bytes >= 0 && left >= bytes-w.grain(bytes))
		must := oldest && was.compared && c.RemoteStorage && s.Last < was.view.TieredEnd &&
			(ms >= 0 && ms != c.RetentionMs && before > s.LastMs+uint64(ms) || bytes >= 0 && bytes != c.RetentionBytes && rest >= bytes+w.grain(bytes))
		switch {
		case !kept && !may:
			return fmt.Errorf("segment %d, %d to %d, is gone from Redis: %s; local.retention is %d ms, %d B", s.Number, s.Base, s.Last, places(is), ms, bytes)
		case kept && must && whole:
			return fmt.Errorf("segment %d, %d to %d, is still in Redis: %s; local.retention is %d ms, %d B", s.Number, s.Base, s.Last, places(is), ms, bytes)
		case !kept:
			local = max(local, s.Last+1)
		}
		oldest = oldest && !kept
	}
	most := local
	if !whole { // segments may have come and gone
		most = max(local, is.view.TieredEnd)
	}
	if is.view.LocalStart < local || is.view.LocalStart > most {
		return fmt.Errorf("%s: Redis has all from %d on", places(is), local)
	}
	return nil
}

// forgetRemote makes ghosts of records that engines deleted and Redis has no more.
func (w *world) forgetRemote() {
	for i := range w.log.Records {
		r := &w.log.Records[i]
		r.Ghost = r.Ghost || r.Deleted && r.Offset < w.part.local
	}
}

// forgetDeletions forgets what engines deleted from a table that is gone: the next one gets what Redis has.
func (w *world) forgetDeletions() {
	for i := range w.log.Records {
		w.log.Records[i].Deleted = false
	}
	w.log.Past = nil
}

// checkTiers compares where a broker says that the tiers begin and end with what the step before left.
func (w *world) checkTiers(b *broker, bounds partition.Bounds) error {
	local := max(w.part.local, bounds.LogStart)
	if bounds.LocalStart != local || bounds.TieredEnd != w.part.tiered {
		return fmt.Errorf("the local log starts at %d, the remote one ends at %d, want %d and %d", bounds.LocalStart, bounds.TieredEnd, local, w.part.tiered)
	}
	view, err := w.hands.Look(w.ctx, w.keys)
	if err != nil {
		return err
	}
	if view.LocalStart != local || view.TieredEnd != w.part.tiered {
		return fmt.Errorf("the registry says that the local log starts at %d, the remote one ends at %d, want %d and %d", view.LocalStart, view.TieredEnd, local, w.part.tiered)
	}
	w.part.local = local
	w.forgetRemote()
	return nil
}

// tierEdges adds where the tiers and some data files begin and end, and the offsets beside.
func (w *world) tierEdges(edges map[int64]bool) error {
	_, files, _, err := w.tableFiles()
	if err != nil || files == nil {
		return err
	}
	at := func(offset int64) {
		for _, o := range []int64{offset - 1, offset, offset + 1} {
			edges[o] = true
		}
	}
	at(w.part.local)
	at(w.part.tiered)
	list := files.Data[w.ref.Partition]
	for n, i := range w.rnd.Perm(len(list)) {
		if n == 4 {
			break
		}
		at(list[i].First)
		at(list[i].Last)
	}
	return nil
}

// find is the record of an offset that the log has or had; nil: none is known.
func (l *Log) find(offset int64) *Record {
	for _, list := range [][]Record{l.Past, l.Records} {
		if i, ok := slices.BinarySearchFunc(list, offset, func(r Record, o int64) int { return cmp.Compare(r.Offset, o) }); ok {
			return &list[i]
		}
	}
	return nil
}
