package datafile

import "encoding/binary"

// thrift reads Thrift's compact protocol, in which Parquet has all its metadata. What it reads is not trusted: the first thing that
// is wrong ends it, after which everything is zero and empty. It allocates nothing.
type thrift struct {
	b     []byte
	bad   bool
	depth int
}

// Types on the wire.
const (
	wireTrue   = 1
	wireFalse  = 2
	wireByte   = 3
	wireInt64  = 6 // and, below it, int16 and int32
	wireDouble = 7
	wireBinary = 8
	wireList   = 9
	wireSet    = 10
	wireMap    = 11
	wireStruct = 12
)

// mostDepth bounds how deep what is passed over may be nested.
const mostDepth = 64

func (t *thrift) fail() { t.bad, t.b = true, nil }

func (t *thrift) byte() byte {
	if len(t.b) == 0 {
		t.fail()
		return 0
	}
	c := t.b[0]
	t.b = t.b[1:]
	return c
}

func (t *thrift) uvarint() uint64 {
	v, n := binary.Uvarint(t.b)
	if n <= 0 {
		t.fail()
		return 0
	}
	t.b = t.b[n:]
	return v
}

func (t *thrift) zigzag() int64 {
	v := t.uvarint()
	return int64(v>>1) ^ -int64(v&1)
}

func (t *thrift) take(n uint64) []byte {
	if n > uint64(len(t.b)) {
		t.fail()
		return nil
	}
	taken := t.b[:n:n]
	t.b = t.b[n:]
	return taken
}

// field begins the next field of a struct; false after the last. last is the id of the one before, 0 at first.
func (t *thrift) field(last *int16) (id int16, kind byte, ok bool) {
	head := t.byte()
	if head&15 == 0 || t.bad {
		return 0, 0, false
	}
	if step := int16(head >> 4); step != 0 {
		*last += step
	} else {
		*last = int16(t.zigzag())
	}
	return *last, head & 15, !t.bad
}

// int is a field's number.
func (t *thrift) int(kind byte) int64 {
	if kind < wireByte || kind > wireInt64 {
		t.fail()
		return 0
	}
	if kind == wireByte {
		return int64(int8(t.byte()))
	}
	return t.zigzag()
}

// bytes is a field's string; it is part of what is read.
func (t *thrift) bytes(kind byte) []byte {
	if kind != wireBinary {
		t.fail()
		return nil
	}
	return t.take(t.uvarint())
}

// list begins a field's list of elements of a type. Each takes a byte at least, which bounds what one may claim.
func (t *thrift) list(kind, of byte) int {
	if kind != wireList && kind != wireSet {
		t.fail()
		return 0
	}
	element, n := t.listHead()
	if n > 0 && element != of && !(of == wireTrue && element == wireFalse) {
		t.fail()
		return 0
	}
	return n
}

func (t *thrift) listHead() (element byte, n int) {
	head := t.byte()
	size := uint64(head >> 4)
	if size == 15 {
		size = t.uvarint()
	}
	if size > uint64(len(t.b)) {
		t.fail()
		return 0, 0
	}
	return head & 15, int(size)
}

// structure walks the fields of a struct. do takes what it knows and tells so; the rest is passed over.
func (t *thrift) structure(kind byte, do func(id int16, kind byte) bool) {
	if kind != wireStruct {
		t.fail()
		return
	}
	last := int16(0)
	for {
		id, kind, ok := t.field(&last)
		if !ok {
			return
		}
		if !do(id, kind) {
			t.skip(kind)
		}
	}
}

// skip passes over a field's value.
func (t *thrift) skip(kind byte) {
	if t.depth++; t.depth > mostDepth {
		t.fail()
	}
	defer func() { t.depth-- }()
	switch kind {
	case wireTrue, wireFalse:
	case wireByte:
		t.byte()
	case wireByte + 1, wireByte + 2, wireInt64:
		t.uvarint()
	case wireDouble:
		t.take(8)
	case wireBinary:
		t.take(t.uvarint())
	case wireList, wireSet:
		element, n := t.listHead()
		t.skipElements(n, element)
	case wireMap:
		if n := t.uvarint(); n > 0 && n <= uint64(len(t.b)) {
			kinds := t.byte()
			t.skipElements(int(n), kinds>>4, kinds&15)
		} else if n > 0 {
			t.fail()
		}
	case wireStruct:
		t.structure(kind, func(int16, byte) bool { return false })
	default:
		t.fail()
	}
}

func (t *thrift) skipElements(n int, kinds ...byte) {
	for range n {
		for _, kind := range kinds {
			if kind == wireTrue || kind == wireFalse { // in a list it takes a byte
				kind = wireByte
			}
			t.skip(kind)
		}
		if t.bad {
			return
		}
	}
}
