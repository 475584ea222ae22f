package worker

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/korvet-io/korvet/internal/partition"
	"github.com/korvet-io/korvet/internal/redisstream"
	"github.com/korvet-io/korvet/internal/redistest"
	"github.com/korvet-io/korvet/internal/worker/tick"
)

// compactor notes what it is called for. during, where it is set, is the pass.
type compactor struct {
	mu     sync.Mutex
	topics []string
	during func(ctx context.Context, topic string) error
}

func (c *compactor) Compact(ctx context.Context, t *tick.Target) error {
	c.mu.Lock()
	c.topics = append(c.topics, t.Ref.Topic)
	c.mu.Unlock()
	if c.during != nil {
		return c.during(ctx, t.Ref.Topic)
	}
	return nil
}

func (c *compactor) called() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return strings.Join(c.topics, " ")
}

// heldUp is a compactor whose passes last until their context ends, or until they are let go. ended receives why they did.
type heldUp struct {
	compactor
	letGo chan struct{}
	ended chan error
}

func newHeldUp() *heldUp {
	h := &heldUp{letGo: make(chan struct{}), ended: make(chan error, 10)}
	h.during = func(ctx context.Context, _ string) error {
		var err error
		select {
		case <-ctx.Done():
			err = context.Cause(ctx)
		case <-h.letGo:
		}
		h.ended <- err
		return err
	}
	return h
}

// look is a tick that does not wait for passes.
func (r *rig) look(ctx context.Context) {
	r.Helper()
	if err := r.storage.tick(ctx, nil); err != nil {
		r.Fatalf("tick: %v", err)
	}
}

// holdUp has a pass begin at topic t and stay there.
func holdUp(r *rig, ctx context.Context) *heldUp {
	r.Helper()
	h := newHeldUp()
	r.storage.Compactor = h
	r.Create("t", map[string]string{"cleanup.policy": "compact"}).Add(1, 0, 10)
	r.look(ctx)
	redistest.Eventually(r, "a pass", func() bool { return h.called() == "t" })
	return h
}

func TestCompactedTopicsAreHandedToTheCompactor(t *testing.T) {
	r := newRig(t)
	c := &compactor{}
	r.storage.Compactor = c
	for name, policy := range map[string]string{"a": "delete", "b": "compact", "c": "compact,delete"} {
		r.Create(name, map[string]string{"cleanup.policy": policy}).Add(1, 0, 10)
	}
	r.Tick()
	slices.Sort(c.topics)
	if !slices.Equal(c.topics, []string{"b", "c"}) {
		t.Errorf("compacted %v", c.topics)
	}
}

func TestRetentionFreesMemoryWhileAPassLasts(t *testing.T) {
	r := newRig(t)
	h := holdUp(r, t.Context())
	old := r.Create("old", map[string]string{"retention.ms": "60000"})
	old.Add(20_000, time.Hour, 1000)
	before := r.used()
	r.look(t.Context())
	old.Expect(20_000, -1)
	redistest.Eventually(t, "memory to be free", func() bool { return r.used() < before-10<<20 })
	if len(h.ended) != 0 || h.called() != "t" {
		t.Errorf("passes %s, %d ended", h.called(), len(h.ended))
	}
	close(h.letGo)
	if err := r.storage.passes.collect(); err != nil {
		t.Error(err)
	}
}

func (r *rig) used() int64 {
	r.Helper()
	used, _, err := r.Shard.Memory(r.Context())
	if err != nil {
		r.Fatal(err)
	}
	return used
}

func TestLeaseIsRenewedWhileAPassLasts(t *testing.T) {
	r := newRig(t)
	r.storage.Settings.Lease = 2 * time.Second
	until := func() string { m := r.Do("HGET", "korvet:storage:worker", "until"); s, _ := m.ToString(); return s }
	h := holdUp(r, t.Context())
	first := until()
	redistest.Eventually(t, "the lease to be renewed", func() bool { r.look(t.Context()); return until() != first })
	close(h.letGo)
	if err := r.storage.passes.collect(); err != nil {
		t.Error(err)
	}
}

func TestPassEndsOnceItsTopicIsNotCompacted(t *testing.T) {
	for name, change := range map[string]func(*rig){
		"deleted": func(r *rig) { r.Topics.List = nil },
		"policy": func(r *rig) {
			next := *r.Topics.List[0]
			next.Config.Compact = false
			r.Topics.List[0] = &next
		},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t)
			h := holdUp(r, t.Context())
			change(r)
			r.look(t.Context())
			if err := <-h.ended; !errors.Is(err, errUnwanted) {
				t.Errorf("the pass ended with %v", err)
			}
			if err := r.storage.passes.collect(); err != nil || r.Seen.Failures != 0 {
				t.Errorf("%v, %d failures", err, r.Seen.Failures)
			}
		})
	}
}

func TestPassEndsWithTheLease(t *testing.T) {
	r := newRig(t)
	h := holdUp(r, t.Context())
	r.Do("HSET", "korvet:storage:worker", "owner", "2/b", "fence", "9000000000000")
	ends := r.storage.lease.ends
	r.storage.now = func() time.Time { return ends }
	var other *redisstream.HeldError
	if err := r.storage.tick(t.Context(), nil); !errors.As(err, &other) {
		t.Errorf("the tick ended with %v", err)
	}
	if err := <-h.ended; !errors.Is(err, redisstream.ErrLeaseLost) {
		t.Errorf("the pass ended with %v", err)
	}
	if err := r.storage.passes.collect(); !errors.Is(err, redisstream.ErrLeaseLost) {
		t.Error(err)
	}
}

func TestWorkerThatEndsEndsItsPassesFirst(t *testing.T) {
	r := newRig(t)
	h := newHeldUp()
	r.storage.Compactor = h
	r.Create("t", map[string]string{"cleanup.policy": "compact"}).Add(1, 0, 10)
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() { r.storage.Run(ctx); close(done) }()
	redistest.Eventually(t, "a pass", func() bool { return h.called() == "t" })
	cancel()
	<-done
	if err := <-h.ended; !errors.Is(err, context.Canceled) {
		t.Errorf("the pass ended with %v", err)
	}
}

func TestAsManyPassesAsAreSetRunAtATime(t *testing.T) {
	r := newRig(t)
	r.storage.Passes = 2
	h := newHeldUp()
	r.storage.Compactor = h
	for _, name := range []string{"a", "b", "c"} {
		r.Create(name, map[string]string{"cleanup.policy": "compact"}).Add(1, 0, 10)
	}
	r.look(t.Context())
	redistest.Eventually(t, "two passes", func() bool { return len(h.called()) == 3 })
	r.look(t.Context()) // offers all three again: a and b are under way
	if got := h.called(); got != "a b" && got != "b a" {
		t.Errorf("passes over %s", got)
	}
	close(h.letGo)
	if err := r.storage.passes.collect(); err != nil || strings.Count(h.called(), "c") != 1 {
		t.Errorf("passes over %s, %v", h.called(), err)
	}
}

func TestEachPartitionHasItsTurn(t *testing.T) {
	p := newPasses(func(t tick.Target) partition.Ref { return t.Ref })
	var offered []tick.Target
	for i := range int32(3) {
		offered = append(offered, tick.Target{Ref: partition.Ref{Topic: "t", Partition: i}})
	}
	for i := range int32(7) { // a tick comes during each pass
		p.offer(offered, 1)
		next, _, over := p.take(t.Context())
		if over(false); next.Ref.Partition != i%3 {
			t.Fatalf("pass %d is over partition %d", i, next.Ref.Partition)
		}
	}
}

func TestErrorThatAllPassesWouldMeetEndsThem(t *testing.T) {
	r := newRig(t)
	c := &compactor{during: func(context.Context, string) error { return redisstream.ErrFenced }}
	r.storage.Compactor = c
	for _, name := range []string{"a", "b"} {
		r.Create(name, map[string]string{"cleanup.policy": "compact"}).Add(1, 0, 10)
	}
	if err := r.storage.RunOnce(t.Context()); !errors.Is(err, redisstream.ErrFenced) || len(c.topics) != 1 {
		t.Errorf("passes over %v, %v", c.topics, err)
	}
}
