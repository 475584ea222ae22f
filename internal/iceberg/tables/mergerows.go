package tables

import (
	"context"
	"fmt"
	"iter"

	"github.com/korvet-io/korvet/internal/iceberg/datafile"
)

// mergeRead is how much of a data file is read at once: some pages.
var mergeRead = datafile.Request{Bytes: 1 << 20, Gap: 256 << 10}

// mergedRows gives the rows of several files by rising offset. A row is the caller's until it asks for the next.
type mergedRows struct {
	waiting []*rowCursor // whose first row was not asked for yet, by rising first offset
	open    []*rowCursor
	last    int64
	until   int64 // offset of the first row that is not given; 0: all are
	begun   bool
	twice   bool       // rows of one offset are all given, not the first alone
	head    *rowCursor // whose row was given
	err     error
}

// rowCursor reads one file.
type rowCursor struct {
	file *File
	row  *datafile.Row
	next func() (*datafile.Row, bool)
	stop func()
}

func newMergedRows(ctx context.Context, t *Table, g *mergeGroup, deleted map[string]*datafile.Positions) *mergedRows {
	m := &mergedRows{}
	for _, f := range g.files {
		m.wait(&f, t.rows(ctx, &f, deleted[f.Location], mergeRead, nil, &m.err))
	}
	return m
}

// wait adds a file and its rows. Files are added by rising first offset.
func (m *mergedRows) wait(f *File, rows iter.Seq[*datafile.Row]) {
	c := &rowCursor{file: f}
	c.next, c.stop = iter.Pull(rows)
	m.waiting = append(m.waiting, c)
}

// Rows gives the rows of files of one partition, which come by rising first offset, without those that were deleted: by rising offset,
// also where files lie over each other, and each record once. A row is do's until it returns.
func (t *Table) Rows(ctx context.Context, all *Files, of []File, do func(*datafile.Row) error) error {
	if len(of) == 0 {
		return nil
	}
	g := &mergeGroup{partition: of[0].Partition, files: of}
	deleted, err := t.deletedRows(ctx, all, g)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	rows := newMergedRows(ctx, t, g, deleted)
	defer rows.stop()
	for {
		row, err := rows.peek()
		if err != nil || row == nil {
			return err
		}
		if err := do(row); err != nil {
			return err
		}
		rows.take()
	}
}

// rows are those of a data file that were not deleted, by rising offset, with their cells of typed columns. What fails is noted in
// failed.
func (t *Table) rows(ctx context.Context, f *File, deleted *datafile.Positions, q datafile.Request, typed []datafile.Column, failed *error) iter.Seq[*datafile.Row] {
	src, size, location := object{t.store, f.Location}, f.Bytes, f.Location
	return func(yield func(*datafile.Row) bool) {
		d, err := datafile.OpenTyped(ctx, src, size, typed)
		q, stopped, read := q, false, int64(0)
		q.Deleted = deleted
		for done := false; err == nil && !done && !stopped; {
			q.Offset, done, err = d.Read(ctx, src, q, func(r *datafile.Row) bool {
				read++
				stopped = !yield(r)
				return !stopped
			})
		}
		if err == nil && !stopped && read+deleted.Count() != d.Rows() { // none may be lost, whatever an engine has written
			err = fmt.Errorf("%w: %d rows by offset, %d deleted, of %d", datafile.ErrCorrupt, read, deleted.Count(), d.Rows())
		}
		if err != nil && *failed == nil {
			*failed = fmt.Errorf("%s: %w", location, err)
		}
	}
}

// peek is the next row; nil: there is none.
func (m *mergedRows) peek() (*datafile.Row, error) {
	for m.head == nil && m.err == nil {
		if len(m.waiting) > 0 && (len(m.open) == 0 || m.waiting[0].file.First <= m.least().row.Offset) {
			c := m.waiting[0]
			m.waiting = m.waiting[1:]
			if m.advance(c) {
				m.open = append(m.open, c)
			}
			continue
		}
		if len(m.open) == 0 {
			return nil, nil
		}
		m.head = m.least()
		if m.begun && !m.twice && m.head.row.Offset <= m.last { // the same record twice
			m.take()
		}
	}
	if m.err != nil {
		return nil, m.err
	}
	if m.until > 0 && m.head.row.Offset >= m.until {
		return nil, nil
	}
	return m.head.row, nil
}

func (m *mergedRows) least() *rowCursor {
	least := m.open[0]
	for _, c := range m.open[1:] {
		if c.row.Offset < least.row.Offset {
			least = c
		}
	}
	return least
}

// advance reads a cursor's next row.
func (m *mergedRows) advance(c *rowCursor) bool {
	row, ok := c.next()
	c.row = row
	return ok
}

// take passes over the row that peek gave.
func (m *mergedRows) take() {
	c := m.head
	m.last, m.begun, m.head = max(m.last, c.row.Offset), true, nil
	if m.advance(c) {
		return
	}
	for i := range m.open {
		if m.open[i] == c {
			m.open = append(m.open[:i], m.open[i+1:]...)
			return
		}
	}
}

// copyTo writes rows until it is enough or there are no more.
func (m *mergedRows) copyTo(w rowWriter, enough func() bool) error {
	for !enough() {
		row, err := m.peek()
		if err != nil || row == nil {
			return err
		}
		if err := w.Write(row); err != nil {
			return err
		}
		m.take()
	}
	return nil
}

func (m *mergedRows) stop() {
	for _, c := range append(m.waiting, m.open...) {
		c.stop()
	}
}
