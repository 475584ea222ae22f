package partition_test

import (
	"log/slog"
	"sync/atomic"
	"testing"

	"github.com/korvet-io/korvet/internal/partition"
	"github.com/korvet-io/korvet/internal/redisstream"
	"github.com/korvet-io/korvet/internal/redistest"
)

// farAhead is a log of n records whose timestamps are their offsets, but for one far ahead of the others, and a broker that
// counts its reads.
func farAhead(t *testing.T, s *redistest.Server, n int, ahead int64) (f *fixture, ref partition.Ref, reads *atomic.Int64) {
	t.Helper()
	reads = new(atomic.Int64)
	shard := redisstream.Open(options(t, s), slog.New(slog.DiscardHandler))
	h := &hookedShard{Shard: shard, onRange: func() { reads.Add(1) }}
	cacheless := func(s *partition.Settings) { s.TailCacheBytes = 1; s.ReadReplyBytes = 64 << 10 }
	f = newBrokerOn(t, shard, "1/a", cacheless, partition.Dependencies{Shard: h})
	ref = newRef("t")
	for from := 0; from < n; from += 1000 {
		stamps := make([]int64, 1000)
		for i := range stamps {
			if stamps[i] = int64(from + i); stamps[i] == ahead {
				stamps[i] = 1_000_000_000
			}
		}
		if o := f.produce(ref, timed(t, stamps...), all); o.err != nil {
			t.Fatal(o.err)
		}
	}
	return f, ref, reads
}

// compacts removes some offsets of a log, as a compaction pass does, and notes it unless the worker dies before.
func (f *fixture) compacts(s *redistest.Server, ref partition.Ref, clean *redisstream.Clean, offsets ...int64) {
	f.t.Helper()
	keys := redisstream.NewKeys("korvet", ref.Topic, 0)
	c := redisstream.Compaction{Shard: f.shard, Keys: keys, Claim: redisstream.Claim{TopicID: ref.TopicID(), Fence: 1}}
	v, err := f.shard.Look(f.t.Context(), keys)
	if err != nil {
		f.t.Fatal(err)
	}
	var gone []redisstream.ID
	for _, offset := range offsets {
		id, found, err := f.shard.Seek(f.t.Context(), keys.Stream, offset)
		if err != nil || !found {
			f.t.Fatalf("offset %d: %v, %v", offset, found, err)
		}
		gone = append(gone, id)
	}
	if n, err := c.Remove(f.t.Context(), 0, redisstream.Density{}, gone); n != int64(len(gone)) || err != nil {
		f.t.Fatalf("removed %d, %v", n, err)
	}
	if clean == nil {
		return
	}
	if err := c.Note(f.t.Context(), &v, clean); err != nil {
		f.t.Fatal(err)
	}
}

func TestLargestTimestampOfACompactedLogIsFoundByAFewReads(t *testing.T) {
	const n = 40_000
	largest := func(ms, offset int64) redisstream.Stamp {
		return redisstream.Stamp{Known: true, Ms: ms, Offset: offset}
	}
	for name, c := range map[string]struct {
		ahead int64
		gone  []int64
		clean *redisstream.Clean
		trim  int64
		want  [2]int64 // offset and timestamp
	}{
		"compaction removed it":               {ahead: 10, gone: []int64{10}, clean: &redisstream.Clean{To: 30_500, Largest: largest(30_499, 30_499)}, want: [2]int64{n - 1, n - 1}},
		"a worker died after it removed it":   {ahead: 10, gone: []int64{10}, want: [2]int64{n - 1, n - 1}},
		"it is in the clean part":             {ahead: 10, gone: []int64{11}, clean: &redisstream.Clean{To: 30_500, Largest: largest(1_000_000_000, 10)}, want: [2]int64{10, 1_000_000_000}},
		"it is behind the clean part":         {ahead: 31_000, gone: []int64{11}, clean: &redisstream.Clean{To: 30_500, Largest: largest(30_499, 30_499)}, want: [2]int64{31_000, 1_000_000_000}},
		"in the interval the clean part cuts": {ahead: 30_600, gone: []int64{30_100}, clean: &redisstream.Clean{To: 30_500, Largest: largest(30_499, 30_499)}, want: [2]int64{30_600, 1_000_000_000}},
		"nothing is left of the clean part":   {ahead: 10, gone: []int64{10}, clean: &redisstream.Clean{To: 12, Largest: largest(0, -1)}, want: [2]int64{n - 1, n - 1}},
		"what was noted is deleted":           {ahead: 10, gone: []int64{11}, clean: &redisstream.Clean{To: 30_500, Largest: largest(1_000_000_000, 10)}, trim: 20, want: [2]int64{n - 1, n - 1}},
		"the next pass has just removed it":   {ahead: 10, gone: []int64{10}, clean: &redisstream.Clean{To: 30_500, Largest: largest(1_000_000_000, 10)}, want: [2]int64{n - 1, n - 1}},
		"an earlier version noted nothing":    {ahead: 10, gone: []int64{10}, clean: &redisstream.Clean{To: 30_500}, want: [2]int64{n - 1, n - 1}},
	} {
		t.Run(name, func(t *testing.T) {
			s := redistest.Start(t)
			f, ref, reads := farAhead(t, s, n, c.ahead)
			f.compacts(s, ref, c.clean, c.gone...)
			if c.trim > 0 {
				if _, err := f.DeleteBefore(t.Context(), ref, c.trim); err != nil {
					t.Fatal(err)
				}
			}
			before := reads.Load()
			f.findsMax(ref, c.want[0], c.want[1])
			if n := reads.Load() - before; n > 6 {
				t.Errorf("%d reads", n)
			}
			other := newFixture(t, s, "2/b", nil) // one that does not lead
			other.findsMax(ref, c.want[0], c.want[1])
		})
	}
}

// A compacted changelog: of 100,000 records only the first and the last few are left.
func TestSeeksIntoAHundredThousandHoles(t *testing.T) {
	s := redistest.Start(t)
	const n = 101_000
	f, ref, reads := farAhead(t, s, n, -1)
	stream := redisstream.NewKeys("korvet", "t", 0).Stream
	for from := 1; from < n-5; from += 1000 {
		ids, err := s.Client().Do(t.Context(), s.Client().B().Xrange().Key(stream).Start("-").End("+").Count(1001).Build()).AsXRange()
		if err != nil {
			t.Fatal(err)
		}
		gone := []string{"XDEL", stream}
		for _, e := range ids[1:] {
			if id, err := redisstream.ParseID(e.ID); err == nil && id.Seq < n-5 {
				gone = append(gone, e.ID)
			}
		}
		s.Do(gone...)
	}
	for _, offset := range []int64{1, 500, 50_000, 99_999, n - 6, n - 5} {
		before := reads.Load()
		f.finds(ref, map[int64][2]int64{offset: {n - 5, n - 5}})
		if n := reads.Load() - before; n > 4 {
			t.Errorf("a search for time %d took %d reads", offset, n)
		}
		got := f.readAll(ref, offset, 10_000)
		if len(got) != 5 || got[0] != "100995=v" {
			t.Errorf("from %d on: %v", offset, got)
		}
	}
	f.finds(ref, map[int64][2]int64{0: {0, 0}, n - 1: {n - 1, n - 1}, n: none})
	f.findsMax(ref, n-1, n-1)
	if _, err := f.DeleteBefore(t.Context(), ref, 60_000); err != nil {
		t.Fatal(err)
	}
	f.finds(ref, map[int64][2]int64{0: {n - 5, n - 5}})
	if got := f.readAll(ref, 60_000, 10_000); len(got) != 5 {
		t.Errorf("after a deletion in the holes: %v", got)
	}
	f.close()
	f = newFixture(t, s, "1/a", nil)
	f.finds(ref, map[int64][2]int64{70_000: {n - 5, n - 5}, n - 2: {n - 2, n - 2}})
	if got := f.readAll(ref, 70_000, 10_000); len(got) != 5 {
		t.Errorf("after a restart: %v", got)
	}
}
