package server

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"io"
	"log/slog"
	"net"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// patience bounds what must happen; no test asserts how long it took.
const patience = 20 * time.Second

// handlerFunc is a Handler.
type handlerFunc func(ctx context.Context, req *Request, reply func(Response, error))

func (f handlerFunc) Serve(ctx context.Context, req *Request, reply func(Response, error)) {
	f(ctx, req, reply)
}

// text is an answer of plain bytes.
type text string

func (t text) AppendTo(dst []byte) []byte { return append(dst, t...) }

// echo answers every request with its body.
var echo = handlerFunc(func(_ context.Context, req *Request, reply func(Response, error)) {
	reply(text(req.Body), nil)
})

// clock is a time that tests move.
type clock struct{ ns atomic.Int64 }

func newClock() *clock {
	c := &clock{}
	c.ns.Store(time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC).UnixNano())
	return c
}

func (c *clock) now() time.Time           { return time.Unix(0, c.ns.Load()) }
func (c *clock) advance(by time.Duration) { c.ns.Add(int64(by)) }

// logBuffer collects log lines.
type logBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *logBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *logBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

// fixture is a running server.
type fixture struct {
	t     *testing.T
	srv   *Server
	addr  string
	clock *clock
	logs  *logBuffer
}

func start(t *testing.T, h Handler, change func(*Settings)) *fixture {
	t.Helper()
	set := DefaultSettings()
	if change != nil {
		change(&set)
	}
	f := &fixture{t: t, clock: newClock(), logs: &logBuffer{}}
	f.srv = New(Options{Handler: h, Settings: set, Log: slog.New(slog.NewTextHandler(f.logs, nil)), Now: f.clock.now})
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	f.addr = l.Addr().String()
	done := make(chan error, 1)
	go func() { done <- f.srv.Serve(l) }()
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 0)
		defer cancel()
		_ = f.srv.Shutdown(ctx) // whatever a test left open is closed
		if err := <-done; !errors.Is(err, ErrServerClosed) {
			t.Errorf("Serve returned %v", err)
		}
	})
	return f
}

func (f *fixture) dial() *client {
	f.t.Helper()
	nc, err := net.Dial("tcp", f.addr)
	if err != nil {
		f.t.Fatal(err)
	}
	f.t.Cleanup(func() { nc.Close() })
	_ = nc.SetDeadline(time.Now().Add(patience))
	return &client{t: f.t, nc: nc}
}

// await waits for a condition.
func (f *fixture) await(what string, condition func() bool) {
	f.t.Helper()
	for end := time.Now().Add(patience); !condition(); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			f.t.Fatalf("waited in vain for: %s\n%s", what, f.logs)
		}
	}
}

// client is a raw connection.
type client struct {
	t  *testing.T
	nc net.Conn
}

// frame makes a request frame of Metadata v0, whose header has no tags.
func frame(correlationID int32, body string) []byte {
	b := []byte{0, 0, 0, 0, 0, 3, 0, 0}
	b = binary.BigEndian.AppendUint32(b, uint32(correlationID))
	b = append(b, 0, 1, 'c')
	b = append(b, body...)
	binary.BigEndian.PutUint32(b, uint32(len(b)-4))
	return b
}

func (c *client) write(b []byte) {
	c.t.Helper()
	if _, err := c.nc.Write(b); err != nil {
		c.t.Fatal(err)
	}
}

func (c *client) send(correlationID int32, body string) {
	c.t.Helper()
	c.write(frame(correlationID, body))
}

// receive reads one answer.
func (c *client) receive() (correlationID int32, body string) {
	c.t.Helper()
	var head [8]byte
	if _, err := io.ReadFull(c.nc, head[:]); err != nil {
		c.t.Fatalf("read answer: %v", err)
	}
	b := make([]byte, binary.BigEndian.Uint32(head[:])-4)
	if _, err := io.ReadFull(c.nc, b); err != nil {
		c.t.Fatalf("read answer: %v", err)
	}
	return int32(binary.BigEndian.Uint32(head[4:])), string(b)
}

func (c *client) expect(correlationID int32, body string) {
	c.t.Helper()
	if id, got := c.receive(); id != correlationID || got != body {
		c.t.Fatalf("got answer %d %.40q, want %d %.40q", id, got, correlationID, body)
	}
}

// expectClosed waits for the end of the connection and fails on any byte before it.
func (c *client) expectClosed() {
	c.t.Helper()
	var b [1]byte
	n, err := c.nc.Read(b[:])
	var timeout net.Error
	if n > 0 || err == nil || errors.As(err, &timeout) && timeout.Timeout() {
		c.t.Fatalf("connection is not closed: %d bytes, %v", n, err)
	}
}
