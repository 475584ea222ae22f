package datafile

import (
	"context"
	"encoding/binary"
	"fmt"
	"math"
	"slices"
)

// OpenTyped is Open of a file whose rows are to be read with their cells of typed columns, in the order given. A column that the file
// does not have is null in all rows.
func OpenTyped(ctx context.Context, src Source, size int64, typed []Column) (*File, error) {
	wants := slices.Clone(dataColumns)
	for _, c := range typed {
		wants = append(wants, want{id: int64(c.ID), kind: c.Kind.stored(), optional: true})
	}
	f, err := openFile(ctx, src, size, wants)
	if err != nil {
		return nil, fmt.Errorf("open data file: %w", err)
	}
	return f, nil
}

// stored is the type of Parquet that a kind has.
func (k Kind) stored() int64 {
	switch k {
	case Bool:
		return kindBool
	case Long:
		return kindInt64
	case Double:
		return kindDouble
	default:
		return kindBytes
	}
}

// heavyPart is the largest column's part of the wanted ones.
func (g *group) heavyPart() float64 {
	all := int64(0)
	for _, k := range g.chunks {
		if k != nil {
			all += k.end - k.start
		}
	}
	return float64(g.heavy.end-g.heavy.start) / float64(all)
}

// beginTyped opens the typed columns.
func (r *rows) beginTyped(g *group, parts []part) error {
	chunks := g.chunks[leaves:]
	r.typed = slices.Grow(r.typed[:0], len(chunks))[:len(chunks)]
	r.cells = slices.Grow(r.cells[:0], len(chunks))[:len(chunks)]
	for i, k := range chunks {
		if err := r.typed[i].begin(k, parts, r.at, r.to); err != nil {
			return fmt.Errorf("typed column %d: %w", i, err)
		}
	}
	return nil
}

// readTyped takes the typed columns' values of one row.
func (r *rows) readTyped() error {
	for i := range r.typed {
		c := &r.typed[i]
		if err := c.ready(); err != nil {
			return fmt.Errorf("typed column %d: %w", i, err)
		}
		r.cells[i] = c.cell()
	}
	if len(r.typed) > 0 {
		r.row.Cells = r.cells
	}
	return nil
}

// cell takes the next value.
func (c *column) cell() Cell {
	switch {
	case c.absent:
		return Cell{}
	case c.leaf.kind == kindBytes:
		b := c.bytes()
		return Cell{Valid: b != nil, Bytes: b}
	}
	c.at++
	if c.leaf.maxDef > 0 && c.levels[c.at-1] != c.leaf.maxDef {
		return Cell{}
	}
	v := c.numbers[c.taken]
	c.taken++
	switch c.leaf.kind {
	case kindFloat:
		return Cell{Valid: true, Float: float64(math.Float32frombits(uint32(v)))}
	case kindDouble:
		return Cell{Valid: true, Float: math.Float64frombits(uint64(v))}
	}
	return Cell{Valid: true, Int: v}
}

// readBools reads n booleans: a bit each, or in runs, which have their length before them.
func readBools(dst []int64, encoding int64, data []byte, n int) ([]int64, error) {
	switch encoding {
	case encodingPlain:
		if len(data) < (n+7)/8 {
			return dst, errEncoding
		}
		for i := range n {
			dst = append(dst, int64(data[i/8]>>(i%8)&1))
		}
		return dst, nil
	case encodingRLE:
		if n == 0 {
			return dst, nil
		}
		if len(data) < 4 || int64(binary.LittleEndian.Uint32(data)) > int64(len(data)-4) {
			return dst, errEncoding
		}
		runs, err := hybrid([]byte(nil), data[4:4+binary.LittleEndian.Uint32(data)], 1, n)
		for _, b := range runs {
			if b > 1 {
				return dst, errEncoding
			}
			dst = append(dst, int64(b))
		}
		return dst, err
	}
	return dst, fmt.Errorf("not supported")
}

// SameCell tells whether two values of a kind are equal. As in SQL zero has no sign; unlike there null equals null, and NaN NaN.
func SameCell(k Kind, a, b *Cell) bool {
	return a.Valid == b.Valid && (!a.Valid || compare(k, a, b) == 0)
}
