package datafile

import (
	"io"
	"math/rand/v2"
	"runtime"
	"testing"

	"github.com/korvet-io/korvet/internal/record"
)

// What a writer holds is one row group, however long the file becomes.
func TestMemoryOfAWriterIsBoundedByARowGroup(t *testing.T) {
	for _, c := range []struct {
		name        string
		rows, value int
	}{{"many rows", 600_000, 100}, {"large values", 200, 1 << 20}} {
		t.Run(c.name, func(t *testing.T) {
			value := make([]byte, c.value)
			random := rand.New(rand.NewPCG(1, 1))
			for i := range value {
				value[i] = byte(random.Uint32()) // zstd makes nothing of it
			}
			w, most := NewWriter(io.Discard, 0, Options{PageBytes: 128 << 10, RowGroupBytes: 4 << 20, CreatedBy: "test"}), uint64(0)
			before := held()
			for i := range c.rows {
				value[i%c.value]++
				if err := w.Write(&Row{Record: record.Record{Offset: int64(i), Value: value}}); err != nil {
					t.Fatal(err)
				}
				if i%(c.rows/20) == c.rows/40 {
					now := held()
					most = max(most, now-min(now, before))
				}
			}
			s, err := w.Close()
			if err != nil || s.Rows != int64(c.rows) || len(s.RowGroups) < 10 {
				t.Fatalf("%+v, %v", s, err)
			}
			t.Logf("%d bytes held at most, of %d written", most, c.rows*c.value)
			if most > 16<<20 { // pages that are encoded, those that wait, and the encoder's own
				t.Errorf("%d bytes are held", most)
			}
		})
	}
}

// held is what is in use once all garbage is gone.
func held() uint64 {
	var m runtime.MemStats
	runtime.GC()
	runtime.GC() // what is in pools goes with the second
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}
