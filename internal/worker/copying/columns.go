package copying

import (
	"context"
	"iter"
	"slices"

	"github.com/korvet-io/korvet/internal/iceberg/datafile"
	"github.com/korvet-io/korvet/internal/iceberg/jsoncolumns"
	"github.com/korvet-io/korvet/internal/iceberg/tables"
)

// columns are the typed columns that a round works with; nil: the topic has its values as they are.
func (c *Copier) columns(j *Job, state *tables.State) *jsoncolumns.Set {
	if !j.Topic.Config.RemoteJSONColumns {
		return nil
	}
	return state.Columns(c.Settings().JSON)
}

// columns takes the values of one partition apart. nil: they are not.
type columns struct {
	set     *jsoncolumns.Set
	ahead   *values               // decodes records before it is their turn
	current *jsoncolumns.Shredder // into the columns of the file that is being written
	next    *jsoncolumns.Shredder // into all
}

func newColumns(set *jsoncolumns.Set, ahead *values) *columns {
	if set == nil {
		return nil
	}
	return &columns{set: set, ahead: ahead}
}

// begin decides on the columns of a file, by what is known and the records that come first.
func (c *columns) begin(ctx context.Context, v *values, rows []datafile.Row) []datafile.Column {
	if c == nil {
		return nil
	}
	c.set.Learn(c.values(ctx, v, rows))
	c.current = jsoncolumns.NewShredder(c.set.Columns())
	return c.current.Typed()
}

// split takes the value of a row apart. It tells whether the file is to end before it: it has a new field, which there is a column
// for in the next file. rows are this one and those in memory after it.
func (c *columns) split(ctx context.Context, v *values, row *datafile.Row, rows []datafile.Row) bool {
	if c == nil {
		return false
	}
	var fits bool
	if row.Cells, fits = c.current.Cells(row.Value); fits {
		return false
	}
	if c.set.Learn(slices.Values([][]byte{row.Value})) {
		c.set.Learn(c.values(ctx, v, rows))
	}
	all := c.set.Columns()
	if len(all) == c.current.Len() {
		return false
	}
	if c.next == nil || len(all) > c.next.Len() {
		c.next = jsoncolumns.NewShredder(all)
	}
	more, _ := c.next.Cells(row.Value)
	return filled(more) > filled(row.Cells)
}

func filled(cells []datafile.Cell) (n int) {
	for i := range cells {
		if cells[i].Valid {
			n++
		}
	}
	return n
}

// values are those of rows, of which v has decoded some. One that cannot be read ends them.
func (c *columns) values(ctx context.Context, v *values, rows []datafile.Row) iter.Seq[[]byte] {
	return func(yield func([]byte) bool) {
		for _, row := range rows {
			if row.Offset >= v.ready && c.ahead.decode(ctx, &row) != nil || !yield(row.Value) {
				return
			}
		}
	}
}
