package partition

import (
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/korvet-io/korvet/internal/batch"
	"github.com/korvet-io/korvet/internal/redisstream"
)

// group is what one MULTI appends.
type group struct {
	items     []item
	append    redisstream.Append
	producers map[int64]*producer // as they are once it is appended
	times     times               // likewise
	sentAt    time.Duration
	// dictionary is the zstd dictionary of its last values that use one.
	dictionary uint32
	fate       fate
}

// fate is what a fence found out about a group of unknown outcome.
type fate int

const (
	undecided fate = iota
	landed         // it is in the log
	absent         // nothing of it is, nor can be any more
	lost           // nobody can tell any more
)

// item is one batch of a group. Batches that repeat it, sent again before it was decided, share its outcome.
type item struct {
	first   *pending
	base    int64
	cursor  cursor
	repeats []*pending
}

// end is the offset after the group's last record.
func (g *group) end() int64 { return int64(g.append.Last().Seq) + 1 }

// buildGroup takes batches off the queue, in order, until the group is full. Those that are refused or repeat an earlier
// one are answered without it. The result is nil when no batch is left to send; doubt then tells that one cannot be answered
// before a fence. The lock is held.
func (p *Partition) buildGroup(now time.Duration, fx *effects) (built *group, doubt bool) {
	g := &group{producers: map[int64]*producer{}, times: p.times, sentAt: now}
	ms := p.nextMs(now)
	p.expireProducers(int64(ms), fx)
	g.append = redisstream.Append{
		Token: p.term.token, Ms: ms, Base: p.ends.leo,
		Expiry: max(p.term.expiry, p.redisNow(now)+uint64(p.env.Lease/time.Millisecond)),
	}
	next, bytes, taken := p.ends.leo, 0, 0
	heavy, room := int64(0), p.open.room(p.queue[0].opt.Segment)
	for _, w := range p.queue {
		count := int(next-p.ends.leo) + int(w.batch.Count)
		if len(g.items) > 0 && (count > p.env.MaxGroupRecords || bytes+w.size() > p.env.MaxGroupBytes || heavy+w.weight() > room) {
			break
		}
		if doubt = p.doubts(g, w); doubt {
			break
		}
		taken++
		if !p.admit(g, w, next, int64(ms), fx) {
			continue
		}
		next += int64(w.batch.Count)
		bytes += w.size()
		heavy += w.weight()
	}
	p.queue = dropFirst(p.queue, taken)
	if len(g.items) == 0 {
		return nil, doubt
	}
	p.describe(g)
	p.open.sent(heavy, ms)
	p.stamped = max(p.stamped, ms) // from now on, whatever becomes of it: the next fence's floor rests on it
	return g, false
}

// dropFirst removes the first n of a queue, keeping its array.
func dropFirst(queue []*pending, n int) []*pending {
	left := copy(queue, queue[n:])
	clear(queue[left:])
	return queue[:left]
}

// doubts tells whether a batch seems out of order although this broker may not lead any more: another one may have
// appended what comes before it, and the producer must not be told that its sequence is broken. A fence after the batch
// arrived settles that.
func (p *Partition) doubts(g *group, w *pending) bool {
	if w.batch.ProducerID < 0 || w.number <= p.term.covers {
		return false
	}
	return errors.Is(p.producers.check(w.batch, g.producers).err, ErrOutOfOrderSequence)
}

// admit adds a batch to the group, or answers it.
func (p *Partition) admit(g *group, w *pending, base, ms int64, fx *effects) bool {
	p.minReplicas = w.opt.MinReplicas
	if n := p.replicas(); n > 0 && w.opt.AllReplicas && !p.env.replicas.Connected(n) {
		p.producers.failed(w.batch)
		fx.answer(w, Appended{}, fmt.Errorf("%w: fewer than %d are connected", ErrNotEnoughReplicas, n))
		return false
	}
	if err := p.foreign(w); err != nil {
		p.producers.failed(w.batch)
		fx.answer(w, Appended{}, err)
		return false
	}
	b := w.batch
	if b.ProducerID >= 0 {
		v := p.producers.check(b, g.producers)
		switch {
		case v.err != nil:
			fx.answer(w, Appended{}, v.err)
			return false
		case v.duplicate:
			p.repeat(g, w, v.of, fx)
			return false
		}
		p.remember(g, b, base, ms)
	}
	g.items = append(g.items, item{first: w, base: base, cursor: w.cursor()})
	maxMs := b.MaxTimestamp
	if w.opt.LogAppendTime {
		maxMs = ms
	}
	g.times.add(base+int64(b.Count)-1, int64(b.Count), maxMs)
	return true
}

// remember notes an idempotent producer's batch in the group.
func (p *Partition) remember(g *group, b *batch.Batch, base, ms int64) {
	state := g.producers[b.ProducerID]
	if state == nil {
		known := p.producers.known[b.ProducerID]
		state = &known
		g.producers[b.ProducerID] = state
	}
	state.add(b, base, ms)
}

// expireProducers forgets idle producers, now and then.
func (p *Partition) expireProducers(ms int64, fx *effects) {
	every := min(p.env.expiryMs.Load()/2, time.Minute.Milliseconds())
	if ms-p.expiredMs < every && len(p.producers.known) <= p.env.MaxProducers+p.env.MaxProducers/10 {
		return
	}
	p.expiredMs = ms
	fx.remove = append(fx.remove, p.producers.expire(ms-p.env.expiryMs.Load())...)
}

// repeat answers a batch that was sent before. What it repeats may be in the group that is being built: it then shares
// that one's outcome.
func (p *Partition) repeat(g *group, w *pending, of sent, fx *effects) {
	for i := range g.items {
		if g.items[i].base == of.base {
			g.items[i].repeats = append(g.items[i].repeats, w)
			return
		}
	}
	got := Appended{BaseOffset: of.base, LogStartOffset: p.ends.logStart, AppendTime: -1, Duplicate: true}
	if w.opt.LogAppendTime {
		got.AppendTime = of.ms
	}
	p.acknowledge(w, got, of.base+of.count(), fx)
}

// describe fills in the append's records and state fields.
func (p *Partition) describe(g *group) {
	for i := range g.items {
		it := &g.items[i]
		g.append.Sources = append(g.append.Sources, redisstream.Source{
			Records: &it.cursor, Count: int(it.first.batch.Count), WithTime: !it.first.opt.LogAppendTime,
		})
	}
	g.carry(p.dictionary)
	g.append.Fields = g.times.fields(len(p.times.entries))
	if p.replicas() > 0 {
		g.append.Fields = append(g.append.Fields, field{Name: highField, Value: strconv.FormatInt(p.ends.high, 10)})
	}
	for id, state := range g.producers {
		g.append.Fields = append(g.append.Fields, field{Name: producerField(id), Value: state.encode()})
	}
}

// send sends a group on the term's connection. The lock is not held: nothing else is in flight.
func (p *Partition) send(g *group) {
	p.appender.Send(p.term.conn, &g.append, func(err error) { p.appended(g, err) })
}

// appended takes Redis's answer to the group in flight.
func (p *Partition) appended(g *group, err error) {
	now := p.env.now()
	var fx effects
	p.mu.Lock()
	p.flight = nil
	refused, isRefused := errors.AsType[*redisstream.RefusedError](err)
	notSent := errors.Is(err, redisstream.ErrNotSent)
	isRefused = isRefused && !notSent && !errors.Is(err, redisstream.ErrUnknownOutcome) // whatever made the connection end
	switch {
	case p.phase == gone:
		p.failGroup(g, p.reason, &fx)
	case err == nil:
		p.term.expiry = max(p.term.expiry, g.append.Expiry)
		p.dictionary = g.dictionary
		p.commit(g, &fx)
	case isRefused:
		p.failGroup(g, kindOf(refused), &fx)
		if fx.leaveDemoted(p.term.conn, refused) {
			p.phase = resting // nothing more is sent there
		}
	case notSent: // on a connection that had ended: it waits for the next one with the others
		p.requeue(g)
		p.phase = resting
	default: // nobody knows: fence, then look
		p.unknown = g
		p.phase = resting
		p.dictionary = 0 // Redis may have noted what it carried without its records
	}
	p.advance(now, &fx)
	p.mu.Unlock()
	p.run(&fx)
}

// commit makes an appended group part of the log. The lock is held.
func (p *Partition) commit(g *group, fx *effects) {
	p.belongTo(p.term.identity)
	p.term.lastMs = max(p.term.lastMs, g.append.Ms)
	p.ends.leo = g.end()
	p.producers.commit(g.producers)
	p.times = g.times
	if p.replicas() == 0 {
		p.ends.high = p.ends.leo
		p.confirm.pass(p.ends.high, fx)
		fx.wake = true
	}
	fx.confirm = fx.confirm || p.wantsConfirm()
	for i := range g.items {
		p.commitItem(&g.items[i], int64(g.append.Ms), fx)
	}
}

// commitItem stamps a batch, gives it to the tail cache and acknowledges it.
func (p *Partition) commitItem(it *item, ms int64, fx *effects) {
	b := it.first.batch
	if it.first.opt.LogAppendTime {
		b.StampAppendTime(ms)
	}
	b.Stamp(it.base, p.term.epoch)
	p.env.budget.add(&p.tail, cached{base: it.base, last: it.base + int64(b.Count) - 1, codec: b.Codec, raw: b.Raw})
	p.acknowledgeItem(it, ms, fx)
}

// acknowledgeGroup acknowledges a group that is in the log although this term did not put it there.
func (p *Partition) acknowledgeGroup(g *group, fx *effects) {
	for i := range g.items {
		p.acknowledgeItem(&g.items[i], int64(g.append.Ms), fx)
	}
}

func (p *Partition) acknowledgeItem(it *item, ms int64, fx *effects) {
	got := Appended{BaseOffset: it.base, LogStartOffset: p.ends.logStart, AppendTime: -1}
	if it.first.opt.LogAppendTime {
		got.AppendTime = ms
	}
	end := it.base + int64(it.first.batch.Count)
	p.acknowledge(it.first, got, end, fx)
	got.Duplicate = true
	for _, w := range it.repeats {
		p.acknowledge(w, got, end, fx)
	}
}

// failGroup answers all of a group of which nothing is in the log.
func (p *Partition) failGroup(g *group, err error, fx *effects) {
	for i := range g.items {
		it := &g.items[i]
		p.producers.failed(it.first.batch)
		for _, w := range append([]*pending{it.first}, it.repeats...) {
			fx.answer(w, Appended{}, err)
		}
	}
}

// requeue puts a group of which nothing is in the log back to the head of the queue. Batches whose producers were
// answered already are not sent again: they would come twice.
func (p *Partition) requeue(g *group) {
	var again []*pending
	for i := range g.items {
		it := &g.items[i]
		waiting := 0
		for _, w := range append([]*pending{it.first}, it.repeats...) {
			if w.done != nil {
				again = append(again, w)
				waiting++
			}
		}
		if waiting == 0 {
			p.producers.failed(it.first.batch)
			it.first.release()
		}
	}
	p.queue = append(again, p.queue...)
}
