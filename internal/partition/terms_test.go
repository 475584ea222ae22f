package partition_test

import (
	"errors"
	"fmt"
	"io"
	"sync/atomic"
	"testing"
	"time"

	"github.com/korvet-io/korvet/internal/partition"
	"github.com/korvet-io/korvet/internal/redisstream"
	"github.com/korvet-io/korvet/internal/redistest"
)

// Only the broker that answered a batch with an error knows of it: were that forgotten, what the producer sent behind it
// would be taken as its first.
func TestSequencesThatFailedStayRefusedAfterATakeover(t *testing.T) {
	s := redistest.Start(t)
	f := newFixture(t, s, "1/a", func(s *partition.Settings) { s.ProduceTimeout = 500 * time.Millisecond })
	ref := newRef("t")
	f.mustAppend(ref, "warm")
	s.Kill()
	if o := f.produce(ref, makeBatch(t, 7, 0, 0, 1000, "first"), all); o.err == nil {
		t.Fatalf("acknowledged by a redis that is away: %+v", o)
	}
	s.Restart()
	var o outcome
	redistest.Eventually(t, "the batch behind it to be decided", func() bool {
		o = f.produce(ref, makeBatch(t, 7, 0, 1, 1000, "second"), all)
		return !errors.Is(o.err, partition.ErrNotLeader) && !errors.Is(o.err, partition.ErrTimeout)
	})
	if !errors.Is(o.err, partition.ErrOutOfOrderSequence) {
		t.Fatalf("sequence 1 before 0: %+v", o)
	}
	var base int64
	for i, value := range []string{"first", "second"} {
		o := f.produce(ref, makeBatch(t, 7, 0, int32(i), 1000, value), all)
		if o.err != nil {
			t.Fatalf("sequence %d: %v", i, o.err)
		}
		base = o.got.BaseOffset - int64(i)
	}
	if got := f.readAll(ref, base, 1000); !same(got, dense(int(base), "first", "second")) {
		t.Errorf("the log is %v", got)
	}
}

// A connection may end for any reason, also because another partition's append was refused on it: what was sent there may
// be in the log nevertheless.
func TestLostConnectionsCauseIsNoRefusal(t *testing.T) {
	s := redistest.Start(t)
	var conn newest
	f := hooked(t, s, &hookedShard{wrap: conn.wrap}, nil, partition.Dependencies{})
	ref := newRef("t")
	f.mustAppend(ref, "a")
	s.Pause()
	acked := f.appendAsync(ref, makeBatch(t, -1, -1, -1, 1000, "b"), all)
	conn.get().Close(&redisstream.RefusedError{Code: "READONLY", Message: "READONLY of something else"})
	s.Resume()
	if o := <-acked; o.err != nil || o.got.BaseOffset != 1 {
		t.Errorf("got %+v", o)
	}
	if got := f.readAll(ref, 0, 1000); !same(got, dense(0, "a", "b")) {
		t.Errorf("the log is %v", got)
	}
}

// endedConn ends, once, between the look whether it is alive and the append that is sent on it.
type endedConn struct {
	redisstream.Conn
	end *atomic.Pointer[func(redisstream.Conn)]
}

func (c endedConn) Send(write func(io.Writer) error, reply redisstream.Reply) {
	if end := c.end.Swap(nil); end != nil {
		(*end)(c.Conn)
	}
	c.Conn.Send(write, reply)
}

// Nothing of an append is in the log for which there was no connection any more: its producers need not wait for a fence.
func TestAppendOnAConnectionThatHasJustEndedIsKnownNotToBeThere(t *testing.T) {
	s := redistest.Start(t)
	var end atomic.Pointer[func(redisstream.Conn)]
	h := &hookedShard{wrap: func(c redisstream.Conn) redisstream.Conn { return endedConn{c, &end} }}
	f := hooked(t, s, h, func(s *partition.Settings) { s.ProduceTimeout = time.Minute }, partition.Dependencies{})
	ref := newRef("t")
	f.mustAppend(ref, "a")
	closed := func(c redisstream.Conn) { c.Close(redisstream.ErrConnClosed) }
	end.Store(&closed)
	if o := f.produce(ref, makeBatch(t, -1, -1, -1, 1000, "b"), all); o.err != nil || o.got.BaseOffset != 1 {
		t.Errorf("with another connection at hand: %+v", o)
	}
	killed := func(c redisstream.Conn) {
		s.Kill()
		redistest.Eventually(t, "the connection's end to be noticed", func() bool { return !c.Alive() })
	}
	end.Store(&killed)
	if o := f.produce(ref, makeBatch(t, -1, -1, -1, 1000, "c"), all); !errors.Is(o.err, partition.ErrNotLeader) {
		t.Errorf("with Redis away: %+v, want not the leader", o)
	}
	if end.Load() != nil {
		t.Error("nothing was sent")
	}
}

// clock is time as a test lets it pass, with tokens that it can tell apart.
type clock struct {
	now    atomic.Int64
	tokens atomic.Int64
}

func (c *clock) dependency() *partition.Clock {
	return &partition.Clock{
		Now:   func() time.Duration { return time.Duration(c.now.Load()) },
		Token: func() string { return fmt.Sprint("token", c.tokens.Add(1)) },
	}
}

func (c *clock) pass(d time.Duration) { c.now.Add(int64(d)) }

// clocked is a broker whose time is the test's. Its leases outlast what the tests let pass.
func clocked(t *testing.T, s *redistest.Server) (*fixture, *clock, *seen) {
	c, o := &clock{}, &seen{}
	f := newBroker(t, s, "1/a", func(s *partition.Settings) { s.Lease = time.Hour }, partition.Dependencies{Observer: o, Clock: c.dependency()})
	return f, c, o
}

// Clocks drift apart: what a fence told of Redis's time is not relied on for long.
func TestTermOlderThanAMinuteIsFencedAnew(t *testing.T) {
	s := redistest.Start(t)
	f, c, o := clocked(t, s)
	ref := newRef("t")
	for i, step := range []struct {
		pass   time.Duration
		fences int
	}{{0, 1}, {59 * time.Second, 1}, {time.Second, 2}, {59 * time.Second, 2}, {time.Minute, 3}} {
		c.pass(step.pass)
		if got := f.mustAppend(ref, "a"); got != int64(i) {
			t.Errorf("batch %d is at %d", i, got)
		}
		if n := o.fencesOf("ok"); n != step.fences {
			t.Errorf("batch %d: %d fences, want %d", i, n, step.fences)
		}
	}
}

func TestStateThatALateAppendBringsBackIsSwept(t *testing.T) {
	s := redistest.Start(t)
	f, c, _ := clocked(t, s)
	ref := newRef("t")
	keys := redisstream.NewKeys("korvet", "t", 0)
	exists := func(token string) bool {
		m := s.Do("EXISTS", keys.State(token))
		n, err := m.AsInt64()
		if err != nil {
			t.Fatal(err)
		}
		return n == 1
	}
	f.mustAppend(ref, "a")
	c.pass(2 * time.Minute)
	f.mustAppend(ref, "a")
	s.Do("HSET", keys.State("token1"), "exp", "1") // as an append of the first term does that arrives now
	c.pass(2 * time.Minute)
	f.mustAppend(ref, "a")
	redistest.Eventually(t, "the dead state to go", func() bool { return !exists("token1") })
	if !exists("token3") {
		t.Error("the state of the term that runs is gone")
	}
}
