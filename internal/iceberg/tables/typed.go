package tables

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"

	"github.com/apache/iceberg-go/table"

	"github.com/korvet-io/korvet/internal/iceberg/datafile"
	"github.com/korvet-io/korvet/internal/iceberg/jsoncolumns"
)

// ErrColumns are typed columns that were made for another state of the table.
var ErrColumns = errors.New("the table has other columns")

// Columns are the typed columns of a state, to which those of new fields can be added.
func (s *State) Columns(limits jsoncolumns.Limits) *jsoncolumns.Set {
	return jsoncolumns.NewSet(s.version.Metadata.CurrentSchema(), s.version.Metadata.LastColumnID(), limits)
}

// addColumns adds those that are new, with the ids that data files have them under.
func addColumns(tx *table.Transaction, base *State, columns []jsoncolumns.Column) error {
	update, last := tx.UpdateSchema(true, false), base.version.Metadata.LastColumnID()
	changed := false
	for _, c := range columns {
		if !c.New {
			if f, ok := base.version.Metadata.CurrentSchema().FindFieldByID(c.ID); !ok || f.Name != c.Name || !f.Type.Equals(c.Type()) {
				return fmt.Errorf("%w: %d is not %s", ErrColumns, c.ID, c.Name)
			}
			continue
		}
		if last++; c.ID != last {
			return fmt.Errorf("%w: %d cannot be %s", ErrColumns, last, c.Name)
		}
		update.AddColumn([]string{c.Name}, c.Type(), c.Comment(), false, nil)
		changed = true
	}
	if !changed {
		return nil
	}
	if err := update.Commit(); err != nil {
		return fmt.Errorf("add columns: %w", err)
	}
	staged, err := tx.StagedTable()
	if err != nil {
		return fmt.Errorf("add columns: %w", err)
	}
	for _, c := range columns {
		if f, ok := staged.Schema().FindFieldByID(c.ID); !ok || f.Name != c.Name {
			return fmt.Errorf("%w: %s is not %d", ErrColumns, c.Name, c.ID)
		}
	}
	return nil
}

// noteTyped adds what a data file's manifest entry has of its typed columns.
func noteTyped(s *datafile.Summary, low, high map[int][]byte, counts, nulls map[int]int64) {
	for i, c := range s.Typed {
		b := &s.TypedBounds[i]
		counts[c.ID], nulls[c.ID] = s.Rows, b.Nulls
		if b.Least.Valid {
			low[c.ID] = bound(c.Kind, &b.Least, math.Copysign(0, -1))
		}
		if b.Most.Valid {
			high[c.ID] = bound(c.Kind, &b.Most, 0)
		}
	}
}

// bound writes a single value (Iceberg spec, "Binary single-value serialization"). zero is which zero a double of zero is: both
// signs are equal here and not in an order of floating point numbers that an engine may go by.
func bound(k datafile.Kind, c *datafile.Cell, zero float64) []byte {
	switch k {
	case datafile.Bool:
		return []byte{byte(c.Int)}
	case datafile.Long:
		return binary.LittleEndian.AppendUint64(nil, uint64(c.Int))
	case datafile.Double:
		f := c.Float
		if f == 0 {
			f = zero
		}
		return binary.LittleEndian.AppendUint64(nil, math.Float64bits(f))
	default:
		return append([]byte{}, c.Bytes...)
	}
}
