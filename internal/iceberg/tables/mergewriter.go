package tables

import (
	"io"

	"github.com/korvet-io/korvet/internal/iceberg/datafile"
	"github.com/korvet-io/korvet/internal/iceberg/jsoncolumns"
)

// rowWriter writes one data file of rising offsets.
type rowWriter interface {
	Write(r *datafile.Row) error
	Close() (datafile.Summary, error)
}

// newRowWriter begins a data file of a partition with the columns that a state has.
func newRowWriter(dst io.Writer, base *State, partition int32, o datafile.Options) rowWriter {
	columns := base.Columns(jsoncolumns.Limits{}).Columns() // it learns none
	if len(columns) == 0 {
		return datafile.NewWriter(dst, partition, o)
	}
	s := jsoncolumns.NewShredder(columns)
	o.Typed = s.Typed()
	return &typedRows{Writer: datafile.NewWriter(dst, partition, o), shredder: s}
}

// typedRows takes the values apart again: readers of records pass typed columns over.
type typedRows struct {
	*datafile.Writer
	shredder *jsoncolumns.Shredder
}

func (t *typedRows) Write(r *datafile.Row) error {
	row := *r
	row.Cells, _ = t.shredder.Cells(r.Value)
	return t.Writer.Write(&row)
}
