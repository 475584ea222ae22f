package inspect

import (
	"context"
	"fmt"
	"strings"

	"github.com/korvet-io/korvet/internal/iceberg/datafile"
	"github.com/korvet-io/korvet/internal/iceberg/tables"
)

// fileRows takes the rows of one data file.
type fileRows struct {
	*verification
	file    *tables.File
	deletes *datafile.Positions
	rows    int64
	last    int64  // offset of the last row
	inside  string // why offsets between its rows have none
	err     error
	told    int
}

// stretchBytes and stretchRows bound what is decoded at once.
const (
	stretchBytes = 1 << 20
	stretchRows  = 16 << 10
	gapBytes     = 8 << 20
	// mostOfFile bounds the problems that are told of one file: it may have as many as rows.
	mostOfFile = 10
)

// read takes all rows and compares what they are with what the table says.
func (r *fileRows) read(ctx context.Context, d *datafile.File, src datafile.Source) error {
	stretches, err := d.Stretches(ctx, src, stretchBytes, stretchRows)
	if err != nil {
		return err
	}
	for _, stretch := range stretches {
		err := d.ReadBlocks(ctx, src, []datafile.Stretch{stretch}, gapBytes, nil, func(b *datafile.Block) bool {
			var row datafile.Row
			for k := 0; k < b.Len() && r.err == nil; k++ {
				b.Record(k, &row.Record)
				row.AppendMs, row.Position = b.AppendMs[k], b.Position(k)
				r.err = r.row(ctx, &row)
			}
			return r.err == nil
		})
		if err == nil {
			err = r.err
		}
		if err != nil {
			return err
		}
	}
	if r.rows != r.file.Rows {
		return fmt.Errorf("%w: %d rows, not %d", errDiffers, r.rows, r.file.Rows)
	}
	return nil
}

func (r *fileRows) row(ctx context.Context, row *datafile.Row) error {
	r.rows++
	switch {
	case row.Offset <= r.last:
		r.tell(row.Offset, fmt.Sprintf("its offsets do not rise: %d after %d", row.Offset, r.last))
		return nil
	case row.Offset < r.file.First || row.Offset > r.file.Last:
		r.tell(row.Offset, fmt.Sprintf("offset %d is not within %d and %d, as the table has it", row.Offset, r.file.First, r.file.Last))
		return nil
	case r.file.Timed && (row.Timestamp < r.file.MinTimestamp || row.Timestamp > r.file.MaxTimestamp):
		r.tell(row.Offset, fmt.Sprintf("timestamp %d of offset %d is not within %d and %d, as the table has it", row.Timestamp, row.Offset, r.file.MinTimestamp, r.file.MaxTimestamp))
	}
	cause := r.inside
	if r.last < 0 {
		cause = r.gap()
	}
	r.last = row.Offset
	if r.deletes.Has(row.Position) {
		if err := r.passed(ctx, row.Offset, cause, true); err != nil {
			return err
		}
		return r.passed(ctx, row.Offset+1, CauseDeleted, true)
	}
	if err := r.passed(ctx, row.Offset, cause, true); err != nil {
		return err
	}
	r.report.Rows++
	if row.Offset < r.next { // below the log start, or told of before
		return nil
	}
	r.next = row.Offset + 1
	if r.log == nil {
		return nil
	}
	what, compared, err := r.log.compare(ctx, row)
	if err != nil {
		return err
	}
	if compared {
		r.report.Compared++
	}
	if what != "" {
		r.tell(row.Offset, fmt.Sprintf("the record at offset %d is another one in Redis: its %s differs", row.Offset, what))
	}
	return nil
}

func (r *fileRows) tell(offset int64, what string) {
	r.told++
	if r.told > mostOfFile {
		r.report.More++
		return
	}
	r.problem(r.file.Location, offset, what)
}

// ownName tells whether a data file was written by korvet: <first offset, 20 digits>-<last>-... below its partition's folder.
func ownName(location string) bool {
	name := location[strings.LastIndexByte(location, '/')+1:]
	if len(name) < 21 || name[20] != '-' {
		return false
	}
	return strings.Trim(name[:20], "0123456789") == ""
}
