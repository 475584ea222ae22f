package partition_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/korvet-io/korvet/internal/batch"
	"github.com/korvet-io/korvet/internal/partition"
	"github.com/korvet-io/korvet/internal/redistest"
)

// step is one batch of an idempotent producer and its answer.
type step struct {
	epoch int16
	seq   int32
	count int
	want  int64 // base offset
	err   error
}

func (s step) batch(t testing.TB, pid int64) *batch.Batch {
	return makeBatch(t, pid, s.epoch, s.seq, 1000, numbers(0, max(s.count, 1))...)
}

func (f *fixture) play(t *testing.T, ref partition.Ref, pid int64, steps ...step) {
	t.Helper()
	for i, s := range steps {
		o := f.produce(ref, s.batch(t, pid), all)
		if !errors.Is(o.err, s.err) || s.err == nil && o.got.BaseOffset != s.want {
			t.Fatalf("batch %d, %d:%d of %d: offset %d, %v; want %d, %v", i, s.epoch, s.seq, max(s.count, 1), o.got.BaseOffset, o.err, s.want, s.err)
		}
	}
}

var (
	outOfOrder = partition.ErrOutOfOrderSequence
	oldEpoch   = partition.ErrInvalidProducerEpoch
)

// The rows of Apache Kafka's answers to idempotent producers.
func TestIdempotentProducersAreAnsweredAsByKafka(t *testing.T) {
	s := redistest.Start(t)
	five := []step{{seq: 0, want: 0}, {seq: 1, want: 1}, {seq: 2, want: 2}, {seq: 3, want: 3}, {seq: 4, want: 4}}
	for name, c := range map[string]struct {
		steps []step
		end   int64
	}{
		"the last batch again":          {[]step{{seq: 0, want: 0}, {seq: 1, want: 1}, {seq: 1, want: 1}}, 2},
		"each of five again":            {append(five[:5:5], five...), 5},
		"the sixth last again":          {append(five[:5:5], step{seq: 5, want: 5}, step{seq: 0, err: outOfOrder}), 6},
		"a gap":                         {[]step{{seq: 0, want: 0}, {seq: 2, err: outOfOrder}}, 1},
		"a first batch in the middle":   {[]step{{seq: 5, want: 0}, {seq: 6, want: 1}}, 2},
		"a new epoch":                   {[]step{{seq: 0, want: 0}, {seq: 1, want: 1}, {epoch: 1, seq: 0, want: 2}, {epoch: 1, seq: 1, want: 3}}, 4},
		"an epoch far ahead":            {[]step{{seq: 0, want: 0}, {epoch: 7, seq: 0, want: 1}}, 2},
		"a new epoch in the middle":     {[]step{{seq: 0, want: 0}, {seq: 1, want: 1}, {epoch: 1, seq: 2, err: outOfOrder}}, 2},
		"an old epoch":                  {[]step{{epoch: 1, seq: 0, want: 0}, {epoch: 0, seq: 1, err: oldEpoch}, {epoch: 0, seq: 0, err: oldEpoch}}, 1},
		"the sequence wraps":            {[]step{{seq: 2147483647, want: 0}, {seq: 0, want: 1}}, 2},
		"a batch across the wrap":       {[]step{{seq: 2147483646, count: 4, want: 0}, {seq: 2, want: 4}, {seq: 2147483646, count: 4, want: 0}}, 5},
		"next within the last batch":    {[]step{{seq: 0, count: 3, want: 0}, {seq: 1, err: outOfOrder}}, 3},
		"overlap with another count":    {[]step{{seq: 0, count: 3, want: 0}, {seq: 0, count: 4, err: outOfOrder}}, 3},
		"after an error all goes on":    {[]step{{seq: 0, want: 0}, {seq: 5, err: outOfOrder}, {seq: 1, want: 1}}, 2},
		"the old window dies with it":   {[]step{{seq: 0, want: 0}, {epoch: 1, seq: 0, want: 1}, {epoch: 1, seq: 0, want: 1}}, 2},
		"five batches of many records":  {[]step{{seq: 0, count: 10, want: 0}, {seq: 10, count: 10, want: 10}, {seq: 0, count: 10, want: 0}}, 20},
		"an old epoch of a longer past": {[]step{{epoch: 5, seq: 0, want: 0}, {epoch: 4, seq: 0, err: oldEpoch}, {epoch: 5, seq: 1, want: 1}}, 2},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFixture(t, s, "1/a", nil)
			ref := newRef(strings.ReplaceAll(name, " ", "-"))
			f.play(t, ref, 42, c.steps...)
			if end := f.bounds(ref).LogEnd; end != c.end {
				t.Errorf("the log ends at %d, want %d", end, c.end)
			}
			// So does a broker that was restarted.
			f.close()
			f = newFixture(t, s, "1/a", nil)
			f.play(t, ref, 42, c.steps[len(c.steps)-1])
		})
	}
}

func TestDuplicateAnswersTheFirstOnesOffsetAndWritesNothing(t *testing.T) {
	s := redistest.Start(t)
	f := newFixture(t, s, "1/a", nil)
	ref := newRef("t")
	f.produce(ref, makeBatch(t, 7, 0, 0, 1000, "first"), all)
	o := f.produce(ref, makeBatch(t, 7, 0, 0, 1000, "other content"), all)
	if o.err != nil || !o.got.Duplicate || o.got.BaseOffset != 0 {
		t.Errorf("got %+v", o)
	}
	if got := f.readAll(ref, 0, 1<<20); !same(got, dense(0, "first")) {
		t.Errorf("the log is %v", got)
	}
}

func TestDuplicateAnswersTheFirstOnesAppendTime(t *testing.T) {
	s := redistest.Start(t)
	f := newFixture(t, s, "1/a", nil)
	ref := newRef("t")
	stamp := partition.AppendOptions{AllReplicas: true, LogAppendTime: true}
	var times []int64
	for seq := range int32(5) {
		o := f.produce(ref, makeBatch(t, 7, 0, seq, 1000, "v"), stamp)
		if o.err != nil || o.got.AppendTime < 0 {
			t.Fatalf("batch %d: %+v", seq, o)
		}
		times = append(times, o.got.AppendTime)
		redistest.Eventually(t, "Redis's next millisecond", func() bool { return redisMs(t, s) > o.got.AppendTime })
	}
	for _, broker := range []string{"the same", "one that took over"} {
		for seq, want := range times {
			if o := f.produce(ref, makeBatch(t, 7, 0, int32(seq), 1000, "v"), stamp); o.err != nil || !o.got.Duplicate || o.got.AppendTime != want {
				t.Errorf("%s: batch %d again: %+v, want append time %d", broker, seq, o, want)
			}
		}
		if o := f.produce(ref, makeBatch(t, 7, 0, 4, 1000, "v"), all); o.err != nil || o.got.AppendTime != -1 {
			t.Errorf("%s: with the producer's own timestamps: %+v", broker, o)
		}
		f.close()
		f = newFixture(t, s, "1/a", nil)
	}
}

// redisMs is Redis's time.
func redisMs(t *testing.T, s *redistest.Server) int64 {
	t.Helper()
	m := s.Do("TIME")
	words, err := m.AsIntSlice()
	if err != nil {
		t.Fatal(err)
	}
	return words[0]*1000 + words[1]/1000
}

func TestProducerStateOutlivesItsRecords(t *testing.T) {
	s := redistest.Start(t)
	f := newFixture(t, s, "1/a", nil)
	ref := newRef("t")
	f.play(t, ref, 7, step{seq: 0, want: 0})
	if start, err := f.DeleteBefore(t.Context(), ref, -1); start != 1 || err != nil {
		t.Fatalf("delete: %d, %v", start, err)
	}
	f.play(t, ref, 7, step{seq: 0, want: 0}, step{seq: 1, want: 1})
	f.close()
	f = newFixture(t, s, "1/a", nil)
	f.play(t, ref, 7, step{seq: 0, want: 0}, step{seq: 1, want: 1}, step{seq: 2, want: 2})
}

func TestFiveBatchesAreKnownAfterARestart(t *testing.T) {
	s := redistest.Start(t)
	f := newFixture(t, s, "1/a", nil)
	ref := newRef("t")
	steps := []step{{seq: 0, want: 0}, {seq: 1, want: 1}, {seq: 2, want: 2}, {seq: 3, want: 3}, {seq: 4, want: 4}}
	f.play(t, ref, 7, steps...)
	f.play(t, ref, 7, steps...)
	f.close()
	f = newFixture(t, s, "1/a", nil)
	f.play(t, ref, 7, steps...)
	f.play(t, ref, 7, step{seq: 7, err: outOfOrder}, step{seq: 5, want: 5})
	if end := f.bounds(ref).LogEnd; end != 6 {
		t.Errorf("the log ends at %d", end)
	}
}

// passed waits until Redis's clock shows a later ms than now.
func passed(t testing.TB, s *redistest.Server) {
	t.Helper()
	ms := func() int64 {
		m := s.Do("TIME")
		parts, err := m.AsIntSlice()
		if err != nil {
			t.Fatal(err)
		}
		return parts[0]*1000 + parts[1]/1000
	}
	now := ms()
	redistest.Eventually(t, "redis's clock to go on", func() bool { return ms() > now+2 })
}

func TestIdleProducerIsForgottenAndMayGoOnWithAnySequence(t *testing.T) {
	s := redistest.Start(t)
	f := newFixture(t, s, "1/a", func(s *partition.Settings) { s.ProducerExpiry = 1_000_000 /* 1 ms */ })
	ref := newRef("t")
	f.play(t, ref, 7, step{seq: 0, want: 0})
	passed(t, s)
	f.play(t, ref, 8, step{seq: 17, want: 1}) // any append lets time pass
	passed(t, s)
	f.play(t, ref, 7, step{seq: 3, want: 2})
	passed(t, s)
	f.play(t, ref, 7, step{seq: 9, want: 3}) // forgotten and known again at once
	// What was written with it must be there for the next owner, although the older state was removed.
	f.close()
	f = newFixture(t, s, "1/a", nil)
	f.play(t, ref, 7, step{seq: 9, want: 3}, step{seq: 10, want: 4})
}

func TestMostIdleProducersBeyondTheLimitAreForgotten(t *testing.T) {
	s := redistest.Start(t)
	f := newFixture(t, s, "1/a", func(s *partition.Settings) { s.MaxProducers = 10 })
	ref := newRef("t")
	for pid := range int64(30) {
		f.play(t, ref, pid, step{seq: 5, want: pid})
		passed(t, s)
	}
	f.play(t, ref, 29, step{seq: 5, want: 29}, step{seq: 9, err: outOfOrder}) // known
	f.play(t, ref, 0, step{seq: 9, want: 30})                                 // forgotten
	f.close()
	f = newFixture(t, s, "1/a", nil)
	f.play(t, ref, 0, step{seq: 9, want: 30}, step{seq: 11, err: outOfOrder})
}

func TestBatchesOfOneProducerInFlightAreCheckedAgainstEachOther(t *testing.T) {
	s := redistest.Start(t)
	f := newFixture(t, s, "1/a", nil)
	ref := newRef("t")
	f.play(t, ref, 7, step{seq: 0, want: 0})
	s.Pause()
	var waiting []<-chan outcome
	for _, st := range []step{{seq: 1}, {seq: 2}, {seq: 1}, {seq: 2}, {seq: 4}, {seq: 3}} {
		waiting = append(waiting, f.appendAsync(ref, st.batch(t, 7), all))
	}
	s.Resume()
	want := []string{"1", "2", "1", "2", "out of order", "3"}
	for i, ch := range waiting {
		o := <-ch
		got := fmt.Sprint(o.got.BaseOffset)
		if errors.Is(o.err, outOfOrder) {
			got = "out of order"
		} else if o.err != nil {
			got = o.err.Error()
		}
		if got != want[i] {
			t.Errorf("batch %d: %s, want %s", i, got, want[i])
		}
	}
	if got := f.readAll(ref, 0, 1<<20); len(got) != 4 {
		t.Errorf("the log is %v", got)
	}
}

func TestAfterARefusedBatchLaterSequencesWaitUntilItWasTriedAgain(t *testing.T) {
	for name, before := range map[string][]step{
		"a known producer": {{seq: 0, want: 0}},
		"a new producer":   nil,
	} {
		t.Run(name, func(t *testing.T) {
			s := redistest.Start(t)
			f := newFixture(t, s, "1/a", nil)
			ref := newRef("t")
			f.produce(ref, makeBatch(t, -1, -1, -1, 1000, "plain"), all)
			shifted := make([]step, 0, 8)
			for _, st := range before {
				st.want++
				shifted = append(shifted, st)
			}
			f.play(t, ref, 7, shifted...)
			seq, end := int32(len(before)), int64(len(before)+1)
			s.Do("CONFIG", "SET", "maxmemory", "1")
			f.play(t, ref, 7, step{seq: seq, err: partition.ErrStorage})
			s.Do("CONFIG", "SET", "maxmemory", "0")
			f.play(t, ref, 7, step{seq: seq + 1, err: outOfOrder}, step{seq: seq + 2, err: outOfOrder},
				step{seq: seq, want: end}, step{seq: seq + 1, want: end + 1}, step{seq: seq + 2, want: end + 2})
		})
	}
}

func TestNewProducerThatGaveAFailedBatchUpGoesOnWithANewEpoch(t *testing.T) {
	s := redistest.Start(t)
	f := newFixture(t, s, "1/a", nil)
	ref := newRef("t")
	f.produce(ref, makeBatch(t, -1, -1, -1, 1000, "plain"), all)
	s.Do("CONFIG", "SET", "maxmemory", "1")
	f.play(t, ref, 7, step{seq: 17, err: partition.ErrStorage})
	s.Do("CONFIG", "SET", "maxmemory", "0")
	f.play(t, ref, 7, step{epoch: 1, seq: 0, want: 1}, step{epoch: 1, seq: 1, want: 2})
}
