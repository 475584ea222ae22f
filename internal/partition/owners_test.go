package partition_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/korvet-io/korvet/internal/batch"
	"github.com/korvet-io/korvet/internal/partition"
	"github.com/korvet-io/korvet/internal/redistest"
)

// short makes leases that a test can wait for.
func short(s *partition.Settings) { s.Lease = 150 * time.Millisecond }

func TestCrashedOwnerIsTakenOverWhenItsLeaseEndsAndSequencesGoOn(t *testing.T) {
	s := redistest.Start(t)
	ref := newRef("t")
	owners := []string{"1/a", "2/b", "1/c", "3/d"}
	seq := int32(0)
	for _, owner := range owners {
		f := newFixture(t, s, owner, short)
		if seq > 0 { // the answer was lost: the client sends its newest batch again
			got := f.produceUntil(ref, func() *batch.Batch { return makeBatch(t, 7, 0, seq-1, 1000, fmt.Sprint(seq-1)) })
			if !got.Duplicate || got.BaseOffset != int64(seq-1) {
				t.Errorf("%s answered the repeated batch with %+v", owner, got)
			}
		}
		for range 10 {
			f.produceUntil(ref, func() *batch.Batch { return makeBatch(t, 7, 0, seq, 1000, fmt.Sprint(seq)) })
			seq++
		}
		f.crash()
	}
	if got := newFixture(t, s, "9/z", nil).readAll(ref, 0, 1<<20); !same(got, dense(0, numbers(0, 40)...)) {
		t.Errorf("the log is %v", got)
	}
}

// Redis failed over to a replica whose clock is an hour behind, and the owner died: its lease seems to run for an hour.
func TestALeaseThatAClockAheadGaveIsNotWaitedForUntilItEnds(t *testing.T) {
	s := redistest.Start(t)
	ref := newRef("t")
	before := newFixture(t, s, "1/a", short)
	before.mustAppend(ref, "a")
	before.crash()
	reply := s.Do("KEYS", "korvet:storage:state:*")
	states, err := reply.AsStrSlice()
	if err != nil || len(states) != 1 {
		t.Fatal(states, err)
	}
	s.Do("HSET", states[0], "exp", fmt.Sprint(time.Now().Add(time.Hour).UnixMilli()))
	f := newFixture(t, s, "2/b", short)
	f.produceUntil(ref, func() *batch.Batch { return makeBatch(t, -1, -1, -1, 1000, "b") })
	if got := f.readAll(ref, 0, 1000); !same(got, dense(0, "a", "b")) {
		t.Errorf("read %v", got)
	}
}

func TestAnotherOwnersLeaseRefusesAtOnce(t *testing.T) {
	s := redistest.Start(t)
	ref := newRef("t")
	newFixture(t, s, "1/a", func(s *partition.Settings) { s.Lease = time.Hour }).mustAppend(ref, "a")
	other := newFixture(t, s, "2/b", nil)
	for range 3 {
		if o := other.produce(ref, makeBatch(t, -1, -1, -1, 1000, "x"), all); !errors.Is(o.err, partition.ErrNotLeader) {
			t.Errorf("got %+v", o)
		}
	}
	if got := other.readAll(ref, 0, 1000); !same(got, dense(0, "a")) { // reads need no lease
		t.Errorf("it reads %v", got)
	}
}

func TestNewerLifeOfABrokerForcesTheOldOneOut(t *testing.T) {
	s := redistest.Start(t)
	ref := newRef("t")
	old := newFixture(t, s, "1/a", func(s *partition.Settings) { s.Lease = time.Hour })
	old.mustAppend(ref, "a")
	newer := newBroker(t, s, "1/b", nil, partition.Dependencies{Gone: func(owner string) bool { return owner == "1/a" }})
	if got := newer.mustAppend(ref, "b"); got != 1 {
		t.Errorf("offset %d", got)
	}
	if o := old.produce(ref, makeBatch(t, -1, -1, -1, 1000, "late"), partition.AppendOptions{AllReplicas: true, TimeoutMs: 100}); o.err == nil {
		t.Errorf("the old life still writes: %+v", o)
	}
	newer.mustAppend(ref, "c")
	if got := newer.readAll(ref, 0, 1000); !same(got, dense(0, "a", "b", "c")) {
		t.Errorf("the log is %v", got)
	}
}

func TestEarlierLifeOfABrokerIsWaitedFor(t *testing.T) {
	s := redistest.Start(t)
	ref := newRef("t")
	old := newFixture(t, s, "1/a", short)
	old.mustAppend(ref, "a")
	old.crash()
	if o := newFixture(t, s, "1/b", nil).produce(ref, makeBatch(t, -1, -1, -1, 1000, "b"), all); o.err != nil || o.got.BaseOffset != 1 {
		t.Errorf("got %+v", o)
	}
}

func TestTwoOwnersThatTakeTurnsNeverDoubleOrLose(t *testing.T) {
	s := redistest.Start(t)
	ref := newRef("t")
	var asked atomic.Int64
	now := func(string) bool { return asked.Add(1)%20 == 0 } // now and then a lease is not waited for
	brokers := []*fixture{
		newBroker(t, s, "1/a", nil, partition.Dependencies{Gone: now}),
		newBroker(t, s, "2/b", nil, partition.Dependencies{Gone: now}),
	}
	var done sync.WaitGroup
	for p := range int64(4) {
		done.Go(func() {
			for i := range int32(50) {
				n := int(p)
				for {
					n++
					o := brokers[n%2].produce(ref, makeBatch(t, p, 0, i, 1000, fmt.Sprintf("%d/%d", p, i)), all)
					if o.err == nil {
						break
					}
					if !errors.Is(o.err, partition.ErrNotLeader) && !errors.Is(o.err, partition.ErrTimeout) {
						t.Errorf("producer %d, batch %d: %v", p, i, o.err)
						return
					}
				}
			}
		})
	}
	done.Wait()
	for name, b := range map[string]*fixture{"one": brokers[0], "other": brokers[1], "third": newFixture(t, s, "3/c", nil)} {
		got := b.readAll(ref, 0, 1<<20)
		seen := map[string]bool{}
		for i, text := range got {
			var offset int
			var value string
			if _, err := fmt.Sscanf(text, "%d=%s", &offset, &value); err != nil || offset != i || seen[value] {
				t.Fatalf("%s: record %d is %q", name, i, text)
			}
			seen[value] = true
		}
		if len(got) != 200 {
			t.Errorf("%s reads %d records, want 200", name, len(got))
		}
	}
}

func TestClosedBrokerGivesItsLeasesBack(t *testing.T) {
	s := redistest.Start(t)
	f := newFixture(t, s, "1/a", func(s *partition.Settings) { s.Lease = time.Hour })
	refs := []partition.Ref{newRef("t1"), newRef("t2")}
	for _, ref := range refs {
		f.mustAppend(ref, "a")
	}
	f.close()
	f.close() // again does nothing
	other := newFixture(t, s, "2/b", nil)
	for _, ref := range refs {
		if got := other.produceUntil(ref, func() *batch.Batch { return makeBatch(t, -1, -1, -1, 1000, "b") }); got.BaseOffset != 1 {
			t.Errorf("offset %d", got.BaseOffset)
		}
		if o := f.produce(ref, makeBatch(t, -1, -1, -1, 1000, "late"), all); !errors.Is(o.err, partition.ErrClosed) {
			t.Errorf("the closed broker answers %+v", o)
		}
	}
}

// Producers that do not stop must not keep a broker from closing.
func TestBrokerClosesUnderLoadAndAnswersEveryBatchOnce(t *testing.T) {
	s := redistest.Start(t)
	f := newFixture(t, s, "1/a", nil)
	ref := newRef("t")
	var acknowledged sync.Map
	var done sync.WaitGroup
	for p := range 4 {
		done.Go(func() {
			for i := 0; ; i++ {
				value := fmt.Sprintf("%d/%d", p, i)
				o := f.produce(ref, makeBatch(t, -1, -1, -1, 1000, value), all)
				if errors.Is(o.err, partition.ErrClosed) {
					return
				}
				if o.err != nil {
					t.Errorf("append: %v", o.err)
					return
				}
				acknowledged.Store(value, o.got.BaseOffset)
			}
		})
	}
	redistest.Eventually(t, "some batches to be acknowledged", func() bool { _, found := acknowledged.Load("3/5"); return found })
	f.close()
	done.Wait()
	log := map[string]bool{}
	for _, text := range newFixture(t, s, "2/b", nil).readAll(ref, 0, 1<<20) {
		log[text] = true
	}
	acknowledged.Range(func(value, offset any) bool {
		if !log[fmt.Sprintf("%d=%s", offset, value)] {
			t.Errorf("%v at %v is not in the log", value, offset)
		}
		return true
	})
}

func TestCloseEndsWithItsContextWhenRedisIsFrozen(t *testing.T) {
	s := redistest.Start(t)
	f := newFixture(t, s, "1/a", nil)
	ref := newRef("t")
	f.mustAppend(ref, "a")
	s.Pause()
	waiting := f.appendAsync(ref, makeBatch(t, -1, -1, -1, 1000, "b"), all)
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if err := f.Close(ctx); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("close: %v", err)
	}
	s.Resume()
	if o := <-waiting; o.err == nil {
		t.Errorf("got %+v", o)
	}
}

func TestDeletedTopicIsOverAndItsNameBeginsAnew(t *testing.T) {
	s := redistest.Start(t)
	f, other := newFixture(t, s, "1/a", nil), newFixture(t, s, "2/b", nil)
	old := newRef("t")
	f.play(t, old, 7, step{seq: 0, want: 0}, step{seq: 1, want: 1})
	woken := make(chan struct{}, 10)
	defer f.Watch(old, 100, func() { woken <- struct{}{} })()
	next := partition.Ref{Topic: "t", ID: uuid.Must(uuid.NewV7())}
	beforehand := other.appendAsync(next, makeBatch(t, 7, 0, 0, 1000, "new"), all) // waits for the deletion
	if err := f.DeletePartition(t.Context(), old); err != nil {
		t.Fatal(err)
	}
	<-woken
	if o := <-beforehand; o.err != nil || o.got.BaseOffset != 0 || o.got.Duplicate {
		t.Errorf("the first batch of the next life: %+v", o)
	}
	for name, b := range map[string]*fixture{"owner": f, "other": other} {
		if o := b.produce(old, makeBatch(t, 7, 0, 2, 1000, "late"), all); !errors.Is(o.err, partition.ErrUnknownPartition) {
			t.Errorf("%s takes a batch for the life that is over: %+v", name, o)
		}
		if _, err := b.Read(t.Context(), old, partition.ReadRequest{MaxBytes: 1000}, nil); !errors.Is(err, partition.ErrUnknownPartition) {
			t.Errorf("%s reads the life that is over: %v", name, err)
		}
		if got := b.readAll(next, 0, 1000); !same(got, dense(0, "new")) {
			t.Errorf("%s reads %v", name, got)
		}
		if err := b.DeletePartition(t.Context(), old); err != nil { // again
			t.Errorf("%s: %v", name, err)
		}
	}
	if got := newFixture(t, s, "3/c", nil).readAll(next, 0, 1000); !same(got, dense(0, "new")) {
		t.Errorf("another reads %v", got)
	}
}

func TestTopicIsDeletedUnderLoadAndLeavesNothingButTombstones(t *testing.T) {
	s := redistest.Start(t)
	f := newFixture(t, s, "1/a", nil)
	for round := range 5 {
		ref := newRef("t")
		var done sync.WaitGroup
		for range 4 {
			done.Go(func() {
				for {
					if o := f.produce(ref, makeBatch(t, -1, -1, -1, 1000, fmt.Sprint(round)), all); o.err != nil {
						if !errors.Is(o.err, partition.ErrUnknownPartition) {
							t.Errorf("append: %v", o.err)
						}
						return
					}
				}
			})
		}
		redistest.Eventually(t, "some records", func() bool { return f.bounds(ref).LogEnd > 20 })
		if err := f.DeletePartition(t.Context(), ref); err != nil {
			t.Fatal(err)
		}
		done.Wait()
	}
	m := s.Do("KEYS", "*")
	keys, err := m.AsStrSlice()
	if err != nil || len(keys) != 1 {
		t.Errorf("keys left: %v, %v", keys, err)
	}
}

func TestLeasesGivenBackInQuickSuccessionRefuseNobody(t *testing.T) {
	s := redistest.Start(t)
	ref := newRef("t")
	for i := range 20 {
		f := newFixture(t, s, fmt.Sprintf("%d/a", i), nil)
		if got := f.mustAppend(ref, "a"); got != int64(i) {
			t.Errorf("offset %d, want %d", got, i)
		}
		f.close()
	}
}
