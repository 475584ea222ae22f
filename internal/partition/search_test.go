package partition_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/korvet-io/korvet/internal/partition"
	"github.com/korvet-io/korvet/internal/redisstream"
	"github.com/korvet-io/korvet/internal/redistest"
)

// roll seals the open segment, as the storage worker does.
func (f *fixture) roll(ref partition.Ref, open int64) {
	f.t.Helper()
	keys := redisstream.NewKeys("korvet", ref.Topic, ref.Partition)
	if _, rolled, err := f.shard.Roll(f.t.Context(), keys, redisstream.Claim{TopicID: ref.TopicID(), Fence: 1}, open); err != nil || !rolled {
		f.t.Fatalf("roll: %v, %v", rolled, err)
	}
}

// finds checks searches by time: the offset and timestamp found for each time, -1 for none.
func (f *fixture) finds(ref partition.Ref, want map[int64][2]int64) {
	f.t.Helper()
	for ms, w := range want {
		got, err := f.OffsetForTime(f.t.Context(), ref, ms)
		if err != nil || got.Offset != w[0] || got.Timestamp != w[1] {
			f.t.Errorf("time %d: offset %d at %d, %v; want %d at %d", ms, got.Offset, got.Timestamp, err, w[0], w[1])
		}
	}
}

func (f *fixture) findsMax(ref partition.Ref, offset, timestamp int64) {
	f.t.Helper()
	got, err := f.MaxTimestamp(f.t.Context(), ref)
	if err != nil || got.Offset != offset || got.Timestamp != timestamp {
		f.t.Errorf("largest timestamp: offset %d at %d, %v; want %d at %d", got.Offset, got.Timestamp, err, offset, timestamp)
	}
}

var none = [2]int64{-1, -1}

// The rows of Apache Kafka's answers to ListOffsets.
func TestSearchesByTimeAnswerAsKafka(t *testing.T) {
	s := redistest.Start(t)
	f := newFixture(t, s, "1/a", nil)
	ref := newRef("t")
	f.finds(ref, map[int64][2]int64{0: none, 1000: none})
	f.findsMax(ref, -1, -1)
	for _, ts := range []int64{1000, 3000, 2000, 3000} {
		f.produce(ref, timed(t, ts), all)
	}
	check := func(f *fixture) {
		t.Helper()
		f.finds(ref, map[int64][2]int64{-5: {0, 1000}, 0: {0, 1000}, 1000: {0, 1000}, 1001: {1, 3000}, 2000: {1, 3000}, 3000: {1, 3000}, 3001: none, 1 << 60: none})
		f.findsMax(ref, 1, 3000)
	}
	check(f)
	check(newFixture(t, s, "2/b", nil)) // one that does not lead
	f.close()
	f = newFixture(t, s, "1/a", nil)
	check(f)
	if _, err := f.DeleteBefore(t.Context(), ref, 2); err != nil {
		t.Fatal(err)
	}
	f.finds(ref, map[int64][2]int64{1000: {2, 2000}, 2001: {3, 3000}})
	f.findsMax(ref, 3, 3000)
	if _, err := f.DeleteBefore(t.Context(), ref, -1); err != nil {
		t.Fatal(err)
	}
	f.finds(ref, map[int64][2]int64{1000: none, 3000: none})
	f.findsMax(ref, -1, -1)
	f.produce(ref, timed(t, 1000, 1010, 1020), all)
	f.finds(ref, map[int64][2]int64{1010: {5, 1010}, 1020: {6, 1020}})
	f.findsMax(ref, 6, 1020)
}

// model is a log's timestamps by offset.
type model struct {
	start  int64
	stamps []int64
}

func (m *model) first(ms int64) (int64, int64) {
	for o := m.start; o < int64(len(m.stamps)); o++ {
		if m.stamps[o] >= ms {
			return o, m.stamps[o]
		}
	}
	return -1, -1
}

func (m *model) largest() (int64, int64) {
	offset, ms := int64(-1), int64(-1)
	for o := m.start; o < int64(len(m.stamps)); o++ {
		if m.stamps[o] > ms {
			offset, ms = o, m.stamps[o]
		}
	}
	return offset, ms
}

func TestSearchesByTimeFindWhatAScanFinds(t *testing.T) {
	s := redistest.Start(t)
	noCache := func(s *partition.Settings) { s.TailCacheBytes = 0; s.ReadReplyBytes = 8 << 10 }
	f := newFixture(t, s, "1/a", noCache)
	ref := newRef("t")
	r := rand.New(rand.NewPCG(1, 1))
	var m model
	check := func(when string) {
		t.Helper()
		for range 25 {
			ms := r.Int64N(12_000) - 500
			offset, ts := m.first(ms)
			got, err := f.OffsetForTime(t.Context(), ref, ms)
			if err != nil || got.Offset != offset || got.Timestamp != ts {
				t.Fatalf("%s: time %d is at %d (%d), %v; want %d (%d)", when, ms, got.Offset, got.Timestamp, err, offset, ts)
			}
		}
		offset, ts := m.largest()
		f.findsMax(ref, offset, ts)
	}
	more := func(n int) {
		for range n {
			stamps := make([]int64, 1+r.IntN(60))
			for i := range stamps {
				stamps[i] = int64(len(m.stamps)) + r.Int64N(2000) - 1000
				stamps[i] = max(stamps[i], 0)
			}
			if o := f.produce(ref, timed(t, stamps...), all); o.err != nil {
				t.Fatal(o.err)
			}
			m.stamps = append(m.stamps, stamps...)
		}
	}
	more(150)
	check("after 150 batches")
	f.roll(ref, 0)
	check("after a roll")
	more(50)
	check("after more")
	f.close()
	f = newFixture(t, s, "1/a", noCache)
	check("after a restart")
	f.roll(ref, 1)
	more(20)
	m.start = int64(len(m.stamps)) / 3
	if _, err := f.DeleteBefore(t.Context(), ref, m.start); err != nil {
		t.Fatal(err)
	}
	check("after a deletion")
	f.close()
	f = newFixture(t, s, "1/a", noCache)
	check("after a deletion and a restart")
	more(30)
	check("at the end")
}

func TestDeletionBesideAppendsKeepsTheTimeIndexWhole(t *testing.T) {
	s := redistest.Start(t)
	f := newFixture(t, s, "1/a", func(s *partition.Settings) { s.TailCacheBytes = 0 })
	ref := newRef("t")
	var m model
	for i := range 60 {
		stamps := make([]int64, 250)
		for k := range stamps {
			stamps[k] = int64(1000*i + k)
		}
		acked := f.appendAsync(ref, timed(t, stamps...), all)
		if i > 10 {
			m.start = int64(250 * (i - 10))
			if _, err := f.DeleteBefore(t.Context(), ref, m.start); err != nil {
				t.Fatal(err)
			}
		}
		if o := <-acked; o.err != nil {
			t.Fatal(o.err)
		}
		m.stamps = append(m.stamps, stamps...)
	}
	for ms := int64(0); ms < 61_000; ms += 777 {
		offset, ts := m.first(ms)
		f.finds(ref, map[int64][2]int64{ms: {offset, ts}})
	}
}

// The rows of Apache Kafka's answers to DeleteRecords.
func TestDeleteRecordsAnswersAsKafka(t *testing.T) {
	s := redistest.Start(t)
	f := newFixture(t, s, "1/a", nil)
	for i, c := range []struct {
		offsets []int64
		want    int64
		err     error
	}{
		{[]int64{2}, 2, nil}, {[]int64{-1}, 3, nil}, {[]int64{3}, 3, nil}, {[]int64{0}, 0, nil}, {[]int64{4}, -1, partition.ErrOffsetOutOfRange},
		{[]int64{-2}, -1, partition.ErrOffsetOutOfRange}, {[]int64{2, 1}, 2, nil}, {[]int64{2, 0, -1}, 3, nil},
	} {
		ref := newRef(fmt.Sprint("t", i))
		f.mustAppend(ref, "a", "b", "c")
		var got int64
		var err error
		for _, offset := range c.offsets {
			got, err = f.DeleteBefore(t.Context(), ref, offset)
		}
		if got != c.want || !errors.Is(err, c.err) {
			t.Errorf("delete to %v: %d, %v; want %d, %v", c.offsets, got, err, c.want, c.err)
		}
		start := max(c.want, 0)
		for name, reader := range map[string]*fixture{"owner": f, "another": newFixture(t, s, "2/b", nil)} {
			if b := reader.bounds(ref); b.LogStart != start || b.LogEnd != 3 {
				t.Errorf("delete to %v: %s has bounds %+v", c.offsets, name, b)
			}
			if got := reader.readAll(ref, start, 1000); !same(got, dense(int(start), []string{"a", "b", "c"}[start:]...)) {
				t.Errorf("delete to %v: %s reads %v", c.offsets, name, got)
			}
			if _, err := reader.Read(t.Context(), ref, partition.ReadRequest{Offset: start - 1, MaxBytes: 1000}, nil); !errors.Is(err, partition.ErrOffsetOutOfRange) {
				t.Errorf("delete to %v: %s reads below the start: %v", c.offsets, name, err)
			}
		}
	}
}

func TestLogGoesOnAfterAllOfItWasDeletedAndTheStreamIsGone(t *testing.T) {
	s := redistest.Start(t)
	f := newFixture(t, s, "1/a", nil)
	ref := newRef("t")
	f.mustAppend(ref, numbers(0, 10)...)
	if _, err := f.DeleteBefore(t.Context(), ref, -1); err != nil {
		t.Fatal(err)
	}
	f.close()
	f = newFixture(t, s, "1/a", nil)
	if b := f.bounds(ref); b.LogStart != 10 || b.LogEnd != 10 {
		t.Errorf("after a restart: %+v", b)
	}
	if got := f.mustAppend(ref, "x"); got != 10 {
		t.Errorf("the next offset is %d, want 10", got)
	}
	f.close()
	s.Do("DEL", "korvet:storage:local:t:0")
	f = newFixture(t, s, "1/a", nil)
	if got := f.mustAppend(ref, "y"); got != 11 {
		t.Errorf("the next offset is %d, want 11", got)
	}
}

func TestEpochsEndWhereTheNextBegins(t *testing.T) {
	s := redistest.Start(t)
	ref := newRef("t")
	var epochs []int32
	for i, owner := range []string{"1/a", "2/b", "3/c"} {
		f := newFixture(t, s, owner, nil)
		f.mustAppend(ref, numbers(10*i, 10*i+10)...)
		epochs = append(epochs, f.bounds(ref).LeaderEpoch)
		f.close()
	}
	if epochs[0] != 0 || epochs[1] <= epochs[0] || epochs[2] <= epochs[1] {
		t.Fatalf("epochs %v", epochs)
	}
	last := newFixture(t, s, "3/c", nil)
	last.mustAppend(ref, "x")
	for name, f := range map[string]*fixture{"owner": last, "another": newFixture(t, s, "4/d", nil)} {
		for _, c := range []struct {
			asked, epoch int32
			end          int64
		}{
			{0, 0, 10}, {1, 0, 10}, {epochs[1], epochs[1], 20}, {epochs[2], epochs[2], 31}, {epochs[2] + 1, -1, -1}, {-1, -1, -1},
		} {
			epoch, end, err := f.EndOfEpoch(t.Context(), ref, c.asked)
			if epoch != c.epoch || end != c.end || err != nil {
				t.Errorf("%s: epoch %d ends as %d at %d, %v; want %d at %d", name, c.asked, epoch, end, err, c.epoch, c.end)
			}
		}
	}
}
