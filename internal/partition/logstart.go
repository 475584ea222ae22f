package partition

import (
	"context"
	"time"

	"github.com/korvet-io/korvet/internal/redisstream"
)

// The log start rises behind a leader's back: the storage worker, maybe of another process, trims by retention. So does
// compaction remove records. A partition that is read learns of both within a second.

const (
	// startLasts is how long a log start counts as new.
	startLasts = time.Second
	// startStale is from when on a read waits for a new one instead of asking for it on the side: nobody has read for a while.
	startStale = 2 * startLasts
)

// logStart says when the log start was read last.
type logStart struct {
	seen  time.Duration
	asked bool // it is being read
	// flight is closed when the reading that reads wait for is over; nil: there is none.
	flight chan struct{}
	clean  int64 // below, compaction has removed records
	// newest is what was read last, of one moment.
	newest redisstream.Starts
}

// freshState is state with the log start as Redis has it now, as far as it can be reached.
func (p *Partition) freshState(ctx context.Context) (logEnds, int32, error) {
	s, epoch, err := p.state(ctx)
	if err == nil && s.led {
		s.logStart = p.readStart(ctx, s.logStart)
	}
	return s, epoch, err
}

// readStart waits for the log start. Without an answer it is what is remembered.
func (p *Partition) readStart(ctx context.Context, remembered int64) int64 {
	starts, err := p.env.shard.LogStart(ctx, p.keys, p.topicID)
	var fx effects
	p.mu.Lock()
	p.start.seen = p.env.now() // a Redis that does not answer is not waited for again and again
	if err == nil && p.ends.known {
		p.raiseStart(starts.Log, &fx)
		p.compacted(starts)
		remembered = max(remembered, p.ends.logStart)
	}
	p.mu.Unlock()
	p.run(&fx)
	return remembered
}

// renewStart sees to it that a read knows a log start that is not old. Of many reads at once one asks.
func (p *Partition) renewStart(ctx context.Context, remembered int64) int64 {
	p.mu.Lock()
	age, conn, token, flight := p.env.now()-p.start.seen, p.term.conn, p.term.token, p.start.flight
	side := age >= startLasts && age < startStale && !p.start.asked
	wait := age >= startStale && !p.start.asked
	p.start.asked = p.start.asked || side
	if wait && flight == nil {
		p.start.flight = make(chan struct{})
	}
	p.mu.Unlock()
	switch {
	case wait && flight == nil:
		return p.readForAll(ctx, remembered)
	case wait:
		select {
		case <-flight:
		case <-ctx.Done():
			return remembered
		}
		p.mu.Lock()
		defer p.mu.Unlock()
		if p.ends.known {
			remembered = max(remembered, p.ends.logStart)
		}
	case side:
		redisstream.LogStart(conn, p.keys, p.topicID, func(s redisstream.Starts, err error) { p.renewed(token, s, err) })
	}
	return remembered
}

// readForAll is readStart for whoever waits beside. What is in memory is served while Redis does not answer.
func (p *Partition) readForAll(ctx context.Context, remembered int64) int64 {
	soon, cancel := context.WithTimeout(context.WithoutCancel(ctx), startLasts)
	defer cancel()
	defer func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		close(p.start.flight)
		p.start.flight = nil
	}()
	return p.readStart(soon, remembered)
}

// renewed takes a log start that was asked for under a term.
func (p *Partition) renewed(token string, starts redisstream.Starts, err error) {
	var fx effects
	p.mu.Lock()
	p.start.asked = false
	if err == nil && p.term.token == token && p.ends.known {
		p.start.seen = p.env.now()
		p.raiseStart(starts.Log, &fx)
		p.compacted(starts)
	}
	p.mu.Unlock()
	p.run(&fx)
}

// compacted takes how far compaction has come: what is in memory from below may hold records that it removed. The lock
// is held.
func (p *Partition) compacted(starts redisstream.Starts) {
	clean := starts.Clean
	p.start.newest = starts
	if clean <= p.start.clean {
		return
	}
	p.start.clean = clean
	p.holes.Store(true)
	if p.tail.begins() < clean {
		p.env.budget.reset(&p.tail)
	}
	p.dropAhead(p.env.now())
}

// startAt takes a log start that rose.
func (p *Partition) startAt(start int64) {
	var fx effects
	p.mu.Lock()
	p.raiseStart(start, &fx)
	p.mu.Unlock()
	p.run(&fx)
}

// raiseStart is startAt with the lock held.
func (p *Partition) raiseStart(start int64, fx *effects) {
	if start <= p.ends.logStart {
		return
	}
	p.ends.logStart = start
	fx.remove = append(fx.remove, p.times.dropBefore(start)...)
	fx.epochs = append(fx.epochs, p.ends.dropEpochsBefore(start)...)
}
