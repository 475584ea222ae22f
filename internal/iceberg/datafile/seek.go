package datafile

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"sort"
)

// Place is where a seek by time found its row.
type Place struct {
	Offset, Position    int64
	Timestamp, AppendMs int64 // of the record, ms
}

// Seek asks for a row by time.
type Seek struct {
	Offset  int64      // rows with lower offsets are passed over
	Ms      int64      // the least time
	Deleted *Positions // rows that are passed over
}

// SeekTime finds the first row in order of offsets whose record's timestamp is not below the one asked for; nil where there is none.
// It reads the offsets and times of the pages that may have it, as far as the file tells which those are.
func (f *File) SeekTime(ctx context.Context, src Source, s Seek) (*Place, error) {
	return f.seek(ctx, src, s, timestampColumn)
}

// SeekAppend finds the first row that was appended then or later; nil where there is none.
func (f *File) SeekAppend(ctx context.Context, src Source, s Seek) (*Place, error) {
	return f.seek(ctx, src, s, appendTimeColumn)
}

func (f *File) seek(ctx context.Context, src Source, s Seek, by int) (*Place, error) {
	if err := f.order(ctx, src); err != nil {
		return nil, fmt.Errorf("seek in data file: %w", err)
	}
	pieces := f.inOrder()
	for i := sort.Search(len(pieces), func(i int) bool { return pieces[i].last >= s.Offset }); i < len(pieces); i++ {
		for at := f.locate(&pieces[i], s.Offset); at < pieces[i].to; {
			place, next, err := f.seekStretch(ctx, src, s, by, at, pieces[i].to)
			if err != nil {
				return nil, fmt.Errorf("seek in data file: %w", err)
			}
			if place != nil {
				return place, nil
			}
			at = next
		}
	}
	return nil, nil
}

// seekStretch looks at the rows of one page of the column, the next that may have the time, up to a position at most.
func (f *File) seekStretch(ctx context.Context, src Source, s Seek, by int, from, end int64) (found *Place, next int64, err error) {
	g := f.groups[f.groupOf(from)]
	next = min(end, g.first+g.rows)
	if Millis(g.chunks[by].most) < s.Ms {
		return nil, next, nil
	}
	if err := g.find(ctx, src); err != nil {
		return nil, 0, err
	}
	pages := g.chunks[by].pages
	i := pageOf(pages, from-g.first)
	for i < len(pages) && Millis(pages[i].most) < s.Ms {
		i++
	}
	if i == len(pages) || g.first+pages[i].row >= next {
		return nil, next, nil
	}
	from = max(from, g.first+pages[i].row)
	if i+1 < len(pages) {
		next = min(next, g.first+pages[i+1].row)
	}
	found, err = g.seek(ctx, src, s, by, from, next)
	return found, next, err
}

// seek looks at the rows [from, to), which are positions in the file.
func (g *group) seek(ctx context.Context, src Source, s Seek, by int, from, to int64) (*Place, error) {
	var list []span
	var columns [3]column
	for _, i := range []int{offsetColumn, timestampColumn, appendTimeColumn} {
		list = g.chunks[i].spans(list, from-g.first, to-g.first)
	}
	slices.SortFunc(list, func(a, b span) int { return cmp.Compare(a.from, b.from) })
	parts, err := fetch(ctx, src, list, scanBytes)
	if err != nil {
		return nil, err
	}
	for i := range columns {
		if err := columns[i].begin(g.chunks[offsetColumn+i], parts, from-g.first, to-g.first); err != nil {
			return nil, err
		}
	}
	for at := from; at < to; at++ {
		var v [3]int64
		for i := range columns {
			if err := columns[i].ready(); err != nil {
				return nil, err
			}
			v[i] = columns[i].int()
		}
		if v[0] >= s.Offset && Millis(v[by-offsetColumn]) >= s.Ms && !s.Deleted.Has(at) {
			return &Place{Offset: v[0], Position: at, Timestamp: Millis(v[1]), AppendMs: Millis(v[2])}, nil
		}
	}
	return nil, nil
}
