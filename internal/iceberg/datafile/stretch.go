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

// mostStretch is how many pages of the largest column a stretch has at most: what they are when they are decoded their sizes in the
// file do not tell.
const mostStretch = 8

// Stretches divides the file: each has about so many bytes of the largest column or so many rows, whichever comes first, one page at
// least. A file without page index is read through for it, the first time.
func (f *File) Stretches(ctx context.Context, src Source, bytes, rows int64) ([]Stretch, error) {
	var list []Stretch
	for i, g := range f.groups {
		if err := g.find(ctx, src); err != nil {
			return nil, fmt.Errorf("read data file: row group %d: %w", i, err)
		}
		pages := g.heavy.pages
		for at := 0; at < len(pages); {
			s := Stretch{group: i, from: pages[at].row, to: g.rows, Row: g.first + pages[at].row}
			for size, most := int64(0), at+mostStretch; at < min(len(pages), most) && size < bytes && pages[at].row-s.from < rows; at++ {
				size += pages[at].end - pages[at].start
			}
			if at < len(pages) {
				s.to = pages[at].row
			}
			if s.to <= s.from {
				continue
			}
			s.Rows = s.to - s.from
			for _, leaf := range []int{keyColumn, valueColumn, headerKeyColumn, headerValueColumn} {
				if k := g.chunks[leaf]; k != nil {
					s.Bytes += k.pages[pageOf(k.pages, s.to-1)].end - k.pages[pageOf(k.pages, s.from)].start
				}
			}
			s.Least, s.Most = g.bounds(offsetColumn, s.from, s.to)
			s.MostTimestamp, s.MostAppend = g.mostTime(timestampColumn, &s), g.mostTime(appendTimeColumn, &s)
			list = append(list, s)
		}
	}
	return list, nil
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

// ReadBlocks decodes stretches of one row group that follow each other, which it reads with one fetch, and gives each to the sink
// as soon as it is whole, until that wants no more. Decoding takes turns.
func (f *File) ReadBlocks(ctx context.Context, src Source, list []Stretch, gap int64, turns Turns, sink func(*Block) bool) error {
	if len(list) == 0 {
		return nil
	}
	group := f.groups[list[0].group]
	from, to := list[0].from, list[len(list)-1].to
	parts, err := fetch(ctx, src, group.ranges(from, to), gap)
	if err != nil {
		return fmt.Errorf("read data file: %w", err)
	}
	var rows *rows
	turns.Do(func() { rows, err = newRows(group, parts, from, to) })
	if err != nil {
		return err
	}
	defer rows.close()
	for _, s := range list {
		var b *Block
		turns.Do(func() { b, err = rows.block(s.Row, int(s.Rows)) })
		if err != nil {
			return fmt.Errorf("read data file: %w", err)
		}
		if !sink(b) {
			break
		}
	}
	giveBack(parts)
	return nil
}
