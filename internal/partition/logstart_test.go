package partition_test

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"io"
	"log/slog"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/korvet-io/korvet/internal/partition"
	"github.com/korvet-io/korvet/internal/redisstream"
	"github.com/korvet-io/korvet/internal/redistest"
)

// raise moves the log start as a storage worker of another process does.
func (f *fixture) raise(ref partition.Ref, start int64) {
	f.t.Helper()
	keys := redisstream.NewKeys("korvet", ref.Topic, ref.Partition)
	claim := redisstream.Claim{TopicID: ref.TopicID(), Fence: 1}
	if _, err := f.shard.RaiseStart(f.t.Context(), keys, claim, start); err != nil {
		f.t.Fatalf("raise log start: %v", err)
	}
}

func (f *fixture) readAt(ref partition.Ref, offset int64) error {
	_, err := f.Read(f.t.Context(), ref, partition.ReadRequest{Offset: offset, MaxBytes: 1000, AtLeastOne: true}, nil)
	return err
}

// byHand is a broker whose time a test lets pass.
func byHand(t *testing.T, s *redistest.Server) (f *fixture, pass func(time.Duration)) {
	clock, pass := handClock()
	return newBroker(t, s, "1/a", nil, partition.Dependencies{Clock: clock}), pass
}

// handClock is a clock that a test moves.
func handClock() (clock *partition.Clock, pass func(time.Duration)) {
	var now atomic.Int64
	now.Store(int64(time.Hour))
	clock = &partition.Clock{Now: func() time.Duration { return time.Duration(now.Load()) }, Token: rand.Text}
	return clock, func(d time.Duration) { now.Add(int64(d)) }
}

func TestOfManyReadsAfterAPauseOneAsksForTheLogStart(t *testing.T) {
	clock, pass := handClock()
	h, ref := &hookedShard{}, newRef("t")
	f := hooked(t, redistest.Start(t), h, nil, partition.Dependencies{Clock: clock})
	f.mustAppend(ref, numbers(0, 20)...)
	f.raise(ref, 5)
	pass(time.Minute)
	asked, answer := make(chan struct{}, 100), make(chan struct{})
	h.onStart = func() { asked <- struct{}{}; <-answer }
	var begun, all sync.WaitGroup
	for range 50 {
		begun.Add(1)
		all.Go(func() {
			begun.Done()
			if err := f.readAt(ref, 4); !errors.Is(err, partition.ErrOffsetOutOfRange) {
				t.Errorf("below the new start: %v", err)
			}
		})
	}
	begun.Wait()
	<-asked
	over, cancel := context.WithCancel(t.Context())
	cancel()
	begun.Add(1)
	all.Go(func() {
		begun.Done()
		if _, err := f.Read(over, ref, partition.ReadRequest{Offset: 19, MaxBytes: 1000, AtLeastOne: true}, nil); err != nil {
			t.Errorf("one that waits no longer: %v", err)
		}
	})
	begun.Wait()
	close(answer)
	all.Wait()
	if n := len(asked); n > 0 {
		t.Errorf("%d more asked", n)
	}
}

func TestReadersLearnWithinASecondOfALogStartThatRose(t *testing.T) {
	f, pass := byHand(t, redistest.Start(t))
	ref := newRef("t")
	f.mustAppend(ref, numbers(0, 20)...)
	f.raise(ref, 5)
	pass(time.Second)
	redistest.Eventually(t, "the read below the log start to be refused", func() bool { // it asks on the side
		return errors.Is(f.readAt(ref, 4), partition.ErrOffsetOutOfRange)
	})
	if got := f.readAll(ref, 5, 10_000); !same(got, dense(5, numbers(5, 20)...)) {
		t.Errorf("read %v", got)
	}
	f.raise(ref, 10)
	pass(time.Minute) // nobody reads meanwhile: the first one that does must not get what is gone
	if err := f.readAt(ref, 9); !errors.Is(err, partition.ErrOffsetOutOfRange) {
		t.Errorf("after a pause: %v", err)
	}
}

func TestOffsetsAreListedFromTheLogStartAsItIsNow(t *testing.T) {
	f, _ := byHand(t, redistest.Start(t))
	ref := newRef("t")
	f.mustAppend(ref, numbers(0, 20)...)
	f.raise(ref, 7)
	if b := f.bounds(ref); b.LogStart != 7 || b.LogEnd != 20 {
		t.Errorf("bounds %+v", b)
	}
	f.raise(ref, 9)
	if got, err := f.OffsetForTime(t.Context(), ref, 0); err != nil || got.Offset != 9 {
		t.Errorf("the first record of all is %+v, %v", got, err)
	}
}

func TestALogStartOfAnotherLifeIsNotBelieved(t *testing.T) {
	s := redistest.Start(t)
	f, _ := byHand(t, s)
	ref := newRef("t")
	f.mustAppend(ref, numbers(0, 20)...)
	s.Do("HSET", redisstream.NewKeys("korvet", "t", 0).Segments, "topic", "another", "start", "11")
	if b := f.bounds(ref); b.LogStart != 0 {
		t.Errorf("bounds %+v", b)
	}
}

func TestBoundsAreToldFromMemoryWhileRedisIsAway(t *testing.T) {
	s := redistest.Start(t)
	f, _ := byHand(t, s)
	ref := newRef("t")
	f.mustAppend(ref, numbers(0, 20)...)
	s.Kill()
	if b := f.bounds(ref); b.LogEnd != 20 {
		t.Errorf("bounds %+v", b)
	}
}

// A takeover reads the registry before other things: what rises meanwhile is asked for by the first read.
func TestALogStartThatRoseDuringATakeoverHolds(t *testing.T) {
	s := redistest.Start(t)
	before, ref := newFixture(t, s, "1/a", nil), newRef("t")
	before.mustAppend(ref, numbers(0, 20)...)
	if err := before.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	var once sync.Once
	f := hooked(t, s, &hookedShard{wrap: func(c redisstream.Conn) redisstream.Conn {
		return &tappedConn{Conn: c, reply: func(r redisstream.Reply) redisstream.Reply { return r }, write: func(w io.Writer, p []byte) (int, error) {
			if bytes.Contains(p, []byte("HSCAN")) { // the state, which is read after the registry
				once.Do(func() { before.raise(ref, 5) })
			}
			return w.Write(p)
		}}
	}}, nil, partition.Dependencies{})
	f.mustAppend(ref, "20")
	if err := f.readAt(ref, 4); !errors.Is(err, partition.ErrOffsetOutOfRange) {
		t.Errorf("below the log start: %v", err)
	}
}

// The first read after a takeover asks Redis for the log start; one that has frozen since is not waited for until the
// connection is given up.
func TestTheFirstReadOfATermIsServedFromMemoryWhileRedisIsFrozen(t *testing.T) {
	s := redistest.Start(t)
	o, ref := options(t, s), newRef("t")
	o.DialTimeout = time.Hour // a read waits for as long
	f := newBrokerOn(t, redisstream.Open(o, slog.New(slog.DiscardHandler)), "1/a", nil, partition.Dependencies{})
	f.mustAppend(ref, numbers(0, 20)...)
	s.Pause()
	defer s.Resume()
	read := make(chan [][]byte, 1)
	go func() { read <- f.read(ref, partition.ReadRequest{MaxBytes: 1 << 20}) }()
	select {
	case got := <-read:
		if len(got) != 1 {
			t.Errorf("%d batches, want the one that was appended", len(got))
		}
	case <-time.After(time.Minute):
		t.Fatal("no answer from memory")
	}
}
