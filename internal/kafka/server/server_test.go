package server

import (
	"context"
	"errors"
	"net"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

func TestAnswersComeInRequestOrder(t *testing.T) {
	var mu sync.Mutex
	replies := map[int32]func(Response, error){}
	f := start(t, handlerFunc(func(_ context.Context, req *Request, reply func(Response, error)) {
		mu.Lock()
		defer mu.Unlock()
		replies[req.CorrelationID] = reply
	}), nil)
	c := f.dial()
	c.write(append(append(frame(1, "a"), frame(2, "b")...), frame(3, "c")...))
	f.await("three requests", func() bool { mu.Lock(); defer mu.Unlock(); return len(replies) == 3 })
	for _, id := range []int32{3, 1, 2} {
		replies[id](text(strings.Repeat("x", int(id))), nil)
	}
	c.expect(1, "x")
	c.expect(2, "xx")
	c.expect(3, "xxx")
}

func TestPipelinedRequestsAreAllAnswered(t *testing.T) {
	f := start(t, handlerFunc(func(_ context.Context, req *Request, reply func(Response, error)) {
		if req.CorrelationID%2 == 0 {
			reply(text(req.Body), nil)
			return
		}
		go reply(text(req.Body), nil)
	}), func(s *Settings) { s.MaxInFlight = 7 })
	c := f.dial()
	const n = 2000
	go func() {
		var all []byte
		for i := range int32(n) {
			all = append(all, frame(i, "body")...)
		}
		_, _ = c.nc.Write(all) // the reader notices what is missing
	}()
	for i := range int32(n) {
		c.expect(i, "body")
	}
}

func TestNilReplySendsNothing(t *testing.T) {
	f := start(t, handlerFunc(func(_ context.Context, req *Request, reply func(Response, error)) {
		if string(req.Body) == "silent" {
			reply(nil, nil)
			return
		}
		reply(text(req.Body), nil)
	}), nil)
	c := f.dial()
	c.send(1, "silent")
	c.send(2, "silent")
	c.send(3, "loud")
	c.expect(3, "loud")
}

func TestErrorReplyClosesAfterTheAnswersBefore(t *testing.T) {
	release := make(chan struct{})
	f := start(t, handlerFunc(func(_ context.Context, req *Request, reply func(Response, error)) {
		switch string(req.Body) {
		case "slow":
			go func() { <-release; reply(text("late"), nil) }()
		case "bad":
			reply(nil, errors.New("cannot be answered"))
			close(release)
		default:
			reply(text("never sent"), nil)
		}
	}), nil)
	c := f.dial()
	c.send(1, "slow")
	c.send(2, "bad")
	c.expect(1, "late")
	c.expectClosed()
	f.await("a log line", func() bool { return strings.Contains(f.logs.String(), "cannot be answered") })
	for _, want := range []string{"api=Metadata", "version=0", "correlation_id=2", "client_id=c"} {
		if !strings.Contains(f.logs.String(), want) {
			t.Errorf("log has no %s: %s", want, f.logs)
		}
	}
}

func TestRepeatedReplyIsIgnored(t *testing.T) {
	f := start(t, handlerFunc(func(_ context.Context, req *Request, reply func(Response, error)) {
		reply(text("once"), nil)
		reply(text("twice"), nil)
	}), nil)
	c := f.dial()
	c.send(1, "")
	c.expect(1, "once")
	c.send(2, "")
	c.expect(2, "once")
}

func TestBadFramesCloseOnlyTheirConnection(t *testing.T) {
	f := start(t, echo, nil)
	good := f.dial()
	good.send(1, "a")
	good.expect(1, "a")
	for name, bad := range map[string]string{
		"above the limit":      "\x06\x40\x00\x01",
		"largest":              "\x7f\xff\xff\xff",
		"negative":             "\xff\xff\xff\xff",
		"zero":                 "\x00\x00\x00\x00",
		"shorter than headers": "\x00\x00\x00\x04\x00\x12\x00\x00",
		"http":                 "GET / HTTP/1.1\r\n\r\n",
		"client id cut short":  "\x00\x00\x00\x0a\x00\x03\x00\x00\x00\x00\x00\x01\x00\x05",
		"client id negative":   "\x00\x00\x00\x0a\x00\x03\x00\x00\x00\x00\x00\x01\xff\xfe",
		"header tags missing":  "\x00\x00\x00\x0a\x00\x03\x00\x09\x00\x00\x00\x01\xff\xff",
	} {
		c := f.dial()
		c.write([]byte(bad))
		c.expectClosed()
		if n := f.pendingBytes(); n != 0 {
			t.Errorf("%s: %d bytes stay pending", name, n)
		}
	}
	if !strings.Contains(f.logs.String(), "speak HTTP") {
		t.Errorf("no hint at HTTP: %s", f.logs)
	}
	good.send(2, "b")
	good.expect(2, "b")
}

func TestBadFrameIsClosedAfterEarlierAnswers(t *testing.T) {
	f := start(t, handlerFunc(func(_ context.Context, req *Request, reply func(Response, error)) {
		go reply(text(req.Body), nil)
	}), nil)
	c := f.dial()
	c.write(append(frame(1, "a"), "\x00\x00\x00\x00"...))
	c.expect(1, "a")
	c.expectClosed()
}

func TestHandlerPanicClosesOnlyItsConnection(t *testing.T) {
	f := start(t, handlerFunc(func(_ context.Context, req *Request, reply func(Response, error)) {
		if string(req.Body) == "panic" {
			panic("at the disco")
		}
		reply(text(req.Body), nil)
	}), nil)
	good, bad := f.dial(), f.dial()
	bad.send(1, "panic")
	bad.expectClosed()
	f.await("a stack in the log", func() bool {
		return strings.Contains(f.logs.String(), "at the disco") && strings.Contains(f.logs.String(), "server_test.go")
	})
	good.send(2, "a")
	good.expect(2, "a")
}

// explosive panics when it is encoded.
type explosive struct{}

func (explosive) AppendTo([]byte) []byte { panic("boom") }

func TestEncodingPanicClosesTheConnection(t *testing.T) {
	f := start(t, handlerFunc(func(_ context.Context, _ *Request, reply func(Response, error)) {
		go reply(explosive{}, nil)
	}), nil)
	c := f.dial()
	c.send(1, "a")
	c.expectClosed()
	f.await("a log line", func() bool { return strings.Contains(f.logs.String(), "boom") })
}

func TestRequestsInFlightOfOneConnectionAreBounded(t *testing.T) {
	var served atomic.Int32
	replies := make(chan func(Response, error), 100)
	f := start(t, handlerFunc(func(_ context.Context, _ *Request, reply func(Response, error)) {
		served.Add(1)
		replies <- reply
	}), func(s *Settings) { s.MaxInFlight = 3 })
	c := f.dial()
	for i := range int32(10) {
		c.send(i, "")
	}
	for i := range int32(10) {
		reply := <-replies
		if n := served.Load(); n > i+3 {
			t.Fatalf("%d requests were served while %d were answered", n, i)
		}
		reply(text("x"), nil)
		c.expect(i, "x")
	}
}

func TestContextEndsWithTheConnection(t *testing.T) {
	ended := make(chan struct{})
	f := start(t, handlerFunc(func(ctx context.Context, req *Request, _ func(Response, error)) {
		context.AfterFunc(ctx, func() { close(ended) })
	}), nil)
	c := f.dial()
	c.send(1, "")
	f.await("the connection", func() bool { f.srv.mu.Lock(); defer f.srv.mu.Unlock(); return len(f.srv.conns) == 1 })
	c.nc.Close()
	<-ended
}

func TestShutdownAnswersWhatIsInFlight(t *testing.T) {
	began := make(chan struct{})
	f := start(t, handlerFunc(func(_ context.Context, req *Request, reply func(Response, error)) {
		context.AfterFunc(req.Conn.Draining, func() { reply(text("drained"), nil) })
		close(began)
	}), nil)
	waiting, idle := f.dial(), f.dial()
	waiting.send(1, "")
	<-began
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	if err := f.srv.Shutdown(ctx); err != nil {
		t.Fatal(err)
	}
	waiting.expect(1, "drained")
	waiting.expectClosed()
	idle.expectClosed()
	if nc, err := net.Dial("tcp", f.addr); err == nil {
		nc.Close()
		t.Error("the listener still accepts")
	}
}

func TestShutdownGivesUpWithItsContext(t *testing.T) {
	began := make(chan struct{})
	f := start(t, handlerFunc(func(context.Context, *Request, func(Response, error)) { close(began) }), nil)
	c := f.dial()
	c.send(1, "")
	<-began
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if err := f.srv.Shutdown(ctx); !errors.Is(err, context.Canceled) {
		t.Fatalf("Shutdown returned %v", err)
	}
	c.expectClosed()
}

func TestServeAfterShutdownRefuses(t *testing.T) {
	s := New(Options{Handler: echo, Settings: DefaultSettings(), Now: time.Now})
	if err := s.Shutdown(context.Background()); err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Serve(l); !errors.Is(err, ErrServerClosed) {
		t.Fatalf("Serve returned %v", err)
	}
}
