package jsoncolumns

import (
	"iter"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Learn gives columns to what some values have and no column can hold. It tells whether there are new ones. It keeps nothing of
// a value.
func (s *Set) Learn(values iter.Seq[[]byte]) bool {
	if len(s.Columns()) >= s.limits.Columns {
		return false
	}
	seen := seen{set: s}
	for v := range values {
		seen.look(v)
	}
	if len(seen.order) == 0 {
		return false
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	before := len(s.list)
	for _, name := range seen.order {
		for _, k := range s.fields[name].lacks(seen.shapes[name]) {
			if len(s.list) < s.limits.Columns {
				s.invent(name, k)
			}
		}
	}
	return len(s.list) > before
}

// seen is what values have and no column can hold.
type seen struct {
	set    *Set
	order  []string // fields, in the order that they came in
	shapes map[string]*[shapes]bool
	value  []missing // of the value that is looked at
}

type missing struct {
	name  string
	shape shape
}

func (n *seen) look(value []byte) {
	n.value = n.value[:0]
	n.set.mu.RLock()
	object := eachMember(value, n.member)
	n.set.mu.RUnlock()
	if !object || len(n.value) == 0 {
		return
	}
	if n.shapes == nil {
		n.shapes = map[string]*[shapes]bool{}
	}
	for _, m := range n.value {
		known, ok := n.shapes[m.name]
		if !ok {
			if len(n.order) >= n.set.limits.Columns { // there cannot be columns for more
				return
			}
			known = &[shapes]bool{}
			n.shapes[m.name] = known
			n.order = append(n.order, m.name)
		}
		known[m.shape] = true
	}
}

func (n *seen) member(name, raw []byte) {
	if len(name) == 0 || len(name) > n.set.limits.NameBytes || len(n.value) >= n.set.limits.Columns {
		return
	}
	shape, _, _ := shapeOf(raw)
	if shape == null || shape == untyped || n.set.fields[string(name)].place(shape) != 0 {
		return
	}
	if shape == text {
		if _, ok := decode(raw); !ok {
			return
		}
	}
	n.value = append(n.value, missing{name: string(name), shape: shape})
}

// place finds the column that holds a shape: its place in the list and one; 0: none does. A whole number that a double holds
// exactly is in the older one of the field's two columns of numbers, so that it never moves from one to the other.
func (f *field) place(s shape) int {
	if f == nil {
		return 0
	}
	switch s {
	case boolean:
		return f[kindBool]
	case long:
		if l, d := f[kindLong], f[kindDouble]; d != 0 && (l == 0 || d < l) {
			return d
		}
		return f[kindLong]
	case bigLong:
		return f[kindLong]
	case double:
		return f[kindDouble]
	case text:
		return f[kindString]
	case nested:
		return f[kindJSON]
	}
	return 0
}

// lacks lists the columns that a field needs for shapes. Another has made some of them meanwhile, maybe.
func (f *field) lacks(shapes *[shapes]bool) []kind {
	if f == nil {
		f = &field{}
	}
	var list []kind
	if shapes[boolean] && f[kindBool] == 0 {
		list = append(list, kindBool)
	}
	if shapes[double] && f[kindDouble] == 0 {
		list = append(list, kindDouble) // whole numbers may be there, too
	}
	if f[kindLong] == 0 && (shapes[bigLong] || shapes[long] && !shapes[double] && f[kindDouble] == 0) {
		list = append(list, kindLong)
	}
	if shapes[text] && f[kindString] == 0 {
		list = append(list, kindString)
	}
	if shapes[nested] && f[kindJSON] == 0 {
		list = append(list, kindJSON)
	}
	return list
}

// invent makes a column.
func (s *Set) invent(name string, k kind) {
	column := s.free(name, k)
	s.names[strings.ToLower(column)] = true
	s.add(Column{Column: stored(s.nextID, column, k), Field: name, kind: k, New: true})
	s.nextID++
}

// free finds a name that no column has: the field's, where it has another column with the kind behind it, where that is a
// fixed column's with value_ before it, at last with a number.
func (s *Set) free(name string, k kind) string {
	plain := columnName(name)
	if slices.Contains(reserved, strings.ToLower(plain)) {
		plain = "value_" + plain
	}
	if *s.field(name) != (field{}) {
		plain += "_" + kindOf[k].suffix
	}
	column := plain
	for n := 2; s.names[strings.ToLower(column)] || slices.Contains(reserved, strings.ToLower(column)); n++ {
		column = plain + "_" + strconv.Itoa(n)
	}
	return column
}

// columnName makes a name of letters, digits and _, which no engine has to quote in a special way.
func columnName(name string) string {
	return strings.Map(func(r rune) rune {
		if r != utf8.RuneError && (r == '_' || unicode.IsLetter(r) || unicode.IsDigit(r) || unicode.IsMark(r)) {
			return r
		}
		return '_'
	}, name)
}
