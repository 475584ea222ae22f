package datafile

import (
	"context"
	"fmt"
	"slices"
	"sort"

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
	defer caught(&err)
	next = q.Offset
	g, from := f.find(q.Offset)
	for ; g < len(f.groups); g, from = f.following(g, from) {
		to := f.groups[g].stretch(from, q.Bytes)
		var enough bool
		if next, enough, err = f.readStretch(ctx, src, q, g, from, to, sink); err != nil || enough {
			return next, false, err
		}
		if from = to; next > q.Offset {
			break
		}
	}
	g, _ = f.following(g, from)
	return next, g == len(f.groups), nil
}

// following goes on with the next row group where one is at its end.
func (f *File) following(g int, row int64) (int, int64) {
	if g < len(f.groups) && row == f.groups[g].rows {
		return g + 1, 0
	}
	return g, row
}

// readStretch gives the sink the rows [from, to) of a row group that are not below the offset asked for.
func (f *File) readStretch(ctx context.Context, src Source, q Request, g int, from, to int64, sink func(*Row) bool) (next int64, enough bool, err error) {
	group := &f.groups[g]
	parts, err := fetch(ctx, src, group.ranges(from, to), q.Gap)
	if err != nil {
		return q.Offset, false, fmt.Errorf("read data file: %w", err)
	}
	rows, err := newRows(group, parts, from, to)
	if err != nil {
		return q.Offset, false, err
	}
	defer rows.close()
	next = q.Offset
	for {
		row, err := rows.next()
		if err != nil {
			return next, false, fmt.Errorf("read data file: %w", err)
		}
		if row == nil {
			return next, false, nil
		}
		row.Position += group.first
		if row.Offset < q.Offset {
			continue
		}
		if q.Deleted.Has(row.Position) {
			next = row.Offset + 1
			continue
		}
		if !sink(row) {
			return row.Offset, true, nil
		}
		next = row.Offset + 1
	}
}

// find returns the row group and the row in it from which on to read for an offset: a page's first.
func (f *File) find(offset int64) (int, int64) {
	after := sort.Search(len(f.groups), func(i int) bool { return f.groups[i].chunks[offsetColumn].pages[0].least > offset })
	g := max(after-1, 0)
	if len(f.groups) == 0 {
		return 0, 0
	}
	pages := f.groups[g].chunks[offsetColumn].pages
	p := sort.Search(len(pages), func(i int) bool { return pages[i].least > offset })
	return g, pages[max(p-1, 0)].row
}

// stretch tells up to which row to read from one on: whole pages of values of about so many bytes.
func (g *group) stretch(from int64, bytes int) int64 {
	pages := g.chunks[valueColumn].pages
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

// ranges lists the bytes that hold the rows [from, to), of all columns.
func (g *group) ranges(from, to int64) []span {
	list := make([]span, 0, 2*leaves)
	for leaf, k := range g.chunks {
		if leaf == partitionColumn {
			continue
		}
		if k.dictionary > k.start {
			list = append(list, span{k.start, k.dictionary})
		}
		list = append(list, span{k.pages[pageOf(k.pages, from)].start, k.pages[pageOf(k.pages, to-1)].end})
	}
	slices.SortFunc(list, func(a, b span) int { return int(a.from - b.from) })
	return list
}

// fetch reads the ranges, those that are near each other as one, the others side by side.
func fetch(ctx context.Context, src Source, list []span, gap int64) ([]part, error) {
	var parts []part
	for i := 0; i < len(list); {
		s := list[i]
		for i++; i < len(list) && list[i].from-s.to <= gap; i++ {
			s.to = max(s.to, list[i].to)
		}
		parts = append(parts, part{off: s.from, data: make([]byte, s.to-s.from)})
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
