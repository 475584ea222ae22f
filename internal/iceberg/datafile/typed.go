package datafile

import (
	"bytes"
	"cmp"
	"unicode/utf8"

	"github.com/parquet-go/parquet-go"
)

// Kind is the type of a typed column.
type Kind uint8

// The kinds there are. Their columns are optional.
const (
	Bool   Kind = iota + 1
	Long        // 64 bits
	Double      // 64 bits
	String      // UTF-8
)

// Column is one that a file has beside the fixed ones: something of the values, typed. Readers of records pass it over.
type Column struct {
	ID   int
	Name string
	Kind Kind
	// Unbounded: to compare the strings of such a column tells nothing, as with nested JSON. No bounds are kept of them.
	Unbounded bool
}

// Cell is a value of a typed column; the zero one is null.
type Cell struct {
	Valid bool
	Int   int64 // of a Long; of a Bool 1 or 0
	Float float64
	Bytes []byte // of a String: UTF-8
}

// BoundLength is how many characters of a string's bounds are kept.
const BoundLength = 16

// Bounds is what is known of a typed column in a file.
type Bounds struct {
	Nulls       int64
	Least, Most Cell // of a String shortened to BoundLength characters; not Valid: not known
	cut         bool // Most is the beginning of a longer one
}

// ordered is a Parquet group whose fields keep their order.
type ordered struct {
	parquet.Group
	fields []parquet.Field
}

func (o *ordered) Fields() []parquet.Field { return o.fields }

// schemaWith is the schema of files that have typed columns: the fixed ones first, as always.
func schemaWith(typed []Column) *parquet.Schema {
	if len(typed) == 0 {
		return schema
	}
	group := parquet.Group{}
	for _, f := range schema.Fields() {
		group[f.Name()] = f
	}
	for _, c := range typed {
		group[c.Name] = parquet.FieldID(parquet.Optional(c.Kind.node()), c.ID)
	}
	sorted := map[string]parquet.Field{}
	for _, f := range group.Fields() {
		sorted[f.Name()] = f
	}
	o := &ordered{Group: group, fields: append([]parquet.Field(nil), schema.Fields()...)}
	for _, c := range typed {
		o.fields = append(o.fields, sorted[c.Name])
	}
	return parquet.NewSchema(schema.Name(), o)
}

func (k Kind) node() parquet.Node {
	switch k {
	case Bool:
		return parquet.Leaf(parquet.BooleanType)
	case Long:
		return parquet.Int(64)
	case Double:
		return parquet.Leaf(parquet.DoubleType)
	default:
		return parquet.String()
	}
}

// typed makes a Parquet value of a cell.
func (w *Writer) typed(k Kind, c *Cell) parquet.Value {
	var v parquet.Value
	switch {
	case !c.Valid:
		return parquet.Value{}
	case k == Bool:
		v = parquet.BooleanValue(c.Int != 0)
	case k == Long:
		v = parquet.Int64Value(c.Int)
	case k == Double:
		v = parquet.DoubleValue(c.Float)
	default:
		v = parquet.ByteArrayValue(w.copy(c.Bytes))
	}
	return leveled(v, 0, 1)
}

// add takes a cell into account.
func (b *Bounds) add(col *Column, c *Cell) {
	if !c.Valid {
		b.Nulls++
		return
	}
	if col.Unbounded {
		return
	}
	v, cut := *c, false
	if col.Kind == String {
		v.Bytes = shorten(c.Bytes)
		cut = len(v.Bytes) < len(c.Bytes)
	}
	if !b.Least.Valid || compare(col.Kind, &v, &b.Least) < 0 {
		b.Least = v.clone()
	}
	order := 1
	if b.Most.Valid {
		order = compare(col.Kind, &v, &b.Most)
	}
	switch {
	case order > 0:
		b.Most, b.cut = v.clone(), cut
	case order == 0:
		b.cut = b.cut || cut
	}
}

func compare(k Kind, a, b *Cell) int {
	switch k {
	case Double:
		return cmp.Compare(a.Float, b.Float)
	case String:
		return bytes.Compare(a.Bytes, b.Bytes)
	default:
		return cmp.Compare(a.Int, b.Int)
	}
}

func (c Cell) clone() Cell {
	c.Bytes = bytes.Clone(c.Bytes)
	return c
}

// shorten cuts a string to BoundLength characters.
func shorten(b []byte) []byte {
	if len(b) <= BoundLength {
		return b
	}
	at := 0
	for n := 0; n < BoundLength && at < len(b); n++ {
		_, size := utf8.DecodeRune(b[at:])
		at += size
	}
	return b[:at]
}

// close makes of the greatest value an upper bound, where that of a string was cut.
func (b *Bounds) close() {
	if !b.cut {
		return
	}
	most := b.Most.Bytes
	for len(most) > 0 {
		r, size := utf8.DecodeLastRune(most)
		most = most[:len(most)-size]
		if r++; r == 0xd800 {
			r = 0xe000 // no characters in between
		}
		if r <= utf8.MaxRune {
			b.Most.Bytes = utf8.AppendRune(bytes.Clone(most), r)
			return
		}
	}
	b.Most = Cell{}
}
