package datafile

import (
	"context"
	"fmt"
	"math"
	"reflect"
	"strings"
	"testing"
)

// typedColumns are those of testdata/engines/arrow-typed-*, as make.py there has them.
var typedColumns = []Column{
	{ID: 11, Name: "ok", Kind: Bool}, {ID: 12, Name: "n", Kind: Long}, {ID: 13, Name: "small", Kind: Long},
	{ID: 14, Name: "f", Kind: Double}, {ID: 15, Name: "narrow", Kind: Double}, {ID: 16, Name: "city", Kind: String},
}

// typedCells are those of a row there.
func typedCells(i int) []Cell {
	cells := make([]Cell, len(typedColumns))
	if i%11 == 0 {
		return cells
	}
	if i%4 > 0 {
		cells[0] = Cell{Valid: true}
		if i%4 == 1 {
			cells[0].Int = 1
		}
	}
	cells[1] = Cell{Valid: true, Int: int64(i)*1_000_003 - 1<<40}
	cells[2] = Cell{Valid: true, Int: int64(i%100 - 50)}
	if i%6 > 0 {
		cells[3] = Cell{Valid: true, Float: float64(i%50) / 3}
	}
	cells[4] = Cell{Valid: true, Float: float64(i%9) / 4}
	if i%4 != 1 {
		cells[5] = Cell{Valid: true, Bytes: []byte([]string{"", "", "Bonn", "Zürich"}[i%4])}
	}
	return cells
}

func openTyped(t testing.TB, m *memory, columns ...Column) *File {
	t.Helper()
	f, err := OpenTyped(context.Background(), m, int64(len(m.data)), columns)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// cellsOf reads the typed columns of all rows from an offset on.
func cellsOf(t testing.TB, m *memory, offset int64, size int, columns ...Column) (all [][]Cell) {
	t.Helper()
	f := openTyped(t, m, columns...)
	for done := false; !done; {
		var err error
		offset, done, err = f.Read(context.Background(), m, Request{Offset: offset, Bytes: size}, func(r *Row) bool {
			cells := make([]Cell, len(r.Cells))
			for i := range r.Cells {
				cells[i] = r.Cells[i].clone()
			}
			all = append(all, cells)
			return true
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	return all
}

// withCells has cells for the rows of a file of ours. The columns of 32 bits are written as what they were widened to.
func withCells(n int) []Row {
	rows := some(n, 7)
	for i := range rows {
		rows[i].Cells = typedCells(i)
	}
	return rows
}

func TestTypedColumnsAreReadWhoeverWroteThem(t *testing.T) {
	files := engineFiles(t, "arrow-typed-*.parquet")
	files["ours"] = write(t, Options{PageBytes: 2000, RowGroupBytes: 20_000, CreatedBy: "test", Typed: typedColumns}, withCells(1000))
	for name, m := range files {
		for _, size := range []int{1, 3000, 1 << 20} {
			got := cellsOf(t, m, 0, size, typedColumns...)
			if len(got) != 1000 {
				t.Fatalf("%s: %d rows", name, len(got))
			}
			for i := range got {
				if want := typedCells(i); !reflect.DeepEqual(got[i], want) {
					t.Fatalf("%s, %d bytes at once: row %d has %+v, want %+v", name, size, i, got[i], want)
				}
			}
		}
		first := open(t, m)
		from := readAll(t, first, m, 0, 1<<20)[777].Offset
		if got := cellsOf(t, m, from, 1, typedColumns[5], typedColumns[1]); len(got) != 223 || !reflect.DeepEqual(got[0], []Cell{typedCells(777)[5], typedCells(777)[1]}) {
			t.Errorf("%s: %d rows, the first has %+v", name, len(got), got[0])
		}
	}
}

func TestColumnsThatAFileLacksAreNull(t *testing.T) {
	m := write(t, usual, some(10, 1))
	for _, cells := range cellsOf(t, m, 0, 1, typedColumns...) {
		if !reflect.DeepEqual(cells, make([]Cell, len(typedColumns))) {
			t.Errorf("%+v", cells)
		}
	}
	other := engineFiles(t, "arrow-other-order.parquet")["arrow-other-order"] // as an engine that puts them in an order of its own
	for i, cells := range cellsOf(t, other, 0, 3000, Column{ID: 1001, Kind: String}, Column{ID: 1000, Kind: Double}) {
		if cells[1].Float != 0.5 || cells[0].Valid != ((5+2*i)%3 == 0) {
			t.Fatalf("row %d: %+v", i, cells)
		}
	}
}

func TestAColumnOfAnotherTypeIsAnError(t *testing.T) {
	m := engineFiles(t, "arrow-typed-dictionary.parquet")["arrow-typed-dictionary"]
	for id, kind := range map[int]Kind{11: Long, 12: Double, 14: Long, 16: Bool, 13: Double, HeaderKeyID: String} {
		if _, err := OpenTyped(context.Background(), m, int64(len(m.data)), []Column{{ID: id, Kind: kind}}); err == nil || !strings.Contains(err.Error(), fmt.Sprint("field id ", id)) {
			t.Errorf("column %d as kind %d: %v", id, kind, err)
		}
	}
}

// A table with hundreds of typed columns takes no more memory at once than is asked for, about.
func TestAllColumnsCountForWhatIsReadAtOnce(t *testing.T) {
	columns := make([]Column, 100)
	rows := hundred(5000)
	for c := range columns {
		columns[c] = Column{ID: 11 + c, Name: fmt.Sprint("c", c), Kind: Long}
	}
	for i := range rows {
		rows[i].Cells = make([]Cell, len(columns))
		for c := range rows[i].Cells {
			rows[i].Cells[c] = Cell{Valid: true, Int: int64(i*c) * 2654435761}
		}
	}
	m := write(t, Options{PageBytes: 2000, RowGroupBytes: 16 << 20, Typed: columns}, rows)
	f := openTyped(t, m, columns...)
	m.bytes = 0
	if _, _, err := f.Read(context.Background(), m, Request{Bytes: 500_000}, func(*Row) bool { return true }); err != nil || m.bytes > 1_000_000 || m.bytes < 250_000 {
		t.Errorf("%d of %d bytes were read at once, %v", m.bytes, len(m.data), err)
	}
}

func TestCellsAreComparedAsSQLDoes(t *testing.T) {
	null, zero := Cell{}, Cell{Valid: true}
	for _, c := range []struct {
		kind Kind
		a, b Cell
		want bool
	}{
		{Long, null, null, true},
		{Long, null, zero, false},
		{String, null, zero, false},
		{String, zero, Cell{Valid: true, Bytes: []byte{}}, true},
		{String, Cell{Valid: true, Bytes: []byte("a")}, Cell{Valid: true, Bytes: []byte("b")}, false},
		{Bool, zero, Cell{Valid: true, Int: 1}, false},
		{Long, Cell{Valid: true, Int: 1 << 53, Float: 1 << 53}, Cell{Valid: true, Int: 1<<53 + 1, Float: 1 << 53}, false},
		{Double, zero, Cell{Valid: true, Float: math.Copysign(0, -1)}, true},
		{Double, Cell{Valid: true, Float: math.NaN()}, Cell{Valid: true, Float: math.NaN()}, true},
		{Double, zero, Cell{Valid: true, Float: math.SmallestNonzeroFloat64}, false},
	} {
		if got := SameCell(c.kind, &c.a, &c.b); got != c.want || SameCell(c.kind, &c.b, &c.a) != c.want {
			t.Errorf("kind %d: %+v and %+v are the same: %t", c.kind, c.a, c.b, got)
		}
	}
}
