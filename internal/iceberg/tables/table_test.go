package tables

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"slices"
	"testing"
	"time"

	"github.com/korvet-io/korvet/internal/iceberg/chain"
	"github.com/korvet-io/korvet/internal/iceberg/datafile"
	"github.com/korvet-io/korvet/internal/iceberg/store"
	"github.com/korvet-io/korvet/internal/record"
)

func newTable(t testing.TB) *Table {
	t.Helper()
	return newTableAt(t, "file://"+t.TempDir())
}

// newTableAt makes a table in a folder.
func newTableAt(t testing.TB, folder string) *Table {
	t.Helper()
	s, err := store.Open(context.Background(), "file:///", store.S3{})
	if err != nil {
		t.Fatal(err)
	}
	c := &chain.Chain{Store: s, Hint: chain.NoHint{}, Location: folder + "/events", Now: time.Now}
	table := Open(c, "korvet", "events")
	if err := table.Create(t.Context(), Life{Topic: "events", ID: "1"}, nil); err != nil {
		t.Fatal(err)
	}
	return table
}

// put writes a data file of the offsets [from, to).
func put(t testing.TB, table *Table, partition int32, from, to int64) Added {
	t.Helper()
	return putRows(t, table, partition, sameRows(from, to)...)
}

// sameRows are those that put writes.
func sameRows(from, to int64) (rows []datafile.Row) {
	for o := from; o < to; o++ {
		rows = append(rows, datafile.Row{Record: record.Record{Offset: o, Timestamp: 1000 + o, Key: []byte("k"), Value: fmt.Appendf(nil, "value %d", o)}, AppendMs: 2000 + o})
	}
	return rows
}

// putRows writes a data file.
func putRows(t testing.TB, table *Table, partition int32, rows ...datafile.Row) Added {
	t.Helper()
	return putWith(t, table, partition, datafile.Options{PageBytes: 2000, RowGroupBytes: 20_000, CreatedBy: "test"}, rows)
}

func putWith(t testing.TB, table *Table, partition int32, o datafile.Options, rows []datafile.Row) Added {
	t.Helper()
	a := Added{Partition: partition, Location: fmt.Sprintf("%s/data/%d-%d-%s.parquet", table.chain.Location, partition, rows[0].Offset, rand.Text()), End: rows[len(rows)-1].Offset + 1}
	r, w := io.Pipe()
	go func() {
		f := datafile.NewWriter(w, partition, o)
		var err error
		for i := 0; i < len(rows) && err == nil; i++ {
			err = f.Write(&rows[i])
		}
		if err == nil {
			a.Summary, err = f.Close()
		}
		_ = w.CloseWithError(err)
	}()
	if err := table.store.Put(t.Context(), a.Location, r); err != nil {
		t.Fatal(err)
	}
	var err error
	if a.Bytes, err = table.store.Size(t.Context(), a.Location); err != nil {
		t.Fatal(err)
	}
	return a
}

func state(t testing.TB, table *Table) *State {
	t.Helper()
	s, err := table.State(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestAppendedFilesAreInTheTableOnce(t *testing.T) {
	table := newTable(t)
	if f, err := table.Files(t.Context(), state(t, table)); err != nil || len(f.Data) != 0 {
		t.Fatalf("an empty table has %+v, %v", f, err)
	}
	first, err := table.Append(t.Context(), state(t, table), 7, []Added{put(t, table, 0, 0, 500), put(t, table, 0, 500, 900), put(t, table, 3, 10, 20)})
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range []*State{first, state(t, table)} {
		if s.Fence != 7 || s.Ends[0] != 900 || s.Ends[3] != 20 || s.Ends[1] != 0 {
			t.Errorf("the table is at %+v", s)
		}
	}
	files, err := table.Files(t.Context(), first)
	if err != nil {
		t.Fatal(err)
	}
	if len(files.Data[0]) != 2 || files.Data[0][1].First != 500 || files.Data[0][1].Last != 899 || files.Data[0][1].MaxTimestamp != 1899 ||
		files.Data[0][1].MaxAppendMs != 2899 || len(files.Data[3]) != 1 || files.Data[3][0].Rows != 10 {
		t.Errorf("files %+v", files.Data)
	}
	if _, err := table.Append(t.Context(), first, 7, []Added{put(t, table, 0, 899, 950)}); !errors.Is(err, ErrOverlap) {
		t.Errorf("offsets that are there: %v, want ErrOverlap", err)
	}
	if _, err := table.Append(t.Context(), first, 6, []Added{put(t, table, 0, 900, 950)}); !errors.Is(err, ErrFenced) {
		t.Errorf("an earlier worker: %v, want ErrFenced", err)
	}
	second, err := table.Append(t.Context(), first, 8, []Added{put(t, table, 0, 900, 950)})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := table.Append(t.Context(), first, 9, []Added{put(t, table, 3, 20, 30)}); !errors.Is(err, chain.ErrConflict) {
		t.Errorf("on a state that is not the newest: %v, want ErrConflict", err)
	}
	if files, err = table.Files(t.Context(), second); err != nil || len(files.Data[0]) != 3 || len(files.Data[3]) != 1 {
		t.Errorf("files %+v, %v", files, err)
	}
	if err := table.Create(t.Context(), Life{Topic: "events", ID: "1"}, nil); err != nil {
		t.Errorf("the same topic's table: %v", err)
	}
	if err := table.Create(t.Context(), Life{Topic: "events", ID: "2"}, nil); !errors.Is(err, ErrForeign) {
		t.Errorf("another topic's table: %v, want ErrForeign", err)
	}
}

func TestManyAppends(t *testing.T) {
	table := newTable(t)
	s := state(t, table)
	for i := range int64(60) {
		var err error
		if s, err = table.Append(t.Context(), s, 1, []Added{put(t, table, int32(i%3), i*10, i*10+10)}); err != nil {
			t.Fatal(err)
		}
	}
	files, err := table.Files(t.Context(), s)
	if err != nil || len(files.Data[0]) != 20 || len(files.Data[2]) != 20 {
		t.Errorf("%d files of partition 0, %v", len(files.Data[0]), err)
	}
	if n := len(table.files.manifests); n > 25 {
		t.Errorf("%d manifests after 60 appends: they are not merged", n)
	}
}

func TestRangesOfACopyAreTold(t *testing.T) {
	got := Ranges(map[string]string{"korvet.range.10": "5-6", "korvet.range.2": "0-3000", "korvet.range.x": "1-2", "added-records": "1"})
	if want := []string{"2:0-2999", "10:5-5"}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}
