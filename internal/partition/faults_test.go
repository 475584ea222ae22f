package partition_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/korvet-io/korvet/internal/batch"
	"github.com/korvet-io/korvet/internal/partition"
	"github.com/korvet-io/korvet/internal/redisstream"
	"github.com/korvet-io/korvet/internal/redistest"
)

func TestGroupCommitKeepsTheOrderOfEachProducer(t *testing.T) {
	s := redistest.Start(t)
	f := newFixture(t, s, "1/a", nil)
	ref := newRef("t")
	const producers, each = 8, 100
	var done sync.WaitGroup
	for p := range producers {
		done.Go(func() {
			var acks []<-chan outcome
			for i := range each {
				acks = append(acks, f.appendAsync(ref, makeBatch(t, -1, -1, -1, 1000, fmt.Sprintf("%d/%03d", p, i)), all))
			}
			last := int64(-1)
			for _, ch := range acks {
				o := <-ch
				if o.err != nil || o.got.BaseOffset <= last {
					t.Errorf("offset %d after %d: %v", o.got.BaseOffset, last, o.err)
				}
				last = o.got.BaseOffset
			}
		})
	}
	done.Wait()
	newest := make([]string, producers)
	got := f.readAll(ref, 0, 1<<20)
	for i, text := range got {
		var offset, p int
		var rest string
		if _, err := fmt.Sscanf(text, "%d=%d/%s", &offset, &p, &rest); err != nil || offset != i {
			t.Fatalf("record %d is %q: %v", i, text, err)
		}
		if rest <= newest[p] {
			t.Errorf("producer %d: %s after %s", p, rest, newest[p])
		}
		newest[p] = rest
	}
	if len(got) != producers*each {
		t.Errorf("%d records, want %d", len(got), producers*each)
	}
}

func TestFrozenRedisTimesOutAndWhatItDidCountsOnce(t *testing.T) {
	s := redistest.Start(t)
	f := newFixture(t, s, "1/a", func(s *partition.Settings) {
		s.ProduceTimeout = 100 * time.Millisecond
		s.RequestTimeout = 300 * time.Millisecond
	})
	ref := newRef("t")
	f.play(t, ref, 7, step{seq: 0, want: 0})
	s.Pause()
	for seq := int32(1); seq < 4; seq++ {
		if o := f.produce(ref, makeBatch(t, 7, 0, seq, 1000, fmt.Sprint(seq)), all); !errors.Is(o.err, partition.ErrTimeout) && !errors.Is(o.err, partition.ErrNotLeader) {
			t.Errorf("batch %d: %+v", seq, o)
		}
	}
	s.Resume()
	for seq := int32(1); seq < 6; seq++ {
		f.produceUntil(ref, func() *batch.Batch { return makeBatch(t, 7, 0, seq, 1000, fmt.Sprint(seq)) })
	}
	if got := f.readAll(ref, 0, 1<<20); !same(got, dense(0, numbers(0, 6)...)) {
		t.Errorf("the log is %v", got)
	}
}

// A broker's clock must go on also when a frozen Redis takes no more bytes.
func TestFrozenRedisWithFullSocketsStillTimesOut(t *testing.T) {
	s := redistest.Start(t)
	f := newFixture(t, s, "1/a", func(s *partition.Settings) {
		s.ProduceTimeout = 200 * time.Millisecond
		s.RequestTimeout = 500 * time.Millisecond
	})
	large := strings.Repeat("x", 900_000)
	refs := make([]partition.Ref, 40)
	for i := range refs {
		refs[i] = newRef(fmt.Sprint("t", i))
		if o := f.produce(refs[i], makeBatch(t, -1, -1, -1, 1000, "a"), all); o.err != nil {
			t.Fatal(o.err)
		}
	}
	s.Pause()
	var senders sync.WaitGroup
	for _, ref := range refs {
		senders.Go(func() {
			if o := f.produce(ref, makeBatch(t, -1, -1, -1, 1000, large), all); o.err == nil {
				t.Errorf("acknowledged by a frozen redis: %+v", o)
			}
		})
	}
	senders.Wait()
	s.Resume()
	for _, ref := range refs {
		f.produceUntil(ref, func() *batch.Batch { return makeBatch(t, -1, -1, -1, 1000, "b") })
	}
}

// What waits for its time, such as a fence that waits for an old lease, must not stop the clock of all the others when a
// frozen Redis takes no more bytes.
func TestFrozenRedisStopsNoClockAlthoughAFenceIsDue(t *testing.T) {
	s := redistest.Start(t)
	held := newRef("held")
	old := newFixture(t, s, "1/a", func(s *partition.Settings) { s.Lease = time.Second })
	old.mustAppend(held, "a")
	old.crash()
	o, observed := options(t, s), &seen{}
	o.WriteConnections = 1
	f := newBrokerOn(t, redisstream.Open(o, slog.New(slog.DiscardHandler)), "1/b", func(s *partition.Settings) {
		s.ProduceTimeout, s.RequestTimeout = 1500*time.Millisecond, 2*time.Second
	}, partition.Dependencies{Observer: observed})
	refs := make([]partition.Ref, 40)
	for i := range refs {
		refs[i] = newRef(fmt.Sprint("t", i))
		f.mustAppend(refs[i], "a")
	}
	waits := f.appendAsync(held, makeBatch(t, -1, -1, -1, 1000, "b"), all)
	redistest.Eventually(t, "the lease to be found held", func() bool { return observed.fencesOf("held") > 0 })
	s.Pause()
	large := strings.Repeat("x", 900_000)
	var senders sync.WaitGroup
	for _, ref := range refs {
		senders.Go(func() {
			if o := f.produce(ref, makeBatch(t, -1, -1, -1, 1000, large), all); o.err == nil {
				t.Errorf("acknowledged by a frozen redis: %+v", o)
			}
		})
	}
	senders.Wait()
	<-waits
	s.Resume()
	f.produceUntil(held, func() *batch.Batch { return makeBatch(t, -1, -1, -1, 1000, "c") })
}

func TestCutConnectionsWhileProducingLoseAndDoubleNothing(t *testing.T) {
	s := redistest.Start(t)
	f := newFixture(t, s, "1/a", nil)
	ref := newRef("t")
	const producers, each = 4, 150
	killer := s.Client()
	stop := make(chan struct{})
	var killing sync.WaitGroup
	killing.Go(func() {
		for {
			select {
			case <-stop:
				return
			case <-time.After(3 * time.Millisecond): // paces the faults
				_ = killer.Do(context.Background(), killer.B().Arbitrary("CLIENT", "KILL", "TYPE", "normal", "SKIPME", "yes").Build()).Error() // it may be cut itself
			}
		}
	})
	var done sync.WaitGroup
	for p := range int64(producers) {
		done.Go(func() {
			for i := range int32(each) {
				f.produceUntil(ref, func() *batch.Batch { return makeBatch(t, 100+p, 0, i, 1000, fmt.Sprintf("%d/%03d", p, i)) })
			}
		})
	}
	done.Wait()
	close(stop)
	killing.Wait()
	next := map[string]int{}
	for i, text := range f.readAll(ref, 0, 1<<20) {
		offset, value, _ := strings.Cut(text, "=")
		p, n, _ := strings.Cut(value, "/")
		if offset != fmt.Sprint(i) || n != fmt.Sprintf("%03d", next[p]) {
			t.Fatalf("record %d is %s, want %03d of its producer", i, text, next[p])
		}
		next[p]++
	}
	for p := range producers {
		if next[fmt.Sprint(p)] != each {
			t.Errorf("producer %d has %d records", p, next[fmt.Sprint(p)])
		}
	}
}

func TestRedisRestartedWithAnAOFOfEveryWriteKeepsWhatWasAcknowledged(t *testing.T) {
	s := redistest.Start(t, "--appendonly", "yes", "--appendfsync", "always")
	o := &seen{}
	f := newBroker(t, s, "1/a", nil, partition.Dependencies{Observer: o})
	ref := newRef("t")
	for i := range int32(30) {
		f.produceUntil(ref, func() *batch.Batch { return makeBatch(t, 7, 0, i, 1000, fmt.Sprint(i)) })
		if i%10 == 5 {
			inFlight := f.appendAsync(ref, makeBatch(t, 7, 0, i+1, 1000, fmt.Sprint(i+1)), all)
			s.Restart()
			<-inFlight
		}
	}
	if got := f.readAll(ref, 0, 1<<20); !same(got, dense(0, numbers(0, 30)...)) {
		t.Errorf("the log is %v", got)
	}
	if n := o.truncated(); n != 0 {
		t.Errorf("%d records are said to be lost", n)
	}
	if b := f.bounds(ref); b.LeaderEpoch == 0 {
		t.Error("another life of redis is no new leader epoch")
	}
}

func TestRedisThatComesBackEmptyIsNoticedByReadersAndWriters(t *testing.T) {
	s := redistest.Start(t)
	o := &seen{}
	f := newBroker(t, s, "1/a", nil, partition.Dependencies{Observer: o})
	ref := newRef("t")
	f.mustAppend(ref, numbers(0, 10)...)
	before := f.bounds(ref)
	s.Restart()
	redistest.Eventually(t, "the loss to be noticed", func() bool {
		_, err := f.Read(t.Context(), ref, partition.ReadRequest{Offset: 10, MaxBytes: 1000}, nil)
		return errors.Is(err, partition.ErrOffsetOutOfRange)
	})
	f.produceUntil(ref, func() *batch.Batch { return makeBatch(t, -1, -1, -1, 1000, "new") })
	b := f.bounds(ref)
	if b.LogEnd != 1 || b.LeaderEpoch == before.LeaderEpoch {
		t.Errorf("bounds %+v after %+v", b, before)
	}
	if n := o.truncated(); n != 10 {
		t.Errorf("%d records are said to be lost, want 10", n)
	}
	if got := f.readAll(ref, 0, 1000); !same(got, dense(0, "new")) {
		t.Errorf("the log is %v", got)
	}
}

// reload makes the broker read the registry again: it must not take what it saw of another Redis for the log's least end.
func TestLossIsNoticedAlthoughTheRegistryWasReadAgain(t *testing.T) {
	s := redistest.Start(t)
	o := &seen{}
	f := newBroker(t, s, "1/a", func(s *partition.Settings) { s.TailCacheBytes = 0 }, partition.Dependencies{Observer: o})
	ref := newRef("t")
	f.mustAppend(ref, numbers(0, 10)...)
	m := s.Do("XRANGE", "korvet:storage:local:t:0", "-", "+", "COUNT", "1")
	first, err := m.AsXRange()
	if err != nil {
		t.Fatal(err)
	}
	s.Do("XDEL", "korvet:storage:local:t:0", first[0].ID)
	if got := f.readAll(ref, 0, 1000); len(got) != 9 {
		t.Fatalf("the log is %v", got)
	}
	s.Restart()
	f.produceUntil(ref, func() *batch.Batch { return makeBatch(t, -1, -1, -1, 1000, "new") })
	if n := o.truncated(); n != 10 {
		t.Errorf("%d records are said to be lost, want 10", n)
	}
}

func TestLostStreamKeyKeepsOffsetsRising(t *testing.T) {
	s := redistest.Start(t)
	f := newFixture(t, s, "1/a", nil)
	ref := newRef("t")
	f.mustAppend(ref, numbers(0, 10)...)
	s.Do("DEL", "korvet:storage:local:t:0")
	got := f.produceUntil(ref, func() *batch.Batch { return makeBatch(t, 7, 0, 0, 1000, "after") })
	if got.BaseOffset < 10 {
		t.Errorf("offset %d was given again", got.BaseOffset)
	}
	for name, reader := range map[string]*fixture{"owner": f, "another": newFixture(t, s, "2/b", nil)} {
		if log := reader.readAll(ref, 0, 1000); !same(log, dense(int(got.BaseOffset), "after")) {
			t.Errorf("%s reads %v", name, log)
		}
	}
	f.play(t, ref, 7, step{seq: 0, want: got.BaseOffset})
}

func TestRefusalsOfRedisAreToldByKindAndEndByThemselves(t *testing.T) {
	s := redistest.Start(t)
	f := newFixture(t, s, "1/a", nil)
	ref := newRef("t")
	f.mustAppend(ref, "a")
	for _, c := range []struct {
		set, undo []string
		want      error
	}{
		{[]string{"CONFIG", "SET", "maxmemory", "1"}, []string{"CONFIG", "SET", "maxmemory", "0"}, partition.ErrStorage},
		{[]string{"CONFIG", "SET", "min-replicas-to-write", "1"}, []string{"CONFIG", "SET", "min-replicas-to-write", "0"}, partition.ErrNotEnoughReplicas},
		{[]string{"REPLICAOF", "127.0.0.1", "1"}, []string{"REPLICAOF", "NO", "ONE"}, partition.ErrNotLeader},
	} {
		s.Do(c.set...)
		for range 3 {
			if o := f.produce(ref, makeBatch(t, -1, -1, -1, 1000, "x"), all); !errors.Is(o.err, c.want) {
				t.Errorf("%v: %+v, want %v", c.set, o, c.want)
			}
		}
		if got := f.readAll(ref, 0, 1000); len(got) == 0 || got[0] != "0=a" {
			t.Errorf("%v: consumers see %v", c.set, got)
		}
		s.Do(c.undo...)
		f.produceUntil(ref, func() *batch.Batch { return makeBatch(t, -1, -1, -1, 1000, "b") })
	}
	if got := f.readAll(ref, 0, 1000); !same(got, dense(0, "a", "b", "b", "b")) {
		t.Errorf("the log is %v", got)
	}
}

func TestRedisThatIsAwayRefusesProducersAndComesBackByItself(t *testing.T) {
	s := redistest.Start(t, "--appendonly", "yes", "--appendfsync", "always")
	f := newFixture(t, s, "1/a", func(s *partition.Settings) { s.ProduceTimeout = 100 * time.Millisecond })
	ref := newRef("t")
	f.mustAppend(ref, "a")
	s.Kill()
	for range 3 {
		if o := f.produce(ref, makeBatch(t, -1, -1, -1, 1000, "x"), all); !errors.Is(o.err, partition.ErrTimeout) && !errors.Is(o.err, partition.ErrNotLeader) {
			t.Errorf("got %+v", o)
		}
	}
	s.Restart()
	f.produceUntil(ref, func() *batch.Batch { return makeBatch(t, -1, -1, -1, 1000, "b") })
	if got := f.readAll(ref, 0, 1000); !same(got, dense(0, "a", "b")) {
		t.Errorf("the log is %v", got)
	}
}
