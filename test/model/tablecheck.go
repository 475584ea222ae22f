package model

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/parquet-go/parquet-go"

	"github.com/korvet-io/korvet/internal/iceberg/chain"
	"github.com/korvet-io/korvet/internal/iceberg/tables"
)

// tableFiles reads what the topic's table is now; state is nil where it has none.
func (w *world) tableFiles() (state *tables.State, files *tables.Files, location string, err error) {
	table, entry := w.table()
	if table == nil {
		return nil, nil, "", nil
	}
	state, err = table.State(w.ctx)
	if errors.Is(err, chain.ErrNoTable) {
		return nil, nil, entry.Location, nil
	}
	if err == nil {
		files, err = table.Files(w.ctx, state)
	}
	if err != nil {
		return nil, nil, entry.Location, fmt.Errorf("read table: %w", err)
	}
	return state, files, entry.Location, nil
}

// checkTable compares the table alone with the logs: each row is a record of the log, once, and nothing between a log's start and
// the table's end is missing.
func (w *world) checkTable() error {
	state, files, _, err := w.tableFiles()
	if err != nil || state == nil || state.MetadataLocation() == w.remote.checked {
		return err
	}
	if w.remote.checked = state.MetadataLocation(); state.Deleting() {
		return fmt.Errorf("table %s says that it is being deleted", state.MetadataLocation())
	}
	for p := range files.Data {
		if int(p) >= len(w.parts) {
			return fmt.Errorf("the table has files of partition %d", p)
		}
	}
	return w.each(func(i int) error {
		rows, err := liveRows(files, int32(i))
		if err != nil {
			return err
		}
		return w.checkRows(rows, state.Ends[int32(i)])
	})
}

func (w *world) checkRows(rows []tableRow, end int64) error {
	at := 0
	for i := range rows {
		row := &rows[i]
		if i > 0 && row.Offset == rows[i-1].Offset {
			return fmt.Errorf("the table has offset %d twice", row.Offset)
		}
		if row.Offset >= end {
			return fmt.Errorf("the table ends at %d, and has\n  %v", end, &row.Record)
		}
		r := w.log.find(row.Offset)
		switch {
		case r == nil && row.Offset < w.log.Start: // it was forgotten
			continue
		case r == nil || r.Ghost && !r.Deleted:
			return fmt.Errorf("the log never had what is in the table:\n  %v", &row.Record)
		case r.Deleted:
			return fmt.Errorf("the table has again what an engine deleted:\n  %v", &row.Record)
		}
		if err := r.same(&row.Record); err != nil || row.AppendMs != r.AppendMs {
			return errors.Join(err, fmt.Errorf("the table differs from the log:\n  %v\nwant\n  %v", &row.Record, r))
		}
	}
	for i := range w.log.Records {
		r := &w.log.Records[i]
		if r.Ghost || r.Deleted || r.Offset >= end {
			continue
		}
		for at < len(rows) && rows[at].Offset < r.Offset {
			at++
		}
		if at == len(rows) || rows[at].Offset != r.Offset {
			return fmt.Errorf("the table ends at %d and lacks\n  %v", end, r)
		}
	}
	return nil
}

// tableRow is a row of the table, and where it is.
type tableRow struct {
	Record
	file     string
	position int64
}

// liveRows reads a partition's rows by rising offset, without those that position deletes name, by a reader that is not korvet's.
func liveRows(files *tables.Files, partition int32) (rows []tableRow, err error) {
	gone := map[string]map[int64]bool{}
	for _, d := range files.Deletes {
		if d.Partition != partition {
			continue
		}
		err := eachRow(d.Location, []string{"file_path", "pos"}, func(_ int64, v [][]parquet.Value) error {
			of := string(v[0][0].ByteArray())
			for i := range files.Data[partition] {
				if f := &files.Data[partition][i]; f.Location == of && f.Sequence <= d.Sequence {
					if gone[of] == nil {
						gone[of] = map[int64]bool{}
					}
					gone[of][v[1][0].Int64()] = true
				}
			}
			return nil
		})
		if err != nil {
			return nil, err
		}
	}
	for _, f := range files.Data[partition] {
		count := int64(0)
		err := eachRow(f.Location, rowColumns, func(position int64, v [][]parquet.Value) error {
			count++
			if v[0][0].Int32() != partition {
				return fmt.Errorf("%s has a row of partition %d", f.Location, v[0][0].Int32())
			}
			if !gone[f.Location][position] {
				rows = append(rows, tableRow{rowRecord(v), f.Location, position})
			}
			return nil
		})
		if err != nil {
			return nil, err
		}
		if count != f.Rows {
			return nil, fmt.Errorf("%s has %d rows, its manifest says %d", f.Location, count, f.Rows)
		}
	}
	slices.SortStableFunc(rows, func(a, b tableRow) int { return int(min(max(a.Offset-b.Offset, -1), 1)) })
	return rows, nil
}

var rowColumns = []string{"partition", "offset", "timestamp", "append_time", "key", "value", "headers.list.element.key", "headers.list.element.value"}

// rowRecord is a record as the table's columns have it. Times there are in microseconds.
func rowRecord(v [][]parquet.Value) Record {
	optional := func(v parquet.Value) []byte {
		if v.IsNull() {
			return nil
		}
		return append([]byte{}, v.ByteArray()...)
	}
	r := Record{Offset: v[1][0].Int64(), Timestamp: v[2][0].Int64() / 1000, AppendMs: uint64(v[3][0].Int64() / 1000), Key: optional(v[4][0]), Value: optional(v[5][0])}
	for i := range v[6] {
		if !v[6][i].IsNull() {
			r.Headers = append(r.Headers, Header{string(v[6][i].ByteArray()), optional(v[7][i])})
		}
	}
	return r
}

// eachRow reads some columns of a Parquet file, row by row.
func eachRow(location string, columns []string, take func(position int64, v [][]parquet.Value) error) error {
	data, err := os.ReadFile(strings.TrimPrefix(location, "file://"))
	if err != nil {
		return err
	}
	f, err := parquet.OpenFile(bytes.NewReader(data), int64(len(data)))
	if err != nil {
		return fmt.Errorf("%s: %w", location, err)
	}
	index := map[int]int{}
	for i, path := range f.Schema().Columns() {
		if n := slices.Index(columns, strings.Join(path, ".")); n >= 0 {
			index[i] = n
		}
	}
	position, buf := int64(0), make([]parquet.Row, 64)
	for _, g := range f.RowGroups() {
		rows := g.Rows()
		for err == nil {
			var n int
			n, err = rows.ReadRows(buf)
			for _, row := range buf[:n] {
				v := make([][]parquet.Value, len(columns))
				for _, value := range row {
					if n, wanted := index[value.Column()]; wanted {
						v[n] = append(v[n], value)
					}
				}
				if err := take(position, v); err != nil {
					return errors.Join(err, rows.Close())
				}
				position++
			}
		}
		if errors.Is(err, io.EOF) {
			err = rows.Close()
		}
		if err != nil {
			return fmt.Errorf("%s: %w", location, err)
		}
	}
	return nil
}
