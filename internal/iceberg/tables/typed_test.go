package tables

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"testing"

	"github.com/apache/iceberg-go"

	"github.com/korvet-io/korvet/internal/iceberg/datafile"
	"github.com/korvet-io/korvet/internal/iceberg/fileio"
	"github.com/korvet-io/korvet/internal/iceberg/jsoncolumns"
	"github.com/korvet-io/korvet/internal/record"
)

var limits = jsoncolumns.Limits{Columns: 10, NameBytes: 50}

// putValues writes a data file of values with the columns that a set has.
func putValues(t *testing.T, table *Table, partition int32, from int64, set *jsoncolumns.Set, values ...string) Added {
	t.Helper()
	a := Added{Partition: partition, Location: fmt.Sprintf("%s/data/%d-%d.parquet", table.chain.Location, partition, from), End: from + int64(len(values))}
	shredder := jsoncolumns.NewShredder(set.Columns())
	r, w := io.Pipe()
	go func() {
		f := datafile.NewWriter(w, partition, datafile.Options{PageBytes: 2000, RowGroupBytes: 20_000, CreatedBy: "test", Typed: shredder.Typed()})
		var err error
		for i, v := range values {
			if err == nil {
				cells, _ := shredder.Cells([]byte(v))
				err = f.Write(&datafile.Row{Record: record.Record{Offset: from + int64(i), Value: []byte(v)}, Cells: cells})
			}
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

func learn(set *jsoncolumns.Set, values ...string) {
	for _, v := range values {
		set.Learn(slices.Values([][]byte{[]byte(v)}))
	}
}

func TestNewColumnsComeWithTheFilesThatHaveThem(t *testing.T) {
	table := newTable(t)
	s := state(t, table)
	set := s.Columns(limits)
	learn(set, `{"city":"Rome","n":1}`)
	first := putValues(t, table, 0, 0, set, `{"city":"Rome","n":1}`, `{"city":"a city with a long name"}`, `no JSON`)
	learn(set, `{"n":1.5,"ok":true}`)
	second := putValues(t, table, 1, 0, set, `{"n":-0.0,"ok":true,"city":"Oslo"}`)
	s, err := table.Append(t.Context(), s, 1, []Added{first, second}, set.Columns()...)
	if err != nil {
		t.Fatal(err)
	}
	schema := s.version.Metadata.CurrentSchema()
	for id, want := range map[int]string{11: "11: city: optional string (of the value's field \"city\")", 13: "13: n_double: optional double (of the value's field \"n\")"} {
		if f, _ := schema.FindFieldByID(id); f.String() != want {
			t.Errorf("column %s, want %s", f, want)
		}
	}
	if v := s.version.Metadata; len(v.Snapshots()) != 1 || v.CurrentSnapshot().SchemaID == nil || *v.CurrentSnapshot().SchemaID != schema.ID {
		t.Errorf("snapshots %v; want one of schema %d", v.Snapshots(), schema.ID)
	}
	again := s.Columns(limits)
	if got := again.String(); got != set.String() {
		t.Errorf("columns are read as %s, were %s", got, set)
	}
	learn(again, `{"new":{}}`)
	if s, err = table.Append(t.Context(), s, 1, []Added{putValues(t, table, 0, 3, again, `{"new":{}}`)}, again.Columns()...); err != nil {
		t.Fatal(err)
	}
	if _, err = table.Append(t.Context(), s, 1, []Added{putValues(t, table, 0, 4, again, `{"new":{}}`)}, again.Columns()...); !errors.Is(err, ErrColumns) {
		t.Errorf("columns of an earlier state: %v, want ErrColumns", err)
	}
	files, err := table.Files(t.Context(), s)
	if err != nil || len(files.Data[0]) != 2 || len(files.Data[1]) != 1 {
		t.Fatalf("files %+v, %v", files, err)
	}
}

func TestBoundsOfTypedColumnsAreInTheManifest(t *testing.T) {
	table := newTable(t)
	s := state(t, table)
	set := s.Columns(limits)
	values := []string{`{"city":"Rome","n":1,"f":0.0,"x":{}}`, `{"city":"a city with a long name","n":-5,"f":2.5}`, `{"city":"zzzzzzzzzzzzzzz\ud7ff\ud7ff","b":true}`, `no JSON`}
	learn(set, values...)
	d, err := newDataFile(new(putValues(t, table, 0, 0, set, values...)), s.version.Metadata)
	if err != nil {
		t.Fatal(err)
	}
	p := iceberg.PrimitiveTypes
	for _, c := range []struct {
		id          int
		typ         iceberg.Type
		least, most string
		nulls       int64
	}{
		{11, p.String, "Rome", "zzzzzzzzzzzzzzz\ue000", 1},
		{12, p.Int64, "-5", "1", 2},
		{13, p.Float64, "-0", "2.5", 2},
		{15, p.Bool, "true", "true", 3},
	} {
		for text, b := range map[string][]byte{c.least: d.LowerBoundValues()[c.id], c.most: d.UpperBoundValues()[c.id]} {
			if l, err := iceberg.LiteralFromBytes(c.typ, b); err != nil || l.String() != text {
				t.Errorf("a bound of column %d is %v (%v), want %s", c.id, l, err, text)
			}
		}
		if got := d.NullValueCounts()[c.id]; got != c.nulls || d.ValueCounts()[c.id] != 4 {
			t.Errorf("column %d has %d nulls of %d, want %d", c.id, got, d.ValueCounts()[c.id], c.nulls)
		}
	}
	if _, ok := d.LowerBoundValues()[14]; ok {
		t.Error("nested JSON has bounds")
	}
}

func TestMergedFilesHaveTheirTypedColumns(t *testing.T) {
	table := newTable(t)
	s := state(t, table)
	for i := range int64(5) {
		set := s.Columns(limits)
		value := fmt.Sprintf(`{"city":"Rome","f%d":%d}`, i%2, i)
		learn(set, value)
		var err error
		if s, err = table.Append(t.Context(), s, 1, []Added{putValues(t, table, 0, i, set, value)}, set.Columns()...); err != nil {
			t.Fatal(err)
		}
	}
	s, merged, err := table.Merge(t.Context(), s, 1, mergeRules(1<<20))
	if err != nil || merged.Files != 5 {
		t.Fatalf("merged %+v, %v", merged, err)
	}
	m, err := s.version.Metadata.CurrentSnapshot().Manifests(fileio.New(t.Context(), table.store))
	if err != nil {
		t.Fatal(err)
	}
	nulls := map[int]int64{}
	for _, list := range m {
		for e, err := range list.Entries(fileio.New(t.Context(), table.store), true) {
			if err != nil {
				t.Fatal(err)
			}
			nulls = e.DataFile().NullValueCounts()
		}
	}
	if nulls[11] != 0 || nulls[12] != 2 || nulls[13] != 3 {
		t.Errorf("nulls by column: %v", nulls)
	}
}
