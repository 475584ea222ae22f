package redisstream

import (
	"context"
	"errors"
	"hash/maphash"
	"log/slog"
	"sync"
	"time"
)

// ErrUnavailable means that Redis cannot be reached now. Connecting goes on in the background.
var ErrUnavailable = errors.New("redis unavailable")

// Shard is one Redis that holds messages: connections for appends, routed by stream, and for reads. It is safe for
// concurrent use.
type Shard struct {
	opts  Options
	log   *slog.Logger
	now   func() time.Time
	seed  maphash.Seed
	ctx   context.Context
	stop  context.CancelCauseFunc
	reads *readPool
	full  fullStreams

	mu       sync.Mutex
	slots    []slot
	identity Identity
	failing  time.Time // since when no attempt to connect has succeeded; zero while they do
	told     bool      // whether the log says that Redis is away
	running  sync.WaitGroup
}

// slot is one write connection, or the attempt to get it.
type slot struct {
	conn    Conn
	dialing bool
	waiting []func(Conn, error)
}

// breakerAfter is how long connecting must have failed before callers are refused at once.
const breakerAfter = time.Second

// Open starts connecting and returns at once.
func Open(o Options, log *slog.Logger) *Shard {
	ctx, stop := context.WithCancelCause(context.Background())
	s := &Shard{
		opts: o, log: log.With("redis", o.Address), now: time.Now, seed: maphash.MakeSeed(), ctx: ctx, stop: stop,
		slots: make([]slot, o.WriteConnections),
	}
	s.reads = newReadPool(s, o.ReadConnections)
	s.mu.Lock()
	s.dialSlot(0)
	s.mu.Unlock()
	return s
}

// Close gives every connection up. Appends in flight end with an unknown outcome.
func (s *Shard) Close() {
	s.stop(ErrConnClosed)
	s.mu.Lock()
	var conns []Conn
	for i := range s.slots {
		if c := s.slots[i].conn; c != nil {
			conns = append(conns, c)
		}
	}
	s.mu.Unlock()
	for _, c := range conns {
		c.Close(ErrConnClosed)
	}
	s.reads.close()
	s.running.Wait()
}

// Identity is that of the Redis reached last.
func (s *Shard) Identity() Identity {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.identity
}

// Available tells whether Redis was reached by the newest attempt to connect.
func (s *Shard) Available() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.failing.IsZero() && s.identity != Identity{}
}

// Acquire hands done the write connection of a stream, once, maybe at once: a live one, or ErrUnavailable where the
// breaker is open. While it is closed, done waits for a connection.
func (s *Shard) Acquire(stream string, done func(Conn, error)) {
	i := int(maphash.String(s.seed, stream) % uint64(len(s.slots)))
	s.mu.Lock()
	sl := &s.slots[i]
	if sl.conn != nil && sl.conn.Alive() {
		c := sl.conn
		s.mu.Unlock()
		done(c, nil)
		return
	}
	if s.open() || s.ctx.Err() != nil {
		s.mu.Unlock()
		done(nil, ErrUnavailable)
		return
	}
	sl.conn = nil
	sl.waiting = append(sl.waiting, done)
	s.dialSlot(i)
	s.mu.Unlock()
}

// open tells whether the breaker is open. mu is held.
func (s *Shard) open() bool {
	return s.opts.Breaker && !s.failing.IsZero() && s.now().Sub(s.failing) > breakerAfter
}

// dialSlot starts connecting slot i unless it is being done. mu is held.
func (s *Shard) dialSlot(i int) {
	if s.slots[i].dialing || s.ctx.Err() != nil {
		return
	}
	s.slots[i].dialing = true
	s.running.Add(1)
	go s.connect(i)
}

// connect tries until slot i is connected. Slot 0 is kept connected, so that a Redis that comes back, or another one in
// its place, is noticed while nobody writes; the others stop trying when nobody waits for them.
func (s *Shard) connect(i int) {
	defer s.running.Done()
	for pause := 20 * time.Millisecond; ; pause = min(2*pause, time.Second, max(s.opts.OpenDuration, 20*time.Millisecond)) {
		c, err := dial(s.ctx, &s.opts, s.connLost)
		if err == nil {
			s.connected(i, c)
			return
		}
		if !s.dialFailed(i, err) {
			return
		}
		select {
		case <-time.After(pause):
		case <-s.ctx.Done():
		}
	}
}

func (s *Shard) connected(i int, c *netConn) {
	s.mu.Lock()
	sl := &s.slots[i]
	sl.dialing = false
	sl.conn = c
	waiting := sl.waiting
	sl.waiting = nil
	s.reached(c.identity)
	stopped := s.ctx.Err() != nil
	s.mu.Unlock()
	if stopped {
		c.Close(ErrConnClosed)
	}
	for _, done := range waiting {
		done(c, nil)
	}
}

// reached notes a successful connection. mu is held.
func (s *Shard) reached(id Identity) {
	s.failing = time.Time{}
	if s.told {
		s.told = false
		s.log.Info("redis reached again")
	}
	if s.identity != id {
		if (s.identity != Identity{}) {
			s.log.Warn("redis is another one than before", "run_id", id.RunID, "before", s.identity.RunID)
		}
		s.identity = id
		s.dropOthers(id)
	}
}

// errAnotherRedis is the cause of a connection that was made before Redis got another identity.
var errAnotherRedis = errors.New("redis is another one than before")

// dropOthers gives up the connections that were made under another identity than Redis has now: a process keeps its
// connections when it gets one, as with its first replica. Where the provider hides it, that is not known. mu is held.
func (s *Shard) dropOthers(id Identity) {
	if id.Hidden() || s.ctx.Err() != nil {
		return
	}
	for i := range s.slots {
		if c := s.slots[i].conn; c != nil && c.Identity() != id {
			s.running.Go(func() { c.Close(errAnotherRedis) })
		}
	}
}

// Reached tells the shard which Redis somebody else's connection has reached.
func (s *Shard) Reached(id Identity) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.reached(id)
}

// dialFailed notes a failed attempt and tells whether to go on.
func (s *Shard) dialFailed(i int, err error) bool {
	s.mu.Lock()
	if s.failing.IsZero() {
		s.failing = s.now()
	}
	sl := &s.slots[i]
	open, stopped := s.open(), s.ctx.Err() != nil
	var refuse []func(Conn, error)
	if open || stopped {
		refuse, sl.waiting = sl.waiting, nil
	}
	again := !stopped && (i == 0 || len(sl.waiting) > 0)
	sl.dialing = again
	tell := open && !s.told
	s.told = s.told || tell
	s.mu.Unlock()
	if tell {
		s.log.Error("redis cannot be reached: produce requests are refused until it is", "err", err)
	}
	for _, done := range refuse {
		done(nil, errors.Join(ErrUnavailable, err))
	}
	return again
}

// connLost reconnects slot 0 when its connection ends.
func (s *Shard) connLost(c *netConn, cause error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ctx.Err() != nil {
		return
	}
	if !errors.Is(cause, ErrConnClosed) {
		s.log.Warn("redis connection lost", "err", cause)
	}
	if s.slots[0].conn == Conn(c) {
		s.slots[0].conn = nil
		s.dialSlot(0)
	}
}
