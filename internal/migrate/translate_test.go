package migrate

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
)

// spot is a record's place in the source or the target.
type spot struct {
	partition int32
	offset    int64
}

// migrated is a source with holes after it was copied, as journal and as plain lists.
type migrated struct {
	source, target int
	ends           []int64 // of both
	targetEnds     []int64
	pieces         []Piece
	at             map[spot]spot // each record's place in the target
}

// migrateModel copies random records round by round with the code that really does, some rounds in vain as after a
// crash: of those the source may have lost records before they are sent again.
func migrateModel(t *testing.T, rnd *rand.Rand, source, target int) *migrated {
	t.Helper()
	m := &migrated{source: source, target: target, at: map[spot]spot{}, targetEnds: make([]int64, target)}
	state := newState(func(one landed) error {
		m.pieces = append(m.pieces, one.pieces...)
		return nil
	})
	begin := &Begin{Format: 1, Partitions: int32(target), Starts: make([]int64, source)}
	var queues []*queue
	for p := range source {
		q := &queue{partition: int32(p)}
		for _, o := range holes(rnd, 0, rnd.IntN(60)) {
			q.records = append(q.records, &kgo.Record{Partition: int32(p), Offset: o, Timestamp: time.UnixMilli(1), Key: fmt.Appendf(nil, "k%d", rnd.IntN(20)), Value: make([]byte, 20)})
			q.next = o + 1 + rnd.Int64N(2)
		}
		m.ends = append(m.ends, q.next)
		queues = append(queues, q)
	}
	if err := state.apply(0, Entry{Begin: begin}); err != nil {
		t.Fatal(err)
	}
	place := newPlacer(source, target)
	for entry := int64(1); ; entry++ {
		b := newRoundBuilder(place, 400, m.targetEnds)
		for i := range queues {
			b.takeFrom(queues[(int(entry)+i)%len(queues)])
		}
		if len(b.round.Slices) == 0 {
			break
		}
		round, _, err := b.finish(1)
		if err != nil {
			t.Fatal(err)
		}
		m.perform(t, rnd, state, round)
	}
	if err := state.settleAll(m.targetEnds); err != nil {
		t.Fatal(err)
	}
	return m
}

// perform notes a round and appends its batches; where one is lost, a shorter one takes its place, or none.
func (m *migrated) perform(t *testing.T, rnd *rand.Rand, state *state, round *Round) {
	t.Helper()
	if err := state.apply(1, Entry{Round: round}); err != nil {
		t.Fatal(err)
	}
	lost := map[int32]bool{}
	for _, part := range round.Parts {
		if lost[part.Target] = !round.Replaces && rnd.IntN(4) == 0; !lost[part.Target] {
			m.targetEnds[part.Target] += part.Count
		}
	}
	again := &Round{Replaces: true}
	counts := map[int32]int64{}
	for _, s := range round.Slices {
		left := Slice{Partition: s.Partition, From: s.From, To: s.To}
		for _, placed := range s.Records {
			var kept Runs
			for i := range placed.Offsets.Count() {
				if o := placed.Offsets.At(i); lost[placed.Target] && i%2 == 1 {
					kept.Add(o)
				}
			}
			if kept.Count() > 0 {
				left.Records = append(left.Records, Placed{Target: placed.Target, Offsets: kept})
				counts[placed.Target] += kept.Count()
			}
		}
		again.Slices = append(again.Slices, left)
	}
	base := map[int32]int64{}
	for _, part := range round.Parts {
		base[part.Target] = part.Base
		if counts[part.Target] > 0 {
			again.Parts = append(again.Parts, Part{Target: part.Target, Base: part.Base, Count: counts[part.Target]})
		}
	}
	for _, s := range round.Slices {
		for _, placed := range s.Records {
			for i := range placed.Offsets.Count() {
				if !lost[placed.Target] {
					m.at[spot{s.Partition, placed.Offsets.At(i)}] = spot{placed.Target, base[placed.Target]}
					base[placed.Target]++
				}
			}
		}
	}
	if len(again.Parts) > 0 {
		m.perform(t, rnd, state, again)
	}
}

// want is where a group goes on, found by looking at every record.
func (m *migrated) want(committed map[int32]int64, target int32) (first, again int64) {
	first = m.targetEnds[target]
	processed := func(from spot) bool { return from.offset < committed[from.partition] }
	for from, to := range m.at {
		if to.partition == target && !processed(from) {
			first = min(first, to.offset)
		}
	}
	for from, to := range m.at {
		if to.partition == target && to.offset >= first && processed(from) {
			again++
		}
	}
	return first, again
}

func (m *migrated) got(committed map[int32]int64) *translator {
	tr := newTranslator(m.source == m.target, committed)
	for _, p := range m.pieces {
		tr.find(p)
	}
	for _, p := range m.pieces {
		tr.count(p)
	}
	return tr
}

func TestEveryOffsetOfTheSourceIsTranslatedExactly(t *testing.T) {
	rnd := rand.New(rand.NewPCG(7, 7))
	for range 60 {
		source := 1 + rnd.IntN(4)
		m := migrateModel(t, rnd, source, source)
		for p := range int32(source) {
			for o := range m.ends[p] + 2 {
				committed := map[int32]int64{p: o}
				tr := m.got(committed)
				at := tr.positions(make([]int64, source), m.targetEnds)
				first, _ := m.want(committed, p)
				if len(at) != 1 || at[p] != first || tr.again[p] != 0 {
					t.Fatalf("offset %d of partition %d becomes %v, want %d alone; read again: %v", o, p, at, first, tr.again)
				}
			}
		}
	}
}

func TestGroupsLoseNothingWhenPartitionsAreMixed(t *testing.T) {
	rnd := rand.New(rand.NewPCG(8, 8))
	for range 200 {
		m := migrateModel(t, rnd, 1+rnd.IntN(4), 5+rnd.IntN(3))
		committed := map[int32]int64{}
		for p, end := range m.ends {
			if rnd.IntN(5) > 0 {
				committed[int32(p)] = rnd.Int64N(end + 1)
			}
		}
		tr := m.got(committed)
		at := tr.positions(make([]int64, m.target), m.targetEnds)
		for target := range int32(m.target) {
			first, again := m.want(committed, target)
			if at[target] != first || tr.again[target] != again {
				t.Fatalf("partition %d: %d with %d again, want %d with %d", target, at[target], tr.again[target], first, again)
			}
		}
	}
}

func TestNoPositionIsBelowTheTargetsLogStart(t *testing.T) {
	tr := newTranslator(true, map[int32]int64{0: 1, 1: 5})
	tr.find(Piece{Source: 0, Target: 0, Offsets: setOf(0, 1, 2)})
	at := tr.positions([]int64{2, 0}, []int64{3, 0})
	if at[0] != 2 || at[1] != 0 {
		t.Errorf("%v", at)
	}
}

func TestOneOfTheIntentsForAPlaceIsTaken(t *testing.T) {
	round := func(base int64, offsets ...int64) *Round {
		set := setOf(offsets...)
		return &Round{Slices: []Slice{{From: offsets[0], To: set.Last() + 1, Records: []Placed{{Offsets: set}}}}, Parts: []Part{{Base: base, Count: set.Count()}}, Replaces: true}
	}
	var got []int64
	each := func(one landed) error {
		got = append(got, one.part.Base, one.part.Count)
		return nil
	}
	r := newResolver()
	for _, one := range []*Round{round(0, 1, 2, 3), round(0, 1, 3), round(2, 4), round(2, 9)} {
		if err := r.add(one, each); err != nil {
			t.Fatal(err)
		}
	}
	if err := r.add(round(7, 10), each); err == nil {
		t.Error("a place that no intent leads to was taken")
	}
	if err := r.explains(0, 9); err == nil {
		t.Error("a log end that no intent leads to is explained")
	}
	if fmt.Sprint(got) != "[0 2]" {
		t.Errorf("in the target: %v", got)
	}
}
