package jsoncolumns

import (
	"github.com/korvet-io/korvet/internal/iceberg/datafile"
)

// Shredder takes values apart into the columns of one data file. It is not safe for concurrent use.
type Shredder struct {
	columns []Column
	fields  map[string]*field
	cells   []datafile.Cell
}

// NewShredder makes one for the columns of a file.
func NewShredder(columns []Column) *Shredder {
	s := &Shredder{columns: columns, fields: make(map[string]*field, len(columns)), cells: make([]datafile.Cell, len(columns))}
	for i, c := range columns {
		f, ok := s.fields[c.Field]
		if !ok {
			f = &field{}
			s.fields[c.Field] = f
		}
		f[c.kind] = i + 1
	}
	return s
}

// Len is how many columns there are.
func (s *Shredder) Len() int { return len(s.columns) }

// Typed lists the columns as data files have them.
func (s *Shredder) Typed() []datafile.Column {
	list := make([]datafile.Column, len(s.columns))
	for i, c := range s.columns {
		list[i] = c.Column
	}
	return list
}

// Cells takes a value apart. What it returns is valid until the next call and as long as the value is. Of a field that is there
// twice the last one counts, as with most readers of JSON. A value that is no JSON object has none. It tells whether there was
// a column for all: where there was none, Learn may make one. Without columns it looks at nothing.
func (s *Shredder) Cells(value []byte) (cells []datafile.Cell, fits bool) {
	if len(s.columns) == 0 {
		return nil, false
	}
	clear(s.cells)
	fits = true
	if !eachMember(value, func(name, raw []byte) { fits = s.cell(name, raw) && fits }) {
		clear(s.cells)
		return s.cells, true
	}
	return s.cells, fits
}

// cell takes one member and tells whether there is a column for it.
func (s *Shredder) cell(name, raw []byte) bool {
	shape, whole, fraction := shapeOf(raw)
	f, ok := s.fields[string(name)]
	if !ok {
		return shape == null
	}
	for _, at := range f {
		if at > 0 {
			s.cells[at-1] = datafile.Cell{} // what the field was before in this value
		}
	}
	at := f.place(shape)
	if at == 0 {
		return shape == null
	}
	c := &s.cells[at-1]
	switch shape {
	case text:
		c.Bytes, c.Valid = decode(raw)
	case nested:
		c.Bytes, c.Valid = raw, true
	default:
		*c = datafile.Cell{Valid: true, Int: whole, Float: fraction}
	}
	return true
}
