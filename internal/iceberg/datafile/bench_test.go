package datafile

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"testing"

	"github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/compress/zstd"
	"golang.org/x/sys/unix"

	"github.com/korvet-io/korvet/internal/record"
)

// benchRows are 1,000,000 JSON records of about so many bytes, in b.N passes.
const benchRows = 1_000_000

// benchSizes are the sizes of records that are compared, in bytes.
var benchSizes = []int{100, 1000}

func benchValue(dst []byte, i, size int) []byte {
	dst = fmt.Appendf(dst[:0], `{"order":%d,"state":"paid","customer":"c-%d","lines":[`, i, i*7919%10007)
	for n := 0; len(dst) < size-18; n++ {
		dst = fmt.Appendf(dst, `{"sku":"A-%d","q":%d},`, (i+n*31)%9973, n%7)
	}
	return append(dst[:len(dst)-1], `]}`...)
}

// benchBlock is a block of rows that is written again and again with other offsets: making them costs as much as writing them.
func benchBlock(size int) []Row {
	rows := make([]Row, 20_000)
	for i := range rows {
		rows[i] = Row{Record: record.Record{Key: fmt.Appendf(nil, "key-%d", i%1000), Value: benchValue(nil, i, size)}}
	}
	return rows
}

func eachRow(block []Row, do func(*Row) error) error {
	for i := range benchRows {
		r := &block[i%len(block)]
		r.Offset, r.Timestamp, r.AppendMs = int64(i), 1_700_000_000_000+int64(i/10), 1_700_000_000_000+int64(i/100)
		if err := do(r); err != nil {
			return err
		}
	}
	return nil
}

// rate reports rows by the clock and by the processor's time, which other processes do not take part in. began is what rate's
// processor time was before.
func rate(b *testing.B, began float64) {
	rows := float64(benchRows) * float64(b.N) / 1000
	b.ReportMetric(rows/b.Elapsed().Seconds(), "krows/s")
	b.ReportMetric(rows/(cpu()-began), "krows/cpu-s")
}

// cpu is the processor time of this process so far, in seconds.
func cpu() float64 {
	var u unix.Rusage
	if err := unix.Getrusage(unix.RUSAGE_SELF, &u); err != nil {
		return 0
	}
	return float64(u.Utime.Nano()+u.Stime.Nano()) / 1e9
}

// BenchmarkCopy compares our writer with plain parquet-go that is given rows of structs with the same settings, both into a file.
// Run both in one go: -bench Copy -count 3.
func BenchmarkCopy(b *testing.B) {
	for _, size := range benchSizes {
		block := benchBlock(size)
		b.Run(fmt.Sprintf("%d/ours", size), func(b *testing.B) {
			began := cpu()
			for b.Loop() {
				benchFile(b, func(out io.Writer) error {
					w := NewWriter(out, 0, usual)
					if err := eachRow(block, w.Write); err != nil {
						return err
					}
					_, err := w.Close()
					return err
				})
			}
			rate(b, began)
		})
		b.Run(fmt.Sprintf("%d/parquet-go", size), func(b *testing.B) {
			began := cpu()
			for b.Loop() {
				benchFile(b, func(out io.Writer) error { return plainWrite(out, block) })
			}
			rate(b, began)
		})
	}
}

func benchFile(b *testing.B, write func(io.Writer) error) {
	f, err := os.Create(filepath.Join(b.TempDir(), "f"))
	if err != nil {
		b.Fatal(err)
	}
	out := bufio.NewWriterSize(f, 1<<20)
	if err := errors.Join(write(out), out.Flush(), f.Close(), os.Remove(f.Name())); err != nil {
		b.Fatal(err)
	}
}

func plainWrite(out io.Writer, block []Row) error {
	w := parquet.NewGenericWriter[columns](out,
		parquet.Compression(&zstd.Codec{Level: zstd.SpeedFastest}), parquet.PageBufferSize(usual.PageBytes), parquet.DataPageStatistics(false),
		parquet.SkipPageBounds("key"), parquet.SkipPageBounds("value"))
	waiting, raw := make([]columns, 0, batchRows), 0
	flush := func() error {
		_, err := w.Write(waiting)
		waiting = waiting[:0]
		return err
	}
	err := eachRow(block, func(r *Row) error {
		waiting = append(waiting, columns{Offset: r.Offset, Timestamp: Micros(r.Timestamp), AppendTime: Micros(r.AppendMs), Key: r.Key, Value: r.Value})
		if len(waiting) == cap(waiting) {
			if err := flush(); err != nil {
				return err
			}
		}
		if raw += len(r.Key) + len(r.Value); raw >= usual.RowGroupBytes {
			raw = 0
			return errors.Join(flush(), w.Flush())
		}
		return nil
	})
	return errors.Join(err, flush(), w.Close())
}

// onDisk is a data file on disk.
type onDisk struct{ *os.File }

func (o onDisk) ReadRange(_ context.Context, p []byte, off int64) error {
	_, err := o.ReadAt(p, off)
	return err
}

// BenchmarkScan compares reading of whole files, from disk.
func BenchmarkScan(b *testing.B) {
	for _, size := range benchSizes {
		block, f := benchBlock(size), benchOut(b)
		w := NewWriter(f, 0, usual)
		if err := eachRow(block, w.Write); err != nil {
			b.Fatal(err)
		}
		if _, err := w.Close(); err != nil {
			b.Fatal(err)
		}
		info, err := f.Stat()
		if err != nil {
			b.Fatal(err)
		}
		b.Run(fmt.Sprintf("%d/ours", size), func(b *testing.B) {
			began := cpu()
			for b.Loop() {
				scanOurs(b, onDisk{f}, info.Size())
			}
			rate(b, began)
		})
		b.Run(fmt.Sprintf("%d/parquet-go", size), func(b *testing.B) {
			began := cpu()
			for b.Loop() {
				scanPlain(b, f, info.Size())
			}
			rate(b, began)
		})
	}
}

func benchOut(b *testing.B) *os.File {
	f, err := os.Create(filepath.Join(b.TempDir(), "f"))
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = f.Close() })
	return f
}

func scanOurs(b *testing.B, src Source, size int64) {
	f, err := Open(b.Context(), src, size)
	if err != nil {
		b.Fatal(err)
	}
	n, q := 0, Request{Bytes: 1 << 20, Gap: 1 << 20}
	for done := false; !done; {
		if q.Offset, done, err = f.Read(b.Context(), src, q, func(*Row) bool {
			n++
			return true
		}); err != nil {
			b.Fatal(err)
		}
	}
	if n != benchRows {
		b.Fatalf("%d rows", n)
	}
}

func scanPlain(b *testing.B, src io.ReaderAt, size int64) {
	f, err := parquet.OpenFile(src, size)
	if err != nil {
		b.Fatal(err)
	}
	r := parquet.NewGenericReader[columns](f)
	n, rows := 0, make([]columns, batchRows)
	for err == nil {
		var some int
		some, err = r.Read(rows)
		n += some
	}
	if n != benchRows || !errors.Is(err, io.EOF) {
		b.Fatalf("%d rows: %v", n, err)
	}
}

// BenchmarkRowGroups shows what row groups and pages of sizes cost: bytes of a seek with one range, the file's end, its size, and a
// scan.
func BenchmarkRowGroups(b *testing.B) {
	for _, size := range benchSizes {
		block := benchBlock(size)
		for _, o := range []Options{
			{PageBytes: 128 << 10, RowGroupBytes: 4 << 20}, {PageBytes: 32 << 10, RowGroupBytes: 16 << 20}, {PageBytes: 128 << 10, RowGroupBytes: 16 << 20},
			{PageBytes: 512 << 10, RowGroupBytes: 16 << 20}, {PageBytes: 128 << 10, RowGroupBytes: 64 << 20}, {PageBytes: 128 << 10, RowGroupBytes: 128 << 20},
		} {
			b.Run(fmt.Sprintf("%d/group=%dMiB/page=%dKiB", size, o.RowGroupBytes>>20, o.PageBytes>>10), func(b *testing.B) { benchLayout(b, block, o) })
		}
	}
}

func benchLayout(b *testing.B, block []Row, o Options) {
	out := benchOut(b)
	w := NewWriter(out, 0, o)
	if err := eachRow(block, w.Write); err != nil {
		b.Fatal(err)
	}
	if _, err := w.Close(); err != nil {
		b.Fatal(err)
	}
	data, err := os.ReadFile(out.Name())
	if err != nil {
		b.Fatal(err)
	}
	m := &memory{data: data}
	f := open(b, m)
	end, ends := m.bytes, m.reads
	began := cpu()
	for b.Loop() {
		scanOurs(b, m, int64(len(data)))
	}
	rate(b, began)
	for _, gap := range []int64{64 << 10, 32 << 20} {
		m.reads, m.bytes = 0, 0
		const seeks = 100
		for i := range int64(seeks) {
			if _, _, err := f.Read(b.Context(), m, Request{Offset: i * benchRows / seeks, Bytes: 1, Gap: gap}, func(*Row) bool { return false }); err != nil {
				b.Fatal(err)
			}
		}
		b.ReportMetric(float64(m.bytes)/seeks/1024, fmt.Sprintf("KiB/seek/gap%dK", gap>>10))
		b.ReportMetric(float64(m.reads)/seeks, fmt.Sprintf("reads/seek/gap%dK", gap>>10))
	}
	b.ReportMetric(float64(end)/1024, "KiB-of-end")
	b.ReportMetric(float64(ends), "reads-of-end")
	b.ReportMetric(float64(len(data))/(1<<20), "MiB")
}
