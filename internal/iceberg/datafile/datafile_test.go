package datafile

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"reflect"
	"sync"
	"testing"

	"github.com/korvet-io/korvet/internal/record"
)

// memory is a data file in memory that counts how it is read.
type memory struct {
	data  []byte
	mu    sync.Mutex // ranges are read side by side
	reads int
	bytes int
}

func (m *memory) ReadRange(_ context.Context, p []byte, off int64) error {
	m.mu.Lock()
	m.reads++
	m.bytes += len(p)
	m.mu.Unlock()
	if off < 0 || off+int64(len(p)) > int64(len(m.data)) {
		return fmt.Errorf("range %d+%d of %d", off, len(p), len(m.data))
	}
	copy(p, m.data[off:])
	return nil
}

var usual = Options{PageBytes: DefaultPageBytes, RowGroupBytes: 16 << 20, CreatedBy: "test"}

func write(t testing.TB, o Options, rows []Row) *memory {
	t.Helper()
	var b bytes.Buffer
	w := NewWriter(&b, 3, o)
	for i := range rows {
		if err := w.Write(&rows[i]); err != nil {
			t.Fatal(err)
		}
	}
	s, err := w.Close()
	if err != nil {
		t.Fatal(err)
	}
	if s.Rows != int64(len(rows)) {
		t.Errorf("summary of %d rows: %+v", len(rows), s)
	}
	return &memory{data: b.Bytes()}
}

func open(t testing.TB, m *memory) *File {
	t.Helper()
	f, err := Open(context.Background(), m, int64(len(m.data)))
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// readAll reads from an offset to the file's end.
func readAll(t testing.TB, f *File, m *memory, offset int64, bytes int) []Row {
	t.Helper()
	var rows []Row
	for {
		next, done, err := f.Read(context.Background(), m, Request{Offset: offset, Bytes: bytes, Gap: 16 << 10}, func(r *Row) bool {
			rows = append(rows, copyOf(r))
			return true
		})
		if err != nil {
			t.Fatal(err)
		}
		if done {
			return rows
		}
		offset = next
	}
}

func copyOf(r *Row) Row {
	c := *r
	c.Key, c.Value, c.Headers = bytes.Clone(r.Key), bytes.Clone(r.Value), bytes.Clone(r.Headers)
	return c
}

// section is a header section; a nil value is null.
func section(pairs ...any) []byte {
	b := []byte{byte(len(pairs))} // zigzag: twice the count
	for i := 0; i < len(pairs); i += 2 {
		var value []byte
		if pairs[i+1] != nil {
			value = []byte(pairs[i+1].(string))
		}
		b = record.AppendHeader(b, pairs[i].(string), value)
	}
	return b
}

// some makes rows of all shapes, with holes in their offsets.
func some(n int, seed uint64) []Row {
	random := rand.New(rand.NewPCG(seed, 1))
	rows := make([]Row, n)
	offset := int64(seed)
	for i := range rows {
		r := &rows[i]
		r.Offset, r.Timestamp, r.AppendMs, r.Position = offset, 1_700_000_000_000+int64(i)-random.Int64N(50), 1_700_000_000_000+int64(i/3), int64(i)
		offset += 1 + max(0, random.Int64N(40)-37)
		r.Value = make([]byte, random.IntN(300))
		for j := range r.Value {
			r.Value[j] = byte(random.IntN(16))
		}
		switch random.IntN(6) {
		case 0:
			r.Key = fmt.Appendf(nil, "key-%d", i%100)
		case 1:
			r.Key = []byte{}
		case 2:
			r.Value = nil
		case 3:
			r.Headers = section("a", nil, "a", "", "a", "1", "\xff\xfe", "bin", "hex:61", "x", "", "empty")
		case 4:
			r.Timestamp = -1
		}
	}
	return rows
}

func TestRowsAreReadAsTheyWereWritten(t *testing.T) {
	for _, n := range []int{0, 1, 2, 511, 512, 513, 20_000} {
		for _, o := range []Options{usual, {PageBytes: 1, RowGroupBytes: 700}, {PageBytes: 3000, RowGroupBytes: 100_000, KeyBloom: true}} {
			if n > 1000 && o.PageBytes == 1 {
				continue
			}
			rows := some(n, 7)
			m := write(t, o, rows)
			f := open(t, m)
			got := readAll(t, f, m, 0, 64<<10)
			if len(got) != len(rows) {
				t.Fatalf("%d rows, %+v: read %d", n, o, len(got))
			}
			for i := range rows {
				if !reflect.DeepEqual(got[i], rows[i]) {
					t.Fatalf("%d rows, %+v: row %d is\n%+v, want\n%+v", n, o, i, got[i], rows[i])
				}
			}
		}
	}
}

func TestReadBeginsAtAnyOffset(t *testing.T) {
	rows := some(3000, 11)
	m := write(t, Options{PageBytes: 2000, RowGroupBytes: 60_000}, rows)
	f := open(t, m)
	due := 0
	for offset := int64(0); offset <= rows[len(rows)-1].Offset+2; offset++ {
		for due < len(rows) && rows[due].Offset < offset {
			due++
		}
		var first *Row
		next, done, err := f.Read(context.Background(), m, Request{Offset: offset, Bytes: 1}, func(r *Row) bool {
			if first == nil {
				c := copyOf(r)
				first = &c
			}
			return true
		})
		if err != nil {
			t.Fatal(err)
		}
		switch {
		case due == len(rows):
			if first != nil || !done {
				t.Fatalf("offset %d: %+v, done %v, after the last", offset, first, done)
			}
		case first == nil && !done && next == offset: // a hole at the end of a page
			t.Fatalf("offset %d: nothing read and no progress", offset)
		case first != nil && first.Offset != rows[due].Offset:
			t.Fatalf("offset %d: read %d, want %d", offset, first.Offset, rows[due].Offset)
		}
	}
}

func TestSinkThatHasEnoughIsGivenTheRestLater(t *testing.T) {
	rows := some(1000, 3)
	m := write(t, Options{PageBytes: 5000, RowGroupBytes: 50_000}, rows)
	f := open(t, m)
	offset, got := int64(0), 0
	for done := false; !done; {
		taken := 0
		var err error
		offset, done, err = f.Read(context.Background(), m, Request{Offset: offset, Bytes: 20_000}, func(r *Row) bool {
			if taken == 7 {
				return false
			}
			if r.Offset != rows[got].Offset {
				t.Fatalf("row %d has offset %d, want %d", got, r.Offset, rows[got].Offset)
			}
			taken++
			got++
			return true
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	if got != len(rows) {
		t.Errorf("read %d rows, want %d", got, len(rows))
	}
}

func BenchmarkWrite(b *testing.B) {
	rows := hundred(200_000)
	b.SetBytes(int64(len(rows)) * 100)
	for b.Loop() {
		var out bytes.Buffer
		w := NewWriter(&out, 0, usual)
		for i := range rows {
			_ = w.Write(&rows[i])
		}
		_, _ = w.Close()
	}
	b.ReportMetric(float64(len(rows)*b.N)/b.Elapsed().Seconds()/1000, "krows/s")
}

func BenchmarkRead(b *testing.B) {
	rows := hundred(200_000)
	m := write(b, usual, rows)
	b.Logf("%d bytes", len(m.data))
	f := open(b, m)
	n := 0
	for b.Loop() {
		offset := int64(0)
		for done := false; !done; {
			var err error
			offset, done, err = f.Read(context.Background(), m, Request{Offset: offset, Bytes: 1 << 20, Gap: 16 << 10}, func(r *Row) bool {
				n++
				return true
			})
			if err != nil {
				b.Fatal(err)
			}
		}
	}
	b.ReportMetric(float64(n)/b.Elapsed().Seconds()/1000, "krows/s")
}

func hundred(n int) []Row {
	rows := make([]Row, n)
	for i := range rows {
		rows[i] = Row{Record: record.Record{Offset: int64(i), Timestamp: 1_700_000_000_000 + int64(i/10), Key: fmt.Appendf(nil, "key-%d", i%1000),
			Value: fmt.Appendf(nil, `{"order":%d,"state":"paid","currency":"EUR","customer":"c-%d","lines":[{"sku":"A-%d","q":2}]}`, i, i*7919%10007, i%17)},
			AppendMs: 1_700_000_000_000 + int64(i/100)}
	}
	return rows
}
