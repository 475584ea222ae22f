package datafile

import (
	"cmp"
	"context"
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"
)

// blockRows reads all rows of a file by blocks of so many rows, and has the memory of each be used for the next.
func blockRows(t *testing.T, m *memory, rows int64) (all []Row) {
	t.Helper()
	f := open(t, m)
	stretches, err := f.Stretches(context.Background(), m, 1<<20, rows)
	if err != nil {
		t.Fatal(err)
	}
	for len(stretches) > 0 {
		n := 1
		for n < len(stretches) && stretches[0].SameGroup(&stretches[n]) {
			n++
		}
		err := f.ReadBlocks(context.Background(), m, stretches[:n], 1<<20, NewTurns(1), func(b *Block) bool {
			b.Sort()
			for k := range b.Len() {
				row := Row{AppendMs: b.AppendMs[k], Position: b.Position(k)}
				b.Record(k, &row.Record)
				row.Key, row.Value, row.Headers = slices.Clone(row.Key), slices.Clone(row.Value), slices.Clone(row.Headers)
				all = append(all, row)
			}
			if b.Weight() <= 0 {
				t.Errorf("a block weighs %d", b.Weight())
			}
			b.Free()
			return true
		})
		if err != nil {
			t.Fatal(err)
		}
		stretches = stretches[n:]
	}
	slices.SortStableFunc(all, func(a, b Row) int { return cmp.Compare(a.Offset, b.Offset) })
	return all
}

// TestBlocksHaveTheRowsOfTheirFiles: of ours and of other engines, whose pages do not begin at the same rows, have dictionaries, are
// in disorder or not compressed.
func TestBlocksHaveTheRowsOfTheirFiles(t *testing.T) {
	files := map[string]*memory{
		"ours, small pages":  write(t, Options{PageBytes: 500, RowGroupBytes: 20_000}, hundred(3000)),
		"ours, large pages":  write(t, Options{PageBytes: 100_000, RowGroupBytes: 1 << 20}, hundred(3000)),
		"ours, of all kinds": write(t, Options{PageBytes: 700, RowGroupBytes: 5000}, engineRows()),
	}
	maps.Copy(files, engineFiles(t, "*.parquet"))
	for name, m := range files {
		if strings.HasSuffix(name, "-deletes") {
			continue
		}
		want := readAll(t, open(t, m), m, 0, 1<<20)
		for _, rows := range []int64{1, 100, 16 << 10} {
			got := blockRows(t, m, rows)
			if len(got) != len(want) {
				t.Fatalf("%s, %d rows at once: %d rows, want %d", name, rows, len(got), len(want))
			}
			for i := range want {
				if !reflect.DeepEqual(got[i], want[i]) {
					t.Fatalf("%s, %d rows at once: row %d is\n%+v, want\n%+v", name, rows, i, got[i], want[i])
				}
			}
		}
	}
}
