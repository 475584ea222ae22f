package partition_test

import (
	"context"
	"fmt"
	"log/slog"
	"sync/atomic"
	"testing"
	"time"

	"github.com/korvet-io/korvet/internal/partition"
	"github.com/korvet-io/korvet/internal/redisstream"
	"github.com/korvet-io/korvet/internal/redistest"
)

// lookedShard counts the looks at partitions.
type lookedShard struct {
	*hookedShard
	looks atomic.Int64
}

func (l *lookedShard) Look(ctx context.Context, keys redisstream.Keys) (redisstream.View, error) {
	l.looks.Add(1)
	return l.hookedShard.Look(ctx, keys)
}

// sparse is a log of n records of which every third is left, as compaction leaves it, and a consumer's broker that counts
// its looks.
func sparse(t *testing.T, n int) (*fixture, partition.Ref, *lookedShard) {
	t.Helper()
	s := redistest.Start(t)
	shard := redisstream.Open(options(t, s), slog.New(slog.DiscardHandler))
	h := &lookedShard{hookedShard: &hookedShard{Shard: shard}}
	m := newBrokerOn(t, shard, "1/a", func(s *partition.Settings) { s.TailCacheBytes = 1 }, partition.Dependencies{Shard: h})
	ref := newRef("t")
	for from := 0; from < n; from += 1000 {
		m.mustAppend(ref, numbers(from, from+1000)...)
	}
	stream := redisstream.NewKeys("korvet", "t", 0).Stream
	entries, err := s.Client().Do(t.Context(), s.Client().B().Xrange().Key(stream).Start("-").End("+").Build()).AsXRange()
	if err != nil {
		t.Fatal(err)
	}
	var gone []string
	for i, e := range entries {
		if i%3 != 0 && i != len(entries)-1 {
			gone = append(gone, e.ID)
		}
	}
	s.Do(append([]string{"XDEL", stream}, gone...)...)
	return m, ref, h
}

func TestConsumerOfACompactedLogLooksAtTheRegistryOnce(t *testing.T) {
	f, ref, h := sparse(t, 6000)
	h.looks.Store(0)
	if got := f.readAll(ref, 0, 2000); len(got) != 2001 || h.looks.Load() > 2 {
		t.Errorf("%d records, want 2001; %d looks at the registry", len(got), h.looks.Load())
	}
}

func TestFetchAndSeekIntoAHoleGiveTheNextRecord(t *testing.T) {
	f, ref, _ := sparse(t, 3000)
	for _, offset := range []int64{1, 2, 1000, 2998} {
		want := offset + 2 - (offset+2)%3
		if offset == 2998 {
			want = 2999
		}
		if got := f.readAll(ref, offset, 100)[0]; got != fmt.Sprintf("%d=%d", want, want) {
			t.Errorf("at %d: %s", offset, got)
		}
	}
	if b := f.bounds(ref); b.LogStart != 0 || b.HighWatermark != 3000 {
		t.Errorf("bounds %+v", b)
	}
}

func TestRecordsThatCompactionRemovedAreNotServedFromMemory(t *testing.T) {
	s := redistest.Start(t)
	f, pass := byHand(t, s)
	ref := newRef("t")
	for _, v := range numbers(0, 6) {
		f.mustAppend(ref, v)
	}
	if got := f.readAll(ref, 0, 10_000); len(got) != 6 {
		t.Fatalf("read %v", got)
	}
	keys := redisstream.NewKeys("korvet", "t", 0)
	c := redisstream.Compaction{Shard: f.shard, Keys: keys, Claim: redisstream.Claim{TopicID: ref.TopicID(), Fence: 1}}
	v, err := f.shard.Look(t.Context(), keys)
	if err != nil {
		t.Fatal(err)
	}
	var gone []redisstream.ID
	entries, err := s.Client().Do(t.Context(), s.Client().B().Xrange().Key(keys.Stream).Start("-").End("+").Count(4).Build()).AsXRange()
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries[1:] {
		id, err := redisstream.ParseID(e.ID)
		if err != nil {
			t.Fatal(err)
		}
		gone = append(gone, id)
	}
	if n, err := c.Remove(t.Context(), 0, redisstream.Density{}, gone); n != 3 || err != nil {
		t.Fatalf("removed %d, %v", n, err)
	}
	if err := c.Note(t.Context(), &v, &redisstream.Clean{To: 5}); err != nil {
		t.Fatal(err)
	}
	pass(3 * time.Second)
	if got := f.readAll(ref, 0, 10_000); !same(got, []string{"0=0", "4=4", "5=5"}) {
		t.Errorf("read %v", got)
	}
	f.mustAppend(ref, "6")
	if got := f.readAll(ref, 1, 10_000); !same(got, []string{"4=4", "5=5", "6=6"}) {
		t.Errorf("read %v", got)
	}
}

// That a stream is the same one says nothing of the next: a hole at a segment's end does not hide that the open one was sealed.
func TestAHoleAtASegmentsEndDoesNotHideASealingBehindIt(t *testing.T) {
	f, ref, _ := sparse(t, 1000)
	keys := redisstream.NewKeys("korvet", ref.Topic, 0)
	f.roll(ref, 0)
	end, found, err := f.shard.Seek(t.Context(), keys.Segment(0), 999)
	if err != nil || !found {
		t.Fatal(found, err)
	}
	f.mustAppend(ref, numbers(1000, 1010)...)
	remove := redisstream.Compaction{Shard: f.shard, Keys: keys, Claim: redisstream.Claim{TopicID: ref.TopicID(), Fence: 1}, Open: 1}
	if n, err := remove.Remove(t.Context(), 0, redisstream.Density{}, []redisstream.ID{end}); n != 1 || err != nil {
		t.Fatalf("removed %d, %v", n, err)
	}
	want := f.readAll(ref, 0, 500)
	f.roll(ref, 1)
	if got := f.readAll(ref, 0, 500); !same(got, want) || len(got) != 333+10 {
		t.Errorf("%d records, want 343, the last are %v", len(got), got[len(got)-3:])
	}
}
