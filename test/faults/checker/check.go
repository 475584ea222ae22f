package checker

// place is where a sent record was found.
type place struct {
	sent       Sent
	idempotent bool
	offsets    []int64 // in the last reading of its own partition, with its own content
}

// Check compares histories and views with the log and names every broken promise.
func Check(run Run) *Report {
	r := &Report{}
	places := index(run.Producers, r)
	for p, log := range run.Final {
		r.Entries += len(log)
		checkDense(p, log, r)
		locate(p, log, places, r)
	}
	for _, p := range run.Producers {
		checkPresence(p, places, r)
		checkOrder(p, places, r)
	}
	for _, v := range run.Views {
		r.Seen += len(v.Entries)
		checkView(v, run.Final[v.Partition], r)
	}
	return r
}

func index(producers []Producer, r *Report) map[ID]*place {
	places := map[ID]*place{}
	for _, p := range producers {
		for _, s := range p.Sent {
			id := ID{p.ID, s.Seq}
			if _, ok := places[id]; ok {
				r.add(TwiceSent, s.Partition, -1, id, "two records of the history have this id")
			}
			places[id] = &place{sent: s, idempotent: p.Idempotent}
		}
	}
	return places
}

func checkDense(partition int32, log []Entry, r *Report) {
	next := int64(0)
	for _, e := range log {
		if e.Offset != next {
			r.add(Gap, partition, e.Offset, e.ID, "expected offset %d", next)
		}
		next = e.Offset + 1
	}
}

// locate notes where every record of the log belongs to, and finds those that nobody sent or that are not as sent.
func locate(partition int32, log []Entry, places map[ID]*place, r *Report) {
	for _, e := range log {
		p, ok := places[e.ID]
		switch {
		case !ok:
			r.add(Unsent, partition, e.Offset, e.ID, "digest %016x", e.Digest)
		case p.sent.Partition != partition:
			r.add(Changed, partition, e.Offset, e.ID, "was sent to partition %d", p.sent.Partition)
		case p.sent.Digest != e.Digest:
			r.add(Changed, partition, e.Offset, e.ID, "digest %016x, sent %016x", e.Digest, p.sent.Digest)
		default:
			p.offsets = append(p.offsets, e.Offset)
		}
	}
}

func checkPresence(producer Producer, places map[ID]*place, r *Report) {
	for _, s := range producer.Sent {
		id := ID{producer.ID, s.Seq}
		found := places[id].offsets
		r.Sent++
		if s.Outcome == Acked {
			r.Acked++
			checkAcked(s, id, found, r)
		} else {
			r.Unknown++
			if len(found) > 0 {
				r.UnknownPresent++
			}
		}
		if len(found) < 2 {
			continue
		}
		if producer.Idempotent {
			r.add(Duplicated, s.Partition, found[1], id, "at offsets %v", found)
		} else {
			r.Duplicates += len(found) - 1
		}
	}
}

func checkAcked(s Sent, id ID, found []int64, r *Report) {
	if len(found) == 0 {
		r.add(Lost, s.Partition, s.Offset, id, "acknowledged at this offset")
		return
	}
	for _, o := range found {
		if o == s.Offset {
			return
		}
	}
	r.add(Misplaced, s.Partition, s.Offset, id, "acknowledged at this offset, found at %v", found)
}

// checkOrder follows first appearances. A plain producer sends a record only after it heard of the one before, so no
// record may come before one that was acknowledged earlier; one that it gave up may still arrive late. An idempotent
// producer's sequence numbers leave no such room.
func checkOrder(producer Producer, places map[ID]*place, r *Report) {
	type mark struct {
		offset int64
		seq    int64
	}
	last := map[int32]mark{}
	for _, s := range producer.Sent {
		id := ID{producer.ID, s.Seq}
		found := places[id].offsets
		if len(found) == 0 {
			continue
		}
		m, ok := last[s.Partition]
		if ok && found[0] < m.offset {
			r.add(Reordered, s.Partition, found[0], id, "before seq %d, sent earlier, at offset %d", m.seq, m.offset)
			continue
		}
		if producer.Idempotent || s.Outcome == Acked {
			last[s.Partition] = mark{found[0], s.Seq}
		}
	}
}

func checkView(v View, log []Entry, r *Report) {
	final := make(map[int64]Entry, len(log))
	end := int64(0)
	for _, e := range log {
		final[e.Offset] = e
		end = max(end, e.Offset+1)
	}
	next := v.Start
	for _, e := range v.Entries {
		switch {
		case e.Offset > next:
			r.add(LiveGap, v.Partition, e.Offset, e.ID, "%s expected offset %d", v.Consumer, next)
		case e.Offset < next:
			r.add(LiveRepeat, v.Partition, e.Offset, e.ID, "%s expected offset %d", v.Consumer, next)
		}
		next = max(next, e.Offset+1)
		f, ok := final[e.Offset]
		switch {
		case !ok:
			r.add(LiveGone, v.Partition, e.Offset, e.ID, "%s saw it, the log ends at %d", v.Consumer, end)
		case f != e:
			r.add(LiveChanged, v.Partition, e.Offset, e.ID, "%s saw digest %016x; in the end producer %d seq %d digest %016x",
				v.Consumer, e.Digest, f.ID.Producer, f.ID.Seq, f.Digest)
		}
	}
	if v.Complete && next < end {
		r.add(LiveShort, v.Partition, next, ID{Producer: -1}, "%s stopped here, the log ends at %d", v.Consumer, end)
	}
}
