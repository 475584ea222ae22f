package partition_test

import (
	"bytes"
	"context"
	"fmt"
	"syscall"
	"testing"

	"github.com/korvet-io/korvet/internal/batch"
	"github.com/korvet-io/korvet/internal/partition"
	"github.com/korvet-io/korvet/internal/record"
	"github.com/korvet-io/korvet/internal/redistest"
)

// benchBatch is how many records a benchmark's batches have.
const benchBatch = 1000

func benchRaw(b *testing.B, size int) []byte {
	var builder batch.Builder
	builder.Reset(nil, batch.BuildOptions{})
	value := bytes.Repeat([]byte("0123456789abcdef"), size/16+1)[:size]
	for i := range benchBatch {
		builder.Put(&record.Record{Offset: int64(i), Timestamp: 1_700_000_000_000, Value: value})
	}
	return builder.Finish()
}

// cpu is this process's CPU time, in seconds.
func cpu() float64 {
	var u syscall.Rusage
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &u)
	return float64(u.Utime.Sec+u.Stime.Sec) + float64(u.Utime.Usec+u.Stime.Usec)/1e6
}

func reportPerRecord(b *testing.B, records int, before float64) {
	b.ReportMetric((cpu()-before)/float64(records)*1e6, "cpu-s/Mrec")
	b.ReportMetric(float64(records)/b.Elapsed().Seconds(), "rec/s")
}

// BenchmarkAppend appends batches of 1,000 records to one partition, four waiting at a time.
func BenchmarkAppend(b *testing.B) {
	for _, size := range []int{100, 1024} {
		b.Run(fmt.Sprintf("%dB", size), func(b *testing.B) {
			f := newFixture(b, redistest.Start(b), "1/a", nil)
			ref, raw := newRef("bench"), benchRaw(b, size)
			tokens := make(chan error, 4)
			for range cap(tokens) {
				tokens <- nil
			}
			b.ReportAllocs()
			before := cpu()
			for b.Loop() {
				if err := <-tokens; err != nil {
					b.Fatal(err)
				}
				parsed, err := batch.Parse(bytes.Clone(raw), batch.Limits{})
				if err != nil {
					b.Fatal(err)
				}
				f.Append(ref, parsed, partition.AppendOptions{}, func(_ partition.Appended, err error) { tokens <- err })
			}
			for range cap(tokens) {
				<-tokens
			}
			reportPerRecord(b, b.N*benchBatch, before)
		})
	}
}

// BenchmarkReadLocal reads a log from Redis in answers of 1 MiB.
func BenchmarkReadLocal(b *testing.B) {
	for _, size := range []int{100, 1024} {
		b.Run(fmt.Sprintf("%dB", size), func(b *testing.B) {
			f := newFixture(b, redistest.Start(b), "1/a", func(s *partition.Settings) { s.TailCacheBytes = 0 })
			ref, raw := newRef("bench"), benchRaw(b, size)
			for range 100 {
				parsed, _ := batch.Parse(bytes.Clone(raw), batch.Limits{})
				if o := <-f.appendAsync(ref, parsed, partition.AppendOptions{}); o.err != nil {
					b.Fatal(o.err)
				}
			}
			var dst []byte
			offset, records := int64(0), 0
			b.ReportAllocs()
			before := cpu()
			for b.Loop() {
				res, err := f.Read(context.Background(), ref, partition.ReadRequest{Offset: offset, MaxBytes: 1 << 20}, dst[:0])
				if err != nil {
					b.Fatal(err)
				}
				dst = res.Batches
				next := behind(dst, offset)
				records += int(next - offset)
				if offset = next; offset == res.HighWatermark {
					offset = 0
				}
			}
			reportPerRecord(b, records, before)
		})
	}
}

// behind is the offset after the last of some batches; without any it is from.
func behind(batches []byte, from int64) int64 {
	for len(batches) > 0 {
		h, _ := batch.Peek(batches)
		from, batches = h.LastOffset+1, batches[h.Size:]
	}
	return from
}
