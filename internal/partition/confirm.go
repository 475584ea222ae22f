package partition

import (
	"errors"
	"fmt"
	"time"

	"github.com/korvet-io/korvet/internal/redisstream"
)

// confirmation is what waits for Redis's replicas: the high watermark moves only when they have the records.
type confirmation struct {
	running bool
	waiting []awaiting
	retryAt time.Duration
}

// awaiting is a producer whose batch is in the log but not on the replicas yet.
type awaiting struct {
	pending *pending
	got     Appended
	end     int64 // the high watermark that acknowledges it
}

// confirmEvery is the pause after a confirmation that failed.
const confirmEvery = 200 * time.Millisecond

// replicas is on how many replicas a record must be before it counts: min.insync.replicas, as far as Redis is run with
// that many, less the master.
func (p *Partition) replicas() int {
	return max(0, min(p.minReplicas, 1+p.env.RedisReplicas)-1)
}

// acknowledge answers a producer whose batch ends at offset end, now or when the high watermark has passed it.
func (p *Partition) acknowledge(w *pending, got Appended, end int64, fx *effects) {
	if w.opt.AllReplicas && end > p.ends.high {
		p.confirm.waiting = append(p.confirm.waiting, awaiting{w, got, end})
		return
	}
	fx.answer(w, got, nil)
}

// unconfirmed tells whether records wait for the replicas. The lock is held.
func (p *Partition) unconfirmed() bool { return p.phase == leading && p.ends.high < p.ends.leo }

// wantsConfirm tells whether the replicas have to be asked now. The lock is held.
func (p *Partition) wantsConfirm() bool {
	return p.unconfirmed() && !p.confirm.running && p.env.now() >= p.confirm.retryAt
}

// startConfirm asks whether the replicas have all up to the log end. The lock is not held.
func (p *Partition) startConfirm() {
	p.mu.Lock()
	if !p.wantsConfirm() {
		p.mu.Unlock()
		return
	}
	p.confirm.running = true
	end, token, identity, n := p.ends.leo, p.term.token, p.term.identity, p.replicas()
	p.mu.Unlock()
	p.env.replicas.Confirm(identity, n, func(err error) { p.confirmed(end, token, err) })
}

// confirmed takes the replicas' answer for the log up to end.
func (p *Partition) confirmed(end int64, token string, err error) {
	var fx effects
	p.mu.Lock()
	p.confirm.running = false
	switch {
	case p.phase != leading || p.term.token != token: // the log may have changed: ask again under the new term
	case err != nil:
		p.confirm.retryAt = p.env.now() + confirmEvery
		if !errors.Is(err, redisstream.ErrReplicasBehind) {
			p.confirm.fail(fmt.Errorf("%w: %w", ErrNotEnoughReplicasAfter, err), &fx)
		} // else they may still make it within the producers' time
	default:
		p.ends.high = max(p.ends.high, end)
		p.confirm.pass(p.ends.high, &fx)
		fx.wake = true
	}
	fx.confirm = p.wantsConfirm()
	p.mu.Unlock()
	p.run(&fx)
}

// pass answers those whose batches are below the high watermark.
func (c *confirmation) pass(high int64, fx *effects) {
	kept := c.waiting[:0]
	for _, a := range c.waiting {
		if a.end <= high {
			fx.answer(a.pending, a.got, nil)
		} else {
			kept = append(kept, a)
		}
	}
	clear(c.waiting[len(kept):])
	c.waiting = kept
}

// fail answers all that wait.
func (c *confirmation) fail(err error, fx *effects) {
	for _, a := range c.waiting {
		fx.answer(a.pending, Appended{}, err)
	}
	c.waiting = nil
}

// expire answers those whose time ran out. Their records are in the log.
func (c *confirmation) expire(now time.Duration, fx *effects) {
	kept := c.waiting[:0]
	for _, a := range c.waiting {
		if d := a.pending.deadline; d > 0 && d <= now {
			fx.answer(a.pending, Appended{}, fmt.Errorf("%w: not on the replicas in time", ErrNotEnoughReplicasAfter))
		} else {
			kept = append(kept, a)
		}
	}
	clear(c.waiting[len(kept):])
	c.waiting = kept
}
