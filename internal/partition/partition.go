package partition

import (
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/korvet-io/korvet/internal/batch"
	"github.com/korvet-io/korvet/internal/redisstream"
)

type field = redisstream.Field

// phase is where a partition stands between its fences.
type phase int

const (
	resting phase = iota // nothing may be written before a fence
	fencing              // a fence is under way
	leading              // appends are accepted until the lease ends
	gone                 // this life of the topic is over, or the broker stops
)

// term is what the newest fence gave.
type term struct {
	conn     redisstream.Conn
	token    string
	identity redisstream.Identity
	epoch    int32
	floor    uint64        // every ms stamped is above it
	lastMs   uint64        // the newest accepted append's
	expiry   uint64        // no ms at or beyond it is stamped
	redisNow uint64        // Redis's time when ...
	at       time.Duration // ... the clock showed this
	covers   uint64        // batches that arrived before the fence began: this broker led after they were sent
}

// Partition is one partition's log. It is a state machine under a lock: events (a batch, an answer of Redis, time passing)
// change the state and collect effects (requests to Redis, answers to callers), which run after the lock is released.
// Redis's answers arrive on its connections' goroutines; there is no goroutine per partition.
type Partition struct {
	ref     Ref
	topicID string
	keys    redisstream.Keys
	env     *env
	log     *slog.Logger

	mu        sync.Mutex
	phase     phase
	reason    error // of being gone
	queue     []*pending
	flight    *group        // sent, not answered
	unknown   *group        // of unknown outcome: the next fence tells
	wanted    bool          // somebody reads: lead, so that reads need not ask Redis
	retryAt   time.Duration // no fence before
	since     time.Duration // when the fence under way began
	fenceConn redisstream.Conn
	term      term
	stamped   uint64 // largest ms ever stamped by this process
	arrived   uint64 // batches that came so far
	covers    uint64 // arrived when the fence under way began
	appender  *redisstream.Appender
	producers producers
	times     times
	ends      logEnds
	open      openSegment
	start     logStart
	dead      []deadState // of this process's earlier terms, oldest first
	expiredMs int64       // when idle producers were forgotten last
	held      error       // another broker leads until retryAt
	waited    waited
	isLost    bool // Redis lost the log or its end, and the remote tier does not tell yet what it has
	// minReplicas is the topic's min.insync.replicas, as the newest append said.
	minReplicas int
	confirm     confirmation
	// dictionary is the one that the log used last, as the term's Redis has it noted for sure; 0: none, or nobody knows.
	dictionary  uint32
	corruptTold int64 // one after the offset of the value that the log said last does not decode

	tail      tail
	ahead     ahead
	watchers  watchers
	positions positions
	readFrom  redisstream.Identity // what tail and positions belong to
	packed    atomic.Uint64        // bytes of entries in Redis per byte with their values, a float64
	holes     atomic.Bool          // offsets are missing in the log: it was compacted, or trimmed by hand
	swept     atomic.Bool          // on the manager's list of partitions to which time matters
}

// logEnds are the ends of the log and what lies between, as known to a partition that leads.
type logEnds struct {
	known    bool // the fields hold: loaded by a fence under the current identity
	led      bool // this broker leads: the tail cache is part of this log
	logStart int64
	local    int64 // first offset that Redis has; the remote tier has what is below
	tiered   int64 // the remote tier has every record below
	leo      int64 // log end offset
	high     int64 // high watermark
	epochs   []redisstream.Epoch
	view     *redisstream.View // the registry as last seen; nil: never
}

// pending is one batch whose producer waits.
type pending struct {
	batch    *batch.Batch
	frames   *frames // its values as they are stored; nil: as they are
	opt      AppendOptions
	done     func(Appended, error) // nil once answered
	deadline time.Duration         // 0: none
	began    time.Duration
	number   uint64 // among the partition's arrivals
}

func newPartition(ref Ref, e *env) *Partition {
	keys := redisstream.NewKeys(e.Namespace, ref.Topic, ref.Partition)
	return &Partition{
		ref: ref, topicID: ref.TopicID(), keys: keys, env: e,
		log:         e.log.With("topic", ref.Topic, "partition", ref.Partition),
		appender:    redisstream.NewAppender(keys),
		producers:   newProducers(e.MaxProducers),
		minReplicas: e.minReplicas(ref),
	}
}

// errNoAnswer is the cause of a connection given up because Redis does not answer.
var errNoAnswer = fmt.Errorf("%w: no answer from redis", ErrTimeout)

// errDemoted is the cause of a connection given up because its Redis takes no writes any more.
var errDemoted = errors.New("redis was made a replica")

// highField is the state field with the high watermark as it was before the newest append, where replicas are waited for.
const highField = "high"

// effects are what a change of state calls for. They run in this order, without the partition's lock.
type effects struct {
	send     *group
	ask      *asking          // about the open segment
	moved    *moved           // parts of the time index
	registry redisstream.Conn // where the registry is read, if it changed
	fence    *redisstream.FenceRequest
	confirm  bool
	answers  []answer
	wake     bool             // the high watermark moved
	wakeAll  bool             // whatever watchers knew holds no more
	drop     redisstream.Conn // a connection given up ...
	dropped  error            // ... and why
	remove   []string         // state fields to remove
	sweep    []string         // tokens whose state is dead
	epochs   []int32          // leader epochs that ended below the log start
	truncate int64            // records lost
}

type answer struct {
	to  *pending
	got Appended
	err error
}

func (fx *effects) answer(to *pending, got Appended, err error) {
	fx.answers = append(fx.answers, answer{to, got, err})
}

// run carries the effects out. An append is sent before producers are answered, so that Redis works meanwhile, and after
// the fields that it may write again are removed.
func (p *Partition) run(fx *effects) {
	if len(fx.remove)+len(fx.epochs)+len(fx.sweep) > 0 {
		p.tidy(fx)
	}
	if fx.send != nil {
		p.send(fx.send)
	}
	if fx.ask != nil {
		p.ask(fx.ask)
	}
	if m := fx.moved; m != nil {
		redisstream.MoveTimes(m.conn, p.keys, p.topicID, m.token, m.segment, m.offsets)
	}
	if fx.registry != nil {
		p.readRegistry(fx.registry)
	}
	if fx.fence != nil {
		p.startFence(*fx.fence)
	}
	if fx.drop != nil {
		fx.drop.Close(fx.dropped)
	}
	for i := range fx.answers {
		fx.answers[i].deliver(p)
	}
	if fx.confirm {
		p.startConfirm()
	}
	switch {
	case fx.wakeAll:
		p.watchers.wake(everybody)
	case fx.wake:
		p.watchers.wake(p.highWatermark())
	}
	if fx.truncate > 0 {
		p.env.observer.Truncated(p.ref, fx.truncate)
	}
}

// giveUp notes a connection to close, and why.
func (fx *effects) giveUp(c redisstream.Conn, why error) { fx.drop, fx.dropped = c, why }

// leaveDemoted gives up a connection to a Redis that was made a replica: it keeps its connections, and the address may lead
// to another one.
func (fx *effects) leaveDemoted(c redisstream.Conn, refused *redisstream.RefusedError) bool {
	if c == nil || refused == nil || refused.Code != "READONLY" && refused.Code != "MASTERDOWN" {
		return false
	}
	fx.giveUp(c, errDemoted)
	return true
}

func (a *answer) deliver(p *Partition) {
	a.to.release()
	if done := a.to.done; done != nil {
		a.to.done = nil
		p.env.observer.AppendDone(int(a.to.batch.Count), len(a.to.batch.Raw), p.env.now()-a.to.began, a.err)
		done(a.got, a.err)
	}
}

// Append queues a batch. See kafka/api's port Logs for the contract.
func (p *Partition) Append(b *batch.Batch, opt AppendOptions, done func(Appended, error)) {
	now := p.env.now()
	w := &pending{batch: b, opt: opt, done: done, began: now, frames: p.compress(b, opt.Values)}
	if limit := p.timeout(opt); limit > 0 {
		w.deadline = now + limit
	}
	var fx effects
	p.mu.Lock()
	if p.phase == gone {
		fx.answer(w, Appended{}, p.reason)
	} else {
		p.arrived++
		w.number = p.arrived
		p.queue = append(p.queue, w)
		p.advance(now, &fx)
	}
	p.mu.Unlock()
	p.env.busy(p)
	p.run(&fx)
}

// tidy drops from Redis what is of no use any more. Nothing depends on the answers.
func (p *Partition) tidy(fx *effects) {
	p.mu.Lock()
	conn, token := p.term.conn, p.term.token
	p.mu.Unlock()
	if conn == nil {
		return
	}
	if len(fx.remove) > 0 {
		redisstream.RemoveFields(conn, p.keys, token, fx.remove)
	}
	if len(fx.epochs) > 0 {
		redisstream.RemoveEpochs(conn, p.keys, fx.epochs)
	}
	if len(fx.sweep) > 0 {
		redisstream.RemoveStates(conn, p.keys, fx.sweep)
	}
}

// timeout is the smaller of the client's and the broker's limit.
func (p *Partition) timeout(opt AppendOptions) time.Duration {
	client, own := time.Duration(opt.TimeoutMs)*time.Millisecond, p.env.ProduceTimeout
	if client > 0 && (own == 0 || client < own) {
		return client
	}
	return own
}

// advance does what can be done now: fence, or send the next group. The lock is held.
func (p *Partition) advance(now time.Duration, fx *effects) {
	if p.flight != nil || p.phase == fencing || p.phase == gone {
		return
	}
	if len(p.queue) == 0 && p.unknown == nil && !p.needsTerm() {
		return
	}
	if !p.mayWrite(now) {
		p.fence(now, fx)
		return
	}
	if len(p.queue) == 0 || p.sealFirst(now, fx) {
		return
	}
	g, doubt := p.buildGroup(now, fx)
	switch {
	case g != nil:
		p.flight = g
		fx.send = g
	case doubt:
		p.phase = resting
		p.fence(now, fx)
	}
}

// needsTerm tells whether somebody waits for this broker to lead although there is nothing to write.
func (p *Partition) needsTerm() bool {
	return p.phase == resting && (p.wanted || len(p.confirm.waiting) > 0)
}

// mayWrite tells whether an append may be sent under the current term.
func (p *Partition) mayWrite(now time.Duration) bool {
	return p.phase == leading && p.unknown == nil && p.term.conn.Alive() && p.nextMs(now) < p.term.expiry && now-p.term.at < termLasts
}

// termLasts is how long a term is written under before a fence tells Redis's time anew: clocks drift apart.
const termLasts = time.Minute

// redisNow is Redis's time, as the fence told it and the clock went on.
func (p *Partition) redisNow(now time.Duration) uint64 {
	return p.term.redisNow + uint64(max(0, now-p.term.at)/time.Millisecond)
}

// nextMs is what the next append is stamped with: above the floor, and not below the append before.
func (p *Partition) nextMs(now time.Duration) uint64 {
	return max(p.redisNow(now), p.term.floor+1, p.term.lastMs)
}

// expireQueue answers batches whose time ran out before they were sent. Nothing of them is in the log.
func (p *Partition) expireQueue(now time.Duration, fx *effects) {
	kept := p.queue[:0]
	for _, w := range p.queue {
		if w.deadline > 0 && w.deadline <= now {
			p.producers.failed(w.batch)
			fx.answer(w, Appended{}, fmt.Errorf("%w: not sent to redis in time", ErrTimeout))
			continue
		}
		kept = append(kept, w)
	}
	clear(p.queue[len(kept):])
	p.queue = kept
}

// failQueue answers every batch that waits.
func (p *Partition) failQueue(err error, fx *effects) {
	for _, w := range p.queue {
		p.producers.failed(w.batch)
		fx.answer(w, Appended{}, err)
	}
	clear(p.queue)
	p.queue = p.queue[:0]
}

// Tick lets time pass: deadlines, connections that do not answer, fences put off. It reports whether there is still
// something to wait for.
func (p *Partition) Tick() (busy bool) {
	now := p.env.now()
	var fx effects
	p.mu.Lock()
	for _, g := range []*group{p.flight, p.unknown} {
		if g != nil {
			p.expireGroup(g, now, &fx)
		}
	}
	p.confirm.expire(now, &fx)
	if p.flight != nil && now-p.flight.sentAt > p.env.RequestTimeout {
		fx.giveUp(p.term.conn, errNoAnswer)
	}
	if p.open.asked && now-p.open.askedAt > p.env.RequestTimeout {
		fx.giveUp(p.term.conn, errNoAnswer)
	}
	if p.phase == fencing && p.fenceConn != nil && now-p.since > p.env.RequestTimeout {
		fx.giveUp(p.fenceConn, errNoAnswer)
	}
	p.expireQueue(now, &fx)
	p.advance(now, &fx)
	fx.confirm = fx.confirm || p.wantsConfirm()
	busy = p.flight != nil || p.unknown != nil || p.phase == fencing || len(p.queue) > 0 || len(p.confirm.waiting) > 0 ||
		p.open.asked || p.needsTerm() || p.unconfirmed()
	p.mu.Unlock()
	p.run(&fx)
	return p.dropAhead(now-p.env.ReadAheadKept) || busy
}

// expireGroup answers the producers of a group in flight whose time ran out. The group itself is settled later.
func (p *Partition) expireGroup(g *group, now time.Duration, fx *effects) {
	for i := range g.items {
		it := &g.items[i]
		for _, w := range append(it.repeats, it.first) {
			if w.done != nil && w.deadline > 0 && w.deadline <= now {
				fx.answers = append(fx.answers, answer{to: w.detach(), err: fmt.Errorf("%w: redis has not answered", ErrTimeout)})
			}
		}
	}
}

// detach splits the one who waits from the batch, which is still in flight: answering must not release it.
func (w *pending) detach() *pending {
	d := &pending{batch: &batch.Batch{Count: w.batch.Count}, done: w.done, began: w.began}
	w.done = nil
	return d
}

// Close ends the partition: what waits is answered with err, and nothing is sent any more.
func (p *Partition) Close(err error) {
	var fx effects
	p.mu.Lock()
	p.close(err, &fx)
	p.mu.Unlock()
	p.run(&fx)
}

func (p *Partition) close(err error, fx *effects) {
	if p.phase == gone {
		return
	}
	p.phase, p.reason = gone, err
	p.failQueue(err, fx)
	if p.unknown != nil {
		p.failGroup(p.unknown, err, fx)
		p.unknown = nil
	}
	p.confirm.fail(err, fx)
	p.ends.known = false
	p.env.budget.reset(&p.tail)
	p.dropAhead(p.env.now())
	fx.wakeAll = true
}

// kindOf turns an error of the local tier into one of the kinds a caller acts on.
func kindOf(err error) error {
	if refused, ok := errors.AsType[*redisstream.RefusedError](err); ok {
		switch refused.Code {
		case "OOM":
			return fmt.Errorf("%w: %w", ErrFull, err)
		case "MISCONF":
			return fmt.Errorf("%w: %w", ErrNotSaved, err)
		case "NOREPLICAS":
			return fmt.Errorf("%w: %w", ErrNotEnoughReplicas, err)
		}
		return fmt.Errorf("%w: %w", ErrNotLeader, err)
	}
	if errors.Is(err, redisstream.ErrDeleted) {
		return fmt.Errorf("%w: %w", ErrUnknownPartition, err)
	}
	return fmt.Errorf("%w: %w", ErrNotLeader, err)
}
