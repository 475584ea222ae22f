package redisstream

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/korvet-io/korvet/internal/redisstream/resp"
)

// ErrReplicasBehind means that too few replicas acknowledged in time.
var ErrReplicasBehind = errors.New("replicas do not have it yet")

// Replicas confirms what Redis's replicas have: on one connection of its own it writes a marker and WAITs, which covers
// all that this Redis accepted before. It is safe for concurrent use.
type Replicas struct {
	opts   Options
	marker string
	wait   time.Duration
	log    *slog.Logger
	ctx    context.Context
	stop   context.CancelCauseFunc
	kick   chan struct{}
	done   chan struct{}

	mu        sync.Mutex
	asked     []question
	closed    bool
	shard     *Shard // nil: nobody to tell which Redis was reached
	connected int
	known     time.Time // when connected was read
}

// question is one call of Confirm.
type question struct {
	identity Identity
	replicas int
	done     func(error)
}

// connectedFor is how long a count of connected replicas is believed.
const connectedFor = time.Second

// NewReplicas starts a confirmer. wait is how long one WAIT lasts at most; marker is the key it writes.
func NewReplicas(o Options, marker string, wait time.Duration, log *slog.Logger) *Replicas {
	ctx, stop := context.WithCancelCause(context.Background())
	r := &Replicas{
		opts: o, marker: marker, wait: wait, log: log, ctx: ctx, stop: stop,
		kick: make(chan struct{}, 1), done: make(chan struct{}),
	}
	go r.run()
	return r
}

// Follow makes the confirmer tell the shard which Redis it reaches. Without it a shard whose Redis gets another identity
// while its connections last, as with the first replica, would ask about an earlier one for ever.
func (r *Replicas) Follow(s *Shard) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.shard = s
}

// Close answers what waits with an error.
func (r *Replicas) Close() {
	r.stop(ErrConnClosed)
	<-r.done
}

// Connected tells whether at least n replicas were connected when last looked, at most a second ago; it looks again when
// that is longer ago, and meanwhile answers as before.
func (r *Replicas) Connected(n int) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if time.Since(r.known) > connectedFor {
		r.wake()
	}
	return r.known.IsZero() || r.connected >= n
}

// Confirm calls done once: nil when n replicas of the Redis of this identity have all that it accepted before this call.
func (r *Replicas) Confirm(id Identity, n int, done func(error)) {
	r.mu.Lock()
	closed := r.closed
	if !closed {
		r.asked = append(r.asked, question{id, n, done})
	}
	r.mu.Unlock()
	if closed {
		done(ErrConnClosed)
		return
	}
	r.wake()
}

func (r *Replicas) wake() {
	select {
	case r.kick <- struct{}{}:
	default:
	}
}

func (r *Replicas) take() []question {
	r.mu.Lock()
	defer r.mu.Unlock()
	q := r.asked
	r.asked = nil
	return q
}

func (r *Replicas) run() {
	defer close(r.done)
	var c *netConn
	for {
		select {
		case <-r.kick:
		case <-r.ctx.Done():
			r.mu.Lock()
			r.closed = true
			r.mu.Unlock()
			answerAll(r.take(), ErrConnClosed)
			if c != nil {
				c.Close(ErrConnClosed)
			}
			return
		}
		c = r.serve(c)
	}
}

// connect returns a connection to the Redis that the questions are about, if it can: c may have been made before Redis got
// another identity.
func (r *Replicas) connect(c *netConn, questions []question) (*netConn, error) {
	usable := c != nil && c.Alive()
	for _, q := range questions {
		usable = usable && q.identity == c.identity
	}
	if usable {
		return c, nil
	}
	if c != nil {
		c.Close(ErrConnClosed)
	}
	fresh, err := dial(r.ctx, &r.opts, nil)
	if err != nil {
		return nil, err
	}
	r.mu.Lock()
	shard := r.shard
	r.mu.Unlock()
	if shard != nil {
		shard.Reached(fresh.identity)
	}
	return fresh, nil
}

// serve looks at the replicas and answers all that was asked. It returns the connection to use next time.
func (r *Replicas) serve(c *netConn) *netConn {
	questions := r.take()
	c, err := r.connect(c, questions)
	if err != nil {
		answerAll(questions, err)
		return nil
	}
	if err := r.look(c); err != nil {
		answerAll(questions, err)
		c.Close(err)
		return nil
	}
	if len(questions) == 0 {
		return c
	}
	most := 0
	for _, q := range questions {
		most = max(most, q.replicas)
	}
	acked, err := r.waitFor(c, most)
	for _, q := range questions {
		switch {
		case err != nil:
			q.done(err)
		case q.identity != c.identity:
			q.done(fmt.Errorf("%w: redis is another one now", ErrReplicasBehind))
		case acked < q.replicas:
			q.done(fmt.Errorf("%w: %d of %d", ErrReplicasBehind, acked, q.replicas))
		default:
			q.done(nil)
		}
	}
	if err != nil {
		c.Close(err)
		return nil
	}
	return c
}

func answerAll(questions []question, err error) {
	for _, q := range questions {
		q.done(err)
	}
}

// look counts the connected replicas when the last count is old.
func (r *Replicas) look(c *netConn) error {
	r.mu.Lock()
	fresh := time.Since(r.known) <= connectedFor
	r.mu.Unlock()
	if fresh {
		return nil
	}
	v, err := r.call(c, resp.AppendCommand(nil, "INFO", "replication"), r.opts.DialTimeout)
	if err != nil {
		return fmt.Errorf("count replicas: %w", err)
	}
	n := strings.Count(v.Str, "state=online")
	r.mu.Lock()
	r.connected, r.known = n, time.Now()
	r.mu.Unlock()
	return nil
}

// waitFor writes the marker and waits for n replicas. It tells how many have it.
func (r *Replicas) waitFor(c *netConn, n int) (int, error) {
	if _, err := r.call(c, resp.AppendCommand(nil, "SET", r.marker, "1", "EX", "60"), r.opts.DialTimeout); err != nil {
		return 0, fmt.Errorf("write replication marker: %w", err)
	}
	wait := resp.AppendCommand(nil, "WAIT", strconv.Itoa(n), strconv.FormatInt(r.wait.Milliseconds(), 10))
	v, err := r.call(c, wait, r.wait+r.opts.DialTimeout)
	if err != nil {
		return 0, fmt.Errorf("wait for replicas: %w", err)
	}
	return int(v.Int), nil
}

func (r *Replicas) call(c *netConn, request []byte, limit time.Duration) (resp.Value, error) {
	ctx, cancel := context.WithTimeout(r.ctx, limit)
	defer cancel()
	v, err := Await(ctx, func(done func(resp.Value, error)) { ask(c, request, done) })
	if err != nil && ctx.Err() != nil {
		c.Close(err) // its answer would be taken for the next one's
	}
	return v, err
}
