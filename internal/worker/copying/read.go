package copying

import (
	"context"
	"errors"
	"fmt"

	"github.com/korvet-io/korvet/internal/iceberg/datafile"
	"github.com/korvet-io/korvet/internal/redisstream"
	"github.com/korvet-io/korvet/internal/worker/tick"
)

// errGone is a sealed segment whose records are not where the registry says.
var errGone = errors.New("the registry names a sealed segment that has no records")

// page is what one answer of Redis gave, values as they are stored. Its rows are valid until it is given back.
type page struct {
	rows  []datafile.Row
	arena []byte
	next  int64 // offset after the last entry that was looked at
	err   error // why there is no page after this one
}

// keep copies b; nil stays nil, and empty empty.
func (p *page) keep(b []byte) []byte {
	if len(b) == 0 {
		return b[:0:0]
	}
	if cap(p.arena)-len(p.arena) < len(b) {
		p.arena = make([]byte, 0, max(redisstream.PageBytes, len(b))) // rows before keep the old one alive
	}
	from := len(p.arena)
	p.arena = append(p.arena, b...)
	return p.arena[from:len(p.arena):len(p.arena)]
}

// reader reads a stretch of sealed segments, a page ahead of who takes them: so Redis, the reading and the encoding go on
// side by side. Two pages are in memory, and a third that is being read.
type reader struct {
	ctx    context.Context
	redis  Sources
	target *tick.Target
	plan   stretchPlan

	pages  chan *page
	free   chan *page
	stop   context.CancelFunc
	page   *page
	at     int
	filled *page // by take, on the reading goroutine
	next   int64 // offset of the next record to take
	seen   bool  // the segment has entries
	last   redisstream.ID
	whole  bool // all of the segment was read
	until  int64
}

// readAhead is how many pages wait.
const readAhead = 2

func newReader(ctx context.Context, redis Sources, t *tick.Target, plan stretchPlan) *reader {
	r := &reader{redis: redis, target: t, plan: plan, next: plan.from, pages: make(chan *page, readAhead-1), free: make(chan *page, readAhead+1)}
	for range cap(r.free) {
		r.free <- &page{}
	}
	r.ctx, r.stop = context.WithCancel(ctx)
	go r.run()
	return r
}

// close ends the reading.
func (r *reader) close() {
	r.stop()
	for range r.pages { // until run has ended
	}
}

// run reads all pages.
func (r *reader) run() {
	defer close(r.pages)
	for _, seg := range r.plan.segments {
		if err := r.segment(seg); err != nil {
			r.give(&page{err: err})
			return
		}
	}
}

// give hands a page over; false when nobody takes it any more.
func (r *reader) give(p *page) bool {
	select {
	case r.pages <- p:
		return true
	case <-r.ctx.Done():
		return false
	}
}

// segment reads one segment's pages. The registry tells how large its entries are about.
func (r *reader) segment(seg redisstream.Segment) error {
	stream := r.target.Keys.Segment(seg.Number)
	first, count := true, redisstream.FewEntries
	if mean := seg.Bytes / (seg.Last - seg.Base + 1); mean > 0 {
		count = int(max(1, min(redisstream.PageBytes/mean, redisstream.PageBytes/64)))
	}
	var from redisstream.ID
	if r.next > seg.Base {
		id, found, err := r.redis.Seek(r.ctx, stream, r.next)
		if err != nil {
			return fmt.Errorf("read segment %d: %w", seg.Number, err)
		}
		if found { // else its last ones were removed, or all of it
			from = id
		}
	}
	r.seen, r.whole, r.until = false, false, seg.Last+1
	for !r.whole {
		select {
		case r.filled = <-r.free:
		case <-r.ctx.Done():
			return context.Cause(r.ctx)
		}
		r.filled.rows, r.filled.arena = r.filled.rows[:0], r.filled.arena[:0]
		page, err := r.redis.Range(r.ctx, stream, from, first, count, r)
		if err != nil {
			return fmt.Errorf("read segment %d: %w", seg.Number, err)
		}
		r.whole = r.whole || page.Entries < count
		if r.whole && !r.seen && r.next < r.until {
			return fmt.Errorf("read segment %d: %w", seg.Number, errGone)
		}
		if r.whole {
			r.next = r.until
		}
		r.filled.next = r.next
		if !r.give(r.filled) {
			return context.Cause(r.ctx)
		}
		from, first = r.last, false
		count = page.Next(count)
	}
	return nil
}

// PutEntry takes one entry of an XRANGE. A stranger's, whose offset does not rise, is passed over, and so are those below the
// offset that was asked for.
func (r *reader) PutEntry(e *redisstream.Entry) bool {
	r.last, r.seen = e.ID, true
	if e.Foreign || e.Record.Offset < r.next {
		return true
	}
	if e.Record.Offset >= r.until {
		r.whole = true
		return false
	}
	r.next = e.Record.Offset + 1
	row := datafile.Row{Record: e.Record, AppendMs: int64(e.ID.Ms)}
	p := r.filled
	row.Key, row.Value, row.Headers = p.keep(e.Record.Key), p.keep(e.Record.Value), p.keep(e.Record.Headers)
	p.rows = append(p.rows, row)
	return true
}

// row returns the next record without taking it; nil after the last, or with an error.
func (r *reader) row() (*datafile.Row, error) {
	for r.page == nil || r.at == len(r.page.rows) {
		if r.page != nil {
			if r.page.err != nil {
				return nil, r.page.err
			}
			if cap(r.page.arena) > 4*redisstream.PageBytes { // a large record's
				r.page.arena = nil
			}
			r.free <- r.page
		}
		var more bool
		if r.page, more = <-r.pages; !more {
			return nil, context.Cause(r.ctx)
		}
		r.at = 0
	}
	return &r.page.rows[r.at], nil
}

// rest is the record that row returned, and those in memory after it.
func (r *reader) rest() []datafile.Row { return r.page.rows[r.at:] }

// taken goes on to the record after the one that row returned.
func (r *reader) taken() { r.at++ }
