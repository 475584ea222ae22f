package server

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"sync"
	"sync/atomic"
	"time"
)

// Options are what a Server needs. Handler, Log and Now are required.
type Options struct {
	Handler  Handler
	Settings Settings
	Log      *slog.Logger
	Metrics  Metrics // nil: none
	Now      func() time.Time
}

// Server serves Kafka connections of one or more listeners.
type Server struct {
	handler  Handler
	set      Settings
	log      *slog.Logger
	metrics  Metrics
	now      func() time.Time
	flexible flexibleFrom
	pending  *budget // bytes of requests that are not answered yet
	large    *budget // bytes of frames of largeFrame and more, from their size prefix on
	quota    *quota
	limitLog throttle
	connID   atomic.Uint64

	mu        sync.Mutex
	closing   chan struct{} // closed by Shutdown
	stopped   bool
	watching  bool
	listeners map[net.Listener]struct{}
	conns     map[*conn]struct{}
	empty     chan struct{} // not nil while Shutdown waits: closed when the last connection ended
}

// New makes a server. Serve starts it.
func New(o Options) *Server {
	if o.Metrics == nil {
		o.Metrics = noMetrics{}
	}
	s := &Server{
		handler:   o.Handler,
		set:       o.Settings,
		log:       o.Log,
		metrics:   o.Metrics,
		now:       o.Now,
		flexible:  newFlexibleFrom(),
		pending:   newBudget(o.Settings.MaxPendingBytes, o.Settings.ResumePendingBytes),
		large:     newBudget(o.Settings.MaxPendingBytes, o.Settings.MaxPendingBytes-1),
		quota:     newQuota(o.Settings.MaxConnections, o.Settings.MaxConnectionsPerIP),
		closing:   make(chan struct{}),
		listeners: make(map[net.Listener]struct{}),
		conns:     make(map[*conn]struct{}),
	}
	s.pending.onChange = s.metrics.Pending
	s.pending.onPause = s.metrics.Backpressure
	return s
}

// SetMaxConnections changes the limits of connections, in total and from one address; 0 is none. Connections that are there
// stay.
func (s *Server) SetMaxConnections(total, fromOneAddress int) { s.quota.limit(total, fromOneAddress) }

// ErrServerClosed is returned by Serve after Shutdown.
var ErrServerClosed = errors.New("kafka server closed")

// Serve accepts connections on l until Shutdown or until accepting fails for good, and closes l. It may be called for
// several listeners.
func (s *Server) Serve(l net.Listener) error {
	if !s.addListener(l) {
		return errors.Join(ErrServerClosed, l.Close())
	}
	defer s.removeListener(l)
	for delay := time.Duration(0); ; {
		nc, err := l.Accept()
		if err == nil {
			delay = 0
			s.admit(nc)
			continue
		}
		if s.isClosing() {
			return ErrServerClosed
		}
		if !isTemporary(err) {
			return fmt.Errorf("accept connection on %s: %w", l.Addr(), err)
		}
		// Out of file descriptors, or a connection that went away before it was accepted.
		s.metrics.Failure("accept", "temporary")
		if s.limitLog.allow(s.now()) {
			s.log.Warn("cannot accept connections for now", "listener", l.Addr().String(), "error", err)
		}
		delay = min(max(2*delay, 5*time.Millisecond), time.Second)
		select {
		case <-time.After(delay):
		case <-s.closing:
		}
	}
}

func isTemporary(err error) bool {
	t, ok := err.(interface{ Temporary() bool })
	return ok && t.Temporary()
}

// admit starts to serve a connection, waiting first for its turn when the broker is full.
func (s *Server) admit(nc net.Conn) {
	ip := addrOf(nc.RemoteAddr())
	for {
		wait, err := s.quota.acquire(ip)
		if err != nil {
			s.metrics.Failure("accept", "too_many_connections_from_ip")
			if s.limitLog.allow(s.now()) {
				_, limit := s.quota.limits()
				s.log.Warn("refusing a connection", "remote", nc.RemoteAddr().String(), "limit", limit, "error", err)
			}
			_ = nc.Close() // nothing was written: there is nothing to lose
			return
		}
		if wait == nil {
			break
		}
		if s.limitLog.allow(s.now()) {
			limit, _ := s.quota.limits()
			s.log.Warn("the limit of connections is reached: new ones wait", "limit", limit)
		}
		select {
		case <-wait:
		case <-s.closing:
			_ = nc.Close()
			return
		}
	}
	c := newConn(s, nc, ip)
	if !s.addConn(c) {
		c.close()
		return
	}
	go c.serve()
}

func (s *Server) addListener(l net.Listener) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.stopped {
		return false
	}
	s.listeners[l] = struct{}{}
	if !s.watching {
		s.watching = true
		go s.watch()
	}
	return true
}

func (s *Server) removeListener(l net.Listener) {
	_ = l.Close() // Shutdown may have closed it already
	s.mu.Lock()
	delete(s.listeners, l)
	s.mu.Unlock()
}

func (s *Server) addConn(c *conn) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.conns[c] = struct{}{}
	s.metrics.Connections(1)
	return !s.stopped
}

func (s *Server) removeConn(c *conn) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.conns, c)
	s.metrics.Connections(-1)
	if len(s.conns) == 0 && s.empty != nil {
		close(s.empty)
		s.empty = nil
	}
}

func (s *Server) isClosing() bool {
	select {
	case <-s.closing:
		return true
	default:
		return false
	}
}

// Shutdown stops accepting and reading, lets what is in flight be answered, and closes every connection. When ctx ends
// first it closes what is left at once and returns ctx's error.
func (s *Server) Shutdown(ctx context.Context) error {
	s.mu.Lock()
	if !s.stopped {
		s.stopped = true
		close(s.closing)
	}
	for l := range s.listeners {
		_ = l.Close() // Serve reports what matters
	}
	conns := s.connsLocked()
	var empty chan struct{}
	if len(conns) > 0 {
		if s.empty == nil {
			s.empty = make(chan struct{})
		}
		empty = s.empty
	}
	s.mu.Unlock()
	for _, c := range conns {
		c.drain()
	}
	if empty == nil {
		return nil
	}
	select {
	case <-empty:
		return nil
	case <-ctx.Done():
	}
	s.mu.Lock()
	conns = s.connsLocked()
	s.mu.Unlock()
	for _, c := range conns {
		c.close()
	}
	return fmt.Errorf("shut down kafka server: %w", ctx.Err())
}

func (s *Server) connsLocked() []*conn {
	conns := make([]*conn, 0, len(s.conns))
	for c := range s.conns {
		conns = append(conns, c)
	}
	return conns
}
