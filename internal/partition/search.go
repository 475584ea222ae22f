package partition

import (
	"context"
	"errors"
	"fmt"
	"math"

	"github.com/korvet-io/korvet/internal/redisstream"
)

// timeSearch finds the first entry with a timestamp at or after ms. At the first entry at or after offset end it gives up: the
// index knows where to go on.
type timeSearch struct {
	ms, end int64
	found   TimeOffset
	ok      bool
	next    int64 // offset to go on from; 0: there is no entry
}

func (t *timeSearch) take(e *redisstream.Entry) bool {
	if e.Record.Timestamp < t.ms {
		t.next = e.Record.Offset
		return t.next < t.end
	}
	t.found = TimeOffset{Offset: e.Record.Offset, Timestamp: e.Record.Timestamp}
	t.ok = true
	return false
}

// room is without bound: a search reads pages of the largest size.
func (t *timeSearch) room() int { return math.MaxInt }

// maxSearch finds the first entry of the largest timestamp, and ends at one that has all that is claimed.
type maxSearch struct {
	claimed int64
	found   TimeOffset
	ok      bool
}

func (m *maxSearch) take(e *redisstream.Entry) bool {
	if r := &e.Record; !m.ok || r.Timestamp > m.found.Timestamp {
		m.found = TimeOffset{Offset: r.Offset, Timestamp: r.Timestamp}
		m.ok = true
	}
	return m.found.Timestamp < m.claimed
}

func (m *maxSearch) room() int { return math.MaxInt }

// nothing is the answer of a search that found none.
var nothing = TimeOffset{Offset: -1, Timestamp: -1, LeaderEpoch: -1}

// OffsetForTime finds the first record, in offset order, whose timestamp is at or after ms: with the time index where this
// broker leads, else by reading the log.
func (p *Partition) OffsetForTime(ctx context.Context, ms int64) (TimeOffset, error) {
	s, _, err := p.freshState(ctx)
	if err != nil {
		return nothing, err
	}
	for from := s.logStart; from < s.high; {
		if local := min(s.localStart(), s.high); from < local {
			found, err := p.seekRemote(ctx, &s, ms, from, local)
			if err != nil || found.Offset >= 0 {
				return found, err
			}
			from = local
			continue
		}
		first, end, ok := p.interval(from, ms)
		if !ok {
			return nothing, nil
		}
		if end == 0 || end > s.high {
			end = s.high
		}
		search := timeSearch{ms: ms, end: end}
		err := p.scan(ctx, s, first, s.high, &search)
		if s.newer(err) { // it went on to the remote tier, or was deleted, while it was looked through
			from = max(from, s.logStart)
			continue
		}
		if err = errors.Join(err, p.over()); err != nil {
			return nothing, err
		}
		if search.ok {
			search.found.LeaderEpoch, _ = epochOf(s.epochs, search.found.Offset)
			return search.found, nil
		}
		if search.next < end { // that was the last entry
			break
		}
		from = search.next
	}
	return nothing, nil
}

// interval is where the first record with such a timestamp may be, at or after offset from.
func (p *Partition) interval(from, ms int64) (first, end int64, ok bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.current() { // no index: all of it
		return from, 0, true
	}
	return p.times.after(from, ms)
}

// MaxTimestamp finds the first record of the largest timestamp. Below where compaction has come it is the one that the
// newest pass noted. Of what follows, the intervals of the time index are read that claim the largest timestamps, until none
// claims more than was found: the records behind a claim may have been deleted, or just be compacted.
func (p *Partition) MaxTimestamp(ctx context.Context) (TimeOffset, error) {
	s, _, err := p.freshState(ctx)
	if err != nil || s.logStart >= s.high {
		return nothing, err
	}
	for {
		best, err := p.largest(ctx, &s)
		if s.newer(err) { // some of it went to the remote tier meanwhile
			continue
		}
		if err = errors.Join(err, p.over()); err != nil || !best.ok {
			return nothing, err
		}
		best.found.LeaderEpoch, _ = epochOf(s.epochs, best.found.Offset)
		return best.found, nil
	}
}

// largest finds it over both tiers.
func (p *Partition) largest(ctx context.Context, s *logEnds) (best maxSearch, err error) {
	remote := maxSearch{}
	if local := min(s.localStart(), s.high); s.logStart < local {
		remote.found, err = p.largestRemote(ctx, s, local)
		if remote.ok = remote.found.Offset >= 0; err != nil {
			return best, err
		}
	}
	of := *s
	of.logStart = s.localStart()
	if best, err = p.largestLocal(ctx, of); err == nil && remote.ok && (!best.ok || remote.found.above(best.found)) {
		best = remote
	}
	return best, err
}

// largestLocal finds it among the records from the log start on, which Redis has.
func (p *Partition) largestLocal(ctx context.Context, s logEnds) (best maxSearch, err error) {
	best, from, err := p.largestKept(ctx, s)
	if err != nil {
		return best, err
	}
	for _, c := range p.claims(from) {
		if best.ok && c.maxMs < best.found.Timestamp {
			break
		}
		if best.ok && c.maxMs == best.found.Timestamp && c.first > best.found.Offset {
			continue
		}
		search := maxSearch{claimed: c.maxMs}
		if c.end == 0 || c.end > s.high {
			c.end = s.high
		}
		if err := p.scan(ctx, s, c.first, c.end, &search); err != nil {
			return best, err
		}
		if search.ok && (!best.ok || search.found.above(best.found)) {
			best = search
		}
	}
	return best, nil
}

// above tells whether it is rather the first record of the largest timestamp.
func (t TimeOffset) above(o TimeOffset) bool {
	return t.Timestamp > o.Timestamp || t.Timestamp == o.Timestamp && t.Offset < o.Offset
}

// largestKept is the largest timestamp that the newest compaction pass has left, and the offset from which on it says
// nothing. It is believed if its record is still there.
func (p *Partition) largestKept(ctx context.Context, s logEnds) (best maxSearch, from int64, err error) {
	clean, kept := int64(0), redisstream.Stamp{}
	if s.led {
		p.mu.Lock()
		clean, kept = p.start.newest.Clean, p.start.newest.Largest
		p.mu.Unlock()
	} else if s.view != nil {
		clean, kept = s.view.Clean.To, s.view.Clean.Largest
	}
	if !kept.Known || clean <= s.logStart {
		return best, s.logStart, nil
	}
	if kept.Offset < 0 {
		return best, clean, nil
	}
	best.claimed = kept.Ms
	if kept.Offset >= s.logStart {
		err = p.scan(ctx, s, kept.Offset, kept.Offset+1, &best)
	}
	if !best.ok {
		return best, s.logStart, err
	}
	return best, clean, err
}

// claims is what is known of the timestamps of the records at or after an offset.
func (p *Partition) claims(from int64) []claim {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.current() { // no index: all of them have to be read
		return []claim{{first: from, maxMs: unread}}
	}
	return p.times.claims(from)
}

// EndOfEpoch answers OffsetForLeaderEpoch.
func (p *Partition) EndOfEpoch(ctx context.Context, epoch int32) (int32, int64, error) {
	s, current, err := p.state(ctx)
	if err != nil {
		return -1, -1, err
	}
	e, end := endOfEpoch(s.epochs, current, epoch, s.leo)
	return e, end, nil
}

// DeleteBefore raises the log start to offset, or to the high watermark for -1, and returns it.
func (p *Partition) DeleteBefore(ctx context.Context, offset int64) (int64, error) {
	s, _, err := p.freshState(ctx)
	if err != nil {
		return -1, err
	}
	if offset == -1 {
		offset = s.high
	}
	if offset < 0 || offset > s.high {
		return -1, fmt.Errorf("%w: cannot delete to %d of [%d, %d]", ErrOffsetOutOfRange, offset, s.logStart, s.high)
	}
	if offset <= s.logStart {
		return s.logStart, nil
	}
	start, err := p.env.shard.Trim(ctx, p.keys, p.topicID, offset)
	if err != nil {
		return -1, kindOf(err)
	}
	p.startAt(start)
	return start, nil
}

// dropEpochsBefore forgets the leader epochs that end at or below the log start.
func (s *logEnds) dropEpochsBefore(start int64) (gone []int32) {
	n := 0
	for n+1 < len(s.epochs) && s.epochs[n+1].Start <= start {
		gone = append(gone, s.epochs[n].Epoch)
		n++
	}
	s.epochs = s.epochs[n:]
	return gone
}

// Size tells the bytes the partition uses in Redis: sealed segments' as they were measured then, which leaves them alone.
func (p *Partition) Size(ctx context.Context) (int64, error) {
	v, err := p.env.shard.Look(ctx, p.keys)
	if err != nil {
		return 0, readError(err)
	}
	known, streams := int64(0), []string{p.keys.Stream}
	for _, s := range v.Segments {
		if s.Bytes >= 0 {
			known += s.Bytes
		} else {
			streams = append(streams, p.keys.Segment(s.Number))
		}
	}
	size, err := p.env.shard.Size(ctx, streams)
	return known + size, wrapRead(err)
}
