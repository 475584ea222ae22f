package migrate

import (
	"encoding/json"
	"math/rand/v2"
	"slices"
	"testing"
)

// holes makes an ascending set of offsets with holes.
func holes(rnd *rand.Rand, from int64, n int) []int64 {
	var list []int64
	for at := from; len(list) < n; at++ {
		if rnd.IntN(3) > 0 {
			list = append(list, at)
		}
	}
	return list
}

func setOf(offsets ...int64) Runs {
	var r Runs
	for _, o := range offsets {
		r.Add(o)
	}
	return r
}

func TestASetOfOffsetsCountsThem(t *testing.T) {
	rnd := rand.New(rand.NewPCG(1, 1))
	for n := range 200 {
		list := holes(rnd, rnd.Int64N(100), n)
		set := setOf(list...)
		text, err := json.Marshal(set)
		if err != nil {
			t.Fatal(err)
		}
		var read Runs
		if err := json.Unmarshal(text, &read); err != nil {
			t.Fatal(err)
		}
		if read.Count() != int64(n) {
			t.Fatalf("%d of %d", read.Count(), n)
		}
		for o := range int64(500) {
			i, found := slices.BinarySearch(list, o)
			if got := read.Below(o); got != int64(i) {
				t.Fatalf("below %d in %v: %d", o, list, got)
			}
			if rank, ok := read.Rank(o); ok != found || ok && (rank != int64(i) || read.At(rank) != o) {
				t.Fatalf("rank of %d in %v: %d, %v", o, list, rank, ok)
			}
		}
	}
}

func FuzzEntriesOfAnybodyAreReadOrRefused(f *testing.F) {
	for _, e := range []Entry{
		{Run: &Run{Producer: 1, Epoch: 2, Nonce: "n"}},
		{Begin: &Begin{Format: 1, Source: "a", Target: "b", Partitions: 1, Starts: []int64{0}}},
		{Target: &Created{ID: "x"}},
		{Round: &Round{Slices: []Slice{{From: 1, To: 9, Records: []Placed{{Offsets: setOf(1, 2, 5)}}}}, Parts: []Part{{Count: 3}}}},
		{Cutover: &Cutover{Source: []int64{9}, Target: []int64{3}}},
		{Group: &GroupDone{Name: "g"}},
	} {
		text, err := json.Marshal(e)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(text)
	}
	f.Add([]byte(`{"round":{"slices":[{"to":9223372036854775807,"records":[{"offsets":"////////////AQ"}]}]}}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		e, err := decodeEntry(text)
		if err != nil {
			return
		}
		s := newState(func(landed) error { return nil })
		if err := s.apply(0, Entry{Begin: &Begin{Partitions: 2, Starts: []int64{0, 0}}}); err != nil {
			t.Fatal(err)
		}
		if s.apply(1, e) != nil || e.Round == nil {
			return
		}
		for _, p := range e.Round.Pieces() {
			if p.Offsets.Count() < 1 || p.Offsets.At(0) != p.Offsets.First() || p.Offsets.At(p.Offsets.Count()-1) != p.Offsets.Last() {
				t.Errorf("a piece of %d offsets", p.Offsets.Count())
			}
		}
	})
}
