package datafile

import "fmt"

// leaf is a column of a file that holds values.
type leaf struct {
	id             int64
	column         int // its number in the file; below 0: not there
	kind           int64
	required       bool // a null is a mistake
	maxDef, maxRep byte // the levels of a value that is there
}

// findLeaves finds the wanted columns by their field ids, wherever they are and whatever they are called.
func findLeaves(schema []element, wants []want) ([]leaf, error) {
	w := walk{schema: schema, wants: wants, found: make([]leaf, len(wants))}
	for i := range w.found {
		w.found[i].column = -1
	}
	if err := w.node(leaf{}, 0); err != nil {
		return nil, err
	}
	for i, l := range w.found {
		if l.column < 0 && !wants[i].optional {
			return nil, fmt.Errorf("%w: no column with field id %d", ErrCorrupt, wants[i].id)
		}
	}
	return w.found, nil
}

// allLeaves are all columns of a file.
func allLeaves(schema []element) ([]leaf, error) {
	w := walk{schema: schema}
	err := w.node(leaf{}, 0)
	return w.found, err
}

// walk goes through a schema depth first.
type walk struct {
	schema []element // what is left of it
	wants  []want    // nil: all
	found  []leaf
	leaves int
}

func (w *walk) node(at leaf, depth int) error {
	if len(w.schema) == 0 || depth > mostDepth {
		return fmt.Errorf("%w: malformed schema", ErrCorrupt)
	}
	e := w.schema[0]
	w.schema = w.schema[1:]
	if depth > 0 && e.repetition != 0 { // the root has none
		at.maxDef++
		if e.repetition == 2 {
			at.maxRep++
		}
	}
	if e.children < 0 || e.children > int64(len(w.schema)) {
		return fmt.Errorf("%w: malformed schema", ErrCorrupt)
	}
	if e.kind >= 0 && e.children == 0 {
		at.column, at.kind, at.id = w.leaves, e.kind, e.id
		w.leaves++
		if w.wants == nil {
			w.found = append(w.found, at)
			return nil
		}
		return w.take(at)
	}
	for range e.children {
		if err := w.node(at, depth+1); err != nil {
			return err
		}
	}
	return nil
}

func (w *walk) take(l leaf) error {
	for i, want := range w.wants {
		if want.id != l.id {
			continue
		}
		l.required = !want.optional
		if w.found[i].column >= 0 || !want.holds(l.kind) || (l.maxRep == 1) != want.repeated || l.maxRep > 1 || l.maxDef > 1 && !want.repeated {
			return fmt.Errorf("%w: column with field id %d is of another type, or there twice", ErrCorrupt, l.id)
		}
		w.found[i] = l
	}
	return nil
}
