package server

import (
	"bufio"
	"bytes"
	"context"
	"io"
	"net"
	"net/netip"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

func TestIdleConnectionIsClosed(t *testing.T) {
	f := start(t, echo, nil)
	c := f.dial()
	c.send(1, "a")
	c.expect(1, "a")
	f.await("an idle connection", func() bool { return f.oneConn().isIdle() })
	f.clock.advance(f.srv.set.IdleTimeout)
	f.srv.sweep(f.clock.now())
	if f.oneConn() == nil {
		t.Fatal("closed too early")
	}
	f.clock.advance(time.Millisecond)
	f.srv.sweep(f.clock.now())
	c.expectClosed()
}

func TestConnectionWithARequestInFlightIsNotIdle(t *testing.T) {
	replies := make(chan func(Response, error), 1)
	f := start(t, handlerFunc(func(_ context.Context, _ *Request, reply func(Response, error)) { replies <- reply }), nil)
	c := f.dial()
	c.send(1, "a")
	reply := <-replies
	f.clock.advance(2 * f.srv.set.IdleTimeout)
	f.srv.sweep(f.clock.now())
	reply(text("late"), nil)
	c.expect(1, "late")
}

func TestFrameThatDoesNotCompleteIsClosed(t *testing.T) {
	f := start(t, echo, nil)
	c := f.dial()
	c.write(frame(1, "a whole body")[:15])
	f.await("a frame that began", func() bool { k := f.oneConn(); return k != nil && k.frameSince.Load() != 0 })
	f.clock.advance(f.srv.set.FrameTimeout + 1)
	f.srv.sweep(f.clock.now())
	c.expectClosed()
}

func TestClientThatDoesNotReadIsClosed(t *testing.T) {
	big := text(strings.Repeat("x", 64<<20))
	f := start(t, handlerFunc(func(_ context.Context, _ *Request, reply func(Response, error)) { reply(big, nil) }), nil)
	c := f.dial()
	c.send(1, "a")
	var before int64
	f.await("a write that is stuck", func() bool {
		f.clock.advance(time.Millisecond)
		k := f.oneConn()
		if k == nil {
			return false
		}
		now := k.writeSince.Load()
		stuck := now != 0 && now == before && f.clock.ns.Load()-now > int64(100*time.Millisecond)
		before = now
		return stuck
	})
	f.clock.advance(f.srv.set.WriteTimeout)
	f.srv.sweep(f.clock.now())
	if n, err := io.Copy(io.Discard, c.nc); n > 64<<20 {
		t.Fatalf("read %d bytes, %v", n, err)
	}
	f.await("the connection's end", func() bool { return f.oneConn() == nil })
}

// oneConn returns the only connection, nil if there is none.
func (f *fixture) oneConn() *conn {
	f.srv.mu.Lock()
	defer f.srv.mu.Unlock()
	for c := range f.srv.conns {
		return c
	}
	return nil
}

func TestReadingPausesWhileTooMuchIsPending(t *testing.T) {
	replies := make(chan func(Response, error), 10)
	var served atomic.Int32
	f := start(t, handlerFunc(func(_ context.Context, _ *Request, reply func(Response, error)) {
		served.Add(1)
		replies <- reply
	}), func(s *Settings) { s.MaxPendingBytes, s.ResumePendingBytes = 3000, 1500 })
	body := strings.Repeat("x", 1000)
	busy, other := f.dial(), f.dial()
	for i := range int32(3) {
		busy.send(i, body)
	}
	f.await("three requests", func() bool { return served.Load() == 3 })
	other.send(9, "a")
	held := []func(Response, error){<-replies, <-replies, <-replies}
	held[0](text("a"), nil) // 2000 bytes stay
	busy.expect(0, "a")
	if n := served.Load(); n != 3 {
		t.Fatalf("%d requests were read, reading should pause", n)
	}
	held[1](text("b"), nil) // 1000 bytes stay: below the lower mark
	busy.expect(1, "b")
	(<-replies)(text("c"), nil)
	other.expect(9, "c")
	held[2](text("d"), nil)
	busy.expect(2, "d")
	f.await("nothing pending", func() bool { return f.pendingBytes() == 0 })
}

func TestLargeFramesWaitForEachOtherOnly(t *testing.T) {
	b := newBudget(100, 99)
	if b.tryAcquire(150) != nil {
		t.Fatal("an empty budget refused")
	}
	wait := b.tryAcquire(10)
	if wait == nil {
		t.Fatal("a budget that is used up gave more")
	}
	b.release(150)
	<-wait
	if b.tryAcquire(10) != nil {
		t.Fatal("a free budget refused")
	}
}

func TestBudgetResumesOnlyAtTheLowerMark(t *testing.T) {
	b := newBudget(100, 50)
	var actions []string
	b.onPause = func(a string) { actions = append(actions, a) }
	b.add(60)
	b.add(60)
	wait := b.pausedUntil()
	b.release(60)
	if wait == nil || b.pausedUntil() == nil {
		t.Fatal("not paused between the marks")
	}
	b.release(10)
	<-wait
	if b.pausedUntil() != nil {
		t.Fatal("paused at the lower mark")
	}
	if got := strings.Join(actions, " "); got != "pause resume" {
		t.Fatalf("transitions: %s", got)
	}
}

func TestNewConnectionsWaitAtTheLimit(t *testing.T) {
	f := start(t, echo, func(s *Settings) { s.MaxConnections = 1 })
	first, second := f.dial(), f.dial()
	first.send(1, "a")
	first.expect(1, "a")
	second.send(2, "b")
	f.await("a log line", func() bool { return strings.Contains(f.logs.String(), "limit of connections") })
	first.nc.Close()
	second.expect(2, "b")
}

func TestConnectionsAboveTheLimitOfAnAddressAreClosed(t *testing.T) {
	f := start(t, echo, func(s *Settings) { s.MaxConnectionsPerIP = 1 })
	first := f.dial()
	first.send(1, "a")
	first.expect(1, "a")
	for range 3 {
		f.dial().expectClosed()
	}
	if n := strings.Count(f.logs.String(), "refusing a connection"); n != 1 {
		t.Errorf("%d log lines within a second, want 1", n)
	}
	first.nc.Close()
	f.await("the connection's end", func() bool { return f.oneConn() == nil })
	again := f.dial()
	again.send(2, "b")
	again.expect(2, "b")
}

func TestQuotaForgetsAddresses(t *testing.T) {
	q := newQuota(0, 1)
	ip := netip.MustParseAddr("10.0.0.1")
	if _, err := q.acquire(ip); err != nil {
		t.Fatal(err)
	}
	q.release(ip)
	if len(q.byIP) != 0 || q.total != 0 {
		t.Fatalf("left over: %v, %d", q.byIP, q.total)
	}
}

// trickle gives one byte a read and remembers the most it was asked for.
type trickle struct {
	left, asked int
}

func (r *trickle) Read(p []byte) (int, error) {
	r.asked = max(r.asked, len(p))
	if r.left == 0 {
		return 0, io.EOF
	}
	n := min(len(p), r.left, 1<<16)
	r.left -= n
	return n, nil
}

func TestMemoryGrowsAsBytesArrive(t *testing.T) {
	r := &trickle{left: 100}
	if _, err := readBody(r, 100<<20); err != io.ErrUnexpectedEOF {
		t.Fatalf("got %v", err)
	}
	if r.asked > largeFrame {
		t.Fatalf("%d bytes were allocated for a claim", r.asked)
	}
	r = &trickle{left: 5<<20 + 3}
	body, err := readBody(r, 5<<20+3)
	if err != nil || len(body) != 5<<20+3 || cap(body) > 5<<20+8192 {
		t.Fatalf("%d bytes of %d, %v", len(body), cap(body), err)
	}
}

func TestReadSizeTellsACutPrefix(t *testing.T) {
	_, err := readSize(bufio.NewReader(bytes.NewReader([]byte{0, 0})), 100)
	if err != io.ErrUnexpectedEOF {
		t.Fatalf("got %v", err)
	}
}

// parcel is an Encoded answer that counts its releases.
type parcel struct {
	text
	parts    net.Buffers
	released *atomic.Int32
}

func (p parcel) Buffers() net.Buffers { return p.parts }
func (p parcel) Release()             { p.released.Add(1) }

func TestEncodedAnswersAreWrittenAsTheyAre(t *testing.T) {
	var released atomic.Int32
	big := bytes.Repeat([]byte("0123456789abcdef"), 64<<10) // four chunks
	f := start(t, handlerFunc(func(_ context.Context, req *Request, reply func(Response, error)) {
		if string(req.Body) == "plain" {
			go reply(text("plain"), nil)
			return
		}
		go reply(parcel{parts: net.Buffers{[]byte("head "), big, []byte(" tail")}, released: &released}, nil)
	}), nil)
	c := f.dial()
	for i := int32(0); i < 30; i += 3 {
		c.send(i, "plain")
		c.send(i+1, "parcel")
		c.send(i+2, "plain")
	}
	for i := int32(0); i < 30; i += 3 {
		c.expect(i, "plain")
		c.expect(i+1, "head "+string(big)+" tail")
		c.expect(i+2, "plain")
	}
	f.await("all released", func() bool { return released.Load() == 10 })
}

func TestAbandonedAnswersAreReleased(t *testing.T) {
	var released atomic.Int32
	replies := make(chan func(Response, error), 3)
	f := start(t, handlerFunc(func(_ context.Context, _ *Request, reply func(Response, error)) { replies <- reply }), nil)
	c := f.dial()
	for i := range int32(3) {
		c.send(i, "")
	}
	first, second, third := <-replies, <-replies, <-replies
	p := parcel{parts: net.Buffers{[]byte("x")}, released: &released}
	second(p, nil) // ready, but not the next in order
	c.nc.Close()
	f.await("the connection's end", func() bool { return f.oneConn() == nil })
	first(p, nil)
	third(p, nil)
	if n := released.Load(); n != 3 {
		t.Fatalf("%d of 3 answers were released", n)
	}
}

func TestUnsentAnswersStopReadingFromTheirConnection(t *testing.T) {
	var served, released atomic.Int32
	big := make([]byte, 8<<20)
	f := start(t, handlerFunc(func(_ context.Context, _ *Request, reply func(Response, error)) {
		served.Add(1)
		reply(parcel{parts: net.Buffers{big}, released: &released}, nil)
	}), nil)
	c := f.dial()
	for i := range int32(8) {
		c.send(i, "")
	}
	for i := range int32(8) {
		if id, _ := c.receive(); id != i {
			t.Fatalf("got answer %d, want %d", id, i)
		}
		if n := served.Load(); n > i+3 {
			t.Fatalf("%d requests were served while %d were answered", n, i)
		}
	}
}

func (f *fixture) pendingBytes() int64 {
	f.srv.pending.mu.Lock()
	defer f.srv.pending.mu.Unlock()
	return f.srv.pending.used
}

func TestRequestThatIsFreedHoldsNoPendingBytes(t *testing.T) {
	replies := make(chan func(Response, error), 3)
	f := start(t, handlerFunc(func(_ context.Context, req *Request, reply func(Response, error)) {
		req.Free()
		if req.Body != nil {
			t.Error("the body is still there")
		}
		replies <- reply
	}), func(s *Settings) { s.MaxPendingBytes, s.ResumePendingBytes = 64, 32 })
	one, two := f.dial(), f.dial()
	one.send(1, strings.Repeat("a", 100))
	first := <-replies
	two.send(2, strings.Repeat("b", 100)) // is read although the first waits
	(<-replies)(text("two"), nil)
	two.expect(2, "two")
	first(text("one"), nil)
	one.expect(1, "one")
	f.await("all bytes given back", func() bool {
		f.srv.pending.mu.Lock()
		defer f.srv.pending.mu.Unlock()
		return f.srv.pending.used == 0
	})
}
