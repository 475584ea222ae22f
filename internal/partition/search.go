package partition

import (
	"context"
	"fmt"
	"math"

	"github.com/korvet-io/korvet/internal/redisstream"
)

// timeSearch finds the first entry with a timestamp at or after ms.
type timeSearch struct {
	ms    int64
	found TimeOffset
	ok    bool
}

func (t *timeSearch) take(e *redisstream.Entry) bool {
	if e.Record.Timestamp < t.ms {
		return true
	}
	t.found = TimeOffset{Offset: e.Record.Offset, Timestamp: e.Record.Timestamp}
	t.ok = true
	return false
}

// room is without bound: a search reads pages of the largest size.
func (t *timeSearch) room() int { return math.MaxInt }

// maxSearch finds the largest timestamp.
type maxSearch struct{ ms int64 }

func (m *maxSearch) take(e *redisstream.Entry) bool {
	m.ms = max(m.ms, e.Record.Timestamp)
	return true
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
		first, end, ok := p.interval(from, ms)
		if !ok {
			return nothing, nil
		}
		if end == 0 || end > s.high {
			end = s.high
		}
		search := timeSearch{ms: ms}
		if err := p.scan(ctx, s, first, end, &search); err != nil {
			return nothing, err
		}
		if err := p.over(); err != nil {
			return nothing, err
		}
		if search.ok {
			search.found.LeaderEpoch, _ = epochOf(s.epochs, search.found.Offset)
			return search.found, nil
		}
		from = end
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

// MaxTimestamp finds the first record of the largest timestamp.
func (p *Partition) MaxTimestamp(ctx context.Context) (TimeOffset, error) {
	s, _, err := p.freshState(ctx)
	if err != nil || s.logStart >= s.high {
		return nothing, err
	}
	p.mu.Lock()
	ms, known := p.times.largest(s.logStart)
	known = known && p.current()
	p.mu.Unlock()
	if !known {
		if ms, err = p.readMax(ctx, s, s.logStart); err != nil {
			return nothing, err
		}
	}
	found, err := p.OffsetForTime(ctx, ms)
	if err == nil && found.Offset < 0 { // records were deleted meanwhile, or the index counts deleted ones
		if ms, err = p.readMax(ctx, s, s.logStart); err == nil {
			return p.OffsetForTime(ctx, ms)
		}
	}
	return found, err
}

func (p *Partition) readMax(ctx context.Context, s logEnds, from int64) (int64, error) {
	search := maxSearch{ms: math.MinInt64}
	err := p.scan(ctx, s, from, s.high, &search)
	return search.ms, err
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
