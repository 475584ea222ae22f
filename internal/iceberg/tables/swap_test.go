package tables

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/apache/iceberg-go"
	"github.com/apache/iceberg-go/table"

	"github.com/korvet-io/korvet/internal/iceberg/datafile"
	"github.com/korvet-io/korvet/internal/record"
)

// rich is a row with everything that a record may have.
func rich(offset int64) datafile.Row {
	headers := record.AppendHeader(record.AppendHeader([]byte{4}, "trace", []byte("1")), "none", nil)
	return datafile.Row{Record: record.Record{Offset: offset, Timestamp: 1000 + offset, Key: []byte{}, Value: fmt.Appendf(nil, "value %d", offset), Headers: headers}, AppendMs: 2000 + offset}
}

func richRows(from, to int64) (rows []datafile.Row) {
	for o := from; o < to; o++ {
		rows = append(rows, rich(o))
	}
	return rows
}

// richTable has offsets 0 to 299 in three files of partition 0, and those of 0 to 49 in partition 1.
func richTable(t *testing.T) (*Table, *State, []File) {
	t.Helper()
	tb := newTable(t)
	s, err := tb.Append(t.Context(), state(t, tb), 1, []Added{
		putRows(t, tb, 0, richRows(0, 100)...), putRows(t, tb, 0, richRows(100, 200)...), putRows(t, tb, 0, richRows(200, 300)...), putRows(t, tb, 1, richRows(0, 50)...),
	})
	if err != nil {
		t.Fatal(err)
	}
	files, err := tb.Files(t.Context(), s)
	if err != nil {
		t.Fatal(err)
	}
	return tb, s, files.Data[0]
}

// overwrite is a commit of files in the place of others, which calls itself what an INSERT OVERWRITE does.
func overwrite(tb *Table, t *testing.T, of []File, by ...Added) func(*table.Transaction) error {
	return func(tx *table.Transaction) error {
		var add []iceberg.DataFile
		for i := range by {
			add = append(add, entry(t, tb, by[i]))
		}
		return tx.ReplaceDataFilesWithDataFiles(t.Context(), entriesOf(of), add, nil)
	}
}

func TestRowsThatComeAreOnesThatGo(t *testing.T) {
	tb, s, data := richTable(t)
	changed := func(change func(*datafile.Row)) []datafile.Row {
		rows := richRows(100, 200)
		change(&rows[70])
		return rows
	}
	for name, rows := range map[string][]datafile.Row{
		"another value":          changed(func(r *datafile.Row) { r.Value = []byte("value 17O") }),
		"no value":               changed(func(r *datafile.Row) { r.Value = nil }),
		"a key of null":          changed(func(r *datafile.Row) { r.Key = nil }),
		"another key":            changed(func(r *datafile.Row) { r.Key = []byte("k") }),
		"another timestamp":      changed(func(r *datafile.Row) { r.Timestamp-- }),
		"another time of append": changed(func(r *datafile.Row) { r.AppendMs++ }),
		"no headers":             changed(func(r *datafile.Row) { r.Headers = nil }),
		"a header's value": changed(func(r *datafile.Row) {
			r.Headers = record.AppendHeader(record.AppendHeader([]byte{4}, "trace", []byte("1")), "none", []byte{})
		}),
		"headers in another order": changed(func(r *datafile.Row) {
			r.Headers = record.AppendHeader(record.AppendHeader([]byte{4}, "none", nil), "trace", []byte("1"))
		}),
		"fewer rows, one of which is another": changed(func(r *datafile.Row) { r.Value = nil })[60:],
		"a row in the place of another":       append(richRows(100, 199), rich(250)),
	} {
		if err := commit(t, tb, overwrite(tb, t, data[1:2], putRows(t, tb, 0, rows...))); !errors.Is(err, ErrRefused) {
			t.Errorf("%s: %v, want ErrRefused", name, err)
		}
	}
	same := putRows(t, tb, 0, richRows(120, 160)...)
	for name, by := range map[string][]Added{
		"a row that is in two files":        {same, putRows(t, tb, 0, richRows(159, 161)...)},
		"the rows of one file twice":        {same, putRows(t, tb, 0, richRows(120, 160)...)},
		"rows of another partition":         {putRows(t, tb, 1, richRows(50, 60)...)},
		"rows at the offsets of what stays": {same, putRows(t, tb, 0, richRows(0, 3)...)},
	} {
		if err := commit(t, tb, overwrite(tb, t, data[1:2], by...)); !errors.Is(err, ErrRefused) {
			t.Errorf("%s: %v, want ErrRefused", name, err)
		}
	}
	if now := state(t, tb); now.version.Number != s.version.Number {
		t.Fatalf("version %d after nothing but refusals", now.version.Number)
	}
	if err := commit(t, tb, overwrite(tb, t, data[1:2], same, putRows(t, tb, 0, richRows(161, 199)...))); err != nil {
		t.Errorf("fewer rows, in two files: %v", err)
	}
	if err := commit(t, tb, overwrite(tb, t, data[:1], putRows(t, tb, 0, richRows(0, 100)...))); err != nil {
		t.Errorf("the same rows: %v", err)
	}
}

// dead commits position deletes and returns the file.
func dead(t *testing.T, tb *Table, file string, positions ...int64) iceberg.DataFile {
	t.Helper()
	before := state(t, tb)
	deletePositions(t, tb, 0, file, positions...)
	was, err := tb.Files(t.Context(), before)
	if err != nil {
		t.Fatal(err)
	}
	is, err := tb.Files(t.Context(), state(t, tb))
	if err != nil {
		t.Fatal(err)
	}
	if len(is.Deletes) != len(was.Deletes)+1 {
		t.Fatalf("%d files of deletes after %d", len(is.Deletes), len(was.Deletes))
	}
	for _, d := range is.Deletes {
		if !strings.Contains(fmt.Sprint(was.Deletes), d.Location) {
			return d.entry
		}
	}
	return nil
}

func TestDeletedRowsDoNotComeBack(t *testing.T) {
	tb, _, data := richTable(t)
	deletes := dead(t, tb, data[0].Location, 10, 11)
	dead(t, tb, data[0].Location, 11, 12)
	version := state(t, tb).version.Number
	if err := commit(t, tb, overwrite(tb, t, data[:1], putRows(t, tb, 0, richRows(5, 15)...))); !errors.Is(err, ErrRefused) {
		t.Errorf("a row that was deleted: %v, want ErrRefused", err)
	}
	without := func(tx *table.Transaction) error {
		return tx.ReplaceFiles(t.Context(), nil, nil, []iceberg.DataFile{deletes}, nil, table.WithoutAutoNameMapping())
	}
	if err := commit(t, tb, without); !errors.Is(err, ErrRefused) {
		t.Errorf("deletes that go: %v, want ErrRefused", err)
	}
	if now := state(t, tb).version.Number; now != version {
		t.Fatalf("version %d after refusals at %d", now, version)
	}
	dead(t, tb, data[0].Location, 10) // now the others say all that the first one does
	if err := commit(t, tb, without); err != nil {
		t.Errorf("deletes that go while others say the same: %v", err)
	}
	kept := append(richRows(0, 10), richRows(13, 100)...)
	if err := commit(t, tb, overwrite(tb, t, data[:1], putRows(t, tb, 0, kept...))); err != nil {
		t.Errorf("a rewrite of what is left: %v", err)
	}
	files, err := tb.Files(t.Context(), state(t, tb))
	if err != nil || len(files.Data[0]) != 3 || files.Data[0][0].Rows != 97 {
		t.Errorf("%+v, %v", files, err)
	}
}

func TestDeletesThatNobodyCanApplyAreRefused(t *testing.T) {
	tb, s, data := richTable(t)
	for name, positions := range map[string][]int64{"of a row behind the end": {3, 100}, "of a row before the beginning": {-1}} {
		if err := commitDeletes(t, tb, data[0].Location, positions...); !errors.Is(err, ErrRefused) {
			t.Errorf("deletes %s: %v, want ErrRefused", name, err)
		}
	}
	a := put(t, tb, 0, 0, 10) // a data file
	d, err := iceberg.NewDataFileBuilder(s.version.Metadata.PartitionSpec(), iceberg.EntryContentPosDeletes, a.Location, iceberg.ParquetFile, map[int]any{partitionFieldID: int32(0)}, nil, nil, a.Rows, a.Bytes)
	if err != nil {
		t.Fatal(err)
	}
	if err := commit(t, tb, func(tx *table.Transaction) error {
		return tx.NewRowDelta(nil).AddDeletes(d.Build()).Commit(t.Context())
	}); !errors.Is(err, ErrRefused) {
		t.Errorf("deletes that are none: %v, want ErrRefused", err)
	}
	if now := state(t, tb); now.version.Number != s.version.Number {
		t.Errorf("version %d after nothing but refusals", now.version.Number)
	}
	if err := commitDeletes(t, tb, "file:///elsewhere.parquet", 7); err != nil {
		t.Errorf("deletes of a file that is not there, which do nothing: %v", err)
	}
}

// Engines that update by position deletes give the row anew in a file of its own.
func TestARowThatIsDeletedByPositionMayComeInAnotherFile(t *testing.T) {
	tb, _, data := richTable(t)
	update := func(row datafile.Row, positions ...int64) error {
		d := deletesFile(t, tb, 0, data[0].Location, positions...)
		return commit(t, tb, func(tx *table.Transaction) error {
			return tx.NewRowDelta(nil).AddDeletes(d).AddRows(entry(t, tb, putRows(t, tb, 0, row))).Commit(t.Context())
		})
	}
	other := rich(7)
	other.Value = []byte("other")
	for name, err := range map[string]error{"another value": update(other, 7), "a row that stays": update(rich(8), 7)} {
		if !errors.Is(err, ErrRefused) {
			t.Errorf("%s: %v, want ErrRefused", name, err)
		}
	}
	if err := update(rich(7), 7); err != nil {
		t.Errorf("the same row: %v", err)
	}
	files, err := tb.Files(t.Context(), state(t, tb))
	if err != nil || len(files.Data[0]) != 4 || len(files.Deletes) != 1 {
		t.Errorf("%+v, %v", files, err)
	}
}

// What earlier versions took: a record that is in two files. A rewrite may keep it so, and may not make it three.
func TestRecordsThatAreThereTwice(t *testing.T) {
	tb, s, data := richTable(t)
	twice := putRows(t, tb, 0, richRows(90, 110)...)
	tx, _, err := tb.transaction(s)
	if err == nil {
		err = tx.AddDataFiles(t.Context(), []iceberg.DataFile{entry(t, tb, twice)}, nil, table.WithoutDuplicateCheck())
	}
	if err == nil {
		_, err = tx.Commit(t.Context())
	}
	if err != nil {
		t.Fatal(err)
	}
	if err := commit(t, tb, overwrite(tb, t, data[:1], putRows(t, tb, 0, richRows(0, 100)...))); err != nil {
		t.Errorf("a rewrite of one of the two files: %v", err)
	}
	if err := commit(t, tb, overwrite(tb, t, data[1:2], putRows(t, tb, 0, richRows(90, 190)...))); !errors.Is(err, ErrRefused) {
		t.Errorf("rows that are there twice for the third time: %v, want ErrRefused", err)
	}
	s, m, err := tb.Merge(t.Context(), state(t, tb), 1, mergeRules(1<<20))
	if err != nil || m.Files == 0 {
		t.Fatalf("%+v, %v", m, err)
	}
	files, err := tb.Files(t.Context(), s)
	rows := int64(0)
	for _, f := range files.Data[0] {
		rows += f.Rows
	}
	if err != nil || rows != 300 {
		t.Errorf("%d rows after a merge, %v", rows, err)
	}
}

func TestWhatWasComparedIsNotComparedAgain(t *testing.T) {
	tb, _, data := richTable(t)
	by := putRows(t, tb, 0, richRows(100, 180)...)
	replace := func(of File) error { return commit(t, tb, overwrite(tb, t, []File{of}, by)) }
	tx := newEngine(t, tb).NewTransaction()
	if err := overwrite(tb, t, data[1:2], by)(tx); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := tx.Commit(ctx); err == nil || errors.Is(err, ErrRefused) {
		t.Errorf("a client that is gone: %v", err)
	}
	if n := len(tb.compared.known); n != 0 {
		t.Errorf("%d comparisons are remembered before one was made", n)
	}
	if err := replace(data[0]); !errors.Is(err, ErrRefused) || len(tb.compared.known) != 0 {
		t.Errorf("other rows: %v, %d remembered", err, len(tb.compared.known))
	}
	if err := replace(data[1]); err != nil || len(tb.compared.known) != 1 {
		t.Errorf("%v, %d remembered", err, len(tb.compared.known))
	}
}

func TestFilesThatLieOverEachOtherAreBounded(t *testing.T) {
	tb, _, data := richTable(t)
	c := &comparison{table: tb, turns: NewTurns(3 * leastWindow), added: map[int32][]File{}, removed: map[int32][]File{0: data[:1]}}
	for i := range int64(2) {
		a := putRows(t, tb, 0, rich(i), rich(98+i))
		f := data[0]
		f.Location, f.Bytes, f.Rows, f.First, f.Last = a.Location, a.Bytes, 2, i, 98+i
		c.added[0] = append(c.added[0], f)
	}
	if err := c.checkPartition(t.Context(), 0); err != nil {
		t.Errorf("three files: %v", err)
	}
	c.turns = NewTurns(3*leastWindow - 1)
	tb.compared = compared{}
	if err := c.checkPartition(t.Context(), 0); !errors.Is(err, ErrRefused) {
		t.Errorf("three files in the memory of two: %v, want ErrRefused", err)
	}
}
