package partition_test

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/korvet-io/korvet/internal/partition"
	"github.com/korvet-io/korvet/internal/redisstream"
	"github.com/korvet-io/korvet/internal/redistest"
)

func TestFetchBetweenHighWatermarkAndLogEndIsEmpty(t *testing.T) {
	s := redistest.Start(t)
	g := &gate{connected: 1}
	f := replicated(t, s, g, nil)
	ref := newRef("t")
	if o := f.produce(ref, makeBatch(t, -1, -1, -1, 1000, "a", "b"), one); o.err != nil {
		t.Fatal(o.err)
	}
	for offset := range int64(4) {
		res, err := f.Read(t.Context(), ref, partition.ReadRequest{Offset: offset, MaxBytes: 1000, AtLeastOne: true}, nil)
		if outside := offset > 2; errors.Is(err, partition.ErrOffsetOutOfRange) != outside || err != nil && !outside {
			t.Errorf("offset %d of a log that ends at 2: %v", offset, err)
		}
		if len(res.Batches) > 0 {
			t.Errorf("offset %d: %d bytes that the replicas do not have", offset, len(res.Batches))
		}
	}
}

// The newest append says in Redis what the high watermark was: consumers of a new owner go on although the replicas have
// not answered it yet.
func TestHighWatermarkSurvivesARestart(t *testing.T) {
	s := redistest.Start(t)
	ref := newRef("t")
	f := replicated(t, s, &gate{connected: 1, answer: ok}, nil)
	for i := range 10 {
		if o := f.produce(ref, makeBatch(t, -1, -1, -1, 1000, fmt.Sprint(i)), both); o.err != nil {
			t.Fatal(o.err)
		}
	}
	f.close()
	f = replicated(t, s, &gate{connected: 1}, nil)
	var b partition.Bounds
	redistest.Eventually(t, "the new owner to lead", func() bool {
		var err error
		b, err = f.Bounds(t.Context(), ref)
		return err == nil
	})
	if b.HighWatermark != 9 || b.LogEnd != 10 {
		t.Errorf("bounds %+v, the newest append was sent with the high watermark at 9", b)
	}
	if got := f.readAll(ref, 5, 1000); !same(got, dense(5, numbers(5, 9)...)) {
		t.Errorf("a consumer at 5 reads %v", got)
	}
}

func TestReplicasThatAreBehindOnceDoNotFailAProducerThatHasTime(t *testing.T) {
	s := redistest.Start(t)
	g := &gate{connected: 1}
	f := newBroker(t, s, "1/a", func(s *partition.Settings) {
		s.RedisReplicas, s.ProduceTimeout = 1, time.Minute
	}, partition.Dependencies{Replicas: g})
	acked := f.appendAsync(newRef("t"), makeBatch(t, -1, -1, -1, 1000, "a"), both)
	for range 2 {
		redistest.Eventually(t, "the replicas to be asked", func() bool { return g.waiting() == 1 })
		g.release(fmt.Errorf("%w: 0 of 1", redisstream.ErrReplicasBehind))
	}
	redistest.Eventually(t, "the replicas to be asked again", func() bool { return g.waiting() == 1 })
	select {
	case o := <-acked:
		t.Fatalf("answered before the replicas had it: %+v", o)
	default:
	}
	g.open(ok)
	if o := <-acked; o.err != nil {
		t.Errorf("got %+v", o)
	}
}

func TestLoweringMinInsyncReplicasAnswersThoseWhoWait(t *testing.T) {
	s := redistest.Start(t)
	g := &gate{connected: 1} // never answers
	f := replicated(t, s, g, nil)
	ref := newRef("t")
	waiting := f.appendAsync(ref, makeBatch(t, -1, -1, -1, 1000, "a"), both)
	redistest.Eventually(t, "the replicas to be asked", func() bool { return g.waiting() == 1 })
	lowered := partition.AppendOptions{AllReplicas: true, MinReplicas: 1}
	if o := f.produce(ref, makeBatch(t, -1, -1, -1, 1000, "b"), lowered); o.err != nil || o.got.BaseOffset != 1 {
		t.Errorf("with min.insync.replicas at 1: %+v", o)
	}
	if o := <-waiting; o.err != nil || o.got.BaseOffset != 0 {
		t.Errorf("the one who waited: %+v", o)
	}
	if b := f.bounds(ref); b.HighWatermark != 2 {
		t.Errorf("bounds %+v", b)
	}
}
