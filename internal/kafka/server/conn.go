package server

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/netip"
	"os"
	"runtime/debug"
	"sync"
	"sync/atomic"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// readBuffer holds prefixes, headers and small frames; larger bodies are read past it.
const readBuffer = 16 << 10

// conn is one connection: one goroutine reads frames and hands them to the handler; answers are written in request
// order by the reader, or by a goroutine that lives while there are some to write (answers.go).
type conn struct {
	srv    *Server
	nc     net.Conn
	ip     netip.Addr
	info   ConnInfo
	ctx    context.Context
	cancel context.CancelFunc
	undo   context.CancelFunc // ends info.Draining
	in     *bufio.Reader
	// clientID is the last one seen: clients send the same in every request.
	clientID string

	// What the watchdog looks at, in ns since the epoch; 0: not now.
	lastActive atomic.Int64
	frameSince atomic.Int64 // a frame has begun and is not complete
	writeSince atomic.Int64 // a write has begun and makes no progress

	answers answers
	closed  sync.Once
}

func newConn(s *Server, nc net.Conn, ip netip.Addr) *conn {
	c := &conn{srv: s, nc: nc, ip: ip, in: bufio.NewReaderSize(nc, readBuffer)}
	c.ctx, c.cancel = context.WithCancel(context.Background())
	c.info = ConnInfo{ID: s.connID.Add(1), Local: nc.LocalAddr(), Remote: nc.RemoteAddr()}
	c.info.Draining, c.undo = context.WithCancel(c.ctx)
	c.answers.conn = c
	c.answers.room = make(chan struct{}, 1)
	c.lastActive.Store(s.now().UnixNano())
	if tc, ok := nc.(*net.TCPConn); ok {
		// A peer that vanished without a FIN is noticed after a minute. Neither setting can fail on a healthy socket, and
		// a broken one is noticed by the first read.
		_ = tc.SetNoDelay(true)
		_ = tc.SetKeepAliveConfig(net.KeepAliveConfig{Enable: true, Idle: 30 * time.Second, Interval: 10 * time.Second, Count: 3})
	}
	return c
}

// log returns a logger whose lines name the connection.
func (c *conn) log() *slog.Logger {
	return c.srv.log.With("connection", c.info.ID, "remote", c.info.Remote.String())
}

// serve reads requests until the connection ends.
func (c *conn) serve() {
	err := c.readRequests()
	switch {
	case errors.Is(err, errDraining):
		c.answers.closeAfterLast()
		return
	case err == nil, errors.Is(err, io.EOF), errors.Is(err, net.ErrClosed), errors.Is(err, context.Canceled):
		// The client is done, or the connection was closed here, which was logged.
	case isBadFrame(err):
		c.srv.metrics.Failure("read", "bad_frame")
		c.log().Warn("closing connection", "error", err)
		c.answers.closeAfterLast()
		return
	default:
		c.srv.metrics.Failure("read", "network")
		c.log().Debug("connection lost", "error", err)
	}
	c.close()
}

// badFrame is a frame that no answer is possible to.
type badFrame struct{ err error }

func (e *badFrame) Error() string { return e.err.Error() }
func (e *badFrame) Unwrap() error { return e.err }

func isBadFrame(err error) bool {
	var bad *badFrame
	return errors.As(err, &bad)
}

// errPanicked closes the connection of a request whose handler panicked, which was logged.
var errPanicked = errors.New("handler panicked")

// errDraining ends reading in Shutdown.
var errDraining = errors.New("connection is draining")

func (c *conn) readRequests() error {
	for {
		if err := c.answers.awaitRoom(); err != nil {
			return err
		}
		if c.info.Draining.Err() != nil {
			return errDraining
		}
		size, err := readSize(c.in, c.srv.set.MaxRequestBytes)
		if err != nil {
			var bad *sizeError
			if errors.As(err, &bad) {
				return &badFrame{err}
			}
			return c.readError(err)
		}
		frame, err := c.readFrame(size)
		if err != nil {
			return c.readError(err)
		}
		if err := c.dispatch(frame); err != nil {
			return err
		}
	}
}

// readError tells a deadline set by drain from other failures.
func (c *conn) readError(err error) error {
	if errors.Is(err, os.ErrDeadlineExceeded) && c.info.Draining.Err() != nil {
		return errDraining
	}
	return fmt.Errorf("read frame: %w", err)
}

// readFrame reads a frame's body once the broker has room for it. Its bytes are taken from the budgets until it is
// answered.
func (c *conn) readFrame(size int) ([]byte, error) {
	if err := c.awaitBudget(size); err != nil {
		return nil, err
	}
	c.frameSince.Store(c.srv.now().UnixNano())
	frame, err := readBody(c.in, size)
	c.frameSince.Store(0)
	if err != nil {
		if size >= largeFrame {
			c.srv.large.release(size)
		}
		return nil, err
	}
	c.srv.pending.add(size)
	return frame, nil
}

// awaitBudget waits while the broker has too much to do. A small frame is counted when it has arrived, so that a claim
// alone costs others nothing. A large one is reserved at once, beside the other large ones only.
func (c *conn) awaitBudget(size int) error {
	for waited := false; ; waited = true {
		wait := c.srv.pending.pausedUntil()
		if wait == nil && size >= largeFrame {
			wait = c.srv.large.tryAcquire(size)
		}
		if !waited && wait != nil {
			c.srv.metrics.BackpressureConnections(1)
			defer c.srv.metrics.BackpressureConnections(-1)
		}
		if wait == nil {
			return nil
		}
		select {
		case <-wait:
		case <-c.info.Draining.Done():
			return errDraining
		}
	}
}

// dispatch hands one frame to the handler.
func (c *conn) dispatch(frame []byte) error {
	size := len(frame)
	now := c.srv.now()
	c.lastActive.Store(now.UnixNano())
	h, body, err := parseHeader(frame, c.srv.flexible)
	if err != nil {
		c.releaseRequest(size)
		return &badFrame{fmt.Errorf("parse request header: %w", err)}
	}
	c.srv.metrics.Frame(DirectionIn, h.key, size+prefixLen)
	if string(h.clientID) != c.clientID {
		c.clientID = string(h.clientID)
	}
	req := &Request{Key: h.key, Version: h.version, CorrelationID: h.correlationID, ClientID: c.clientID, Body: body, Conn: &c.info}
	p := c.answers.push(req, size, now)
	req.free = p.free
	c.handle(req, p)
	c.answers.flush()
	return nil
}

// handle calls the handler; a panic ends the connection, never the process.
func (c *conn) handle(req *Request, p *answer) {
	defer func() {
		if r := recover(); r != nil {
			c.srv.metrics.Failure("request", "panic")
			c.log().Error("closing connection: the handler panicked",
				"api", kmsg.NameForKey(req.Key), "version", req.Version, "correlation_id", req.CorrelationID, "client_id", req.ClientID,
				"panic", fmt.Sprint(r), "stack", string(debug.Stack()))
			p.reply(nil, errPanicked)
		}
	}()
	c.srv.handler.Serve(c.ctx, req, p.reply)
}

func (c *conn) releaseRequest(size int) {
	c.srv.pending.release(size)
	if size >= largeFrame {
		c.srv.large.release(size)
	}
}

// isIdle tells that no request is in flight.
func (c *conn) isIdle() bool {
	c.answers.mu.Lock()
	defer c.answers.mu.Unlock()
	return c.answers.inFlight() == 0
}

// drain stops reading; the connection ends after the answer to the last request that was read.
func (c *conn) drain() {
	c.undo()
	_ = c.nc.SetReadDeadline(time.Unix(1, 0)) // fails only on a closed connection, which has ended reading already
}

// close ends the connection at once.
func (c *conn) close() {
	c.closed.Do(func() {
		c.cancel()
		_ = c.nc.Close() // nothing more is to be said to the client
		c.answers.abandon()
		c.srv.quota.release(c.ip)
		c.srv.removeConn(c)
	})
}
