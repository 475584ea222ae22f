package migrate

// translator finds out where a group goes on in the target. It is shown all pieces twice: first by find, then by count.
type translator struct {
	same      bool            // both topics have as many partitions
	committed map[int32]int64 // by partition of the source: everything below has been processed
	first     map[int32]int64 // by partition of the target: the lowest offset that has not been processed
	again     map[int32]int64 // how many at or above first have been
}

func newTranslator(same bool, committed map[int32]int64) *translator {
	return &translator{same: same, committed: committed, first: map[int32]int64{}, again: map[int32]int64{}}
}

// find takes a piece into account: what the group has not processed of it must come after its position. A partition of
// the source that the group has committed nothing for has not been processed at all; where the partitions stay as they
// are, nothing will be committed for it in the target, either.
func (t *translator) find(p Piece) {
	processed := p.Offsets.Below(t.committed[p.Source])
	if processed == p.Offsets.Count() {
		return
	}
	at := p.Base + processed
	if first, ok := t.first[p.Target]; !ok || at < first {
		t.first[p.Target] = at
	}
}

// count counts what a group will get again of a piece: records that it has processed and that lie behind others that it
// has not, as partitions were mixed.
func (t *translator) count(p Piece) {
	first, ok := t.first[p.Target]
	if !ok {
		return
	}
	end := p.Base + p.Offsets.Below(t.committed[p.Source])
	t.again[p.Target] += max(0, end-max(p.Base, first))
}

// positions gives the offsets to commit by partition of the target, whose logs end at ends and begin at starts. Where
// everything has been processed that is the end.
func (t *translator) positions(starts, ends []int64) map[int32]int64 {
	all := map[int32]int64{}
	for n, end := range ends {
		target := int32(n)
		if _, ok := t.committed[target]; t.same && !ok {
			continue
		}
		all[target] = max(end, starts[n])
		if first, ok := t.first[target]; ok {
			all[target] = max(first, starts[n])
		}
	}
	return all
}
