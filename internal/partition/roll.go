package partition

import (
	"errors"
	"slices"
	"time"

	"github.com/korvet-io/korvet/internal/redisstream"
)

// The owner seals the open segment as it writes: before a batch that would make it larger or older than the topic's policy
// allows. What it has sent gives an upper bound of the segment's size; only where that is too much, the segment is measured,
// and sealed if it really is. The batches wait meanwhile, and nothing else does.

// SegmentPolicy says when a partition's open segment is sealed; a value that is not positive is no limit.
type SegmentPolicy struct {
	Bytes int64 // it would use more in Redis with the next batch
	Ms    int64 // its first record was appended so long ago
}

const (
	// mostRate bounds what Redis uses for a byte of weight, whatever the records' size: 1.38 was the most measured with its
	// default sizes of nodes, at 2 KiB. Where more was measured that counts.
	mostRate = 1.5
	// recordWeight is what a record weighs beside its bytes in a batch: id, fields' names, timestamp.
	recordWeight = 40
	// sealPause is how long the segment is left alone after Redis refused to measure or to seal it.
	sealPause = time.Second
	// rivalPause is that after somebody else sealed it, or replaced this owner, meanwhile.
	rivalPause = 100 * time.Millisecond
)

// openSegment is what is known of the open segment.
type openSegment struct {
	known   bool // the fields hold; else it is measured before the next append
	number  int64
	bytes   int64   // as measured
	since   int64   // weight of what was sent since then
	firstMs uint64  // append time of its first entry; 0: it has none
	rate    float64 // bytes for each of weight, as measured last

	asked   bool // it is being measured or sealed: appends wait
	askedAt time.Duration
	retryAt time.Duration // it is left alone until then
}

// weight is what a batch adds to a segment, to be multiplied by a rate.
func (w *pending) weight() int64 { return int64(w.size()) + recordWeight*int64(w.batch.Count) }

// most is how many bytes the segment uses at most once more weight was sent.
func (s *openSegment) most(more int64) int64 {
	return s.bytes + int64(float64(s.since+more)*max(mostRate, s.rate))
}

// sent notes what an append of this weight adds.
func (s *openSegment) sent(weight int64, ms uint64) {
	s.since += weight
	if s.firstMs == 0 {
		s.firstMs = ms
	}
}

// room is the weight that may be sent before the segment has to be looked at again.
func (s *openSegment) room(policy SegmentPolicy) int64 {
	if policy.Bytes <= 0 || !s.known {
		return everybody
	}
	return int64(float64(policy.Bytes-s.bytes)/max(mostRate, s.rate)) - s.since
}

// due tells whether the segment has to be sealed before a batch of that weight that is stamped ms. exact is false where it
// has to be measured to know.
func (s *openSegment) due(policy SegmentPolicy, weight int64, ms uint64) (due, exact bool) {
	switch {
	case !s.known:
		return true, false
	case s.firstMs == 0 && s.since == 0: // nothing to seal, however large the batch
		return false, true
	case policy.Ms > 0 && ms >= s.firstMs+uint64(policy.Ms):
		return true, s.since == 0
	case policy.Bytes <= 0:
		return false, true
	}
	full := s.most(weight) > policy.Bytes || s.since == 0 && s.bytes > policy.Bytes-policy.Bytes/32 // what is left is not worth measuring again
	return full, s.since == 0
}

// asking is one question about the open segment, or the order to seal it.
type asking struct {
	conn redisstream.Conn
	roll redisstream.RollRequest // with a number below 0: only measure
}

const measure = -1

// sealFirst tells whether the next batch has to wait for the open segment to be measured or sealed, and starts that. The
// lock is held, nothing is in flight.
func (p *Partition) sealFirst(now time.Duration, fx *effects) bool {
	s, next := &p.open, p.queue[0]
	policy := next.opt.Segment
	switch {
	case s.asked:
		return true
	case policy.Bytes <= 0 && policy.Ms <= 0 || now < s.retryAt:
		return false
	}
	due, exact := s.due(policy, next.weight(), p.nextMs(now))
	if !due {
		return false
	}
	fx.ask = &asking{conn: p.term.conn, roll: redisstream.RollRequest{TopicID: p.topicID, Open: measure, Token: p.term.token}}
	if exact {
		p.describeRoll(&fx.ask.roll)
	}
	s.asked, s.askedAt = true, now
	return true
}

// describeRoll says what this owner knows of the segment it seals.
func (p *Partition) describeRoll(q *redisstream.RollRequest) {
	q.Open, q.Bytes, q.MaxTimestamp = p.open.number, p.open.bytes, -1
	if ms, known := p.times.largest(p.sealedEnd()); known {
		q.MaxTimestamp = redisstream.KnownTimestamp(ms)
	}
	if p.times.count > 0 && p.times.maxMs != unread {
		closing := p.times.maxMs
		q.Closing = &closing
	}
}

// sealedEnd is the offset after the last sealed segment, as far as the registry was seen.
func (p *Partition) sealedEnd() int64 {
	if v := p.ends.view; v != nil && len(v.Segments) > 0 {
		return v.Segments[len(v.Segments)-1].Last + 1
	}
	return 0
}

// ask carries out what sealFirst began. The lock is not held.
func (p *Partition) ask(a *asking) {
	if a.roll.Open == measure {
		redisstream.Weigh(a.conn, p.keys, func(w redisstream.Weight, err error) { p.weighed(a, w, err) })
		return
	}
	redisstream.Roll(a.conn, p.keys, a.roll, func(sealed redisstream.Segment, rolled bool, err error) {
		p.rolled(a, sealed, rolled, err)
	})
}

// weighed takes what Redis says of the open segment.
func (p *Partition) weighed(a *asking, w redisstream.Weight, err error) {
	p.answered(a, err, func(s *openSegment, fx *effects) {
		if s.known && w.Open == s.number && s.since > 0 && w.Bytes > s.bytes {
			s.rate = float64(w.Bytes-s.bytes) / float64(s.since)
		}
		s.known, s.number, s.bytes, s.since, s.firstMs = true, w.Open, w.Bytes, 0, w.First.Ms
		p.raiseStart(w.LogStart, fx)
		if v := p.ends.view; v == nil || v.Open != w.Open { // somebody else sealed one
			fx.registry = a.conn
		}
	})
}

// rolled takes the outcome of a roll.
func (p *Partition) rolled(a *asking, sealed redisstream.Segment, rolled bool, err error) {
	p.answered(a, err, func(s *openSegment, fx *effects) {
		*s = openSegment{known: true, number: s.number, rate: s.rate}
		if !rolled { // it has no entry: they were trimmed
			return
		}
		s.number = sealed.Number + 1
		p.moveTimes(a, sealed, fx)
		if v := p.ends.view; v != nil && v.Open == sealed.Number {
			next := *v
			next.Segments, next.Open = append(slices.Clone(v.From(p.ends.logStart)), sealed), s.number
			p.ends.view = &next
		} else {
			fx.registry = a.conn
		}
		p.log.Debug("segment sealed", "segment", sealed.Number, "base", sealed.Base, "last", sealed.Last, "bytes", sealed.Bytes)
	})
}

// moveTimes lets the time index's entries of a segment that was sealed follow it.
func (p *Partition) moveTimes(a *asking, sealed redisstream.Segment, fx *effects) {
	from := p.sealedEnd()
	fx.moved = &moved{conn: a.conn, token: a.roll.Token, segment: sealed.Number}
	for _, e := range p.times.entries {
		if e.last >= from && e.last <= sealed.Last {
			fx.moved.offsets = append(fx.moved.offsets, e.last)
		}
	}
	if a.roll.Closing != nil { // the roll itself has written it
		p.times.close(sealed.Last)
	}
}

// moved are entries of the time index that belong to a sealed segment now.
type moved struct {
	conn    redisstream.Conn
	token   string
	segment int64
	offsets []int64
}

// answered ends a question. An answer under an earlier term, or when the partition is gone, is of no use any more.
func (p *Partition) answered(a *asking, err error, take func(*openSegment, *effects)) {
	now := p.env.now()
	var fx effects
	p.mu.Lock()
	s := &p.open
	if p.term.token != a.roll.Token {
		p.mu.Unlock()
		return
	}
	if s.asked = false; p.phase == gone {
		p.mu.Unlock()
		return
	}
	refused, isRefused := errors.AsType[*redisstream.RefusedError](err)
	switch {
	case err == nil:
		take(s, &fx)
	case errors.Is(err, redisstream.ErrNotOpen):
		s.known, s.retryAt = false, now+rivalPause
	case isRefused:
		s.known, s.retryAt = false, now+sealPause
		p.log.Warn("redis refused to measure or seal the open segment: trying again", "err", refused)
	default: // the connection was lost: after the next fence Redis tells what came of it
		s.known = false
	}
	p.advance(now, &fx)
	p.mu.Unlock()
	p.run(&fx)
}

// readRegistry learns what another one has sealed or dropped.
func (p *Partition) readRegistry(c redisstream.Conn) {
	redisstream.Registry(c, p.keys, func(v redisstream.View, err error) {
		if err != nil {
			return // whoever reads finds a gap, and looks again
		}
		var fx effects
		p.mu.Lock()
		if p.term.conn == c && p.ends.known {
			p.ends.view = &v
			p.ends.see(&v)
			p.raiseStart(v.LogStart, &fx)
		}
		p.mu.Unlock()
		p.run(&fx)
	})
}
