package compaction

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"

	"github.com/korvet-io/korvet/internal/redisstream"
)

// stretch is one of the streams that a partition's log lies in.
type stretch struct {
	number     int64
	base, last int64  // offsets
	lastMs     uint64 // of the newest append
}

// parts are the streams, oldest first. The open one has no end.
func (p *pass) parts() []stretch {
	var all []stretch
	open := stretch{number: p.redis.Open, last: math.MaxInt64, lastMs: math.MaxUint64}
	for _, s := range p.view.Segments {
		all = append(all, stretch{s.Number, s.Base, s.Last, s.LastMs})
		open.base = s.Last + 1
	}
	return append(all, open)
}

// walk takes records in the order of their offsets.
type walk struct {
	next, end int64 // offsets still to take
	take      func(e *redisstream.Entry) (more bool)
	page      func() error // called between two answers of Redis, may be nil
	stopped   bool         // at the end, or because take wanted no more
	last      redisstream.ID
}

// PutEntry takes one entry of an XRANGE. A stranger's, whose offset does not rise, is passed over.
func (w *walk) PutEntry(e *redisstream.Entry) bool {
	w.last = e.ID
	if e.Foreign || e.Record.Offset < w.next {
		return true
	}
	if e.Record.Offset >= w.end || !w.take(e) {
		w.stopped = true
		return false
	}
	w.next = e.Record.Offset + 1
	return true
}

// scan walks a stream from an id on. count is how many entries an answer has; 0: as many as fit into redisstream.PageBytes.
func (p *pass) scan(ctx context.Context, number int64, from redisstream.ID, count int, w *walk) error {
	first, size := true, cmp.Or(count, redisstream.FewEntries)
	for !w.stopped {
		page, err := p.shard.Range(ctx, p.redis.Stream(number), from, first, size, w)
		if err != nil {
			return fmt.Errorf("scan stream: %w", err)
		}
		if w.page != nil {
			if err := w.page(); err != nil {
				return err
			}
		}
		if page.Entries < size {
			return nil
		}
		from, first = w.last, false
		if count == 0 {
			size = page.Next(size)
		}
	}
	return nil
}

// mostTombstones bounds how many groups of tombstones the registry tells apart.
const mostTombstones = 32

// fewTombstones drops groups of which none is left, and merges those closest in time: the older of the two then stays as
// long as the younger.
func fewTombstones(all []redisstream.Tombstones) []redisstream.Tombstones {
	all = slices.DeleteFunc(all, func(t redisstream.Tombstones) bool { return t.Count == 0 })
	for len(all) > mostTombstones {
		closest := 1
		for i := 2; i < len(all); i++ {
			if all[i].Ms-all[i-1].Ms < all[closest].Ms-all[closest-1].Ms {
				closest = i
			}
		}
		all[closest].Count += all[closest-1].Count
		all = slices.Delete(all, closest-1, closest)
	}
	return all
}
