package partition

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/korvet-io/korvet/internal/batch"
)

// A consumer that catches up asks for the next records as soon as it has these: they are read from Redis while it takes
// what it got. Each partition of a broker may hold one such answer for each consumer, all together at most
// Settings.ReadAhead; one that nobody asked for is dropped after Settings.ReadAheadKept.

// ahead are answers read in advance.
type ahead struct {
	mu     sync.Mutex
	chunks []*chunk
}

// chunk is what a consumer will ask for next.
type chunk struct {
	req   ReadRequest
	since time.Duration
	ready chan struct{} // closed when what follows is there
	raw   []byte
	tier  string
	err   error
}

// take hands over the chunk that answers a request, if there is one. It may not be ready yet.
func (a *ahead) take(req ReadRequest) *chunk {
	a.mu.Lock()
	defer a.mu.Unlock()
	for i, c := range a.chunks {
		if c.req.Offset == req.Offset && c.req.sameBatches(&req) {
			a.chunks = slices.Delete(a.chunks, i, i+1)
			return c
		}
	}
	return nil
}

// sameBatches tells whether both want records in the same form.
func (r *ReadRequest) sameBatches(q *ReadRequest) bool {
	return r.Codec == q.Codec && r.Level == q.Level && r.NoZstd == q.NoZstd && r.LogAppendTime == q.LogAppendTime && r.AppendTimeHeader == q.AppendTimeHeader
}

// drop forgets the chunks that are older than since and tells how many.
func (a *ahead) drop(since time.Duration) (gone int, left bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	before := len(a.chunks)
	a.chunks = slices.DeleteFunc(a.chunks, func(c *chunk) bool { return c.since <= since })
	return before - len(a.chunks), len(a.chunks) > 0
}

// dropAhead forgets chunks read before a time and gives their slots back.
func (p *Partition) dropAhead(before time.Duration) (left bool) {
	gone, left := p.ahead.drop(before)
	for range gone {
		<-p.env.aheadSlots
	}
	return left
}

// readChunk answers a request from what was read in advance, if that is there and fits: it must not pass the high watermark
// that the answer tells. spare is a buffer for the next one.
func (p *Partition) readChunk(ctx context.Context, req ReadRequest, high int64, dst []byte) (out, spare []byte, tier string, hit bool) {
	c := p.ahead.take(req)
	if c == nil {
		return dst, nil, "", false
	}
	defer func() { <-p.env.aheadSlots }()
	select {
	case <-c.ready:
	case <-ctx.Done():
		return dst, nil, "", false
	}
	if c.err != nil || len(c.raw) == 0 || len(c.raw) > req.MaxBytes || nextOffset(c.raw) > high || p.over() != nil {
		return dst, nil, "", false
	}
	if len(dst) == 0 {
		return c.raw, dst, c.tier, true
	}
	return append(dst, c.raw...), c.raw, c.tier, true
}

// readOn reads what the consumer will ask for next, if it is not in the tail cache and there is room. again: it has read on before.
func (p *Partition) readOn(s logEnds, req ReadRequest, again bool, got, spare []byte) {
	next := nextOffset(got)
	if next < 0 || next >= s.high || len(got) < req.MaxBytes/2 || s.led && !req.AppendTimeHeader && p.tail.holds(next) {
		return
	}
	select {
	case p.env.aheadSlots <- struct{}{}:
	default:
		return
	}
	req.Offset, req.Began, req.readsOn = next, time.Time{}, again
	c := &chunk{req: req, since: p.env.now(), ready: make(chan struct{})}
	p.ahead.mu.Lock()
	p.ahead.chunks = append(p.ahead.chunks, c)
	p.ahead.mu.Unlock()
	p.env.busy(p)
	if cap(spare) == 0 {
		spare = make([]byte, 0, len(got)+len(got)/8)
	}
	go func() {
		defer close(c.ready)
		c.raw, c.tier, c.err = p.readTiers(context.Background(), s, req, spare[:0])
	}()
}

// nextOffset is the offset after the last of some batches, or -1.
func nextOffset(batches []byte) int64 {
	next := int64(-1)
	for len(batches) > 0 {
		h, ok := batch.Peek(batches)
		if !ok {
			return -1
		}
		next, batches = h.LastOffset+1, batches[h.Size:]
	}
	return next
}
