package datafile

import (
	"context"
	"fmt"
	"math"
)

// Stretch is a part of a file that is read and kept as one: whole pages of one row group.
type Stretch struct {
	group    int
	from, to int64 // rows of the group
	// Least and Most are about the offsets in it, the others about times in ms: none is below Least or above the others. Where the
	// file does not tell they are math.MinInt64 and math.MaxInt64.
	Least, Most, MostTimestamp, MostAppend int64
	// Bytes is about how many bytes of the file it takes.
	Bytes int64
	// Row is the position of its first row in the file, Rows how many there are.
	Row, Rows int64
}

// SameGroup tells whether two stretches are in one row group, so that they can be read at once.
func (s *Stretch) SameGroup(o *Stretch) bool { return s.group == o.group }

// Stretches divides the file: each has about so many bytes of values or so many rows, whichever comes first, one page at least.
func (f *File) Stretches(bytes, rows int64) []Stretch {
	var list []Stretch
	for g := range f.groups {
		group := &f.groups[g]
		values, keys := group.chunks[valueColumn].pages, group.chunks[keyColumn].pages
		for i := 0; i < len(values); {
			s := Stretch{group: g, from: values[i].row, to: group.rows, Row: group.first + values[i].row}
			for ; i < len(values) && s.Bytes < bytes && values[i].row-s.from < rows; i++ {
				s.Bytes += values[i].end - values[i].start
			}
			if i < len(values) {
				s.to = values[i].row
			}
			if s.to <= s.from {
				continue
			}
			s.Rows = s.to - s.from
			s.Bytes += keys[pageOf(keys, s.to-1)].end - keys[pageOf(keys, s.from)].start
			s.Least, s.Most = group.bounds(offsetColumn, s.from, s.to)
			s.MostTimestamp, s.MostAppend = group.mostTime(timestampColumn, &s), group.mostTime(appendTimeColumn, &s)
			list = append(list, s)
		}
	}
	return list
}

// bounds tells between what a column's values in rows are.
func (g *group) bounds(leaf int, from, to int64) (least, most int64) {
	pages := g.chunks[leaf].pages
	least, most = math.MaxInt64, math.MinInt64
	for _, p := range pages[pageOf(pages, from) : pageOf(pages, to-1)+1] {
		least, most = min(least, p.least), max(most, p.most)
	}
	return least, most
}

// mostTime is the highest time in a stretch, in ms.
func (g *group) mostTime(leaf int, s *Stretch) int64 {
	_, most := g.bounds(leaf, s.from, s.to)
	if most == math.MaxInt64 {
		return most
	}
	return Millis(most)
}

// ReadStretches gives the sink all rows of stretches of one row group that follow each other, in the file's order, and reads
// them with one fetch. The row and what it refers to are the reader's; they are the sink's until it returns. When it returns
// false the reading ends.
func (f *File) ReadStretches(ctx context.Context, src Source, list []Stretch, gap int64, sink func(*Row) bool) (err error) {
	defer caught(&err)
	if len(list) == 0 {
		return nil
	}
	group := &f.groups[list[0].group]
	from, to := list[0].from, list[len(list)-1].to
	parts, err := fetch(ctx, src, group.ranges(from, to), gap)
	if err != nil {
		return fmt.Errorf("read data file: %w", err)
	}
	rows, err := newRows(group, parts, from, to)
	if err != nil {
		return err
	}
	defer rows.close()
	for {
		row, err := rows.next()
		if err != nil {
			return fmt.Errorf("read data file: %w", err)
		}
		if row == nil {
			return nil
		}
		row.Position += group.first
		if !sink(row) {
			return nil
		}
	}
}
