package partition_test

import (
	"crypto/rand"
	"errors"
	"log/slog"
	"testing"
	"time"

	"github.com/korvet-io/korvet/internal/partition"
	"github.com/korvet-io/korvet/internal/redisstream"
	"github.com/korvet-io/korvet/internal/redistest"
)

func TestAReadOfAFrozenRedisEnds(t *testing.T) {
	s := redistest.Start(t)
	o := options(t, s)
	o.DialTimeout = 500 * time.Millisecond
	f := newBrokerOn(t, redisstream.Open(o, slog.New(slog.DiscardHandler)), "1/a", func(s *partition.Settings) {
		s.TailCacheBytes = 1
	}, partition.Dependencies{})
	ref := newRef("t")
	f.mustAppend(ref, "a")
	f.readAll(ref, 0, 1000) // connects
	s.Pause()
	ended := make(chan error, 1)
	go func() {
		_, err := f.Read(t.Context(), ref, partition.ReadRequest{MaxBytes: 1000, AtLeastOne: true}, nil)
		ended <- err
	}()
	select {
	case err := <-ended:
		if !errors.Is(err, partition.ErrNotLeader) {
			t.Errorf("got %v", err)
		}
	case <-time.After(time.Minute):
		t.Error("a read without a limit of its own never ended")
	}
	s.Resume()
	redistest.Eventually(t, "reads to work again", func() bool {
		res, err := f.Read(t.Context(), ref, partition.ReadRequest{MaxBytes: 1000, AtLeastOne: true}, nil)
		return err == nil && len(res.Batches) > 0
	})
}

// Where a provider hides Redis's identity, each connection has one of its own: that a read connection's is another than
// the write connection's says nothing.
func TestHiddenIdentityDoesNotFenceReads(t *testing.T) {
	s := redistest.Start(t)
	o := &seen{}
	hidden := func() redisstream.Identity { return redisstream.Identity{RunID: rand.Text()} }
	h := &hookedShard{
		wrap:     func(c redisstream.Conn) redisstream.Conn { return hiddenConn{c, hidden()} },
		identity: hidden,
	}
	f := hooked(t, s, h, nil, partition.Dependencies{Observer: o})
	ref := newRef("t")
	f.mustAppend(ref, "a")
	for range 100 {
		res, err := f.Read(t.Context(), ref, partition.ReadRequest{Offset: 1, MaxBytes: 1000, AtLeastOne: true}, nil)
		if err != nil || res.HighWatermark != 1 {
			t.Fatalf("%+v, %v", res, err)
		}
	}
	f.mustAppend(ref, "b") // waits for a fence that is under way
	if n := o.fencesOf("ok"); n != 1 {
		t.Errorf("%d fences, want the first only", n)
	}
}
