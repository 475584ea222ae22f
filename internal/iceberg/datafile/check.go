package datafile

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/parquet-go/parquet-go"
)

// Check reads every page of every column, also of those that readers of records pass over, and wants each column to have all of
// the file's rows, and the partition column one partition throughout. It holds a window of the file and a page of values.
func Check(ctx context.Context, src Source, size int64, partition int32) (err error) {
	defer caught(&err)
	w := &window{ctx: ctx, src: src, size: size}
	pf, err := parquet.OpenFile(w, size)
	if err != nil {
		return wrapCorrupt("open data file", w.failed, err)
	}
	columns, err := leafColumns(pf.Root())
	if err != nil {
		return err
	}
	for i, rg := range pf.RowGroups() {
		for j, c := range rg.ColumnChunks() {
			var each func(parquet.Value) error
			if j == columns[partitionColumn].Index() {
				each = func(v parquet.Value) error {
					if v.IsNull() || v.Int32() != partition {
						return fmt.Errorf("partition %s, not %d", v, partition)
					}
					return nil
				}
			}
			if err := checkChunk(c, rg.NumRows(), each); err != nil {
				return wrapCorrupt(fmt.Sprintf("row group %d, column %d", i, j), w.failed, err)
			}
		}
	}
	return nil
}

// checkChunk reads the pages of a column of a row group.
func checkChunk(c parquet.ColumnChunk, rows int64, each func(parquet.Value) error) error {
	pages := c.Pages()
	defer func() { _ = pages.Close() }()
	for {
		page, err := pages.ReadPage()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return err
		}
		rows -= page.NumRows()
		err = checkPage(page, each)
		parquet.Release(page)
		if err != nil {
			return err
		}
	}
	if rows != 0 {
		return fmt.Errorf("%d rows are missing", rows)
	}
	return nil
}

func checkPage(page parquet.Page, each func(parquet.Value) error) error {
	values, left := page.Values(), page.NumValues()
	var buf [256]parquet.Value
	for {
		n, err := values.ReadValues(buf[:])
		left -= int64(n)
		for i := range n {
			if each == nil {
				break
			}
			if err := each(buf[i]); err != nil {
				return err
			}
		}
		switch {
		case errors.Is(err, io.EOF) && left == 0:
			return nil
		case errors.Is(err, io.EOF):
			return fmt.Errorf("%d values are missing", left)
		case err != nil:
			return err
		}
	}
}

// windowBytes is how much of a file is read at once to check it.
const windowBytes = 4 << 20

// window reads a file in large steps, for readers that ask for small pieces in order.
type window struct {
	ctx    context.Context
	src    Source
	size   int64
	off    int64
	data   []byte
	failed error // of the source
}

// ReadAt implements io.ReaderAt.
func (w *window) ReadAt(p []byte, off int64) (int, error) {
	if off < 0 || off >= w.size {
		return 0, io.EOF
	}
	read := 0
	for read < len(p) && off+int64(read) < w.size {
		at := off + int64(read)
		if at < w.off || at >= w.off+int64(len(w.data)) {
			if err := w.move(at); err != nil {
				return read, err
			}
		}
		read += copy(p[read:], w.data[at-w.off:])
	}
	if read < len(p) {
		return read, io.EOF
	}
	return read, nil
}

func (w *window) move(off int64) error {
	n := min(w.size-off, windowBytes)
	if int64(cap(w.data)) < n {
		w.data = make([]byte, n)
	}
	w.data, w.off = w.data[:n], off
	if err := w.src.ReadRange(w.ctx, w.data, off); err != nil {
		w.data, w.failed = w.data[:0], err
		return err
	}
	return nil
}

// SameHeaders compares header sections by what they say: a varint may be written in several ways.
func SameHeaders(a, b []byte) bool {
	type one struct {
		key, value []byte
	}
	list := func(section []byte) (all []one, err error) {
		err = eachHeader(section, func(key, value []byte) { all = append(all, one{key, value}) })
		return all, err
	}
	x, errX := list(a)
	y, errY := list(b)
	if errX != nil || errY != nil || len(x) != len(y) {
		return false
	}
	for i := range x {
		if string(x[i].key) != string(y[i].key) || string(x[i].value) != string(y[i].value) || (x[i].value == nil) != (y[i].value == nil) {
			return false
		}
	}
	return true
}
