package partition

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/korvet-io/korvet/internal/redisstream"
)

// fence starts a fence unless it was put off. The lock is held.
func (p *Partition) fence(now time.Duration, fx *effects) {
	if now < p.retryAt {
		if p.held != nil {
			p.failQueue(p.held, fx)
		}
		return
	}
	p.held = nil
	if p.open.asked { // Redis may have rolled, or may not: after the fence it tells
		p.open.asked, p.open.known = false, false
	}
	p.phase, p.since, p.fenceConn, p.covers = fencing, now, nil, p.arrived
	q := redisstream.FenceRequest{
		Owner: p.env.Owner, Token: p.env.token(), TopicID: p.topicID, LeaseMs: p.env.Lease.Milliseconds(),
		Stamped: p.stamped, EndAtMin: redisstream.BeforeFirst, Force: p.overdue(now), NowMs: p.env.redisTime,
	}
	if p.unknown != nil && p.unknown.fate == undecided {
		q.Unknown = &p.unknown.append
	}
	fx.fence = &q
}

// startFence gets a connection and fences on it, before anything else is sent there. The lock is not held.
func (p *Partition) startFence(q redisstream.FenceRequest) {
	p.env.shard.Acquire(p.keys.Stream, func(c redisstream.Conn, err error) {
		if err != nil {
			p.fenceFailed(err)
			return
		}
		p.mu.Lock()
		known := p.term.identity
		q.Led = p.term.epoch
		q.Tiered, q.Least = p.env.tiered(p.ref), p.least()
		p.mu.Unlock()
		q.NewEpoch = known != redisstream.Identity{} && known != c.Identity()
		if p.env.remote == nil || known == c.Identity() {
			p.fenceOn(c, q, nil)
			return
		}
		p.fenceAfterRemote(c, q)
	})
}

// fenceAfterRemote fences when the remote tier has told what it has of the log, or does not tell.
func (p *Partition) fenceAfterRemote(c redisstream.Conn, q redisstream.FenceRequest) {
	go func() {
		err := p.askRemote(&q)
		p.fenceOn(c, q, err)
	}()
}

// fenceOn fences on a connection. The lock is not held. unasked is why the remote tier did not tell what it has; nil: it did, or
// was not asked.
func (p *Partition) fenceOn(c redisstream.Conn, q redisstream.FenceRequest, unasked error) {
	p.mu.Lock()
	p.fenceConn, p.since = c, p.env.now()
	p.mu.Unlock()
	redisstream.Fence(c, p.keys, q, func(f redisstream.Fenced, err error) {
		if errors.Is(err, redisstream.ErrLost) && unasked == nil && p.env.remote != nil {
			p.mu.Lock()
			p.fenceConn = nil
			p.mu.Unlock()
			q.NewEpoch = true
			p.fenceAfterRemote(c, q)
			return
		}
		if errors.Is(err, redisstream.ErrLost) {
			err = p.lost(err, unasked)
		}
		if err != nil {
			p.fenceFailed(err)
			return
		}
		if unasked != nil {
			p.log.Warn("it is not known whether the remote tier has records that Redis lost: the log goes on where Redis ends", "err", unasked)
		}
		p.fenced(c, q, f)
	})
}

// takeover is a fence that succeeded, while what it left is being read.
type takeover struct {
	conn      redisstream.Conn
	fence     redisstream.FenceRequest
	got       redisstream.Fenced
	mine      bool // this process held the term before, on the same Redis: it knows what it sent
	continues bool // and all it remembers still holds
	view      redisstream.View
	producers map[int64]producer
	intervals []interval
	tail      times
	voids     []void
	present   bool  // the state hash was there: no later fence has renamed it
	high      int64 // the high watermark when somebody appended last; only with replicas
}

// fenced goes on from a fence: it reads what this process does not remember.
func (p *Partition) fenced(c redisstream.Conn, q redisstream.FenceRequest, f redisstream.Fenced) {
	t := &takeover{conn: c, fence: q, got: f}
	p.mu.Lock()
	t.mine = p.term.identity == c.Identity() && f.WasMine && f.Replaced == p.term.token
	t.continues = t.mine && p.ends.known && !f.Alarm
	if u := p.unknown; u != nil && (u.fate == undecided || p.term.identity != c.Identity()) {
		u.fate = fateAfter(t, f)
	}
	p.term.token, p.term.identity = q.Token, c.Identity() // should what follows fail, the next fence finds this token
	p.mu.Unlock()
	if t.continues {
		p.lead(t)
		return
	}
	p.load(t, 3)
}

// fateAfter is what a fence says of the group of unknown outcome. Where another owner or another Redis was in between, it
// says nothing, and no later fence will.
func fateAfter(t *takeover, f redisstream.Fenced) fate {
	switch {
	case !t.mine:
		return lost
	case f.Landed:
		return landed
	}
	return absent
}

// expField is the state field that every fence writes.
const expField = "exp"

// errReplaced is a takeover whose token was replaced before its state was read: what was read is nothing.
var errReplaced = errors.New("another fence replaced this one")

// load reads registry, epochs, producers and the time index.
func (p *Partition) load(t *takeover, tries int) {
	t.producers, t.intervals, t.tail, t.voids, t.high = map[int64]producer{}, nil, times{}, nil, 0
	t.present = false
	redisstream.Registry(t.conn, p.keys, func(v redisstream.View, err error) {
		if err != nil {
			p.fenceFailed(err)
			return
		}
		t.view = v
		take := func(name, value string) { t.take(p, name, value) }
		redisstream.State(t.conn, p.keys, t.fence.Token, v, take, func(err error) {
			switch {
			case errors.Is(err, redisstream.ErrRolled) && tries > 1:
				p.load(t, tries-1)
			case err != nil:
				p.fenceFailed(err)
			case !t.present:
				p.fenceFailed(errReplaced)
			default:
				p.lead(t)
			}
		})
	})
}

// take decodes one stored field. One that cannot be read is as good as lost, and said so.
func (t *takeover) take(p *Partition, name, value string) {
	var err error
	switch {
	case strings.HasPrefix(name, producerPrefix):
		var id int64
		var state producer
		if id, state, err = decodeProducer(name, value); err == nil {
			t.producers[id] = state
		}
	case strings.HasPrefix(name, timesPrefix):
		var e interval
		if e, err = decodeInterval(name, value); err == nil {
			t.intervals = append(t.intervals, e)
		}
	case name == expField:
		t.present = true
	case name == tailField:
		t.tail, err = decodeTail(value)
	case name == highField:
		t.high, err = strconv.ParseInt(value, 10, 64)
	case strings.HasPrefix(name, voidPrefix):
		var v void
		if v, err = decodeVoid(name, value); err == nil {
			t.voids = append(t.voids, v)
		}
	}
	if err != nil {
		p.log.Error("stored partition state cannot be read", "err", err)
	}
}

// lead begins the term that the fence opened.
func (p *Partition) lead(t *takeover) {
	now := p.env.now()
	var fx effects
	p.mu.Lock()
	if p.phase == gone {
		p.mu.Unlock()
		return
	}
	end := redisstream.EndOffset(t.got.LastSeq)
	before, epoch := p.ends, p.term.epoch
	p.beginTerm(t, now)
	p.sweepStates(t.got.Replaced, now, &fx)
	if !t.continues {
		p.dictionary = 0
		p.adopt(t, end)
	}
	if !t.mine { // what waits for the replicas was appended under a term that another one ended
		p.confirm.fail(fmt.Errorf("%w: another broker led meanwhile", ErrNotEnoughReplicasAfter), &fx)
	}
	p.settle(t, &fx)
	p.takeEnd(t, before, end, &fx)
	p.confirm.pass(p.ends.high, &fx)
	p.phase, p.wanted, p.retryAt = leading, false, 0
	p.foundAgain(end)
	fx.confirm = p.wantsConfirm()
	fx.wake, fx.wakeAll = true, before.known && epoch != p.term.epoch
	p.advance(now, &fx)
	p.mu.Unlock()
	p.env.observer.Fenced("ok")
	if t.got.Restored {
		p.log.Warn("redis lost the end of the log, which the remote tier has: the log goes on behind that", "found", t.got.Found, "next_offset", end)
	}
	if t.got.Alarm {
		p.log.Error("the stream does not end where its owner wrote last: somebody else wrote to it, or it was deleted",
			"found", t.got.Found, "next_offset", end)
	}
	p.run(&fx)
}

func (p *Partition) beginTerm(t *takeover, now time.Duration) {
	p.term = term{
		conn: t.conn, token: t.fence.Token, identity: t.conn.Identity(), epoch: t.got.Epoch, floor: t.got.Floor,
		expiry: t.got.Expiry, redisNow: t.got.Now, at: now, covers: p.covers,
	}
	p.fenceConn, p.waited = nil, waited{}
	p.open.asked, p.open.retryAt = false, 0
	p.open.known = p.open.known && t.continues
}

// deadState is the state hash of a token that was replaced. A late append's HSET may bring it back.
type deadState struct {
	token string
	since time.Duration
}

// sweepAfter is how long after its end a token's state is swept. An append that comes later still leaves it behind.
const sweepAfter = time.Minute

// sweepStates drops what late appends have left under tokens that were replaced some time ago.
func (p *Partition) sweepStates(replaced string, now time.Duration, fx *effects) {
	due := 0
	for due < len(p.dead) && now-p.dead[due].since > sweepAfter {
		fx.sweep = append(fx.sweep, p.dead[due].token)
		due++
	}
	p.dead = append(p.dead[:0], p.dead[due:]...)
	if replaced != "" {
		p.dead = append(p.dead, deadState{replaced, now})
	}
}

// deadTokens are all tokens whose state may have come back.
func (p *Partition) deadTokens() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	tokens := make([]string, 0, len(p.dead)+1)
	for _, d := range p.dead {
		tokens = append(tokens, d.token)
	}
	return append(tokens, p.term.token)
}

// adopt replaces what this process remembers by what Redis has.
func (p *Partition) adopt(t *takeover, end int64) {
	p.producers.known = t.producers // what failed here stays refused: only this process knows
	for id := range t.producers {
		delete(p.producers.refused, id)
	}
	for _, v := range t.voids {
		p.producers.dropVoid(v)
	}
	p.times.load(t.intervals, t.tail, end)
	view := t.view
	p.ends.epochs = view.Epochs
	p.ends.logStart = min(max(view.LogStart, 0), end)
	p.ends.view = &view
	p.ends.local, p.ends.tiered = 0, 0
	p.ends.see(&view)
	p.start.seen = p.env.now() - startStale // it may have risen since the registry was read: the first read asks again
	p.env.budget.reset(&p.tail)
	p.positions.forget()
}

// settle deals with the group of unknown outcome: it is in the log, or it is sent again, or its producers are told to retry.
func (p *Partition) settle(t *takeover, fx *effects) {
	unknown := p.unknown
	p.unknown = nil
	switch {
	case unknown == nil:
	case unknown.fate == landed && t.mine:
		p.commit(unknown, fx)
	case unknown.fate == landed: // another owner wrote since: what it left is the truth
		p.acknowledgeGroup(unknown, fx)
	case unknown.fate == absent:
		p.requeue(unknown)
	default:
		p.failGroup(unknown, fmt.Errorf("%w: the outcome of an append is not known", ErrNotLeader), fx)
	}
}

// takeEnd takes the end of the log as the fence found it.
func (p *Partition) takeEnd(t *takeover, before logEnds, end int64, fx *effects) {
	if end < before.leo {
		fx.truncate = before.leo - end
		p.log.Error("redis lost acknowledged records: the log ends earlier than before", "end", end, "before", before.leo)
	}
	if p.ends.leo != end || !before.known {
		p.env.budget.reset(&p.tail)
	}
	p.ends.known, p.ends.leo = true, end
	if p.replicas() == 0 {
		p.ends.high = end
	} else {
		p.ends.high = max(min(max(before.high, t.high), end), p.ends.logStart)
	}
}

// waited says which lease of another owner is waited for, and since when.
type waited struct {
	owner  string
	expiry uint64
	since  time.Duration
}

// mostLeases bounds how long a lease that is not renewed is waited for, in leases by this process's own clock: each takeover
// that did not wait puts the end of the next one ahead by one more.
const mostLeases = 4

// wait is how long another owner's lease is still waited for. A Redis whose clock was set back, as after a failover to one
// that is behind, would have it run for hours.
func (p *Partition) wait(now time.Duration, held *redisstream.HeldError) time.Duration {
	if p.waited.owner != held.Owner || p.waited.expiry != held.Expiry {
		p.waited = waited{held.Owner, held.Expiry, now}
	}
	const most = uint64(time.Hour / time.Millisecond)
	left := time.Duration(min(held.Expiry-held.Now, most)+1) * time.Millisecond
	return min(left, max(p.waited.since+mostLeases*p.env.Lease-now, 0)+time.Millisecond)
}

// overdue tells of an owner whether its lease need not be waited for: its process is provably dead, or it was waited for
// long enough. A fence is safe all the same; an owner that lives is only replaced.
func (p *Partition) overdue(now time.Duration) func(owner string) bool {
	over := ""
	if p.waited.owner != "" && now-p.waited.since >= mostLeases*p.env.Lease {
		over = p.waited.owner
	}
	return func(owner string) bool { return owner == over || p.env.gone != nil && p.env.gone(owner) }
}

// brief is how long another owner's lease is waited for, rather than its partition refused: one that was given back ends a
// few ms after the owner's last stamp.
const brief = 20 * time.Millisecond

// fenceFailed decides what follows from a fence that did not succeed.
func (p *Partition) fenceFailed(err error) {
	now := p.env.now()
	var fx effects
	p.mu.Lock()
	if p.phase != fencing {
		p.mu.Unlock()
		return
	}
	conn := p.fenceConn
	p.phase, p.fenceConn = resting, nil
	p.ends.known = false
	held, isHeld := errors.AsType[*redisstream.HeldError](err)
	refused, isRefused := errors.AsType[*redisstream.RefusedError](err)
	result := "failed"
	switch {
	case isHeld:
		result = "held"
		left := p.wait(now, held)
		p.retryAt = now + left
		p.giveUnknownUp(err, &fx)
		if !p.env.earlierSelf(held.Owner) && left > brief {
			p.held = kindOf(err)
			p.giveUp(p.held, &fx)
		}
	case errors.Is(err, redisstream.ErrSuperseded): // the heartbeat will end this process
		result = "superseded"
		p.retryAt = now + p.env.Lease
		p.giveUnknownUp(err, &fx)
		p.held = kindOf(err)
		p.giveUp(p.held, &fx)
	case errors.Is(err, redisstream.ErrLost):
		result = "lost"
		p.waitForRemote(now, err, &fx)
	case errors.Is(err, redisstream.ErrDeleted):
		result = "deleted"
		p.close(kindOf(err), &fx)
	case isRefused, errors.Is(err, redisstream.ErrUnavailable):
		p.retryAt = now + 10*time.Millisecond
		p.giveUp(kindOf(err), &fx)
		fx.leaveDemoted(conn, refused)
	default: // the connection was lost, or an earlier life is being deleted: soon again
		p.retryAt = now + 10*time.Millisecond
	}
	p.mu.Unlock()
	p.env.observer.Fenced(result)
	p.run(&fx)
}

// giveUnknownUp answers the group of unknown outcome: another owner leads, so that no fence of this one will tell any more.
func (p *Partition) giveUnknownUp(err error, fx *effects) {
	if p.unknown != nil {
		p.failGroup(p.unknown, kindOf(err), fx)
		p.unknown = nil
	}
}

// giveUp answers all that waits for this broker to lead. A group of unknown outcome stays: the next fence tells.
func (p *Partition) giveUp(err error, fx *effects) {
	p.failQueue(err, fx)
	p.confirm.fail(fmt.Errorf("%w: %w", ErrNotEnoughReplicasAfter, err), fx)
	p.wanted = false
}

// earlierSelf tells whether an owner is an earlier life of this broker: its lease is waited for.
func (e *env) earlierSelf(owner string) bool {
	own, _, _ := strings.Cut(e.Owner, "/")
	other, _, _ := strings.Cut(owner, "/")
	return own == other
}
