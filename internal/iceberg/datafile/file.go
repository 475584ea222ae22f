package datafile

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"sync"
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
	groups []*group

	// The order of its rows is known of files that we wrote: by rising offsets. Others are read through once.
	ordering sync.Mutex
	ordered  bool
	pieces   []piece // nil: the file is one
}

type group struct {
	first  int64 // position of its first row in the file
	rows   int64
	chunks []*chunk // one a wanted column; nil where the file does not have it
	heavy  *chunk   // the largest: stretches end with its pages

	finding sync.Mutex
	found   bool // the pages of all chunks are known
}

// chunk is one column of a row group.
type chunk struct {
	leaf        leaf
	codec       int64
	start, end  int64
	dictionary  int64 // the end of the dictionary page at start; start where there is none
	pages       []page
	least, most int64 // the bounds of all; of columns of int64
	bounded     bool
}

// page is where a page of a column is and which rows it has.
type page struct {
	row         int64 // the first, counted in its row group
	start, end  int64 // bytes of the file
	least, most int64 // the bounds of its values, where they are known
}

var unbounded = page{least: math.MinInt64, most: math.MaxInt64}

const (
	leastTail = 64 << 10
	mostTail  = 4 << 20
	// tailPart is the part of a file that footer and page indexes are expected to take.
	tailPart = 40
	// mostFooter bounds the memory that the end of a file may claim before anything of it was believed: its footer, and its page
	// indexes.
	mostFooter = 64 << 20
)

// Open reads the end of a file: one range, as long as the writer was ours.
func Open(ctx context.Context, src Source, size int64) (*File, error) {
	f, err := openFile(ctx, src, size, dataColumns)
	if err != nil {
		return nil, fmt.Errorf("open data file: %w", err)
	}
	return f, nil
}

func openFile(ctx context.Context, src Source, size int64, wants []want) (*File, error) {
	tail, meta, err := readEnd(ctx, src, size)
	if err != nil {
		return nil, err
	}
	f := &File{size: size, rows: meta.rows, ordered: strings.HasPrefix(meta.createdBy, creator+" ")}
	if err := f.readGroups(meta, wants); err != nil {
		return nil, err
	}
	return f, f.readIndexes(ctx, src, meta, tail)
}

// readEnd reads the footer, and along with it what is before.
func readEnd(ctx context.Context, src Source, size int64) (tail part, meta *footer, err error) {
	if size < 12 {
		return tail, nil, fmt.Errorf("%w: %d bytes", ErrCorrupt, size)
	}
	n := min(size, max(leastTail, min(size/tailPart, mostTail)))
	tail = part{off: size - n, data: make([]byte, n)}
	if err := src.ReadRange(ctx, tail.data, tail.off); err != nil {
		return tail, nil, fmt.Errorf("read its end: %w", err)
	}
	if magic := tail.data[n-4:]; string(magic) != "PAR1" {
		return tail, nil, fmt.Errorf("%w: it ends with %q, not with PAR1", ErrCorrupt, magic)
	}
	length := int64(binary.LittleEndian.Uint32(tail.data[n-8:]))
	if length > size-12 || length > mostFooter {
		return tail, nil, fmt.Errorf("%w: a footer of %d bytes", ErrCorrupt, length)
	}
	b, err := tail.bytes(ctx, src, area{size - 8 - length, length})
	if err != nil {
		return tail, nil, fmt.Errorf("read its footer: %w", err)
	}
	meta, err = readFooter(b)
	return tail, meta, err
}

// bytes are those of an area of the file: of the part that was read, or read now.
func (p *part) bytes(ctx context.Context, src Source, a area) ([]byte, error) {
	if a.off >= p.off {
		return p.data[a.off-p.off : a.off-p.off+a.size], nil
	}
	b := make([]byte, a.size)
	return b, src.ReadRange(ctx, b, a.off)
}

// Rows tells how many rows the file has.
func (f *File) Rows() int64 { return f.rows }

// Weight is about how many bytes of memory the file's index takes.
func (f *File) Weight() int64 {
	f.ordering.Lock()
	weight := 128 + 32*int64(cap(f.pieces))
	f.ordering.Unlock()
	for _, g := range f.groups {
		weight += 128
		g.finding.Lock()
		for _, k := range g.chunks {
			if k != nil {
				weight += 128 + 40*int64(cap(k.pages))
			}
		}
		g.finding.Unlock()
	}
	return weight
}

// readGroups notes where the wanted columns of each row group are.
func (f *File) readGroups(meta *footer, wants []want) error {
	found, err := findLeaves(meta.schema, wants)
	if err != nil {
		return err
	}
	first := int64(0)
	for i, rg := range meta.groups {
		if rg.rows < 0 || rg.rows > f.rows-first {
			return fmt.Errorf("%w: row group %d of %d rows", ErrCorrupt, i, rg.rows)
		}
		if rg.rows == 0 {
			continue
		}
		g := &group{first: first, rows: rg.rows, chunks: make([]*chunk, len(wants))}
		for w, leaf := range found {
			if leaf.column < 0 {
				continue
			}
			if g.chunks[w], err = f.chunk(&rg, leaf); err != nil {
				return fmt.Errorf("row group %d, column %d: %w", i, leaf.column, err)
			}
			if k := g.chunks[w]; g.heavy == nil || k.end-k.start > g.heavy.end-g.heavy.start {
				g.heavy = k
			}
		}
		g.pair(wants)
		f.groups = append(f.groups, g)
		first += g.rows
	}
	if first != f.rows {
		return fmt.Errorf("%w: %d rows in its row groups, %d in its footer", ErrCorrupt, first, f.rows)
	}
	return nil
}

// pair takes header keys and values together or not at all.
func (g *group) pair(wants []want) {
	if len(wants) >= leaves && (g.chunks[headerKeyColumn] == nil || g.chunks[headerValueColumn] == nil) {
		g.chunks[headerKeyColumn], g.chunks[headerValueColumn] = nil, nil
	}
}

// chunk checks that a column lies where it may.
func (f *File) chunk(rg *rowGroup, l leaf) (*chunk, error) {
	if l.column >= len(rg.chunks) {
		return nil, fmt.Errorf("%w: there are %d", ErrCorrupt, len(rg.chunks))
	}
	m := &rg.chunks[l.column]
	k := &chunk{leaf: l, codec: m.codec, start: m.data, least: math.MinInt64, most: math.MaxInt64}
	if m.dictionary > 0 {
		k.start = min(k.start, m.dictionary)
	}
	switch {
	case m.encrypted || m.elsewhere || !m.read:
		return nil, fmt.Errorf("%w: encrypted, or in another file", ErrCorrupt)
	case m.kind != l.kind:
		return nil, fmt.Errorf("%w: type %d, not %d", ErrCorrupt, m.kind, l.kind)
	case k.start < 4 || m.stored <= 0 || k.start > f.size || m.stored > f.size-k.start:
		return nil, fmt.Errorf("%w: %d bytes at %d of %d", ErrCorrupt, m.stored, k.start, f.size)
	}
	k.end, k.dictionary = k.start+m.stored, k.start
	if l.kind == kindInt64 && len(m.least) == 8 && len(m.most) == 8 {
		k.least, k.most, k.bounded = int64(binary.LittleEndian.Uint64(m.least)), int64(binary.LittleEndian.Uint64(m.most)), true
	}
	return k, nil
}

// readIndexes reads where the pages are. A row group without page index is read through when it is first needed.
func (f *File) readIndexes(ctx context.Context, src Source, meta *footer, tail part) error {
	from, to := tail.off, int64(0)
	each := func(do func(k *chunk, m *chunkMeta, rows int64) error) error {
		g := 0
		for i := range meta.groups {
			if meta.groups[i].rows == 0 {
				continue
			}
			for _, k := range f.groups[g].chunks {
				if k == nil {
					continue
				}
				if err := do(k, &meta.groups[i].chunks[k.leaf.column], meta.groups[i].rows); err != nil {
					return fmt.Errorf("row group %d, column %d: %w", i, k.leaf.column, err)
				}
			}
			g++
		}
		return nil
	}
	if err := each(func(_ *chunk, m *chunkMeta, _ int64) error {
		for _, a := range []area{m.offsetIndex, m.columnIndex} {
			if a.off < 0 || a.size < 0 || a.size > f.size || a.off > f.size-a.size {
				return fmt.Errorf("%w: page index of %d bytes at %d of %d", ErrCorrupt, a.size, a.off, f.size)
			}
			if a.off > 0 && a.size > 0 {
				from, to = min(from, a.off), max(to, a.off+a.size)
			}
		}
		return nil
	}); err != nil {
		return err
	}
	if max(to, tail.off)-from > mostFooter {
		return nil // somewhere else than before the footer: do without
	}
	if from < tail.off { // what is missing of it
		more := make([]byte, tail.off-from)
		if err := src.ReadRange(ctx, more, from); err != nil {
			return fmt.Errorf("read its page index: %w", err)
		}
		tail = part{off: from, data: append(more, tail.data...)}
	}
	if err := each(func(k *chunk, m *chunkMeta, rows int64) error { return k.index(m, rows, &tail) }); err != nil {
		return err
	}
	for _, g := range f.groups {
		g.found = !slices.ContainsFunc(g.chunks, func(k *chunk) bool { return k != nil && k.pages == nil })
	}
	return nil
}

// index reads where a column's pages are and checks that they lie where they may.
func (k *chunk) index(m *chunkMeta, rows int64, tail *part) (err error) {
	if m.offsetIndex.off == 0 || m.offsetIndex.size == 0 {
		return nil
	}
	at := func(a area) []byte { return tail.data[a.off-tail.off : a.off-tail.off+a.size] }
	pages, err := readOffsetIndex(at(m.offsetIndex))
	if err != nil || len(pages) == 0 {
		return err
	}
	end, row := k.start, int64(-1)
	for i, p := range pages {
		if p.start < end || p.end <= p.start || p.end > k.end || p.row <= row || p.row >= rows || i == 0 && p.row != 0 {
			return fmt.Errorf("%w: page %d is out of place", ErrCorrupt, i)
		}
		end, row = p.end, p.row
	}
	k.pages, k.dictionary = pages, pages[0].start
	if k.leaf.kind == kindInt64 && m.columnIndex.off > 0 && m.columnIndex.size > 0 {
		return readColumnIndex(at(m.columnIndex), k.pages)
	}
	return nil
}

// part is a range of the file that was read.
type part struct {
	off  int64
	data []byte
}
