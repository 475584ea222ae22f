package tables

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"iter"
	"slices"

	"github.com/korvet-io/korvet/internal/iceberg/datafile"
	"github.com/korvet-io/korvet/internal/iceberg/jsoncolumns"
)

// swap is data files of a partition that a commit adds, and those whose rows go and lie at the same offsets.
type swap struct {
	partition   int32
	come        []File
	gone        []goneRows
	first, last int64 // offsets
}

// goneRows are rows that a commit takes away: all of a file, or those of one that stays which it deletes.
type goneRows struct {
	File
	before *datafile.Positions // rows that were deleted already
	stays  bool                // the file
	newly  *datafile.Positions // the rows of a file that stays that the commit deletes
}

// swaps divides a partition's files: no row of one swap can be a row of another.
func swaps(partition int32, come []File, gone []goneRows) (list []swap) {
	byFirst := func(a, b *File) int { return cmp.Compare(a.First, b.First) }
	slices.SortFunc(come, func(a, b File) int { return byFirst(&a, &b) })
	slices.SortFunc(gone, func(a, b goneRows) int { return byFirst(&a.File, &b.File) })
	next := func(f *File) *swap {
		if n := len(list); n > 0 && f.First <= list[n-1].last {
			list[n-1].last = max(list[n-1].last, f.Last)
		} else {
			list = append(list, swap{partition: partition, first: f.First, last: f.Last})
		}
		return &list[len(list)-1]
	}
	for c, g := 0, 0; c < len(come) || g < len(gone); {
		if g == len(gone) || c < len(come) && come[c].First < gone[g].First {
			s := next(&come[c])
			s.come = append(s.come, come[c])
			c++
			continue
		}
		s := next(&gone[g].File)
		s.gone = append(s.gone, gone[g])
		g++
	}
	return slices.DeleteFunc(list, func(s swap) bool { return len(s.come) == 0 })
}

// depth is how many of the files have rows around one offset, at most: so many are open at once.
func (s *swap) depth() int {
	type edge struct {
		offset int64
		by     int
	}
	var edges []edge
	add := func(f *File) { edges = append(edges, edge{f.First, 1}, edge{f.Last, -1}) }
	for i := range s.come {
		add(&s.come[i])
	}
	for i := range s.gone {
		add(&s.gone[i].File)
	}
	slices.SortFunc(edges, func(a, b edge) int { return cmp.Or(cmp.Compare(a.offset, b.offset), cmp.Compare(b.by, a.by)) })
	open, most := 0, 0
	for _, e := range edges {
		open += e.by
		most = max(most, open)
	}
	return most
}

// check wants each row that comes to be one that goes, and another one for each.
func (s *swap) check(ctx context.Context, t *Table, turns *Turns, columns []jsoncolumns.Column) error {
	depth := s.depth()
	window := turns.window(depth)
	if window == 0 {
		return fmt.Errorf("%w: %d files of partition %d lie over each other at offsets %d to %d: to compare them takes more than korvet.storage.remote.catalog.compare-bytes", ErrRefused, depth, s.partition, s.first, s.last)
	}
	for _, typed := range typedParts(columns) {
		if err := s.compare(ctx, t, window, typed); err != nil {
			return err
		}
	}
	return nil
}

// compare is check of a part of the typed columns. It reads both sides in the order of offsets.
func (s *swap) compare(ctx context.Context, t *Table, window int, typed *typedPart) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	read := rowsRead{datafile.Request{Bytes: window, Gap: leastWindow}, typed.stored()}
	come, gone := newSwapRows(ctx, t, s.come, &read), newGoneRows(ctx, t, s.gone, &read)
	defer come.stop()
	defer gone.stop()
	for {
		row, err := come.peek()
		if err != nil {
			return unreadable(err)
		}
		if row == nil {
			return nil
		}
		if err := s.checkRow(come, gone, row, typed); err != nil {
			return err
		}
		come.take()
	}
}

func (s *swap) checkRow(come, gone *mergedRows, row *datafile.Row, typed *typedPart) error {
	if come.begun && row.Offset == come.last {
		return fmt.Errorf("%w: offset %d of partition %d would come twice: an offset is there once", ErrRefused, row.Offset, s.partition)
	}
	if f := come.head.file; row.Offset < f.First || row.Offset > f.Last || row.AppendMs < f.MinAppendMs || row.AppendMs > f.MaxAppendMs ||
		f.Timed && (row.Timestamp < f.MinTimestamp || row.Timestamp > f.MaxTimestamp) {
		return fmt.Errorf("%w: %s: row at offset %d is not between the bounds that the commit says", ErrRefused, f.Location, row.Offset)
	}
	why := fmt.Errorf("%w: a row would come to offset %d of partition %d, where none goes: rows are added by producers, through Kafka", ErrRefused, row.Offset, s.partition)
	for {
		other, err := gone.peek()
		if err != nil {
			return unreadable(err)
		}
		switch {
		case other == nil || other.Offset > row.Offset:
			return why
		case other.Offset == row.Offset:
			if why = s.same(row, other, typed); why == nil {
				gone.take()
				return nil
			}
		}
		gone.take()
	}
}

// same tells how a row would be another one.
func (s *swap) same(row, other *datafile.Row, typed *typedPart) error {
	if !sameRow(row, other) {
		return fmt.Errorf("%w: the record at offset %d of partition %d would be another one: records never change", ErrRefused, row.Offset, s.partition)
	}
	if column := typed.differ(row, other); column != "" {
		return fmt.Errorf("%w: column %s of the record at offset %d of partition %d would be another: it is of the value, and records never change", ErrRefused, column, row.Offset, s.partition)
	}
	return nil
}

// sameRow compares records. Null and empty differ.
func sameRow(a, b *datafile.Row) bool {
	same := func(a, b []byte) bool { return bytes.Equal(a, b) && (a == nil) == (b == nil) }
	return a.Timestamp == b.Timestamp && a.AppendMs == b.AppendMs && same(a.Key, b.Key) && same(a.Value, b.Value) &&
		(bytes.Equal(a.Headers, b.Headers) || datafile.SameHeaders(a.Headers, b.Headers))
}

// rowsRead is how the rows of compared files are read.
type rowsRead struct {
	datafile.Request
	typed []datafile.Column
}

// newSwapRows gives the rows of files that come, each as often as it is there.
func newSwapRows(ctx context.Context, t *Table, files []File, read *rowsRead) *mergedRows {
	m := &mergedRows{twice: true}
	for i := range files {
		m.wait(&files[i], t.rows(ctx, &files[i], nil, read.Request, read.typed, &m.err))
	}
	return m
}

// newGoneRows gives the rows that go, each as often as it is there.
func newGoneRows(ctx context.Context, t *Table, files []goneRows, read *rowsRead) *mergedRows {
	m := &mergedRows{twice: true}
	for i := range files {
		g := &files[i]
		rows := t.rows(ctx, &g.File, g.before, read.Request, read.typed, &m.err)
		if g.stays {
			rows = only(rows, g.newly)
		}
		m.wait(&g.File, rows)
	}
	return m
}

// only passes over rows that are not in a set.
func only(rows iter.Seq[*datafile.Row], set *datafile.Positions) iter.Seq[*datafile.Row] {
	return func(yield func(*datafile.Row) bool) {
		for r := range rows {
			if set.Has(r.Position) && !yield(r) {
				return
			}
		}
	}
}
