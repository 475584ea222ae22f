package partition_test

import (
	"errors"
	"testing"

	"github.com/korvet-io/korvet/internal/partition"
	"github.com/korvet-io/korvet/internal/redistest"
)

// replicated is a broker on a Redis that is run with a replica, which the gate stands for.
func replicated(t *testing.T, s *redistest.Server, g *gate, o partition.Observer) *fixture {
	return newBroker(t, s, "1/a", func(s *partition.Settings) { s.RedisReplicas = 1 }, partition.Dependencies{
		Replicas: g, Observer: o, MinReplicas: func(partition.Ref) int { return 2 },
	})
}

// both asks for acks=all and min.insync.replicas=2; one for acks=1.
var (
	both = partition.AppendOptions{AllReplicas: true, MinReplicas: 2, TimeoutMs: 60_000}
	one  = partition.AppendOptions{MinReplicas: 2, TimeoutMs: 60_000}
)

func ok() error { return nil }

func TestHighWatermarkMovesOnlyWhenTheReplicasHaveIt(t *testing.T) {
	s := redistest.Start(t)
	g := &gate{connected: 1}
	f := replicated(t, s, g, nil)
	ref := newRef("t")
	acked := f.appendAsync(ref, makeBatch(t, -1, -1, -1, 1000, "a", "b"), both)
	redistest.Eventually(t, "the replicas to be asked", func() bool { return g.waiting() == 1 })
	if b := f.bounds(ref); b.LogEnd != 2 || b.HighWatermark != 0 {
		t.Errorf("bounds %+v before the replicas answered", b)
	}
	if got := f.readAll(ref, 0, 1000); len(got) != 0 {
		t.Errorf("consumers see %v", got)
	}
	woken := make(chan struct{}, 10)
	defer f.Watch(ref, 0, func() { woken <- struct{}{} })()
	select {
	case o := <-acked:
		t.Errorf("acknowledged: %+v", o)
	case <-woken:
		t.Error("a consumer was woken")
	default:
	}
	g.open(ok)
	if o := <-acked; o.err != nil || o.got.BaseOffset != 0 {
		t.Errorf("got %+v", o)
	}
	<-woken
	if got := f.readAll(ref, 0, 1000); !same(got, dense(0, "a", "b")) {
		t.Errorf("consumers see %v", got)
	}
}

func TestAcksOneDoesNotWaitForReplicasButConsumersDo(t *testing.T) {
	s := redistest.Start(t)
	g := &gate{connected: 1}
	f := replicated(t, s, g, nil)
	ref := newRef("t")
	if o := f.produce(ref, makeBatch(t, -1, -1, -1, 1000, "a"), one); o.err != nil {
		t.Fatal(o.err)
	}
	if b := f.bounds(ref); b.LogEnd != 1 || b.HighWatermark != 0 {
		t.Errorf("bounds %+v", b)
	}
	g.open(ok)
	redistest.Eventually(t, "the high watermark to move", func() bool { return f.bounds(ref).HighWatermark == 1 })
}

func TestDuplicateWaitsForTheReplicasToo(t *testing.T) {
	s := redistest.Start(t)
	g := &gate{connected: 1}
	f := replicated(t, s, g, nil)
	ref := newRef("t")
	first := f.appendAsync(ref, makeBatch(t, 7, 0, 0, 1000, "a"), both)
	redistest.Eventually(t, "the replicas to be asked", func() bool { return g.waiting() == 1 })
	again := f.appendAsync(ref, makeBatch(t, 7, 0, 0, 1000, "a"), both)
	next := f.appendAsync(ref, makeBatch(t, 7, 0, 1, 1000, "b"), one)
	if o := <-next; o.err != nil { // it came after the duplicate
		t.Fatal(o.err)
	}
	select {
	case o := <-again:
		t.Errorf("the duplicate was answered %+v", o)
	default:
	}
	g.open(ok)
	for _, ch := range []<-chan outcome{first, again} {
		if o := <-ch; o.err != nil || o.got.BaseOffset != 0 {
			t.Errorf("got %+v", o)
		}
	}
}

func TestTooFewConnectedReplicasRefuseBeforeTheAppend(t *testing.T) {
	s := redistest.Start(t)
	g := &gate{connected: 0, answer: ok}
	f := replicated(t, s, g, nil)
	ref := newRef("t")
	if o := f.produce(ref, makeBatch(t, -1, -1, -1, 1000, "a"), both); !errors.Is(o.err, partition.ErrNotEnoughReplicas) {
		t.Errorf("got %+v", o)
	}
	if o := f.produce(ref, makeBatch(t, -1, -1, -1, 1000, "b"), one); o.err != nil || o.got.BaseOffset != 0 {
		t.Errorf("acks=1: %+v", o)
	}
}

func TestReplicasThatAreBehindAnswerAfterTheAppendAndTheRetryIsKnown(t *testing.T) {
	s := redistest.Start(t)
	behind := errors.New("behind")
	g := &gate{connected: 1}
	f := replicated(t, s, g, nil)
	ref := newRef("t")
	acked := f.appendAsync(ref, makeBatch(t, 7, 0, 0, 1000, "a"), both)
	redistest.Eventually(t, "the replicas to be asked", func() bool { return g.waiting() == 1 })
	g.release(behind)
	if o := <-acked; !errors.Is(o.err, partition.ErrNotEnoughReplicasAfter) || !errors.Is(o.err, behind) {
		t.Errorf("got %+v", o)
	}
	g.open(ok)
	if o := f.produce(ref, makeBatch(t, 7, 0, 0, 1000, "a"), both); o.err != nil || !o.got.Duplicate {
		t.Errorf("the retry: %+v", o)
	}
	if b := f.bounds(ref); b.LogEnd != 1 || b.HighWatermark != 1 {
		t.Errorf("bounds %+v", b)
	}
}

// With acks=1 nobody waits: the broker itself has to ask again.
func TestReplicasAreAskedAgainAlthoughNobodyWaits(t *testing.T) {
	s := redistest.Start(t)
	g := &gate{connected: 1}
	f := replicated(t, s, g, nil)
	ref := newRef("t")
	if o := f.produce(ref, makeBatch(t, -1, -1, -1, 1000, "a"), one); o.err != nil {
		t.Fatal(o.err)
	}
	for range 3 {
		redistest.Eventually(t, "the replicas to be asked", func() bool { return g.waiting() == 1 })
		g.release(errors.New("behind"))
	}
	g.open(ok)
	redistest.Eventually(t, "the high watermark to move", func() bool { return f.bounds(ref).HighWatermark == 1 })
}

// A batch that waits for the replicas is lost with the Redis that had it: another one at its offsets must not acknowledge it.
func TestBatchThatWaitsForReplicasIsNotAcknowledgedByAnotherRedis(t *testing.T) {
	s := redistest.Start(t)
	g := &gate{connected: 1}
	o := &seen{}
	f := replicated(t, s, g, o)
	ref := newRef("t")
	lost := f.appendAsync(ref, makeBatch(t, -1, -1, -1, 1000, "lost", "lost"), both)
	redistest.Eventually(t, "the replicas to be asked", func() bool { return g.waiting() == 1 })
	s.Restart() // empty
	redistest.Eventually(t, "the new redis to take a batch", func() bool {
		return f.produce(ref, makeBatch(t, -1, -1, -1, 1000, "x", "y", "z"), one).err == nil
	})
	g.open(ok)
	redistest.Eventually(t, "the high watermark to pass the lost batch", func() bool { return f.bounds(ref).HighWatermark == 3 })
	if o := <-lost; o.err == nil {
		t.Errorf("the lost batch was acknowledged: %+v", o.got)
	}
	if o.truncated() == 0 {
		t.Error("nobody was told of the loss")
	}
}

func TestBatchThatWaitsForReplicasTimesOutAfterTheAppend(t *testing.T) {
	s := redistest.Start(t)
	g := &gate{connected: 1}
	f := replicated(t, s, g, nil)
	ref := newRef("t")
	short := both
	short.TimeoutMs = 50
	if o := f.produce(ref, makeBatch(t, -1, -1, -1, 1000, "a"), short); !errors.Is(o.err, partition.ErrNotEnoughReplicasAfter) {
		t.Errorf("got %+v", o)
	}
	g.open(ok)
	redistest.Eventually(t, "the high watermark to move", func() bool { return f.bounds(ref).HighWatermark == 1 })
}

func TestNewOwnerShowsNothingThatTheReplicasDoNotHave(t *testing.T) {
	s := redistest.Start(t)
	g := &gate{connected: 1, answer: ok}
	f := replicated(t, s, g, nil)
	ref := newRef("t")
	if o := f.produce(ref, makeBatch(t, -1, -1, -1, 1000, "a", "b"), both); o.err != nil {
		t.Fatal(o.err)
	}
	f.close()
	closed := &gate{connected: 1}
	f = replicated(t, s, closed, nil)
	defer f.Watch(ref, 0, func() {})()
	redistest.Eventually(t, "the replicas to be asked", func() bool { return closed.waiting() == 1 })
	if b, err := f.Bounds(t.Context(), ref); err == nil && b.HighWatermark > 0 {
		t.Errorf("bounds %+v", b)
	}
	closed.open(ok)
	redistest.Eventually(t, "the high watermark to move", func() bool { return f.bounds(ref).HighWatermark == 2 })
}
