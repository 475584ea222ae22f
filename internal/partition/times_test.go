package partition

import (
	"fmt"
	"math/rand/v2"
	"testing"
)

// A log start that rises while an append is in flight must not change the index that the append was built on.
func TestTimeIndexSurvivesADeletionBesideAnAppend(t *testing.T) {
	var before times
	for i := range int64(5) {
		before.add(1000*i+999, 1000, i)
	}
	inFlight := before
	inFlight.add(5999, 1000, 5)
	before.dropBefore(2500)
	for i, e := range inFlight.entries {
		if want := (interval{int64(1000*i + 999), int64(i)}); e != want {
			t.Errorf("entry %d is %v, want %v", i, e, want)
		}
	}
}

// A scan over all records is the model of the index.
func TestTimeIndexNamesAnIntervalThatHoldsTheFirstRecord(t *testing.T) {
	for seed := range uint64(200) {
		r := rand.New(rand.NewPCG(seed, 1))
		var index times
		var stamps []int64
		for range r.IntN(60) {
			n, maxMs := 1+r.IntN(300), int64(-1)
			for range n {
				ms := r.Int64N(1000)
				stamps = append(stamps, ms)
				maxMs = max(maxMs, ms)
			}
			index.add(int64(len(stamps))-1, int64(n), maxMs)
		}
		for range 20 {
			from, ms := int64(r.IntN(len(stamps)+1)), r.Int64N(1100)
			want := from
			for want < int64(len(stamps)) && stamps[want] < ms {
				want++
			}
			first, end, ok := index.after(from, ms)
			if end == 0 {
				end = int64(len(stamps))
			}
			found := want < int64(len(stamps))
			if found && (!ok || want < first) {
				t.Fatalf("seed %d: the first record at %d from %d on is %d, but the index says [%d, %d), %v", seed, ms, from, want, first, end, ok)
			}
		}
	}
}

func TestTimeIndexLoadsWhatItStored(t *testing.T) {
	for seed := range uint64(100) {
		r := rand.New(rand.NewPCG(seed, 2))
		var index times
		stored := map[string]string{}
		end := int64(0)
		for range 1 + r.IntN(30) {
			n := int64(1 + r.IntN(700))
			end += n
			known := len(index.entries)
			index.add(end-1, n, r.Int64N(1000))
			for _, f := range index.fields(known) {
				stored[f.Name] = f.Value
			}
		}
		entries, tail := readTimes(t, stored)
		var loaded times
		loaded.load(entries, tail, end)
		if fmt.Sprint(loaded) != fmt.Sprint(index) {
			t.Fatalf("seed %d: loaded %v, want %v", seed, loaded, index)
		}
		// The log ends earlier than was claimed: nothing above is believed, and nothing is missed.
		short := end - 1 - r.Int64N(end)
		entries, tail = readTimes(t, stored)
		loaded.load(entries, tail, short)
		for _, e := range loaded.entries {
			if e.last >= short {
				t.Fatalf("seed %d: entry %v in a log that ends at %d", seed, e, short)
			}
		}
		if short > loaded.from && loaded.count != short-loaded.from {
			t.Fatalf("seed %d: the tail of a log that ends at %d is %v", seed, short, loaded)
		}
	}
}

func readTimes(t *testing.T, stored map[string]string) (entries []interval, tail times) {
	t.Helper()
	var err error
	for name, value := range stored {
		var e interval
		if name == tailField {
			tail, err = decodeTail(value)
		} else if e, err = decodeInterval(name, value); err == nil {
			entries = append(entries, e)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	return entries, tail
}

func FuzzDecodeProducer(f *testing.F) {
	known := producer{epoch: 3, n: 2, usedMs: 1 << 40}
	known.window[0], known.window[1] = sent{0, 4, 100, 1<<40 - 7}, sent{5, 5, 105, 1 << 40}
	f.Add("p:7", known.encode())
	f.Add("p:7", "\x01"+known.encode()[1:])
	f.Add("p:x", "")
	f.Add("p:-1", "\x01\x06aaaaaaaaaa")
	f.Fuzz(func(t *testing.T, name, value string) {
		id, p, err := decodeProducer(name, value)
		if err != nil {
			return
		}
		if _, again, err := decodeProducer(name, p.encode()); err != nil || again != p {
			t.Fatalf("%q was read as %+v, which after it was written is %+v, %v", value, p, again, err)
		}
		ps := newProducers(10)
		ps.known[id] = p
		ps.dropVoid(void{0, 10})
		ps.expire(5)
	})
}

func FuzzDecodeTimes(f *testing.F) {
	f.Add("t:999", "1000", "1000 5 17", int64(1005))
	f.Add("t:x", "y", "1 2", int64(0))
	f.Add("t:9223372036854775807", "9223372036854775807", "9223372036854775807 1 1", int64(9223372036854775807))
	f.Add("t:-5", "-1", "-5 5 0", int64(0))
	f.Fuzz(func(t *testing.T, name, value, tail string, end int64) {
		e, err := decodeInterval(name, value)
		if err != nil {
			return
		}
		last, err := decodeTail(tail)
		if err != nil || end < 0 {
			return
		}
		var index times
		index.load([]interval{e}, last, end)
		if index.count < 0 {
			t.Fatalf("a tail of %d records: %+v", index.count, index)
		}
		index.after(0, 5)
		index.largest(3)
		index.dropBefore(7)
	})
}

func FuzzDecodeVoid(f *testing.F) {
	f.Add("void:18446744073709551615", "")
	f.Add("void:9", "4")
	f.Add("void:-1", "x")
	f.Fuzz(func(t *testing.T, name, value string) {
		v, err := decodeVoid(name, value)
		if err != nil && v != (void{}) {
			t.Fatalf("%v beside %v", v, err)
		}
	})
}
