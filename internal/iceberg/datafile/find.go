package datafile

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"slices"
)

// scanBytes is about how many bytes are read at once of a file that is read through.
const scanBytes = 1 << 20

// find makes the pages of a row group known, by reading through those columns that have no page index, once.
func (g *group) find(ctx context.Context, src Source) error {
	g.finding.Lock()
	defer g.finding.Unlock()
	if g.found {
		return nil
	}
	for i, k := range g.chunks {
		if k == nil || k.pages != nil || k.leaf.id == PartitionID {
			continue
		}
		var found []page
		s := scan{chunk: k, src: src, at: k.start, data: k.start}
		if err := s.pages(ctx, g.rows, func(p page) error {
			found = append(found, p)
			return nil
		}); err != nil {
			return fmt.Errorf("column %d: %w", i, err)
		}
		k.pages, k.dictionary = found, s.data
	}
	g.found = true
	return nil
}

// scan walks the pages of a column, with a window of it in memory.
type scan struct {
	*chunk
	src    Source
	all    bool         // decode also what is not needed to know the rows
	loaded func() error // called with each page of values that was decoded; nil: none
	window part
	at     int64
	data   int64 // where data pages begin
	column column
}

// bytes returns those from where the scan is on, n at least unless the column ends.
func (s *scan) bytes(ctx context.Context, n int64) ([]byte, error) {
	n = min(n, s.end-s.at)
	if have := s.window.off + int64(len(s.window.data)); s.at < s.window.off || s.at+n > have {
		size := min(max(n, scanBytes), s.end-s.at)
		if int64(cap(s.window.data)) < size {
			s.window.data = make([]byte, size)
		}
		s.window = part{off: s.at, data: s.window.data[:size]}
		if err := s.src.ReadRange(ctx, s.window.data, s.at); err != nil {
			return nil, err
		}
	}
	return s.window.data[s.at-s.window.off:], nil
}

// pages tells of each page; one that goes on with the row of the page before is told of as one with it.
func (s *scan) pages(ctx context.Context, rows int64, each func(page) error) error {
	if err := s.column.open(s.chunk, nil, nil); err != nil {
		return err
	}
	row, told := int64(0), unbounded
	told.row = -1
	for s.at < s.end {
		begin := s.at
		h, err := s.next(ctx)
		if err != nil {
			return err
		}
		if h.kind == pageDictionary && told.row < 0 {
			s.data = s.at
		}
		if h.kind != pageData && h.kind != pageDataV2 || h.values == 0 {
			continue
		}
		p, n, begins := s.page(&h)
		if begins {
			if told.row >= 0 {
				err = each(told)
			}
			told = p
			told.row, told.start = row, begin
		} else if told.row < 0 {
			err = fmt.Errorf("%w: its first page begins within a row", ErrCorrupt)
		}
		if err != nil {
			return err
		}
		told.end = s.at
		if row += n; row > rows {
			break
		}
	}
	if row != rows || told.row < 0 {
		return fmt.Errorf("%w: %d rows instead of %d", ErrCorrupt, row, rows)
	}
	return each(told)
}

// next reads a page as far as it is needed: numbers for their bounds, and lists for their rows.
func (s *scan) next(ctx context.Context) (pageHeader, error) {
	h, size, err := s.header(ctx)
	if err != nil {
		return h, err
	}
	whole := int64(size) + h.stored
	if whole > s.end-s.at {
		return h, fmt.Errorf("%w: page of %d bytes where there are %d", ErrCorrupt, whole, s.end-s.at)
	}
	if s.all || s.leaf.kind == kindInt64 || s.leaf.maxRep > 0 {
		b, err := s.bytes(ctx, whole)
		if err != nil {
			return h, err
		}
		s.column.body = b[:whole]
		err = s.column.load()
		if err == nil && s.loaded != nil {
			err = s.loaded()
		}
		if err != nil && err != io.EOF { // a dictionary
			return h, err
		}
	}
	s.at += whole
	return h, nil
}

// header reads the next page's, which may be longer than what is in memory.
func (s *scan) header(ctx context.Context) (pageHeader, int, error) {
	for n := int64(16 << 10); ; n *= 4 {
		b, err := s.bytes(ctx, n)
		if err != nil {
			return pageHeader{}, 0, err
		}
		h, size, err := readPageHeader(b)
		if err == nil || size > 0 || int64(len(b)) >= s.end-s.at || n > mostTail {
			return h, size, err
		}
	}
}

// page tells what is known of the page that was read: its bounds, how many rows begin in it, and whether one does at its beginning.
func (s *scan) page(h *pageHeader) (p page, rows int64, begins bool) {
	p, rows, begins = unbounded, h.values, true
	switch {
	case s.leaf.maxRep > 0:
		rows = 0
		for _, r := range s.column.repeats {
			if r == 0 {
				rows++
			}
		}
		begins = s.column.repeats[0] == 0
	case s.leaf.kind == kindInt64 && s.leaf.required:
		p.least, p.most = slices.Min(s.column.numbers), slices.Max(s.column.numbers)
	}
	return p, rows, begins
}

// piece is a run of rows with rising offsets, between which no other row of the file belongs.
type piece struct {
	first, last int64 // offsets
	from, to    int64 // positions
}

// mostUnordered bounds the memory that it takes to find the order of a file's rows.
const mostUnordered = 16 << 20

// order makes the order of a foreign file's rows known: engines that merge files do not sort.
func (f *File) order(ctx context.Context, src Source) error {
	f.ordering.Lock()
	defer f.ordering.Unlock()
	if f.ordered {
		return nil
	}
	if f.rows > mostUnordered {
		return fmt.Errorf("%w: %d rows of unknown order: at most %d", ErrCorrupt, f.rows, mostUnordered)
	}
	var pieces []piece
	for _, g := range f.groups {
		if err := g.find(ctx, src); err != nil {
			return err
		}
		if err := g.eachOffset(ctx, src, func(row, offset int64) {
			if n := len(pieces); n > 0 && offset > pieces[n-1].last {
				pieces[n-1].last, pieces[n-1].to = offset, g.first+row+1
				return
			}
			pieces = append(pieces, piece{offset, offset, g.first + row, g.first + row + 1})
		}); err != nil {
			return err
		}
	}
	if len(pieces) > 1 {
		var err error
		if f.pieces, err = f.arrange(ctx, src, pieces); err != nil {
			return err
		}
	}
	f.ordered = true
	return nil
}

// arrange puts pieces in order. Those that lie between each other are cut where they do.
func (f *File) arrange(ctx context.Context, src Source, pieces []piece) ([]piece, error) {
	byOffset := func(a, b piece) int { return cmp.Compare(a.first, b.first) }
	slices.SortFunc(pieces, byOffset)
	disjoint := true
	for i := range pieces[1:] {
		disjoint = disjoint && pieces[i].last < pieces[i+1].first
	}
	if disjoint {
		return pieces, nil
	}
	all := make([]piece, 0, f.rows)
	for _, g := range f.groups {
		if err := g.eachOffset(ctx, src, func(row, offset int64) {
			all = append(all, piece{offset, offset, g.first + row, g.first + row + 1})
		}); err != nil {
			return nil, err
		}
	}
	slices.SortFunc(all, byOffset)
	cut := all[:0]
	for i, p := range all {
		n := len(cut)
		switch {
		case i > 0 && p.first == cut[n-1].last:
			return nil, fmt.Errorf("%w: offset %d is there twice", ErrCorrupt, p.first)
		case i > 0 && p.from == cut[n-1].to:
			cut[n-1].last, cut[n-1].to = p.last, p.to
		default:
			cut = append(cut, p)
		}
	}
	return slices.Clone(cut), nil
}

// eachOffset reads the offsets of a row group, a window at a time.
func (g *group) eachOffset(ctx context.Context, src Source, do func(row, offset int64)) error {
	k := g.chunks[offsetColumn]
	var c column
	for first := 0; first < len(k.pages); {
		last := first
		for last+1 < len(k.pages) && k.pages[last+1].end-k.pages[first].start <= scanBytes {
			last++
		}
		to := g.rows
		if last+1 < len(k.pages) {
			to = k.pages[last+1].row
		}
		parts, err := fetch(ctx, src, k.spans(nil, k.pages[first].row, to), scanBytes)
		if err != nil {
			return err
		}
		if err := c.begin(k, parts, k.pages[first].row, to); err != nil {
			return err
		}
		for row := k.pages[first].row; row < to; row++ {
			if err := c.ready(); err != nil {
				return err
			}
			do(row, c.int())
		}
		first = last + 1
	}
	return nil
}
