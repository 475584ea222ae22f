package datafile

import (
	"fmt"
	"sort"
	"sync"
)

// rows puts the columns of a stretch of a row group together.
type rows struct {
	at, to  int64
	columns [leaves]column // the partition's is not read
	typed   []column       // those that the file was opened with
	row     Row
	headers headerSection
	section []byte
	cells   []Cell
}

var rowsPool = sync.Pool{New: func() any { return new(rows) }}

func newRows(g *group, parts []part, from, to int64) (*rows, error) {
	r := rowsPool.Get().(*rows)
	r.at, r.to, r.row, r.headers = from, to, Row{}, headerSection{body: r.headers.body[:0]}
	for i := range r.columns {
		if i == partitionColumn {
			continue
		}
		if err := r.columns[i].begin(g.chunks[i], parts, from, to); err != nil {
			r.close()
			return nil, fmt.Errorf("read data file: column %d: %w", i, err)
		}
	}
	if err := r.beginTyped(g, parts); err != nil {
		r.close()
		return nil, fmt.Errorf("read data file: %w", err)
	}
	return r, nil
}

// begin opens a column at a row.
func (c *column) begin(k *chunk, parts []part, from, to int64) error {
	if k == nil {
		*c = column{absent: true}
		return nil
	}
	first, last := k.pages[pageOf(k.pages, from)], k.pages[pageOf(k.pages, to-1)]
	if err := c.open(k, within(parts, first.start, last.end), within(parts, k.start, k.dictionary)); err != nil {
		return err
	}
	return c.skip(from - first.row)
}

// within finds the bytes [from, to) in one of the parts that were read.
func within(parts []part, from, to int64) []byte {
	i := sort.Search(len(parts), func(i int) bool { return parts[i].off > from }) - 1
	if from == to || i < 0 {
		return nil
	}
	p := parts[i]
	return p.data[from-p.off : to-p.off]
}

func (r *rows) close() {
	for i := range r.columns {
		r.columns[i].forget()
	}
	for i := range r.typed {
		r.typed[i].forget()
	}
	clear(r.cells)
	r.row = Row{}
	if cap(r.headers.body) > mostKept {
		r.headers.body, r.section = nil, nil
	}
	rowsPool.Put(r)
}

// next returns the next row, nil after the last.
func (r *rows) next() (*Row, error) {
	if r.at == r.to {
		return nil, nil
	}
	for i := offsetColumn; i < leaves; i++ {
		if c := &r.columns[i]; c.at == c.count && !c.absent {
			if err := c.ready(); err != nil {
				return nil, fmt.Errorf("column %d: %w", i, err)
			}
		}
	}
	row := &r.row
	row.Position = r.at
	row.Offset, row.Timestamp = r.columns[offsetColumn].int(), Millis(r.columns[timestampColumn].int())
	row.AppendMs = Millis(r.columns[appendTimeColumn].int())
	row.Key, row.Value = r.columns[keyColumn].bytes(), r.columns[valueColumn].bytes()
	if err := r.readHeaders(); err != nil {
		return nil, err
	}
	if err := r.readTyped(); err != nil {
		return nil, err
	}
	r.at++
	return row, nil
}

// readHeaders takes the two columns' values of one row.
func (r *rows) readHeaders() error {
	r.row.Headers = nil
	k, v := &r.columns[headerKeyColumn], &r.columns[headerValueColumn]
	switch {
	case k.absent:
		return nil
	case k.empty && v.empty:
		k.at++
		v.at++
		return nil
	case k.repeats[k.at] != 0 || v.repeats[v.at] != 0:
		return fmt.Errorf("%w: a row begins within its headers", ErrCorrupt)
	}
	for {
		there := k.levels[k.at] == k.leaf.maxDef
		key, value := k.bytes(), v.bytes()
		if there {
			r.headers.add(key, value)
		}
		more, err := k.goesOn()
		if err != nil {
			return err
		}
		if also, err := v.goesOn(); err != nil || more != also {
			return fmt.Errorf("%w: header keys and values do not go together: %w", ErrCorrupt, err)
		}
		if !more {
			break
		}
	}
	r.section, r.row.Headers = r.headers.appendTo(r.section[:0])
	return nil
}
