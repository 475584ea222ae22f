package coordinator

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/korvet-io/korvet/internal/group"
	"github.com/korvet-io/korvet/internal/metadata"
	"github.com/korvet-io/korvet/internal/redistest"
)

// topicID is that of the one topic, t, of these tests.
var topicID = uuid.MustParse("01900000-0000-7000-8000-000000000001")

// testCluster has the groups belong to one of several coordinators.
type testCluster struct {
	self   int32
	owner  *atomic.Int32
	images *Images
	topics *atomic.Pointer[[]*metadata.Topic]
}

func (c *testCluster) Coordinator(string) (int32, bool) { return c.owner.Load(), true }
func (c *testCluster) Self() int32                      { return c.self }
func (c *testCluster) Brokers() []int32                 { return []int32{c.owner.Load()} }
func (c *testCluster) Image() group.Image               { return c.images.Of(*c.topics.Load()) }

type nothing struct{}

func (nothing) Committed(int, time.Duration, error) {}
func (nothing) Saved(time.Duration, error)          {}
func (nothing) Loaded(time.Duration, error)         {}
func (nothing) Rebalanced(string)                   {}
func (nothing) Stored(error)                        {}
func (nothing) Expired(int)                         {}

// clock is a time that only moves when told.
type clock struct{ now atomic.Int64 }

func (c *clock) Now() time.Time          { return time.UnixMilli(c.now.Load()) }
func (c *clock) forward(d time.Duration) { c.now.Add(d.Milliseconds()) }

// world is some brokers' coordinators over one store.
type world struct {
	t      *testing.T
	store  *memStore
	owner  atomic.Int32
	topics atomic.Pointer[[]*metadata.Topic]
	clock  clock
	images Images
	ids    atomic.Int64
	all    []*Coordinator
}

func newWorld(t *testing.T, brokers int) *world {
	w := &world{t: t, store: newMemStore()}
	w.clock.now.Store(1_700_000_000_000)
	w.setTopics(&metadata.Topic{Name: "t", ID: topicID, Partitions: 8})
	for i := range brokers {
		w.all = append(w.all, w.start(int32(i)))
	}
	t.Cleanup(func() {
		for _, c := range w.all {
			c.Close(context.Background())
		}
	})
	return w
}

func (w *world) setTopics(topics ...*metadata.Topic) { w.topics.Store(&topics) }

func (w *world) start(id int32) *Coordinator {
	return New(Settings{
		Group: group.Settings{
			MinSession: time.Second, MaxSession: time.Hour, MaxSize: 100,
			ConsumerSession: 45 * time.Second, ConsumerHeartbeat: 5 * time.Second, ConsumerMaxSize: 100,
			Assignors: []string{"uniform", "range"}, Migration: group.Bidirectional,
			NewID: func() string { return fmt.Sprint("id", w.ids.Add(1)) },
		},
		Retention: time.Hour, CheckInterval: time.Minute, LoadParallel: 4,
	}, Dependencies{
		Store:    w.store,
		Cluster:  &testCluster{self: id, owner: &w.owner, images: &w.images, topics: &w.topics},
		Observer: nothing{},
		Log:      slog.New(slog.NewTextHandler(io.Discard, nil)),
		Now:      w.clock.Now,
	})
}

// now is the coordinator that groups belong to.
func (w *world) now() *Coordinator { return w.all[w.owner.Load()] }

func offset(partition int32, at int64) Offset {
	return Offset{TopicPartition: TopicPartition{"t", partition}, TopicID: topicID, Offset: at, LeaderEpoch: -1}
}

var nobody = group.MemberRef{Generation: -1}

func commit(c *Coordinator, name string, m group.MemberRef, offsets ...Offset) error {
	_, err := await(context.Background(), func(done func(struct{}, error)) {
		c.Commit(name, CommitRequest{Member: m, Offsets: offsets}, func(err error) { done(struct{}{}, err) })
	})
	return err
}

func committed(c *Coordinator, name string, partition int32) (int64, error) {
	list, err := c.Committed(context.Background(), name, CommittedRequest{Member: nobody, Partitions: []TopicPartition{{"t", partition}}})
	if err != nil || len(list) == 0 {
		return -1, err
	}
	return list[0].Offset, nil
}

// Writers commit rising offsets, some at once, while the store fails in every way and the groups go from broker to broker.
// What was acknowledged is there, and no offset ever falls.
func TestCommittedOffsetsNeverFallWhateverTheStoreDoes(t *testing.T) {
	for seed := range uint64(40) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, 3)
			rnd := rand.New(rand.NewPCG(seed, 1))
			var mu sync.Mutex
			w.store.fault = func(string, string) string {
				mu.Lock()
				defer mu.Unlock()
				switch n := rnd.IntN(30); n {
				case 0, 1, 2, 3:
					return []string{"refused", "lost", "late", "done"}[n]
				case 4:
					w.owner.Store(int32(rnd.IntN(3)))
				}
				return ""
			}
			var writers sync.WaitGroup
			last := make([]atomic.Int64, 6)
			for p := range last {
				last[p].Store(-1)
				writers.Go(func() { commitRising(w, int32(p), &last[p]) })
			}
			writers.Wait()
			w.store.mu.Lock()
			w.store.fault = nil
			w.store.mu.Unlock()
			for p := range last {
				got, err := retry(func() (int64, error) { return committed(w.now(), groupOf(int32(p)), int32(p)) })
				if want := last[p].Load(); err != nil || got < want {
					t.Errorf("partition %d: committed %d (%v), acknowledged %d", p, got, err, want)
				}
			}
		})
	}
}

// groupOf has pairs of partitions share a group.
func groupOf(partition int32) string { return fmt.Sprint("g", partition/2) }

// commitRising commits the offsets 0 to 149 of a partition, three at once, and reads what is committed in between.
func commitRising(w *world, partition int32, last *atomic.Int64) {
	name := groupOf(partition)
	for at := int64(0); at < 150; at += 3 {
		c := w.now()
		var three sync.WaitGroup
		three.Add(3)
		for i := range int64(3) {
			c.Commit(name, CommitRequest{Member: nobody, Offsets: []Offset{offset(partition, at+i)}}, func(err error) {
				if err == nil {
					last.Store(max(last.Load(), at+i)) // of one partition they are answered in order
				}
				three.Done()
			})
		}
		three.Wait()
		before := last.Load()
		if got, err := committed(c, name, partition); err == nil && got < before && c == w.now() {
			// A coordinator that was replaced meanwhile may not know it yet: ask the one that counts.
			if got, err = committed(w.now(), name, partition); err == nil && got < before {
				w.t.Errorf("partition %d: committed %d after %d was acknowledged", partition, got, before)
			}
		}
	}
}

func retry[T any](f func() (T, error)) (T, error) {
	for {
		v, err := f()
		if !errors.Is(err, group.ErrCoordinatorUnavailable) && !errors.Is(err, group.ErrNotCoordinator) {
			return v, err
		}
	}
}

func TestAGroupIsLoadedOnceForAllThatWait(t *testing.T) {
	w := newWorld(t, 1)
	if err := commit(w.now(), "g", nobody, offset(0, 5)); err != nil {
		t.Fatal(err)
	}
	w.all[0].Close(context.Background())
	w.all[0] = w.start(0)
	var loads atomic.Int32
	w.store.fault = func(call, _ string) string {
		if call == "exists" || call == "claim" {
			loads.Add(1)
		}
		return ""
	}
	var readers sync.WaitGroup
	for range 50 {
		readers.Go(func() {
			if got, err := committed(w.now(), "g", 0); got != 5 || err != nil {
				t.Errorf("committed %d, %v", got, err)
			}
		})
	}
	readers.Wait()
	if n := loads.Load(); n != 2 {
		t.Errorf("%d calls of the store to load it, want a look and a claim", n)
	}
}

func TestGroupsThatAreNotThereCostNothing(t *testing.T) {
	w := newWorld(t, 1)
	c := w.now()
	for i := range 100 {
		name := fmt.Sprint("none", i)
		if _, err := c.Describe(context.Background(), name); !errors.Is(err, group.ErrNotFound) {
			t.Fatalf("%s: %v", name, err)
		}
		if got, err := committed(c, name, 0); got != -1 || err != nil {
			t.Fatalf("%s: committed %d, %v", name, got, err)
		}
	}
	redistest.Eventually(t, "the last group to be forgotten", func() bool { return len(c.all()) == 0 }) // after its answer was given
	if n := len(w.store.groups); n != 0 {
		t.Errorf("%d groups are stored", n)
	}
}

func TestCommitsThatWaitAreStoredTogether(t *testing.T) {
	w := newWorld(t, 1)
	first, storing := make(chan struct{}), make(chan struct{})
	var calls atomic.Int32
	w.store.fault = func(call, _ string) string {
		if call == "commit" && calls.Add(1) == 1 {
			close(storing)
			<-first
		}
		return ""
	}
	var all sync.WaitGroup
	for i := range 100 {
		all.Add(1)
		w.now().Commit("g", CommitRequest{Member: nobody, Offsets: []Offset{offset(int32(i%8), int64(i))}}, func(err error) {
			if err != nil {
				t.Error(err)
			}
			all.Done()
		})
		if i == 0 {
			<-storing
		}
	}
	close(first)
	all.Wait()
	if n := calls.Load(); n != 2 {
		t.Errorf("%d commits in the store, want 2", n)
	}
	for p := range int32(8) {
		if got, _ := committed(w.now(), "g", p); got < 92 {
			t.Errorf("partition %d: %d", p, got)
		}
	}
}

func TestDeletedGroupsAreGoneAndMayComeBack(t *testing.T) {
	w := newWorld(t, 1)
	c, ctx := w.now(), context.Background()
	if err := c.Delete(ctx, "g"); !errors.Is(err, group.ErrNotFound) {
		t.Fatalf("delete what is not there: %v", err)
	}
	if err := commit(c, "g", nobody, offset(0, 5)); err != nil {
		t.Fatal(err)
	}
	if err := c.Delete(ctx, "g"); err != nil {
		t.Fatal(err)
	}
	if got, err := committed(c, "g", 0); got != -1 || err != nil {
		t.Errorf("committed %d, %v after the deletion", got, err)
	}
	if _, err := c.Describe(ctx, "g"); !errors.Is(err, group.ErrNotFound) {
		t.Errorf("describe: %v", err)
	}
	if err := commit(c, "g", nobody, offset(0, 1)); err != nil {
		t.Fatal(err)
	}
	if got, err := committed(c, "g", 0); got != 1 || err != nil {
		t.Errorf("committed %d, %v in the next life", got, err)
	}
}

func TestARefusedCommitLeavesTheGroupAsItIs(t *testing.T) {
	w := newWorld(t, 1)
	c := w.now()
	if err := commit(c, "g", nobody, offset(0, 5)); err != nil {
		t.Fatal(err)
	}
	w.store.fault = func(call, _ string) string {
		switch call {
		case "commit":
			return "refused"
		case "holds":
			return ""
		}
		t.Errorf("%s although the group is as it was", call)
		return ""
	}
	if err := commit(c, "g", nobody, offset(0, 6)); !errors.Is(err, group.ErrCoordinatorUnavailable) {
		t.Errorf("a refused commit: %v", err)
	}
	if got, err := committed(c, "g", 0); got != 5 || err != nil {
		t.Errorf("committed %d, %v", got, err)
	}
}
