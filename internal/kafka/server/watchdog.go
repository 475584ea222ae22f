package server

import (
	"sync"
	"time"
)

// watchInterval is how often connections are looked at, and so how exact their timeouts are. One pass over all of them
// a second costs less than a timer for each read and write.
const watchInterval = time.Second

// watch closes connections that have timed out, until the last one ended after Shutdown.
func (s *Server) watch() {
	tick := time.NewTicker(watchInterval)
	defer tick.Stop()
	for closing := s.closing; ; {
		select {
		case <-tick.C:
			s.sweep(s.now())
		case <-closing:
			closing = nil
		}
		if closing == nil && s.connections() == 0 {
			return
		}
	}
}

func (s *Server) connections() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.conns)
}

// sweep closes the connections that have timed out at now.
func (s *Server) sweep(now time.Time) {
	s.mu.Lock()
	conns := s.connsLocked()
	s.mu.Unlock()
	for _, c := range conns {
		if why := c.timedOut(now.UnixNano()); why != "" {
			s.metrics.Failure("connection", why)
			c.log().Info("closing connection", "reason", why)
			c.close()
		}
	}
}

// timedOut tells why the connection is to be closed at now, or "".
func (c *conn) timedOut(now int64) string {
	after := func(since int64, limit time.Duration) bool {
		return since != 0 && limit > 0 && now-since > int64(limit)
	}
	switch {
	case after(c.writeSince.Load(), c.srv.set.WriteTimeout):
		return "response_not_read"
	case after(c.frameSince.Load(), c.srv.set.FrameTimeout):
		return "incomplete_frame"
	case after(c.lastActive.Load(), c.srv.set.IdleTimeout) && c.isIdle():
		return "idle"
	}
	return ""
}

// throttle allows one log line a second.
type throttle struct {
	mu   sync.Mutex
	last time.Time
}

func (t *throttle) allow(now time.Time) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if !t.last.IsZero() && now.Sub(t.last) < time.Second {
		return false
	}
	t.last = now
	return true
}
