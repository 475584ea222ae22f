package datafile

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"sort"

	"github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/format"
)

// Source reads one data file's bytes. It is safe for concurrent use.
type Source interface {
	// ReadRange fills p with the bytes from off on, or fails.
	ReadRange(ctx context.Context, p []byte, off int64) error
}

// ErrCorrupt is a data file that is not what it should be: damaged, or not one of a topic's table.
var ErrCorrupt = errors.New("corrupt data file")

// File is what is known of a data file once its end was read: where each page of each column is. It holds no bytes of the
// records, and is safe for concurrent use.
type File struct {
	size   int64
	rows   int64
	weight int64
	groups []group
}

type group struct {
	first  int64 // position of its first row in the file
	rows   int64
	chunks [leaves]*chunk
}

// chunk is one column of a row group.
type chunk struct {
	column     *parquet.FileColumnChunk
	present    byte // definition level of a value that is not null
	start, end int64
	dictionary int64  // the end of the dictionary page at start; start where there is none
	pages      []page // one for all where the file has no page index
}

// page is where a page of a column is and which rows it has.
type page struct {
	row        int64 // the first, counted in its row group
	start, end int64 // bytes of the file
	least      int64 // the least and the highest value, of offsets and times; the least and the highest there are: not known
	most       int64
}

const (
	leastTail = 64 << 10
	mostTail  = 4 << 20
	// tailPart is the part of a file that footer and page indexes are expected to take.
	tailPart = 128
	// mostFooter bounds the memory that the end of a file may claim before anything of it was believed.
	mostFooter = 256 << 20
)

// Open reads the end of a file: one range, as long as the writer was ours.
func Open(ctx context.Context, src Source, size int64) (f *File, err error) {
	defer caught(&err)
	tail := min(size, max(leastTail, min(size/tailPart, mostTail)))
	b := &buffered{ctx: ctx, src: src, parts: []part{{off: size - tail, data: make([]byte, tail)}}, through: true}
	if tail < 12 {
		return nil, fmt.Errorf("open data file: %w: %d bytes", ErrCorrupt, size)
	}
	if err := src.ReadRange(ctx, b.parts[0].data, size-tail); err != nil {
		return nil, fmt.Errorf("read end of data file: %w", err)
	}
	footer := int64(binary.LittleEndian.Uint32(b.parts[0].data[tail-8:]))
	if footer > size-12 || footer > mostFooter {
		return nil, fmt.Errorf("open data file: %w: a footer of %d bytes", ErrCorrupt, footer)
	}
	pf, err := parquet.OpenFile(b, size, parquet.SkipMagicBytes(true), parquet.SkipBloomFilters(true))
	if err != nil {
		return nil, wrapCorrupt("open data file", b.failed, err)
	}
	f = &File{size: size, rows: pf.NumRows(), weight: 3*footer + 4096}
	if err := f.index(pf); err != nil {
		return nil, err
	}
	*b = buffered{} // the Parquet library keeps it
	return f, nil
}

// Rows tells how many rows the file has.
func (f *File) Rows() int64 { return f.rows }

// Weight is about how many bytes of memory the file's index takes.
func (f *File) Weight() int64 { return f.weight }

// index finds the columns by their field ids and notes where their pages are.
func (f *File) index(pf *parquet.File) error {
	columns, err := leafColumns(pf.Root())
	if err != nil {
		return err
	}
	first := int64(0)
	for i, rg := range pf.RowGroups() {
		g := group{first: first, rows: rg.NumRows()}
		for leaf, c := range columns {
			meta := &pf.Metadata().RowGroups[i].Columns[c.Index()].MetaData
			g.chunks[leaf], err = f.chunk(rg.ColumnChunks()[c.Index()].(*parquet.FileColumnChunk), meta, byte(c.MaxDefinitionLevel()))
			if err != nil {
				return fmt.Errorf("open data file: row group %d, column %d: %w", i, leaf, err)
			}
		}
		for _, leaf := range []int{offsetColumn, timestampColumn, appendTimeColumn} {
			if err := g.chunks[leaf].bounds(); err != nil {
				return fmt.Errorf("open data file: row group %d, column %d: %w", i, leaf, err)
			}
		}
		f.groups = append(f.groups, g)
		first += g.rows
	}
	if first != f.rows {
		return fmt.Errorf("open data file: %w: %d rows in its row groups, %d in its footer", ErrCorrupt, first, f.rows)
	}
	return nil
}

// leafColumns finds the leaves by field id.
func leafColumns(root *parquet.Column) ([leaves]*parquet.Column, error) {
	var found [leaves]*parquet.Column
	var walk func(c *parquet.Column)
	walk = func(c *parquet.Column) {
		if c.Leaf() {
			for leaf, id := range leafIDs {
				if c.ID() == id {
					found[leaf] = c
				}
			}
		}
		for _, child := range c.Columns() {
			walk(child)
		}
	}
	walk(root)
	for leaf, c := range found {
		if c == nil {
			return found, fmt.Errorf("open data file: %w: no column with field id %d", ErrCorrupt, leafIDs[leaf])
		}
	}
	return found, nil
}

// chunk reads where a column's pages are and checks that they lie where they may.
func (f *File) chunk(c *parquet.FileColumnChunk, meta *format.ColumnMetaData, present byte) (*chunk, error) {
	k := &chunk{column: c, present: present, start: meta.DataPageOffset}
	if d := meta.DictionaryPageOffset; d > 0 {
		k.start = min(k.start, d)
	}
	k.end, k.dictionary = k.start+meta.TotalCompressedSize, k.start
	if k.start < 4 || k.end > f.size || k.end < k.start {
		return nil, fmt.Errorf("%w: bytes %d to %d of %d", ErrCorrupt, k.start, k.end, f.size)
	}
	list, err := c.OffsetIndex()
	switch {
	case errors.Is(err, parquet.ErrMissingOffsetIndex) || err == nil && list.NumPages() == 0:
		k.pages = []page{{start: k.start, end: k.end, least: math.MinInt64, most: math.MaxInt64}}
		return k, nil
	case err != nil:
		return nil, fmt.Errorf("%w: %w", ErrCorrupt, err)
	}
	k.pages = make([]page, list.NumPages())
	at, row := k.start, int64(-1)
	for i := range k.pages {
		p := page{row: list.FirstRowIndex(i), start: list.Offset(i), end: list.Offset(i) + list.CompressedPageSize(i), least: math.MinInt64, most: math.MaxInt64}
		if p.start < at || p.end < p.start || p.end > k.end || p.row <= row || i == 0 && p.row != 0 {
			return nil, fmt.Errorf("%w: page %d is out of place", ErrCorrupt, i)
		}
		k.pages[i], at, row = p, p.end, p.row
	}
	k.dictionary = k.pages[0].start
	return k, nil
}

// bounds notes the least and the highest value of each page, where the file tells.
func (k *chunk) bounds() error {
	index, err := k.column.ColumnIndex()
	if errors.Is(err, parquet.ErrMissingColumnIndex) {
		if low, high, known := k.column.Bounds(); known && len(k.pages) == 1 && !low.IsNull() && !high.IsNull() {
			k.pages[0].least, k.pages[0].most = low.Int64(), high.Int64()
		}
		return nil
	}
	if err != nil || index.NumPages() != len(k.pages) {
		return fmt.Errorf("%w: page index: %w", ErrCorrupt, err)
	}
	for i := range k.pages {
		if !index.NullPage(i) {
			k.pages[i].least, k.pages[i].most = index.MinValue(i).Int64(), index.MaxValue(i).Int64()
		}
	}
	return nil
}

// caught turns a panic of the Parquet library, which trusts what it reads, into an error.
func caught(err *error) {
	if p := recover(); p != nil {
		*err = fmt.Errorf("%w: %v", ErrCorrupt, p)
	}
}

// wrapCorrupt tells a source that failed from a file that is damaged.
func wrapCorrupt(verb string, failed, err error) error {
	if failed != nil {
		return fmt.Errorf("%s: %w", verb, failed)
	}
	return fmt.Errorf("%s: %w: %w", verb, ErrCorrupt, err)
}

// buffered serves what was read already; through: and reads what was not.
type buffered struct {
	ctx     context.Context
	src     Source
	parts   []part // by rising offset
	through bool
	failed  error // of the source
}

type part struct {
	off  int64
	data []byte
}

// ReadAt implements io.ReaderAt. What is not there ends the read early, as the end of a file does.
func (b *buffered) ReadAt(p []byte, off int64) (int, error) {
	i := sort.Search(len(b.parts), func(i int) bool { return b.parts[i].off > off }) - 1
	if i >= 0 {
		if at := off - b.parts[i].off; at < int64(len(b.parts[i].data)) {
			n := copy(p, b.parts[i].data[at:])
			if n < len(p) {
				return n, io.EOF
			}
			return n, nil
		}
	}
	if !b.through {
		return 0, io.EOF
	}
	if err := b.src.ReadRange(b.ctx, p, off); err != nil {
		b.failed = err
		return 0, err
	}
	return len(p), nil
}
