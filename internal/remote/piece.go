package remote

import (
	"cmp"
	"slices"
	"sort"

	"github.com/korvet-io/korvet/internal/iceberg/datafile"
	"github.com/korvet-io/korvet/internal/record"
)

// piece is a stretch of a data file, decoded: its records by rising offsets. It is never changed. It has no pointers but those
// to its two blocks, so that the garbage collector does not look through it.
type piece struct {
	rows []row
	data []byte
}

// row is a record of a piece. Its bytes are key, value and headers one after the other.
type row struct {
	offset, timestamp, appendMs int64
	position                    int64 // in the data file
	at                          int   // of its bytes
	key, value, headers         int32 // bytes; -1: null
}

// rowBytes is what a row takes beside its bytes.
const rowBytes = 64

func (p *piece) weight() int64 { return int64(rowBytes*cap(p.rows)+cap(p.data)) + 256 }

// add copies a row.
func (p *piece) add(r *datafile.Row) {
	w := row{
		offset: r.Offset, timestamp: r.Timestamp, appendMs: r.AppendMs, position: r.Position, at: len(p.data),
		key: length(r.Key), value: length(r.Value), headers: length(r.Headers),
	}
	p.data = append(append(append(p.data, r.Key...), r.Value...), r.Headers...)
	p.rows = append(p.rows, w)
}

func length(b []byte) int32 {
	if b == nil {
		return -1
	}
	return int32(len(b))
}

// order sorts the rows of a file that an engine wrote in disorder.
func (p *piece) order() {
	byOffset := func(a, b row) int { return cmp.Compare(a.offset, b.offset) }
	if !slices.IsSortedFunc(p.rows, byOffset) {
		slices.SortFunc(p.rows, byOffset)
	}
}

// find is the first row with an offset or one after it.
func (p *piece) find(offset int64) int {
	if len(p.rows) == 0 || p.rows[0].offset >= offset {
		return 0
	}
	return sort.Search(len(p.rows), func(i int) bool { return p.rows[i].offset >= offset })
}

// record fills r with a row.
func (p *piece) record(w *row, r *record.Record) {
	at := w.at
	take := func(n int32) []byte {
		if n < 0 {
			return nil
		}
		b := p.data[at : at+int(n) : at+int(n)]
		at += int(n)
		return b
	}
	r.Offset, r.Timestamp = w.offset, w.timestamp
	r.Key = take(w.key)
	r.Value = take(w.value)
	r.Headers = take(w.headers)
}
