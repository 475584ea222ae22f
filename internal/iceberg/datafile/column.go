package datafile

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"io"
)

// column is a cursor over one column's values in a stretch of a row group. It reads from memory.
type column struct {
	leaf   leaf
	codec  int64
	absent bool   // the file has no such column: all is null
	body   []byte // pages that follow

	at      int    // the value in the page
	count   int    // values in the page
	levels  []byte // definition levels, one a value; of optional columns
	repeats []byte // repetition levels; of repeated columns
	empty   bool   // no value of the page is there, each is a row
	numbers []int64
	places  []where // values that are there, in data
	taken   int
	data    []byte
	// lent is the memory that data is in, of places that follow each other, where it may be given away; nil: it may not.
	lent      *[]byte
	unpacked  bool // the page is in raw
	scattered bool // places are in no order: they are a dictionary's

	raw, joined []byte // memory of pages
	indexes     []uint32
	dictNumbers []int64
	dictPlaces  []where
	dictData    []byte
}

// open begins at a page's first row.
func (c *column) open(k *chunk, body, dictionary []byte) error {
	c.leaf, c.codec, c.absent, c.body = k.leaf, k.codec, false, body
	c.at, c.count, c.dictNumbers, c.dictPlaces, c.dictData = 0, 0, c.dictNumbers[:0], c.dictPlaces[:0], nil
	c.data, c.lent = nil, nil
	if len(dictionary) == 0 {
		return nil
	}
	h, stored, _, err := nextPage(dictionary)
	if err != nil {
		return err
	}
	if h.kind != pageDictionary {
		return nil // other writers leave gaps, ours an empty one
	}
	return c.readDictionary(&h, stored)
}

func (c *column) readDictionary(h *pageHeader, stored []byte) error {
	data, err := decompress(c.codec, new([]byte), stored, h.raw)
	if err != nil {
		return err
	}
	n := int(h.values)
	if h.encoding != encodingPlain && h.encoding != encodingPlainDictionary {
		return fmt.Errorf("%w: dictionary of encoding %d", ErrCorrupt, h.encoding)
	}
	switch c.leaf.kind {
	case kindInt32, kindInt64, kindFloat, kindDouble:
		c.dictNumbers, err = plainNumbers(c.dictNumbers[:0], data, c.leaf.width(), n)
	case kindBytes:
		c.dictPlaces, err = plainBytes(c.dictPlaces[:0], data, n)
		c.dictData = data
	}
	if err != nil {
		return fmt.Errorf("%w: dictionary: %w", ErrCorrupt, err)
	}
	return nil
}

// load takes the next page; io.EOF after the last.
func (c *column) load() error {
	for {
		if len(c.body) == 0 {
			return io.EOF
		}
		h, stored, rest, err := nextPage(c.body)
		if err != nil {
			return err
		}
		c.body = rest
		switch h.kind {
		case pageDictionary:
			err = c.readDictionary(&h, stored)
		case pageData, pageDataV2:
			err = c.readPage(&h, stored)
		case pageIndex:
		default:
			err = fmt.Errorf("%w: page of kind %d", ErrCorrupt, h.kind)
		}
		if err != nil || c.at < c.count {
			return err
		}
	}
}

// ready loads a page where the one before is at its end.
func (c *column) ready() error {
	if c.at < c.count || c.absent {
		return nil
	}
	if err := c.load(); err == io.EOF {
		return fmt.Errorf("%w: column ends before its rows", ErrCorrupt)
	} else if err != nil {
		return err
	}
	return nil
}

func (c *column) readPage(h *pageHeader, stored []byte) error {
	c.at, c.taken, c.count, c.empty = 0, 0, 0, false
	data, err := c.readLevels(h, stored)
	if err != nil {
		return err
	}
	n := int(h.values)
	there := n
	if c.leaf.maxDef > 0 {
		there = bytes.Count(c.levels, []byte{c.leaf.maxDef})
	}
	if there != n && c.leaf.required {
		return fmt.Errorf("%w: nulls in a column that has none", ErrCorrupt)
	}
	switch c.leaf.kind {
	case kindInt32, kindInt64, kindFloat, kindDouble:
		c.numbers, err = c.readNumbers(h.encoding, data, there)
	case kindBool:
		c.numbers, err = readBools(c.numbers[:0], h.encoding, data, there)
	case kindBytes:
		c.places, err = c.readPlaces(h.encoding, data, there)
	}
	if err != nil {
		return fmt.Errorf("%w: encoding %d: %w", ErrCorrupt, h.encoding, err)
	}
	c.count = n
	c.empty = c.leaf.maxRep > 0 && there == 0 && allZero(c.repeats)
	return nil
}

func allZero(b []byte) bool { return bytes.Count(b, []byte{0}) == len(b) }

// readLevels reads the page's levels and returns its values' bytes.
func (c *column) readLevels(h *pageHeader, stored []byte) (data []byte, err error) {
	var levels [2][]byte // repetition, definition
	if h.kind == pageDataV2 {
		levels[0], levels[1], data = stored[:h.repBytes], stored[h.repBytes:h.repBytes+h.defBytes], stored[h.repBytes+h.defBytes:]
		codec := c.codec
		if h.notCompressed {
			codec = codecNone
		}
		c.unpacked = codec != codecNone
		if data, err = decompress(codec, &c.raw, data, h.raw-h.repBytes-h.defBytes); err != nil {
			return nil, err
		}
	} else {
		c.unpacked = c.codec != codecNone
		if data, err = decompress(c.codec, &c.raw, stored, h.raw); err != nil {
			return nil, err
		}
		for i, highest := range [2]byte{c.leaf.maxRep, c.leaf.maxDef} {
			if highest == 0 {
				continue
			}
			if h.levelEncodings[1-i] != encodingRLE || len(data) < 4 || int64(binary.LittleEndian.Uint32(data)) > int64(len(data)-4) {
				return nil, fmt.Errorf("%w: levels of encoding %d in %d bytes", ErrCorrupt, h.levelEncodings[1-i], len(data))
			}
			size := 4 + int(binary.LittleEndian.Uint32(data))
			levels[i], data = data[4:size], data[size:]
		}
	}
	if c.repeats, err = readLevels(c.repeats, levels[0], c.leaf.maxRep, int(h.values)); err == nil {
		c.levels, err = readLevels(c.levels, levels[1], c.leaf.maxDef, int(h.values))
	}
	if err != nil {
		return nil, fmt.Errorf("%w: levels: %w", ErrCorrupt, err)
	}
	return data, nil
}

func readLevels(dst, src []byte, highest byte, n int) ([]byte, error) {
	dst = dst[:0]
	if highest == 0 {
		return dst, nil
	}
	width := 0
	for highest>>width > 0 {
		width++
	}
	dst, err := hybrid(dst, src, width, n)
	if err != nil {
		return dst, err
	}
	for _, level := range dst {
		if level > highest {
			return dst, errEncoding
		}
	}
	return dst, nil
}

// int takes the next number.
func (c *column) int() int64 {
	c.at++
	return c.numbers[c.at-1]
}

// bytes takes the next value; nil is null. It is good until the page is left.
func (c *column) bytes() []byte {
	if c.absent {
		return nil
	}
	c.at++
	if c.leaf.maxDef > 0 && c.levels[c.at-1] != c.leaf.maxDef {
		return nil
	}
	p := c.places[c.taken]
	c.taken++
	if p.from == p.to {
		return []byte{} // nothing may be there for it to be a part of
	}
	return c.data[p.from:p.to:p.to]
}

// goesOn tells whether the next value belongs to the same row.
func (c *column) goesOn() (bool, error) {
	if c.at == c.count {
		if err := c.load(); err == io.EOF {
			return false, nil
		} else if err != nil {
			return false, err
		}
	}
	return c.repeats[c.at] != 0, nil
}

// skip passes over rows.
func (c *column) skip(rows int64) error {
	for rows > 0 && !c.absent {
		if err := c.ready(); err != nil {
			return err
		}
		if c.leaf.maxRep == 0 {
			n := int(min(rows, int64(c.count-c.at)))
			if c.leaf.maxDef == 0 {
				c.taken += n
			} else {
				c.taken += bytes.Count(c.levels[c.at:c.at+n], []byte{c.leaf.maxDef})
			}
			c.at += n
			rows -= int64(n)
			continue
		}
		c.bytes()
		more, err := c.goesOn()
		if err != nil {
			return err
		}
		if !more {
			rows--
		}
	}
	return nil
}

// mostKept bounds the memory that a column keeps for the next stretch.
const mostKept = 4 << 20

// forget lets go of what was read, and of memory that is larger than usual.
func (c *column) forget() {
	c.body, c.data, c.dictData, c.lent = nil, nil, nil, nil
	if cap(c.raw) > mostKept {
		c.raw = nil
	}
	if cap(c.joined) > mostKept {
		c.joined = nil
	}
	if cap(c.places)*8 > mostKept {
		c.places = nil
	}
	if cap(c.levels) > mostKept {
		c.levels, c.repeats = nil, nil
	}
	if cap(c.numbers)*8 > mostKept {
		c.numbers, c.indexes = nil, nil
	}
	if cap(c.dictNumbers)*8 > mostKept {
		c.dictNumbers = nil
	}
	if cap(c.dictPlaces)*8 > mostKept {
		c.dictPlaces = nil
	}
}
