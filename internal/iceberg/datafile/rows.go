package datafile

import (
	"errors"
	"fmt"
	"io"

	"github.com/parquet-go/parquet-go"
)

// rows puts the columns of a stretch of a row group together.
type rows struct {
	at, to     int64
	offset     column
	timestamp  column
	appendTime column
	key        column
	value      column
	headerKey  column
	headerVal  column
	row        Row
	headers    headerSection
	section    []byte
}

func newRows(g *group, parts []part, from, to int64) (*rows, error) {
	r := &rows{at: from, to: to}
	for leaf, c := range map[int]*column{
		offsetColumn: &r.offset, timestampColumn: &r.timestamp, appendTimeColumn: &r.appendTime, keyColumn: &r.key,
		valueColumn: &r.value, headerKeyColumn: &r.headerKey, headerValueColumn: &r.headerVal,
	} {
		k := g.chunks[leaf]
		c.pages, c.present = k.column.PagesFrom(&buffered{parts: parts}), k.present
		if err := c.pages.SeekToRow(from); err != nil {
			r.close()
			return nil, fmt.Errorf("read data file: column %d: %w: %w", leaf, ErrCorrupt, err)
		}
	}
	return r, nil
}

func (r *rows) close() {
	for _, c := range []*column{&r.offset, &r.timestamp, &r.appendTime, &r.key, &r.value, &r.headerKey, &r.headerVal} {
		c.close()
	}
}

// next returns the next row, nil after the last.
func (r *rows) next() (*Row, error) {
	if r.at == r.to {
		return nil, nil
	}
	row := &r.row
	row.Position = r.at
	for _, c := range []*column{&r.offset, &r.timestamp, &r.appendTime, &r.key, &r.value, &r.headerKey, &r.headerVal} {
		if c.level == len(c.levels) && c.number == len(c.numbers) {
			if err := c.load(); err != nil {
				return nil, err
			}
		}
	}
	row.Offset, row.Timestamp, row.AppendMs = r.offset.int(), Millis(r.timestamp.int()), Millis(r.appendTime.int())
	row.Key, row.Value = r.key.bytes(), r.value.bytes()
	if err := r.readHeaders(); err != nil {
		return nil, err
	}
	r.at++
	return row, nil
}

// readHeaders takes the two columns' levels of one row.
func (r *rows) readHeaders() error {
	r.row.Headers = nil
	k, v := &r.headerKey, &r.headerVal
	if len(k.repeats) == 0 && len(v.repeats) == 0 && k.null() && v.null() { // a page without any header
		k.level++
		v.level++
		return nil
	}
	for {
		there := k.present == k.levels[k.level]
		key, value := k.bytes(), v.bytes()
		if there {
			r.headers.add(key, value)
		}
		if k.level == len(k.levels) || k.repeats[k.level] == 0 {
			break
		}
		if v.level == len(v.levels) {
			return fmt.Errorf("%w: header values end before their keys", ErrCorrupt)
		}
	}
	r.section, r.row.Headers = r.headers.appendTo(r.section[:0])
	return nil
}

// column is a cursor over one column's values.
type column struct {
	pages   *parquet.FilePages
	present byte // definition level of a value that is not null
	page    parquet.Page

	levels  []byte // definition levels, one an element; empty for numbers
	repeats []byte
	level   int
	numbers []int64
	number  int
	data    []byte
	ends    []uint32 // value i is data[ends[i]:ends[i+1]]
	taken   int

	generic []parquet.Value
}

func (c *column) null() bool { return c.levels[c.level] != c.present }

// int takes the next number.
func (c *column) int() int64 {
	c.number++
	return c.numbers[c.number-1]
}

// bytes takes the next value; nil is null.
func (c *column) bytes() []byte {
	c.level++
	if c.levels[c.level-1] != c.present {
		return nil
	}
	from, to := c.ends[c.taken], c.ends[c.taken+1]
	c.taken++
	return c.data[from:to:to]
}

func (c *column) close() {
	if c.page != nil {
		parquet.Release(c.page)
		c.page = nil
	}
	if c.pages != nil {
		_ = c.pages.Close() // it reads from memory
	}
}

// load takes the next page.
func (c *column) load() error {
	if c.page != nil {
		parquet.Release(c.page)
		c.page = nil
	}
	page, err := c.pages.ReadPage()
	if errors.Is(err, io.EOF) {
		err = io.ErrUnexpectedEOF
	}
	if err != nil {
		return fmt.Errorf("%w: %w", ErrCorrupt, err)
	}
	c.page = page
	c.level, c.number, c.taken = 0, 0, 0
	c.levels, c.repeats, c.numbers, c.data, c.ends = nil, nil, nil, nil, nil
	if page.Dictionary() != nil {
		return c.decode(page)
	}
	if page.Type().Kind() == parquet.Int64 {
		data := page.Data()
		c.numbers = data.Int64()
		return nil
	}
	data := page.Data()
	c.data, c.ends = data.ByteArray()
	c.levels, c.repeats = page.DefinitionLevels(), page.RepetitionLevels()
	return nil
}

// decode reads a page value by value, as one whose values are in a dictionary.
func (c *column) decode(page parquet.Page) error {
	n := int(page.NumValues())
	if cap(c.generic) < n {
		c.generic = make([]parquet.Value, n)
	}
	values := c.generic[:n]
	if got, err := page.Values().ReadValues(values); got != n {
		return fmt.Errorf("%w: %d of %d values: %w", ErrCorrupt, got, n, err)
	}
	if page.Type().Kind() == parquet.Int64 {
		for _, v := range values {
			c.numbers = append(c.numbers, v.Int64())
		}
		return nil
	}
	c.ends = append(c.ends, 0)
	for _, v := range values {
		c.levels = append(c.levels, byte(v.DefinitionLevel()))
		c.repeats = append(c.repeats, byte(v.RepetitionLevel()))
		if !v.IsNull() {
			c.data = append(c.data, v.ByteArray()...)
			c.ends = append(c.ends, uint32(len(c.data)))
		}
	}
	return nil
}
