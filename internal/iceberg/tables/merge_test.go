package tables

import (
	"context"
	"crypto/rand"
	"fmt"
	"io"
	"slices"
	"testing"

	"github.com/apache/iceberg-go"
	"github.com/apache/iceberg-go/table"
	"github.com/parquet-go/parquet-go"

	"github.com/korvet-io/korvet/internal/iceberg/datafile"
	"github.com/korvet-io/korvet/internal/iceberg/store"
)

func mergeRules(target int64) MergeRules {
	return MergeRules{TargetBytes: target, MinFiles: 4, MaxBytes: 1 << 30, Options: datafile.Options{PageBytes: 2000, RowGroupBytes: 20_000, CreatedBy: "test"}}
}

// offsets reads all rows of a partition, as a reader of the table does, and wants their values to be right.
func offsets(t *testing.T, tb *Table, s *State, partition int32) (list []int64) {
	t.Helper()
	files, err := tb.Files(t.Context(), s)
	if err != nil {
		t.Fatal(err)
	}
	g := &mergeGroup{partition: partition, files: files.Data[partition]}
	deleted, err := tb.deletedRows(t.Context(), files, g)
	if err != nil {
		t.Fatal(err)
	}
	rows := newMergedRows(t.Context(), tb, g, deleted)
	defer rows.stop()
	for {
		row, err := rows.peek()
		if err != nil {
			t.Fatal(err)
		}
		if row == nil {
			return list
		}
		if string(row.Value) != fmt.Sprint("value ", row.Offset) || row.AppendMs != 2000+row.Offset {
			t.Fatalf("row %d has value %q, append time %d", row.Offset, row.Value, row.AppendMs)
		}
		list = append(list, row.Offset)
		rows.take()
	}
}

func sequence(from, to int64) (list []int64) {
	for o := from; o < to; o++ {
		list = append(list, o)
	}
	return list
}

// deletesFile writes a file of position deletes, as DuckDB does.
func deletesFile(t *testing.T, tb *Table, partition int32, file string, positions ...int64) iceberg.DataFile {
	t.Helper()
	type row struct {
		Path     string `parquet:"file_path,id(2147483546)"`
		Position int64  `parquet:"pos,id(2147483545)"`
	}
	location := fmt.Sprintf("%s/data/deletes-%s.parquet", tb.chain.Location, rand.Text())
	r, w := io.Pipe()
	go func() {
		f := parquet.NewGenericWriter[row](w)
		for _, p := range positions {
			_, _ = f.Write([]row{{file, p}})
		}
		_ = w.CloseWithError(f.Close())
	}()
	if err := tb.store.Put(t.Context(), location, r); err != nil {
		t.Fatal(err)
	}
	size, err := tb.store.Size(t.Context(), location)
	if err != nil {
		t.Fatal(err)
	}
	d, err := iceberg.NewDataFileBuilder(newEngine(t, tb).Metadata().PartitionSpec(), iceberg.EntryContentPosDeletes, location, iceberg.ParquetFile,
		map[int]any{partitionFieldID: partition}, nil, nil, int64(len(positions)), size)
	if err != nil {
		t.Fatal(err)
	}
	return d.Build()
}

// commitDeletes commits a file of position deletes of partition 0.
func commitDeletes(t *testing.T, tb *Table, file string, positions ...int64) error {
	t.Helper()
	d := deletesFile(t, tb, 0, file, positions...)
	return commit(t, tb, func(tx *table.Transaction) error { return tx.NewRowDelta(nil).AddDeletes(d).Commit(t.Context()) })
}

// deletePositions commits a file of position deletes.
func deletePositions(t *testing.T, tb *Table, partition int32, file string, positions ...int64) {
	t.Helper()
	d := deletesFile(t, tb, partition, file, positions...)
	if err := commit(t, tb, func(tx *table.Transaction) error { return tx.NewRowDelta(nil).AddDeletes(d).Commit(t.Context()) }); err != nil {
		t.Fatal(err)
	}
}

func TestSmallFilesAreMergedInOrderOfOffsets(t *testing.T) {
	tb := newTable(t)
	s := state(t, tb)
	var err error
	for i := range int64(9) {
		if s, err = tb.Append(t.Context(), s, 1, []Added{put(t, tb, 0, i*100, i*100+100), put(t, tb, 1, i*10, i*10+5)}); err != nil {
			t.Fatal(err)
		}
	}
	before := locations(t, tb, s, 0)
	s, m, err := tb.Merge(t.Context(), s, 1, mergeRules(20_000))
	if err != nil || m.Files < 17 {
		t.Fatalf("%+v, %v", m, err)
	}
	if n := len(locations(t, tb, s, 0)); n > 2 || n < 1 || len(locations(t, tb, s, 1)) != 1 {
		t.Errorf("%d files in the place of 9", n)
	}
	if got := offsets(t, tb, s, 0); !slices.Equal(got, sequence(0, 900)) {
		t.Errorf("%d rows of partition 0", len(got))
	}
	if got := offsets(t, tb, s, 1); len(got) != 45 || got[44] != 84 {
		t.Errorf("partition 1 has %v", got)
	}
	current := s.version.Metadata.CurrentSnapshot()
	if current.Summary.Operation != table.OpReplace || s.Ends[0] != 900 {
		t.Errorf("a %s, end %d", current.Summary.Operation, s.Ends[0])
	}
	for _, l := range before {
		if _, err := tb.store.Size(t.Context(), l); err != nil {
			t.Errorf("a file that a reader may hold: %v", err)
		}
	}
	again, m, err := tb.Merge(t.Context(), s, 1, mergeRules(20_000))
	if err != nil || again != s || m.Files != 0 {
		t.Errorf("again: %+v, %v", m, err)
	}
}

func TestDeletedRowsAreGoneAfterAMerge(t *testing.T) {
	tb := newTable(t)
	s, err := tb.Append(t.Context(), state(t, tb), 1, []Added{put(t, tb, 0, 0, 100), put(t, tb, 0, 100, 200), put(t, tb, 0, 200, 300)})
	if err != nil {
		t.Fatal(err)
	}
	deletePositions(t, tb, 0, locations(t, tb, s, 0)[1], 0, 50, 99)
	deletePositions(t, tb, 0, locations(t, tb, s, 0)[0], sequence(0, 100)...)
	want := append(append(sequence(101, 150), sequence(151, 199)...), sequence(200, 300)...)
	if s = state(t, tb); !slices.Equal(offsets(t, tb, s, 0), want) {
		t.Fatalf("with deletes: %v", offsets(t, tb, s, 0))
	}
	s, m, err := tb.Merge(t.Context(), s, 1, mergeRules(1<<20))
	if err != nil || m.Files != 3 {
		t.Fatalf("%+v, %v", m, err)
	}
	files, err := tb.Files(t.Context(), s)
	if err != nil || len(files.Deletes) != 0 || len(files.Data[0]) != 1 || files.Data[0][0].First != 101 || files.Data[0][0].Rows != int64(len(want)) {
		t.Errorf("%+v, %v", files, err)
	}
	if got := offsets(t, tb, s, 0); !slices.Equal(got, want) {
		t.Errorf("rows %v", got)
	}
	deletePositions(t, tb, 0, locations(t, tb, s, 0)[0], sequence(0, int64(len(want)))...)
	if s, _, err = tb.Merge(t.Context(), state(t, tb), 1, mergeRules(1<<20)); err != nil || len(locations(t, tb, s, 0)) != 0 {
		t.Errorf("all deleted: %v", err)
	}
	if s.Ends[0] != 300 {
		t.Errorf("the table's end fell to %d", s.Ends[0])
	}
}

func TestAMergeThatComesSecondChangesNothing(t *testing.T) {
	tb := newTable(t)
	s := state(t, tb)
	var err error
	for i := range int64(4) {
		if s, err = tb.Append(t.Context(), s, 1, []Added{put(t, tb, 0, i*100, i*100+100)}); err != nil {
			t.Fatal(err)
		}
	}
	deletePositions(t, tb, 0, locations(t, tb, s, 0)[1], 5)
	if _, _, err := tb.Merge(t.Context(), s, 1, mergeRules(1<<20)); err == nil {
		t.Fatal("a merge on a state before rows were deleted")
	}
	left := 0
	if err := tb.store.List(context.Background(), tb.chain.Location+"/data/partition=0/", func(store.Object) error { left++; return nil }); err != nil || left != 0 {
		t.Errorf("%d files of the merge are left, %v", left, err)
	}
	if got := offsets(t, tb, state(t, tb), 0); len(got) != 399 {
		t.Errorf("%d rows", len(got))
	}
}

// Bin packing of engines writes files one behind the other, in any order.
func TestAMergePutsRowsInOrder(t *testing.T) {
	tb, s := appended(t)
	files, err := tb.Files(t.Context(), s)
	if err != nil {
		t.Fatal(err)
	}
	a := put(t, tb, 0, 0, 200)
	type row struct {
		Partition  int32    `parquet:"partition,id(1)"`
		Offset     int64    `parquet:"offset,id(2)"`
		Timestamp  int64    `parquet:"timestamp,timestamp(microsecond:utc),id(3)"`
		AppendTime int64    `parquet:"append_time,timestamp(microsecond:utc),id(4)"`
		Key        []byte   `parquet:"key,optional,id(5)"`
		Value      []byte   `parquet:"value,optional,id(6)"`
		Headers    []header `parquet:"headers,optional,list,id(7)" parquet-element:",optional,id(8)"`
	}
	r, w := io.Pipe()
	go func() {
		f := parquet.NewGenericWriter[row](w)
		for i := range int64(200) {
			o := (i + 100) % 200
			_, _ = f.Write([]row{{Offset: o, Timestamp: (1000 + o) * 1000, Key: []byte("k"), Value: fmt.Appendf(nil, "value %d", o), AppendTime: (2000 + o) * 1000}})
			if i == 99 {
				_ = f.Flush() // a row group of its own
			}
		}
		_ = w.CloseWithError(f.Close())
	}()
	if err := tb.store.Put(t.Context(), a.Location, r); err != nil {
		t.Fatal(err)
	}
	if a.Bytes, err = tb.store.Size(t.Context(), a.Location); err != nil {
		t.Fatal(err)
	}
	err = commit(t, tb, func(tx *table.Transaction) error {
		return tx.NewRewrite(nil).DeleteFile(files.Data[0][0].entry).DeleteFile(files.Data[0][1].entry).AddDataFile(entry(t, tb, a)).Commit(t.Context())
	})
	if err != nil {
		t.Fatal(err)
	}
	rules := mergeRules(1 << 20)
	rules.MinFiles = 2
	s, m, err := tb.Merge(t.Context(), state(t, tb), 1, rules)
	if err != nil || m.Files != 2 {
		t.Fatalf("%+v, %v", m, err)
	}
	if got := offsets(t, tb, s, 0); !slices.Equal(got, sequence(0, 300)) {
		t.Errorf("%d rows", len(got))
	}
}

type header struct {
	Key   string `parquet:"key,id(9)"`
	Value []byte `parquet:"value,optional,id(10)"`
}
