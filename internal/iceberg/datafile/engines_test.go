package datafile

import (
	"bytes"
	"context"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/parquet-go/parquet-go"

	"github.com/korvet-io/korvet/internal/record"
)

// engineRows are the rows of testdata/engines, as make.py there has them.
func engineRows() []Row {
	rows := make([]Row, 1000)
	for i := range rows {
		rows[i] = Row{
			Record:   record.Record{Offset: int64(5 + 2*i), Timestamp: 1_700_000_000_000 + int64(7*i-50*(i%3))},
			AppendMs: 1_700_000_000_000 + int64(i/10), Position: int64(i),
		}
		r := &rows[i]
		if i%5 == 1 {
			r.Key = []byte{}
		} else if i%5 > 1 {
			r.Key = fmt.Appendf(nil, "key-%d", i%50)
		}
		if i%7 != 0 {
			r.Value = bytes.Repeat(fmt.Appendf(nil, `{"n":%d}`, i), 1+i%3)
		}
		switch i % 4 {
		case 0:
			r.Headers = section("a", nil, "b", fmt.Sprintf("v%d", i))
		case 3:
			r.Headers = section("\xff", "")
		}
	}
	return rows
}

func engineFiles(t testing.TB, pattern string) map[string]*memory {
	t.Helper()
	names, err := filepath.Glob("testdata/engines/" + pattern)
	if err != nil || len(names) == 0 {
		t.Fatalf("no files: %v", err)
	}
	files := map[string]*memory{}
	for _, name := range names {
		data, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		files[strings.TrimSuffix(filepath.Base(name), ".parquet")] = &memory{data: data}
	}
	return files
}

// Engines find columns by their field ids, those of nested ones, too: where they are missing all is null (pitfall C82).
func TestEveryColumnHasItsFieldID(t *testing.T) {
	m := write(t, usual, some(10, 1))
	f, err := parquet.OpenFile(bytes.NewReader(m.data), int64(len(m.data)))
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]int{}
	var look func(path string, fields []parquet.Field)
	look = func(path string, fields []parquet.Field) {
		for _, field := range fields {
			got[path+field.Name()] = field.ID()
			if !field.Leaf() {
				look(path+field.Name()+".", field.Fields())
			}
		}
	}
	look("", f.Schema().Fields())
	want := map[string]int{
		"partition": 1, "offset": 2, "timestamp": 3, "append_time": 4, "key": 5, "value": 6,
		"headers": 7, "headers.list": 0, "headers.list.element": 8, "headers.list.element.key": 9, "headers.list.element.value": 10,
	}
	if !maps.Equal(got, want) {
		t.Errorf("field ids are %v, want %v", got, want)
	}
}

func TestFilesOfOtherEnginesAreRead(t *testing.T) {
	for name, m := range engineFiles(t, "*.parquet") {
		if strings.HasSuffix(name, "-deletes") {
			continue
		}
		t.Run(name, func(t *testing.T) {
			want := engineRows()
			if name == "arrow-optional-missing" {
				for i := range want {
					want[i].Key, want[i].Headers = nil, nil
				}
			}
			if err := Check(context.Background(), m, int64(len(m.data)), 3); err != nil {
				t.Error(err)
			}
			f := open(t, m)
			for _, size := range []int{1, 3000, 1 << 20} {
				got := readAll(t, f, m, 0, size)
				if len(got) != len(want) {
					t.Fatalf("%d bytes at once: %d rows, want %d", size, len(got), len(want))
				}
				for i := range want {
					if name == "arrow-merged" || name == "arrow-shuffled" {
						want[i].Position = got[i].Position
					}
					if !reflect.DeepEqual(got[i], want[i]) {
						t.Fatalf("%d bytes at once: row %d is\n%+v, want\n%+v", size, i, got[i], want[i])
					}
				}
			}
			seekEverywhere(t, f, m, want)
		})
	}
}

// seekEverywhere reads and seeks from many offsets and times.
func seekEverywhere(t *testing.T, f *File, m *memory, rows []Row) {
	t.Helper()
	for i := 0; i < len(rows); i += 13 {
		got := int64(-1)
		_, _, err := f.Read(context.Background(), m, Request{Offset: rows[i].Offset, Bytes: 1}, func(r *Row) bool {
			got = r.Offset
			return false
		})
		if err != nil || got != rows[i].Offset {
			t.Fatalf("read from %d: %d, %v", rows[i].Offset, got, err)
		}
		for _, s := range []Seek{{Offset: rows[i].Offset - 1, Ms: rows[(i*7)%len(rows)].Timestamp}, {Ms: rows[i].Timestamp + 1}} {
			at := slices.IndexFunc(rows, func(r Row) bool { return r.Offset >= s.Offset && r.Timestamp >= s.Ms })
			place, err := f.SeekTime(context.Background(), m, s)
			samePlace(t, place, err, rows, at)
		}
		s := Seek{Offset: rows[i].Offset - 1, Ms: rows[(i*7)%len(rows)].AppendMs}
		at := slices.IndexFunc(rows, func(r Row) bool { return r.Offset >= s.Offset && r.AppendMs >= s.Ms })
		place, err := f.SeekAppend(context.Background(), m, s)
		samePlace(t, place, err, rows, at)
	}
}

func samePlace(t *testing.T, place *Place, err error, rows []Row, at int) {
	t.Helper()
	switch {
	case err != nil:
		t.Fatal(err)
	case place == nil && at < 0:
	case place == nil || at < 0:
		t.Fatalf("found %+v, want row %d", place, at)
	case *place != Place{Offset: rows[at].Offset, Position: rows[at].Position, Timestamp: rows[at].Timestamp, AppendMs: rows[at].AppendMs}:
		t.Fatalf("found %+v, want %+v", place, rows[at])
	}
}

func TestSeekByTimeReadsTheIndexAndOnePage(t *testing.T) {
	rows := hundred(50_000)
	m := write(t, Options{PageBytes: 20_000, RowGroupBytes: 1 << 20}, rows)
	f := open(t, m)
	for _, i := range []int{0, 1, 777, 25_000, 49_990} {
		m.reads, m.bytes = 0, 0
		place, err := f.SeekTime(context.Background(), m, Seek{Ms: rows[i].Timestamp})
		if err != nil || place == nil || place.Timestamp != rows[i].Timestamp || place.Offset != int64(i/10*10) {
			t.Errorf("row %d: found %+v, %v", i, place, err)
		}
		if m.reads != 1 || m.bytes > 24_000 {
			t.Errorf("row %d: %d reads of %d bytes", i, m.reads, m.bytes)
		}
	}
	m.reads = 0
	if place, err := f.SeekAppend(context.Background(), m, Seek{Ms: rows[len(rows)-1].AppendMs + 1}); place != nil || err != nil || m.reads > 0 {
		t.Errorf("after the last: %+v, %v, %d reads", place, err, m.reads)
	}
}

func TestSeekIsOneIndexReadAndOneRange(t *testing.T) {
	rows := hundred(200_000)
	m := write(t, usual, rows)
	m.reads = 0
	f := open(t, m)
	if m.reads != 1 {
		t.Errorf("the index took %d reads", m.reads)
	}
	for _, offset := range []int64{0, 99_999, 199_999} {
		m.reads = 0
		first := int64(-1)
		_, _, err := f.Read(context.Background(), m, Request{Offset: offset, Bytes: 1, Gap: 16 << 20}, func(r *Row) bool {
			first = r.Offset
			return false
		})
		if err != nil || first != offset || m.reads != 1 {
			t.Errorf("offset %d: read %d with %d reads: %v", offset, first, m.reads, err)
		}
	}
}

func TestDeletesOfEnginesAreReadAndPassedOver(t *testing.T) {
	for name, m := range engineFiles(t, "*-deletes.parquet") {
		sets := map[string]*Positions{"file:///lake/a.parquet": NewPositions(3000), "s3://lake/b.parquet": NewPositions(3000)}
		if err := ReadDeletes(context.Background(), m, int64(len(m.data)), func(file string) *Positions { return sets[file] }); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		a, b := slices.Collect(sets["file:///lake/a.parquet"].All), sets["s3://lake/b.parquet"]
		if len(a) != 1000 || !slices.IsSorted(a) || a[1] != 3 || b.Count() != 2000 || b.Has(3) || !b.Has(4) {
			t.Errorf("%s: %v ..., %d others", name, a[:2], b.Count())
		}
		small := maps.Clone(sets)
		small["s3://lake/b.parquet"] = NewPositions(10)
		err := ReadDeletes(context.Background(), m, int64(len(m.data)), func(file string) *Positions { return small[file] })
		if err == nil || !strings.Contains(err.Error(), "s3://lake/b.parquet") {
			t.Errorf("%s: deletes of rows that are not there: %v", name, err)
		}
	}
}

func TestDeletedRowsArePassedOver(t *testing.T) {
	rows := some(5000, 5)
	m := write(t, Options{PageBytes: 2000, RowGroupBytes: 60_000}, rows)
	f, deleted := open(t, m), NewPositions(5000)
	var want []int64
	for i := range rows {
		if i < 1000 || i%3 == 0 || i > 4990 {
			if err := deleted.Add(int64(i)); err != nil {
				t.Fatal(err)
			}
		} else {
			want = append(want, rows[i].Offset)
		}
	}
	var got []int64
	q := Request{Bytes: 5000, Deleted: deleted}
	for done := false; !done; {
		var err error
		if q.Offset, done, err = f.Read(context.Background(), m, q, func(r *Row) bool {
			got = append(got, r.Offset)
			return true
		}); err != nil {
			t.Fatal(err)
		}
	}
	if !slices.Equal(got, want) {
		t.Errorf("%d rows, want %d", len(got), len(want))
	}
	place, err := f.SeekAppend(context.Background(), m, Seek{Deleted: deleted})
	samePlace(t, place, err, rows, 1000)
}
