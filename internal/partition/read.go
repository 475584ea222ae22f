package partition

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/korvet-io/korvet/internal/redisstream"
)

// state is what is known of the log now: from memory where this broker leads, else from Redis.
func (p *Partition) state(ctx context.Context) (logEnds, int32, error) {
	var fx effects
	p.mu.Lock()
	if p.phase == gone {
		err := p.reason
		p.mu.Unlock()
		return logEnds{}, 0, err
	}
	if !p.current() {
		p.belongTo(p.env.shard.Identity())
	}
	if p.current() && (p.ends.high == p.ends.leo || p.replicas() > 0) {
		s, epoch := p.ends, p.term.epoch
		s.led = true
		p.mu.Unlock()
		return s, epoch, nil
	}
	p.want(&fx)
	unconfirmed := p.replicas() > 0
	p.mu.Unlock()
	p.run(&fx)
	p.env.busy(p)
	if unconfirmed {
		return logEnds{}, 0, fmt.Errorf("%w: what the replicas have is not known yet", ErrNotLeader)
	}
	return p.look(ctx)
}

// belongTo says which Redis the tail cache and the positions are about: what was known of another one goes. The
// lock is held.
func (p *Partition) belongTo(id redisstream.Identity) {
	if p.readFrom == id {
		return
	}
	p.readFrom = id
	p.env.budget.reset(&p.tail)
	p.positions.forget()
	p.dropAhead(p.env.now())
}

// look asks Redis for the log's ends.
func (p *Partition) look(ctx context.Context) (logEnds, int32, error) {
	before := p.known()
	v, err := p.env.shard.Look(ctx, p.keys)
	if err != nil {
		return logEnds{}, 0, readError(err)
	}
	if v.TopicID > p.topicID {
		return logEnds{}, 0, fmt.Errorf("%w: a later life of the topic is there", ErrUnknownPartition)
	}
	if v.TopicID != "" && v.TopicID < p.topicID { // an earlier life is being deleted: this one is empty
		return logEnds{known: true, view: &redisstream.View{}}, 0, nil
	}
	end := redisstream.EndOffset(v.LastSeq)
	if err := p.checkLost(before, &v, end); err != nil && !p.isNew(ctx, before) {
		return logEnds{}, 0, err
	}
	s := logEnds{known: true, logStart: min(v.LogStart, end), leo: end, high: end, epochs: v.Epochs, view: &v}
	s.see(&v)
	return s, v.Epoch, nil
}

// recheck asks Redis where the log ends when what is remembered seems to end too early.
func (p *Partition) recheck(ctx context.Context, s logEnds, epoch int32) (logEnds, int32, error) {
	fresh, freshEpoch, err := p.look(ctx)
	if err != nil || fresh.leo <= s.leo {
		return s, epoch, err
	}
	p.mu.Lock()
	if p.phase == leading && p.flight == nil && p.ends.leo == s.leo { // not this broker's doing
		p.phase, p.ends.known = resting, false
	}
	p.mu.Unlock()
	if p.replicas() > 0 {
		return s, epoch, fmt.Errorf("%w: what the replicas have is not known yet", ErrNotLeader)
	}
	return fresh, freshEpoch, nil
}

func readError(err error) error {
	if errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return fmt.Errorf("%w: %w", ErrTimeout, err)
	}
	return fmt.Errorf("%w: %w", ErrNotLeader, err)
}

func (s *logEnds) bounds(epoch int32) Bounds {
	return Bounds{
		LogStart: s.logStart, HighWatermark: s.high, LogEnd: s.leo, LeaderEpoch: epoch, LocalStart: s.localStart(), TieredEnd: s.tiered,
	}
}

// Bounds tells the ends of the log.
func (p *Partition) Bounds(ctx context.Context) (Bounds, error) {
	s, epoch, err := p.freshState(ctx)
	b := s.bounds(epoch)
	b.StartEpoch, _ = epochOf(s.epochs, b.LogStart)
	b.LocalEpoch, _ = epochOf(s.epochs, b.LocalStart)
	b.TieredEpoch, _ = epochOf(s.epochs, b.TieredEnd-1)
	b.PendingEpoch, _ = epochOf(s.epochs, max(b.TieredEnd, b.LogStart))
	return b, err
}

// LeaderEpoch is the partition's leader epoch as far as this broker knows it without asking Redis, else -1.
func (p *Partition) LeaderEpoch() int32 {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.ends.known {
		return -1
	}
	return p.term.epoch
}

// Read appends whole record batches below the high watermark to dst. See kafka/api's port Logs for the contract.
func (p *Partition) Read(ctx context.Context, req ReadRequest, dst []byte) (ReadResult, error) {
	began := p.env.now()
	s, epoch, err := p.state(ctx)
	if s.led {
		s.logStart = p.renewStart(ctx, s.logStart)
	}
	res := ReadResult{Bounds: s.bounds(epoch), Batches: dst}
	if err != nil {
		return res, err
	}
	if req.Offset > s.leo { // another broker may have taken over and moved on
		if s, epoch, err = p.recheck(ctx, s, epoch); err != nil {
			return res, err
		}
		res.Bounds = s.bounds(epoch)
	}
	if req.Offset < s.logStart || req.Offset > s.leo {
		return res, fmt.Errorf("%w: %d is not in [%d, %d]", ErrOffsetOutOfRange, req.Offset, s.logStart, s.leo)
	}
	if req.Offset >= s.high {
		return res, nil
	}
	tier, out, hit := cacheTier, dst, false
	if s.led {
		out, hit = p.tail.read(dst, req, s.high)
	}
	if !hit {
		out, tier, err = p.catchUp(ctx, s, req, dst)
	}
	res.Batches = out
	p.env.observer.ReadDone(tier, len(out)-len(dst), p.env.now()-began, err)
	return res, err
}

// catchUp reads what is in Redis or the remote tier only, and goes on reading for the consumer's next request.
func (p *Partition) catchUp(ctx context.Context, s logEnds, req ReadRequest, dst []byte) (out []byte, tier string, err error) {
	out, spare, tier, hit := p.readChunk(ctx, req, s.high, dst)
	if !hit {
		if out, tier, err = p.readTiers(ctx, s, req, dst); err != nil {
			return out, tier, err
		}
	}
	p.readOn(s, req, hit, out[len(dst):], spare)
	return out, tier, nil
}

// readers are reused: their builders and the closures over them are all that a read needs.
var readers = sync.Pool{New: func() any { return new(reader) }}

// readLocal rebuilds batches from Redis's entries.
func (p *Partition) readLocal(ctx context.Context, s logEnds, req ReadRequest, dst []byte) ([]byte, error) {
	r := readers.Get().(*reader)
	defer readers.Put(r)
	r.begin(s.epochs, req, dst, p.env.MaxValueBytes)
	r.values.topic = p.topicDictionaries(req.Values)
	err := p.scanValues(ctx, s, req.Offset, r)
	out := r.finish()
	if gone := p.over(); gone != nil { // what was read may be of the topic's next life
		return dst, gone
	}
	switch {
	case err != nil && len(out) > len(dst): // what was read is whole
		err = nil
	case errors.Is(err, ErrCorruptValue):
		p.corrupt(ctx, &r.values, err)
	}
	return out, err
}

// over tells why the partition is gone, if it is. A life of a topic is over before anything of it is deleted.
func (p *Partition) over() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.phase == gone {
		return p.reason
	}
	return nil
}

// pageSize is how many bytes to ask Redis for at once.
func (p *Partition) pageSize(want int) int {
	return min(max(want, 1024), p.env.ReadReplyBytes)
}

// scan walks the entries with offsets in [offset, end), in order, until the sink has enough. A stranger's entry, whose
// offset does not rise, is skipped. An entry after the one that is due, or none, means that a segment was rolled or dropped
// since the registry was read, or a hole: the registry is read again before it is believed to be one. Where there are holes,
// as in a compacted log, a page begins with the last entry of the page before: while that is there, the stream is the same,
// and what is missing after it is a hole.
func (p *Partition) scan(ctx context.Context, s logEnds, offset, end int64, sink entrySink) error {
	f := filter{next: offset, end: end, sink: sink}
	view, fresh := s.view, false // fresh: the registry was read since entries came last
	for f.next < end && !f.full {
		if f.next < view.LocalStart {
			return &tieredError{view}
		}
		page, err := p.scanPage(ctx, view, &f, p.pageSize(sink.room()))
		if err != nil {
			return err
		}
		segment := view.SegmentOf(f.next)
		if f.holes {
			p.holes.Store(true)
		}
		switch {
		case page.Entries > 0 && !f.gap:
			p.positions.save(f.next, f.last)
			f.trusted, fresh = f.trusted && f.took == 0, fresh && f.took == 0
		case !f.trusted:
			if view, err = p.reload(ctx); err != nil {
				return err
			}
			f.trusted, fresh = true, true
		case segment >= 0: // the rest of a sealed segment is gone: that its stream is the same tells nothing of the next
			f.next, f.trusted = view.Segments[segment].Last+1, fresh
		default:
			return nil
		}
	}
	return nil
}

// scanPage gives the filter one XRANGE's entries from its next offset on.
func (p *Partition) scanPage(ctx context.Context, view *redisstream.View, f *filter, bytes int) (redisstream.Page, error) {
	f.took, f.gap, f.anchor, f.anchored = 0, false, redisstream.ID{}, false
	stream := view.StreamOf(p.keys, f.next)
	from, inclusive := p.positions.find(f.next), false
	if from == (redisstream.ID{}) {
		id, found, err := p.env.shard.Seek(ctx, stream, f.next)
		if err != nil || !found {
			return redisstream.Page{}, wrapRead(err)
		}
		from, inclusive = id, true
	}
	count := p.positions.count(bytes)
	if !inclusive && p.holes.Load() {
		f.anchor, inclusive = from, true
		count++
	}
	page, err := p.env.shard.Range(ctx, stream, from, inclusive, count, f)
	p.positions.measure(page)
	if f.anchored {
		page.Entries--
	}
	return page, wrapRead(err)
}

func wrapRead(err error) error {
	if err == nil {
		return nil
	}
	return readError(err)
}

// reload reads the registry again and remembers it.
func (p *Partition) reload(ctx context.Context) (*redisstream.View, error) {
	v, err := p.env.shard.Look(ctx, p.keys)
	if err != nil {
		return nil, readError(err)
	}
	p.mu.Lock()
	p.ends.view = &v
	p.ends.see(&v)
	p.mu.Unlock()
	return &v, nil
}
