// Package jsoncolumns makes typed table columns of JSON values: it finds out which columns there are, gives new ones to fields
// that have none, and takes values apart. docs/adr/json-columns.md says why it is as it is.
package jsoncolumns

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/apache/iceberg-go"

	"github.com/korvet-io/korvet/internal/iceberg/datafile"
)

// Limits bound what values can make of a table.
type Limits struct {
	Columns   int // typed columns of a table; fields beyond them have none
	NameBytes int // of a field's name; fields with longer ones have none
}

// Set is the typed columns of one table: those it has and those that the next commit adds. Their number only rises and no column ever
// changes. It is safe for concurrent use, so that the partitions of a topic agree on what is new.
type Set struct {
	limits Limits

	mu     sync.RWMutex
	nextID int
	list   []Column
	fields map[string]*field
	names  map[string]bool // in lower case: engines do not tell City from city
}

// Column is a typed column and the field that it is of.
type Column struct {
	datafile.Column
	Field string
	kind  kind
	New   bool // the table has it after the next commit only
}

// kind is what a column holds; datafile.String is two of them.
type kind uint8

const (
	kindBool kind = iota
	kindLong
	kindDouble
	kindString
	kindJSON // objects and arrays, as JSON text
	kinds
)

var kindOf = [kinds]struct {
	suffix string
	stored datafile.Kind
	typ    iceberg.Type
}{
	kindBool:   {"boolean", datafile.Bool, iceberg.PrimitiveTypes.Bool},
	kindLong:   {"long", datafile.Long, iceberg.PrimitiveTypes.Int64},
	kindDouble: {"double", datafile.Double, iceberg.PrimitiveTypes.Float64},
	kindString: {"string", datafile.String, iceberg.PrimitiveTypes.String},
	kindJSON:   {"json", datafile.String, iceberg.PrimitiveTypes.String},
}

// field is what columns one field has, by kind: the place in the list and one; 0: none.
type field [kinds]int

// The comments of columns, by which they are known again: the field's name follows as a JSON string.
const (
	valueComment  = "of the value's field "
	nestedComment = "JSON text of the value's field "
)

// reserved are the names of fixed columns, that of the partition field, which no column may have, and those that engines give to
// columns of their own.
var reserved = []string{datafile.PartitionField, "partition", "offset", "timestamp", "append_time", "key", "value", "headers",
	"_file", "_pos", "_deleted", "_spec_id", "_partition", "_row_id", "_last_updated_sequence_number", "_change_type", "_change_ordinal",
	"_commit_snapshot_id", "file_path", "pos", "filename", "file_row_number", "file_index", "rowid"}

// NewSet reads the columns of a table's schema; lastID is the highest id that the table ever gave to a column.
func NewSet(schema *iceberg.Schema, lastID int, limits Limits) *Set {
	s := &Set{limits: limits, nextID: lastID + 1, fields: map[string]*field{}, names: map[string]bool{}}
	byID := slices.SortedFunc(slices.Values(schema.Fields()), func(a, b iceberg.NestedField) int { return a.ID - b.ID })
	for _, f := range byID {
		s.names[strings.ToLower(f.Name)] = true
		name, k, ok := known(f)
		if !ok {
			continue
		}
		if s.field(name)[k] == 0 { // else an engine has given the comment to another one
			s.add(Column{Column: stored(f.ID, f.Name, k), Field: name, kind: k})
		}
	}
	return s
}

// known tells which field and kind a column of the table is of.
func known(f iceberg.NestedField) (name string, k kind, ok bool) {
	quoted, nested := strings.CutPrefix(f.Doc, nestedComment)
	if !nested {
		if quoted, ok = strings.CutPrefix(f.Doc, valueComment); !ok {
			return "", 0, false
		}
	}
	if f.Required || json.Unmarshal([]byte(quoted), &name) != nil {
		return "", 0, false
	}
	for k := range kinds {
		if (k == kindJSON) == nested && kindOf[k].typ.Equals(f.Type) {
			return name, k, true
		}
	}
	return "", 0, false
}

func stored(id int, name string, k kind) datafile.Column {
	return datafile.Column{ID: id, Name: name, Kind: kindOf[k].stored, Unbounded: k == kindJSON}
}

func (s *Set) field(name string) *field {
	f, ok := s.fields[name]
	if !ok {
		f = &field{}
		s.fields[name] = f
	}
	return f
}

func (s *Set) add(c Column) {
	s.list = append(s.list, c)
	s.field(c.Field)[c.kind] = len(s.list)
}

// Columns lists those there are now; later ones come after them. A nil Set has none.
func (s *Set) Columns() []Column {
	if s == nil {
		return nil
	}
	s.mu.RLock()
	defer s.mu.RUnlock()
	return slices.Clip(s.list)
}

// Comment is what the table says of a column.
func (c Column) Comment() string {
	quoted, _ := json.Marshal(c.Field)
	if c.kind == kindJSON {
		return nestedComment + string(quoted)
	}
	return valueComment + string(quoted)
}

// Type is the column's type in the table.
func (c Column) Type() iceberg.Type { return kindOf[c.kind].typ }

// String lists the columns, for logs.
func (s *Set) String() string {
	var names []string
	for _, c := range s.Columns() {
		names = append(names, fmt.Sprintf("%s %s", c.Name, kindOf[c.kind].suffix))
	}
	return strings.Join(names, ", ")
}
