package tables

import (
	"github.com/apache/iceberg-go/table"

	"github.com/korvet-io/korvet/internal/iceberg/datafile"
	"github.com/korvet-io/korvet/internal/iceberg/jsoncolumns"
)

// typedAtOnce is how many typed columns are compared at once: each takes a page of memory in each of the files that lie over each
// other. With more of them the files are read again.
const typedAtOnce = 64

// typedOf are the typed columns that a table has.
func typedOf(m table.Metadata) []jsoncolumns.Column {
	return jsoncolumns.NewSet(m.CurrentSchema(), m.LastColumnID(), jsoncolumns.Limits{}).Columns() // it learns none
}

// typedPart is some of a table's typed columns, to be compared.
type typedPart struct {
	columns  []jsoncolumns.Column // of the part
	first    int                  // place of the first one in the table's
	shredder *jsoncolumns.Shredder
}

// typedParts divides columns; there is one part at least.
func typedParts(all []jsoncolumns.Column) (list []*typedPart) {
	shredder := jsoncolumns.NewShredder(all)
	for first := 0; first == 0 || first < len(all); first += typedAtOnce {
		list = append(list, &typedPart{all[first:min(first+typedAtOnce, len(all))], first, shredder})
	}
	return list
}

// stored lists the columns as data files have them.
func (p *typedPart) stored() []datafile.Column {
	list := make([]datafile.Column, len(p.columns))
	for i, c := range p.columns {
		list[i] = c.Column
	}
	return list
}

// differ names a column that would be another in a record that stays the same; "": none. A file from before a column has null in it,
// and so has what engines make of that file. They may also put there what the value has, as merging does.
func (p *typedPart) differ(row, other *datafile.Row) string {
	var made []datafile.Cell
	for i, c := range p.columns {
		if datafile.SameCell(c.Kind, &row.Cells[i], &other.Cells[i]) {
			continue
		}
		if made == nil {
			made, _ = p.shredder.Cells(row.Value)
		}
		if !datafile.SameCell(c.Kind, &row.Cells[i], &made[p.first+i]) {
			return c.Name
		}
	}
	return ""
}
