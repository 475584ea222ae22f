package datafile

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"
	"sync"

	"github.com/korvet-io/korvet/internal/record"
)

// Block is a stretch of a file, decoded: columns beside each other, as pages have them, so that a page that is decompressed is not
// copied once more. But for Sort it is never changed. It has no pointers but those to its columns: the garbage collector does not
// look through it.
type Block struct {
	Offsets, Timestamps, AppendMs []int64 // times in ms
	first                         int64   // position of the first row in the file
	positions                     []int64 // of all; nil: they follow the first
	keys, values, headers         cells
}

// cells are the values of a column.
type cells struct {
	data   []byte
	places []where // in data; nil: all values are null
	memory []byte  // all of the memory that data is in
}

// null is the place of a value that is none.
var null = where{from: 1}

// at is the value of a row; nil is null.
func (c *cells) at(k int) []byte {
	if c.places == nil || c.places[k] == null {
		return nil
	}
	p := c.places[k]
	return c.data[p.from:p.to:p.to]
}

// blocks are those whose memory can be taken again: memory that was not used before takes as long as decoding.
var blocks = sync.Pool{New: func() any { return new(Block) }}

// Free has the memory be used for another block. Nobody may use this one any more.
func (b *Block) Free() { blocks.Put(b) }

// Len is how many rows there are.
func (b *Block) Len() int { return len(b.Offsets) }

// Position is a row's place in the file.
func (b *Block) Position(k int) int64 {
	if b.positions != nil {
		return b.positions[k]
	}
	return b.first + int64(k)
}

// Record fills r with a row. What it refers to must not be changed.
func (b *Block) Record(k int, r *record.Record) {
	r.Offset, r.Timestamp = b.Offsets[k], b.Timestamps[k]
	r.Key, r.Value, r.Headers = b.keys.at(k), b.values.at(k), b.headers.at(k)
}

// Weight is about how many bytes of memory it takes.
func (b *Block) Weight() int64 {
	weight := int64(256 + 8*(cap(b.Offsets)+cap(b.Timestamps)+cap(b.AppendMs)+cap(b.positions)))
	for _, c := range []*cells{&b.keys, &b.values, &b.headers} {
		weight += int64(cap(c.memory) + 8*cap(c.places))
	}
	return weight
}

// Sort puts the rows of a file that an engine wrote in disorder by their offsets.
func (b *Block) Sort() {
	if slices.IsSorted(b.Offsets) {
		return
	}
	order := make([]int, b.Len())
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(i, j int) int { return cmp.Compare(b.Offsets[i], b.Offsets[j]) })
	b.positions = make([]int64, b.Len())
	for i := range b.positions {
		b.positions[i] = b.first + int64(i)
	}
	for _, numbers := range []*[]int64{&b.Offsets, &b.Timestamps, &b.AppendMs, &b.positions} {
		*numbers = inOrder(*numbers, order)
	}
	for _, c := range []*cells{&b.keys, &b.values, &b.headers} {
		if c.places != nil {
			c.places = inOrder(c.places, order)
		}
	}
}

func inOrder[T any](list []T, order []int) []T {
	sorted := make([]T, len(list))
	for i, k := range order {
		sorted[i] = list[k]
	}
	return sorted
}

// Bounds of what a block claims before its values are seen.
const (
	mostRowsAtOnce  = 16 << 10
	mostBytesAtOnce = 4 << 20
)

// block decodes the next n rows.
func (r *rows) block(first int64, n int) (*Block, error) {
	b := blocks.Get().(*Block)
	b.first, b.positions = first, nil
	for i, numbers := range []*[]int64{&b.Offsets, &b.Timestamps, &b.AppendMs} {
		if err := r.columns[offsetColumn+i].takeNumbers(numbers, n); err != nil {
			return nil, fmt.Errorf("column %d: %w", offsetColumn+i, err)
		}
	}
	for _, times := range [][]int64{b.Timestamps, b.AppendMs} {
		for i, us := range times {
			times[i] = Millis(us)
		}
	}
	for i, values := range []*cells{&b.keys, &b.values} {
		if err := r.columns[keyColumn+i].takeCells(values, n); err != nil {
			return nil, fmt.Errorf("column %d: %w", keyColumn+i, err)
		}
	}
	if err := r.takeHeaders(&b.headers, n); err != nil {
		return nil, err
	}
	r.at += int64(n)
	return b, nil
}

// room is memory that was used before, if it is neither too small nor much too large.
func room[T any](used []T, n int) []T {
	if cap(used) < n || cap(used) > 2*n {
		return make([]T, 0, n+n/16)
	}
	return used[:0]
}

// takeNumbers takes the next n numbers.
func (c *column) takeNumbers(dst *[]int64, n int) error {
	*dst = room(*dst, min(n, mostRowsAtOnce))
	for n > 0 {
		if err := c.ready(); err != nil {
			return err
		}
		k := min(n, c.count-c.at)
		*dst = append(*dst, c.numbers[c.at:c.at+k]...)
		c.at += k
		n -= k
	}
	return nil
}

// takeCells takes the next n values.
func (c *column) takeCells(to *cells, n int) error {
	places, there, used := to.places, 0, to.memory
	*to = cells{}
	if c.absent {
		return nil
	}
	places = room(places, min(n, mostRowsAtOnce))
	if c.raw == nil {
		c.raw = used
	}
	for left := n; left > 0; {
		if err := c.ready(); err != nil {
			return err
		}
		k := min(left, c.count-c.at)
		levels := c.levels[:0]
		values := c.places[c.taken:min(c.taken+k, len(c.places))]
		if c.leaf.maxDef > 0 {
			levels = c.levels[c.at : c.at+k]
			values = c.places[c.taken : c.taken+bytes.Count(levels, []byte{c.leaf.maxDef})]
		}
		all := int(float64(len(c.data)) * float64(n) / float64(c.count))
		if err := c.giveData(to, values, k == c.count, all); err != nil {
			return err
		}
		there += len(values)
		c.at, c.taken, left = c.at+k, c.taken+len(values), left-k
		for len(levels) > len(values) { // with nulls
			if level := levels[0]; level == c.leaf.maxDef {
				places, values = append(places, values[0]), values[1:]
			} else {
				places = append(places, null)
			}
			levels = levels[1:]
		}
		places = append(places, values...)
	}
	if to.data == nil {
		to.data = []byte{} // empty values are not null
	}
	if to.memory == nil || cap(to.data) > cap(to.memory) {
		to.memory = to.data
	}
	if there > 0 {
		to.places = places
	}
	return nil
}

// giveData puts the bytes of a page's values into cells and has the values' places say where they are there. The first page gives
// its memory away if it is taken whole; all is about how many bytes the values of the cells take.
func (c *column) giveData(to *cells, values []where, whole bool, all int) error {
	if len(values) == 0 {
		return nil
	}
	if whole && to.data == nil && c.lent != nil && cap(*c.lent) <= 2*len(c.data) {
		to.data, to.memory, *c.lent = c.data[:len(c.data):len(c.data)], *c.lent, nil
		return nil
	}
	if to.data == nil {
		to.data = make([]byte, 0, min(all+all/8, mostBytesAtOnce))
	}
	if c.scattered {
		for i, p := range values {
			at := len(to.data)
			if at+int(p.to-p.from) > math.MaxUint32 {
				return errLong
			}
			to.data = append(to.data, c.data[p.from:p.to]...)
			values[i] = where{uint32(at), uint32(len(to.data))}
		}
		return nil
	}
	from, end := values[0].from, values[len(values)-1].to
	at := len(to.data)
	if at+int(end-from) > math.MaxUint32 {
		return errLong
	}
	to.data = append(to.data, c.data[from:end]...)
	for i, p := range values {
		values[i] = where{p.from - from + uint32(at), p.to - from + uint32(at)}
	}
	return nil
}

var errLong = fmt.Errorf("%w: more than 4 GiB at once", ErrCorrupt)

// takeHeaders takes the header sections of the next n rows.
func (r *rows) takeHeaders(to *cells, n int) error {
	*to = cells{}
	k, v := &r.columns[headerKeyColumn], &r.columns[headerValueColumn]
	if k.absent {
		return nil
	}
	for done := 0; done < n; {
		if err := errors.Join(k.ready(), v.ready()); err != nil {
			return fmt.Errorf("headers: %w", err)
		}
		if k.empty && v.empty {
			none := min(n-done, k.count-k.at, v.count-v.at)
			k.at, v.at, done = k.at+none, v.at+none, done+none
			continue
		}
		if err := r.readHeaders(); err != nil {
			return err
		}
		if r.row.Headers != nil {
			if to.places == nil {
				to.places = make([]where, 0, min(n, mostRowsAtOnce))
			}
			for len(to.places) < done {
				to.places = append(to.places, null)
			}
			at := len(to.data)
			to.data = append(to.data, r.row.Headers...)
			if len(to.data) > math.MaxUint32 {
				return errLong
			}
			to.places = append(to.places, where{uint32(at), uint32(len(to.data))})
		}
		done++
	}
	for to.places != nil && len(to.places) < n {
		to.places = append(to.places, null)
	}
	to.memory = to.data
	return nil
}
