package datafile

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"
	"sort"
	"sync"

	"golang.org/x/sync/errgroup"
)

// Request asks for rows.
type Request struct {
	Offset int64 // rows with lower offsets are passed over
	Bytes  int   // about how many bytes of the file to read at once: pages are read whole, one at least
	Gap    int64 // bytes between two ranges that are read along rather than asked for apart
	// Deleted rows are passed over; nil: none.
	Deleted *Positions
}

// Read gives the sink the rows from an offset on, in order, until it wants no more. It reads one stretch of the file, or
// several when there is no such row in the first: next is the offset to go on with, done tells that the file has no more rows.
// The row and what it refers to are the reader's; they are the sink's until it returns.
func (f *File) Read(ctx context.Context, src Source, q Request, sink func(*Row) bool) (next int64, done bool, err error) {
	if err := f.order(ctx, src); err != nil {
		return q.Offset, false, fmt.Errorf("read data file: %w", err)
	}
	pieces := f.inOrder()
	next = q.Offset
	for i := sort.Search(len(pieces), func(i int) bool { return pieces[i].last >= q.Offset }); i < len(pieces); i++ {
		at := f.locate(&pieces[i], q.Offset)
		for at < pieces[i].to {
			var enough bool
			if at, next, enough, err = f.readStretch(ctx, src, q, at, pieces[i].to, sink); err != nil {
				return next, false, fmt.Errorf("read data file: %w", err)
			}
			if enough || next > q.Offset {
				return next, !enough && at == pieces[i].to && i == len(pieces)-1, nil
			}
		}
	}
	return next, true, nil
}

// inOrder are the file's pieces, once its order is known.
func (f *File) inOrder() []piece {
	if f.pieces == nil {
		return []piece{{first: math.MinInt64, last: math.MaxInt64, from: 0, to: f.rows}}
	}
	return f.pieces
}

// locate returns the position from which on to read a piece for an offset: the first row of a page that is all of the piece, or the
// piece's own.
func (f *File) locate(p *piece, offset int64) int64 {
	at := p.from
	for i := f.groupOf(p.from); i < len(f.groups) && f.groups[i].first < p.to; i++ {
		g := f.groups[i]
		pages := g.chunks[offsetColumn].pages
		before := at
		n := sort.Search(len(pages), func(n int) bool {
			end := g.rows
			if n+1 < len(pages) {
				end = pages[n+1].row
			}
			return g.first+end > p.to || g.first+pages[n].row >= p.from && pages[n].least > offset
		})
		if n > 0 {
			at = max(at, g.first+pages[n-1].row)
		}
		if at == before && g.first > before {
			break
		}
	}
	return at
}

// groupOf is the row group that has a position.
func (f *File) groupOf(position int64) int {
	return max(sort.Search(len(f.groups), func(i int) bool { return f.groups[i].first > position })-1, 0)
}

// readStretch gives the sink rows from a position on, up to another at most, that are not below the offset asked for: at is where
// it ended.
func (f *File) readStretch(ctx context.Context, src Source, q Request, from, end int64, sink func(*Row) bool) (at, next int64, enough bool, err error) {
	next = q.Offset
	g := f.groups[f.groupOf(from)]
	if err := g.find(ctx, src); err != nil {
		return from, next, false, err
	}
	to := min(g.stretch(from-g.first, q.Bytes), end-g.first)
	parts, err := fetch(ctx, src, g.ranges(from-g.first, to), q.Gap)
	if err != nil {
		return from, next, false, err
	}
	rows, err := newRows(g, parts, from-g.first, to)
	if err != nil {
		return from, next, false, err
	}
	defer rows.close()
	for {
		row, err := rows.next()
		if err != nil {
			return from, next, false, err
		}
		if row == nil {
			return g.first + to, next, false, nil
		}
		row.Position += g.first
		if row.Offset < next {
			if row.Offset >= q.Offset {
				return from, next, false, fmt.Errorf("%w: offset %d after %d", ErrCorrupt, row.Offset, next-1)
			}
			continue
		}
		if !q.Deleted.Has(row.Position) && !sink(row) {
			return row.Position, row.Offset, true, nil
		}
		next = row.Offset + 1
	}
}

// stretch tells up to which row to read from one on: pages of the largest column of about so many bytes, of all columns where the file
// was opened with typed ones, which may be many.
func (g *group) stretch(from int64, bytes int) int64 {
	pages := g.heavy.pages
	if len(g.chunks) > leaves {
		bytes = int(float64(bytes) * g.heavyPart())
	}
	first := pageOf(pages, from)
	for i := first; i < len(pages)-1; i++ {
		if pages[i].end-pages[first].start >= int64(bytes) {
			return pages[i+1].row
		}
	}
	return g.rows
}

func pageOf(pages []page, row int64) int {
	return sort.Search(len(pages), func(i int) bool { return pages[i].row > row }) - 1
}

type span struct{ from, to int64 }

// ranges lists the bytes that hold the rows [from, to), of all columns but the partition's.
func (g *group) ranges(from, to int64) []span {
	list := make([]span, 0, 2*len(g.chunks))
	for _, k := range g.chunks {
		if k != nil && k.leaf.id != PartitionID {
			list = k.spans(list, from, to)
		}
	}
	slices.SortFunc(list, func(a, b span) int { return cmp.Compare(a.from, b.from) })
	return list
}

// spans appends the bytes of a column that hold the rows [from, to), and its dictionary.
func (k *chunk) spans(list []span, from, to int64) []span {
	if k.dictionary > k.start {
		list = append(list, span{k.start, k.dictionary})
	}
	return append(list, span{k.pages[pageOf(k.pages, from)].start, k.pages[pageOf(k.pages, to-1)].end})
}

// fetch reads the ranges, those that are near each other as one, the others side by side.
func fetch(ctx context.Context, src Source, list []span, gap int64) ([]part, error) {
	var parts []part
	for i := 0; i < len(list); {
		s := list[i]
		for i++; i < len(list) && list[i].from-s.to <= gap; i++ {
			s.to = max(s.to, list[i].to)
		}
		parts = append(parts, part{off: s.from, data: takeRange(s.to - s.from)})
	}
	if len(parts) == 1 {
		return parts, src.ReadRange(ctx, parts[0].data, parts[0].off)
	}
	all, ctx := errgroup.WithContext(ctx)
	for _, p := range parts {
		all.Go(func() error { return src.ReadRange(ctx, p.data, p.off) })
	}
	return parts, all.Wait()
}

// ranges is memory that ranges were read to before.
var ranges = sync.Pool{New: func() any { return new([]byte) }}

// Memory of ranges between these is kept, in bytes.
const (
	leastKeptRange = 64 << 10
	mostKeptRange  = 8 << 20
)

func takeRange(n int64) []byte {
	if n < leastKeptRange || n > mostKeptRange {
		return make([]byte, n)
	}
	used := ranges.Get().(*[]byte)
	if int64(cap(*used)) < n {
		return make([]byte, n, n+n/4)
	}
	return (*used)[:n]
}

// giveBack keeps the memory of ranges that were read and that nobody uses any more.
func giveBack(parts []part) {
	for i := range parts {
		if b := parts[i].data; len(b) >= leastKeptRange && len(b) <= mostKeptRange {
			ranges.Put(&b)
		}
	}
}
