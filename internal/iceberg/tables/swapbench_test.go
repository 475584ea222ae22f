package tables

import (
	"fmt"
	"testing"

	"github.com/korvet-io/korvet/internal/iceberg/datafile"
	"github.com/korvet-io/korvet/internal/record"
)

// BenchmarkCompare compares the rows of 100 B records of one file with those of two.
func BenchmarkCompare(b *testing.B) {
	const rows = 200_000
	tb := newTable(b)
	make100 := func(from, to int64) (list []datafile.Row) {
		for o := from; o < to; o++ {
			list = append(list, datafile.Row{Record: record.Record{Offset: o, Timestamp: 1000 + o, Key: fmt.Appendf(nil, "key %d", o), Value: fmt.Appendf(nil, "%084d", o*7919)}, AppendMs: 2000 + o})
		}
		return list
	}
	o := datafile.Options{PageBytes: 1 << 20, RowGroupBytes: 16 << 20, CreatedBy: "test"}
	s, err := tb.Append(b.Context(), state(b, tb), 1, []Added{putWith(b, tb, 0, o, make100(0, rows/2)), putWith(b, tb, 0, o, make100(rows/2, rows))})
	if err != nil {
		b.Fatal(err)
	}
	files, err := tb.Files(b.Context(), s)
	if err != nil {
		b.Fatal(err)
	}
	a := putWith(b, tb, 0, o, make100(0, rows))
	come := files.Data[0][0]
	come.Location, come.Bytes, come.Rows, come.Last = a.Location, a.Bytes, rows, rows-1
	come.MaxTimestamp, come.MaxAppendMs = a.MaxTimestamp, a.MaxAppendMs
	for b.Loop() {
		list := swaps(0, []File{come}, []goneRows{{File: files.Data[0][0]}, {File: files.Data[0][1]}})
		if err := list[0].check(b.Context(), tb, NewTurns(64<<20), nil); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(rows*b.N)/b.Elapsed().Seconds(), "rows/s")
}
