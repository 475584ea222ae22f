package datafile

import (
	"encoding/binary"
	"fmt"
)

// Types of Parquet's columns.
const (
	kindBool   = 0
	kindInt32  = 1
	kindInt64  = 2
	kindFloat  = 4
	kindDouble = 5
	kindBytes  = 6
)

// footer is what a file's end says of it, as far as it is of use here.
type footer struct {
	rows      int64
	schema    []element
	groups    []rowGroup
	createdBy string
}

// element is a node of the schema, which lists them depth first.
type element struct {
	kind       int64 // -1 for one with children
	repetition int64 // 0 required, 1 optional, 2 repeated
	children   int64
	id         int64 // the field id; -1 for none
}

type rowGroup struct {
	rows   int64
	chunks []chunkMeta
}

type chunkMeta struct {
	kind, codec, values        int64
	data, dictionary, stored   int64 // offsets of the file; bytes
	offsetIndex, columnIndex   area
	least, most                []byte
	elsewhere, encrypted, read bool
}

// area is a stretch of the file.
type area struct{ off, size int64 }

func readFooter(b []byte) (*footer, error) {
	t, f := thrift{b: b}, &footer{}
	t.structure(wireStruct, func(id int16, kind byte) bool {
		switch id {
		case 2:
			for range t.list(kind, wireStruct) {
				f.schema = append(f.schema, t.element())
			}
		case 3:
			f.rows = t.int(kind)
		case 4:
			for range t.list(kind, wireStruct) {
				f.groups = append(f.groups, t.rowGroup())
				if t.bad {
					break
				}
			}
		case 6:
			f.createdBy = string(t.bytes(kind))
		default:
			return false
		}
		return true
	})
	if t.bad || len(f.schema) == 0 {
		return nil, fmt.Errorf("%w: malformed footer", ErrCorrupt)
	}
	return f, nil
}

func (t *thrift) element() element {
	e := element{kind: -1, id: -1}
	t.structure(wireStruct, func(id int16, kind byte) bool {
		switch id {
		case 1:
			e.kind = t.int(kind)
		case 3:
			e.repetition = t.int(kind)
		case 5:
			e.children = t.int(kind)
		case 9:
			e.id = t.int(kind)
		default:
			return false
		}
		return true
	})
	return e
}

func (t *thrift) rowGroup() (g rowGroup) {
	t.structure(wireStruct, func(id int16, kind byte) bool {
		switch id {
		case 1:
			for range t.list(kind, wireStruct) {
				g.chunks = append(g.chunks, t.chunk())
				if t.bad {
					break
				}
			}
		case 3:
			g.rows = t.int(kind)
		default:
			return false
		}
		return true
	})
	return g
}

func (t *thrift) chunk() (m chunkMeta) {
	t.structure(wireStruct, func(id int16, kind byte) bool {
		switch id {
		case 1:
			m.elsewhere = len(t.bytes(kind)) > 0
		case 3:
			m.read = true
			t.columnMeta(kind, &m)
		case 4:
			m.offsetIndex.off = t.int(kind)
		case 5:
			m.offsetIndex.size = t.int(kind)
		case 6:
			m.columnIndex.off = t.int(kind)
		case 7:
			m.columnIndex.size = t.int(kind)
		case 8:
			m.encrypted = true
			return false
		default:
			return false
		}
		return true
	})
	return m
}

func (t *thrift) columnMeta(kind byte, m *chunkMeta) {
	t.structure(kind, func(id int16, kind byte) bool {
		switch id {
		case 1:
			m.kind = t.int(kind)
		case 4:
			m.codec = t.int(kind)
		case 5:
			m.values = t.int(kind)
		case 7:
			m.stored = t.int(kind)
		case 9:
			m.data = t.int(kind)
		case 11:
			m.dictionary = t.int(kind)
		case 12:
			t.structure(kind, func(id int16, kind byte) bool {
				switch id {
				case 5:
					m.most = t.bytes(kind)
				case 6:
					m.least = t.bytes(kind)
				default:
					return false
				}
				return true
			})
		default:
			return false
		}
		return true
	})
}

// readOffsetIndex lists where a column's pages are.
func readOffsetIndex(b []byte) ([]page, error) {
	t := thrift{b: b}
	var pages []page
	t.structure(wireStruct, func(id int16, kind byte) bool {
		if id != 1 {
			return false
		}
		n := t.list(kind, wireStruct)
		pages = make([]page, 0, n)
		for range n {
			p := unbounded
			t.structure(wireStruct, func(id int16, kind byte) bool {
				switch id {
				case 1:
					p.start = t.int(kind)
				case 2:
					p.end = t.int(kind)
				case 3:
					p.row = t.int(kind)
				default:
					return false
				}
				return true
			})
			p.end += p.start
			pages = append(pages, p)
		}
		return true
	})
	if t.bad {
		return nil, fmt.Errorf("%w: malformed offset index", ErrCorrupt)
	}
	return pages, nil
}

// readColumnIndex notes the bounds of a column of int64.
func readColumnIndex(b []byte, pages []page) error {
	t := thrift{b: b}
	counts := [3]int{}
	null := make([]bool, len(pages))
	each := func(n int, do func(i int)) int {
		for i := range min(n, len(pages)) {
			do(i)
		}
		return n
	}
	t.structure(wireStruct, func(id int16, kind byte) bool {
		switch id {
		case 1:
			counts[0] = each(t.list(kind, wireTrue), func(i int) { null[i] = t.byte() == wireTrue })
		case 2:
			counts[1] = each(t.list(kind, wireBinary), func(i int) { pages[i].bound(&pages[i].least, t.bytes(wireBinary), null[i]) })
		case 3:
			counts[2] = each(t.list(kind, wireBinary), func(i int) { pages[i].bound(&pages[i].most, t.bytes(wireBinary), null[i]) })
		default:
			return false
		}
		return true
	})
	if t.bad || counts != [3]int{len(pages), len(pages), len(pages)} {
		return fmt.Errorf("%w: malformed column index", ErrCorrupt)
	}
	return nil
}

func (p *page) bound(of *int64, b []byte, null bool) {
	if len(b) == 8 && !null {
		*of = int64(binary.LittleEndian.Uint64(b))
	}
}
