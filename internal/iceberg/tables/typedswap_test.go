package tables

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/apache/iceberg-go"
	"github.com/parquet-go/parquet-go"

	"github.com/korvet-io/korvet/internal/iceberg/datafile"
	"github.com/korvet-io/korvet/internal/iceberg/jsoncolumns"
	"github.com/korvet-io/korvet/internal/record"
)

// typedRowsOf are rows of values with the cells of columns; change makes them others.
func typedRowsOf(columns []jsoncolumns.Column, from int64, values []string, change func(offset int64, cells map[string]*datafile.Cell)) (rows []datafile.Row) {
	shredder := jsoncolumns.NewShredder(columns)
	for i, v := range values {
		cells, _ := shredder.Cells([]byte(v))
		row := datafile.Row{Record: record.Record{Offset: from + int64(i), Value: []byte(v)}, Cells: slices.Clone(cells)}
		byName := map[string]*datafile.Cell{}
		for c := range columns {
			byName[columns[c].Name] = &row.Cells[c]
		}
		if change != nil {
			change(row.Offset, byName)
		}
		rows = append(rows, row)
	}
	return rows
}

func putTyped(t *testing.T, tb *Table, columns []jsoncolumns.Column, rows []datafile.Row) Added {
	t.Helper()
	return putWith(t, tb, 0, datafile.Options{PageBytes: 300, RowGroupBytes: 2000, CreatedBy: "test", Typed: jsoncolumns.NewShredder(columns).Typed()}, rows)
}

// cities has the files of a topic whose values got fields meanwhile: the first file has fewer columns than the table.
func cities(t *testing.T) (tb *Table, old, all []jsoncolumns.Column, values []string, data []File) {
	t.Helper()
	tb = newTable(t)
	set := state(t, tb).Columns(limits)
	learn(set, `{"city":"Rome","n":1}`)
	old = set.Columns()
	for i := range 40 {
		values = append(values, fmt.Sprintf(`{"city":"city %d","n":%d,"ok":%t,"x":{"a":[%d,null]}}`, i, i, i%2 == 0, i))
	}
	values[7], values[8], values[9] = `no JSON`, `{"city":null,"n":-0.0}`, `{"n":2.5,"city":""}`
	learn(set, values...)
	all = set.Columns()
	first, second := putTyped(t, tb, old, typedRowsOf(old, 0, values[:20], nil)), putTyped(t, tb, all, typedRowsOf(all, 20, values[20:], nil))
	s, err := tb.Append(t.Context(), state(t, tb), 1, []Added{first, second}, all...)
	if err != nil {
		t.Fatal(err)
	}
	files, err := tb.Files(t.Context(), s)
	if err != nil {
		t.Fatal(err)
	}
	return tb, old, typedOf(s.version.Metadata), values, files.Data[0]
}

func TestTypedColumnsOfRowsThatComeAreThoseOfTheRowsThatGo(t *testing.T) {
	tb, old, all, values, data := cities(t)
	text := func(s string) datafile.Cell { return datafile.Cell{Valid: true, Bytes: []byte(s)} }
	set := func(offset int64, column string, to datafile.Cell) func(int64, map[string]*datafile.Cell) {
		return func(o int64, cells map[string]*datafile.Cell) {
			if o == offset {
				*cells[column] = to
			}
		}
	}
	before := state(t, tb).version.Number
	for _, c := range []struct {
		name, column string
		file         int
		change       func(int64, map[string]*datafile.Cell)
	}{
		{"another text", "city", 1, set(33, "city", text("x"))},
		{"no text", "city", 1, set(33, "city", datafile.Cell{})},
		{"an empty text in the place of null", "city", 0, set(8, "city", text(""))},
		{"null in the place of an empty text", "city", 0, set(9, "city", datafile.Cell{})},
		{"a text of what is no JSON", "city", 0, set(7, "city", text("x"))},
		{"another number", "n", 1, set(20, "n", datafile.Cell{Valid: true, Int: 21})},
		{"another fraction", "n_double", 0, set(9, "n_double", datafile.Cell{Valid: true, Float: 2.25})},
		{"the number in a column of another type", "n_double", 1, set(20, "n_double", datafile.Cell{Valid: true, Float: 20})},
		{"another truth", "ok", 1, set(39, "ok", datafile.Cell{Valid: true, Int: 1})},
		{"other nested JSON", "x", 1, set(39, "x", text(`{"a":[39,0]}`))},
		{"a column of later that is not of the value", "ok", 0, set(3, "ok", datafile.Cell{Valid: true, Int: 1})},
	} {
		from := int64(20 * c.file)
		rows := typedRowsOf(all, from, values[from:from+20], c.change)
		err := commit(t, tb, overwrite(tb, t, data[c.file:c.file+1], putTyped(t, tb, all, rows)))
		if !errors.Is(err, ErrRefused) || !strings.Contains(err.Error(), "column "+c.column+" of the record") {
			t.Errorf("%s: %v, want ErrRefused with column %s", c.name, err, c.column)
		}
	}
	if err := commit(t, tb, overwrite(tb, t, data[1:2], putTyped(t, tb, old, typedRowsOf(old, 20, values[20:], nil)))); !errors.Is(err, ErrRefused) {
		t.Errorf("columns that are left out: %v, want ErrRefused", err)
	}
	if now := state(t, tb).version.Number; now != before {
		t.Fatalf("version %d after nothing but refusals at %d", now, before)
	}
	if err := commit(t, tb, overwrite(tb, t, data[:1], putTyped(t, tb, old, typedRowsOf(old, 0, values[:10], nil)), putTyped(t, tb, all, typedRowsOf(all, 10, values[10:20], nil)))); err != nil {
		t.Errorf("what was null stays so, or becomes what the value has: %v", err)
	}
	if err := commit(t, tb, overwrite(tb, t, data[1:2], putTyped(t, tb, all, typedRowsOf(all, 20, values[20:], nil)))); err != nil {
		t.Errorf("the same rows: %v", err)
	}
}

// What earlier versions took: a typed column that an engine has changed. It may stay as it is, or be what the value has again.
func TestTypedColumnsThatWereChangedBefore(t *testing.T) {
	tb, _, all, values, data := cities(t)
	wrong := func(city string) func(int64, map[string]*datafile.Cell) {
		return func(_ int64, cells map[string]*datafile.Cell) {
			*cells["city"] = datafile.Cell{Valid: true, Bytes: []byte(city)}
		}
	}
	put := func(change func(int64, map[string]*datafile.Cell)) Added {
		return putTyped(t, tb, all, typedRowsOf(all, 20, values[20:], change))
	}
	s := state(t, tb)
	tx, _, err := tb.transaction(s)
	if err == nil {
		err = overwrite(tb, t, data[1:2], put(wrong("wrong")))(tx)
	}
	if err == nil {
		_, err = tx.Commit(t.Context())
	}
	if err != nil {
		t.Fatal(err)
	}
	second := func() []File {
		files, err := tb.Files(t.Context(), state(t, tb))
		if err != nil || len(files.Data[0]) != 2 {
			t.Fatalf("%+v, %v", files, err)
		}
		return files.Data[0][1:]
	}
	if err := commit(t, tb, overwrite(tb, t, second(), put(wrong("worse")))); !errors.Is(err, ErrRefused) {
		t.Errorf("another change: %v, want ErrRefused", err)
	}
	if err := commit(t, tb, overwrite(tb, t, second(), put(wrong("wrong")))); err != nil {
		t.Errorf("as it was: %v", err)
	}
	if err := commit(t, tb, overwrite(tb, t, second(), put(nil))); err != nil {
		t.Errorf("as the value says: %v", err)
	}
	if err := commit(t, tb, overwrite(tb, t, second(), put(wrong("wrong")))); !errors.Is(err, ErrRefused) {
		t.Errorf("wrong again: %v, want ErrRefused", err)
	}
}

// A file may have a column as it was before it was widened (Iceberg spec, "Schema Evolution").
func TestTypedColumnsOfFewerBitsAreTheSame(t *testing.T) {
	tb := newTable(t)
	set := state(t, tb).Columns(limits)
	learn(set, `{"n":1,"f":1.5}`)
	columns, values := set.Columns(), []string{`{"n":-5,"f":2.5}`, `{"n":7,"f":0.5}`}
	type narrow struct {
		Partition  int32    `parquet:"partition,id(1)"`
		Offset     int64    `parquet:"offset,id(2)"`
		Timestamp  int64    `parquet:"timestamp,timestamp(microsecond:utc),id(3)"`
		AppendTime int64    `parquet:"append_time,timestamp(microsecond:utc),id(4)"`
		Value      []byte   `parquet:"value,optional,id(6)"`
		N          *int32   `parquet:"n,optional,id(11)"`
		F          *float32 `parquet:"f,optional,id(12)"`
	}
	small := func(second float32) Added {
		n, f := []int32{-5, 7}, []float32{2.5, second}
		var body bytes.Buffer
		w := parquet.NewGenericWriter[narrow](&body)
		_, err := w.Write([]narrow{{Offset: 0, Value: []byte(values[0]), N: &n[0], F: &f[0]}, {Offset: 1, Value: []byte(values[1]), N: &n[1], F: &f[1]}})
		if err = errors.Join(err, w.Close()); err != nil {
			t.Fatal(err)
		}
		a := Added{Partition: 0, Location: tb.chain.Location + "/data/narrow.parquet", Bytes: int64(body.Len()), End: 2, Summary: datafile.Summary{Rows: 2, LastOffset: 1}}
		if err := tb.store.Put(t.Context(), a.Location, &body); err != nil {
			t.Fatal(err)
		}
		return a
	}
	s, err := tb.Append(t.Context(), state(t, tb), 1, []Added{putTyped(t, tb, columns, typedRowsOf(columns, 0, values, nil))}, columns...)
	if err != nil {
		t.Fatal(err)
	}
	replace := func(by Added) error {
		files, err := tb.Files(t.Context(), state(t, tb))
		if err != nil {
			t.Fatal(err)
		}
		return commit(t, tb, overwrite(tb, t, files.Data[0], by))
	}
	if err := replace(small(0.75)); !errors.Is(err, ErrRefused) || !strings.Contains(err.Error(), "column f ") {
		t.Errorf("another number of 32 bits: %v, want ErrRefused", err)
	}
	columns = typedOf(s.version.Metadata)
	if err := errors.Join(replace(small(0.5)), replace(putTyped(t, tb, columns, typedRowsOf(columns, 0, values, nil)))); err != nil {
		t.Errorf("32 bits and back: %v", err)
	}
}

func TestAllOfManyTypedColumnsAreCompared(t *testing.T) {
	tb := newTable(t)
	set := state(t, tb).Columns(jsoncolumns.Limits{Columns: 200, NameBytes: 20})
	var value strings.Builder
	for c := range 2*typedAtOnce + 3 {
		fmt.Fprintf(&value, `,"c%d":%d`, c, c)
	}
	values := slices.Repeat([]string{"{" + value.String()[1:] + "}"}, 10)
	learn(set, values[0])
	columns := set.Columns()
	s, err := tb.Append(t.Context(), state(t, tb), 1, []Added{putTyped(t, tb, columns, typedRowsOf(columns, 0, values, nil))}, columns...)
	if err != nil {
		t.Fatal(err)
	}
	files, err := tb.Files(t.Context(), s)
	if err != nil {
		t.Fatal(err)
	}
	columns = typedOf(s.version.Metadata)
	for _, c := range []int{0, typedAtOnce - 1, typedAtOnce, 2*typedAtOnce + 2} {
		rows := typedRowsOf(columns, 0, values, func(o int64, cells map[string]*datafile.Cell) {
			if o == 4 {
				cells[fmt.Sprint("c", c)].Int++
			}
		})
		if err := commit(t, tb, overwrite(tb, t, files.Data[0], putTyped(t, tb, columns, rows))); !errors.Is(err, ErrRefused) || !strings.Contains(err.Error(), fmt.Sprintf("column c%d ", c)) {
			t.Errorf("column %d: %v, want ErrRefused", c, err)
		}
	}
	if err := commit(t, tb, overwrite(tb, t, files.Data[0], putTyped(t, tb, columns, typedRowsOf(columns, 0, values, nil)))); err != nil {
		t.Errorf("the same: %v", err)
	}
}

// What was compared before a column came was compared without it.
func TestWhatIsRememberedIsOfTheColumnsOfThatTime(t *testing.T) {
	set := jsoncolumns.NewSet(iceberg.NewSchema(0), 10, limits)
	s := swap{come: []File{{Location: "a"}}}
	none := s.key(set.Columns())
	learn(set, `{"a":1}`)
	one := s.key(set.Columns())
	learn(set, `{"b":1}`)
	if two := s.key(set.Columns()); none == one || one == two {
		t.Error("comparisons of other columns are the same")
	}
}
