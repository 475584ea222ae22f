package remote

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/korvet-io/korvet/internal/batch"
	"github.com/korvet-io/korvet/internal/iceberg/datafile"
	"github.com/korvet-io/korvet/internal/partition"
	"github.com/korvet-io/korvet/internal/record"
)

// hundred are records of about 100 bytes.
func hundred(o int64) datafile.Row {
	return datafile.Row{Record: record.Record{Offset: o, Timestamp: 1_700_000_000_000 + o/10, Key: fmt.Appendf(nil, "key-%d", o%1000),
		Value: fmt.Appendf(nil, `{"order":%d,"state":"paid","currency":"EUR","customer":"c-%d","lines":[{"sku":"A-%d","q":2}]}`, o, o*7919%10007, o%17)},
		AppendMs: 1_700_000_000_000 + o/100}
}

// asCopied is how the storage worker writes files.
var asCopied = datafile.Options{PageBytes: datafile.DefaultPageBytes, RowGroupBytes: 16 << 20, CreatedBy: "bench"}

// BenchmarkColdSequentialRead reads 100-byte records from file:// one after the other with an empty cache.
func BenchmarkColdSequentialRead(b *testing.B) {
	const n = 1_000_000
	g := newRig(b, DefaultReaderSettings())
	g.commit(g.write(span(0, n/2), hundred, asCopied), g.write(span(n/2, n), hundred, asCopied))
	count := 0
	for b.Loop() {
		r := NewReader(g.tier, DefaultReaderSettings(), nil)
		for from := int64(0); from < n; {
			bytes, err := 0, error(nil)
			from, err = r.Read(context.Background(), g.ref, partition.RemoteRead{From: from, End: n, Bytes: 1 << 20}, func(rec *record.Record, _ int64) bool {
				if bytes > 1<<20 {
					return false
				}
				bytes += len(rec.Key) + len(rec.Value)
				count++
				return true
			})
			if err != nil {
				b.Fatal(err)
			}
		}
	}
	b.ReportMetric(float64(count)/b.Elapsed().Seconds()/1000, "krecords/s")
}

// BenchmarkColdSeek reads the first record at an offset with empty caches: the file's index and a range of it. What files the
// table has is known.
func BenchmarkColdSeek(b *testing.B) {
	const n = 1_000_000
	g := newRig(b, DefaultReaderSettings())
	g.commit(g.write(span(0, n), hundred, asCopied))
	at, took := int64(0), []time.Duration{}
	for b.Loop() {
		r := NewReader(g.tier, DefaultReaderSettings(), nil)
		r.indexes = g.reader.indexes
		if _, err := r.known(context.Background(), g.ref); err != nil {
			b.Fatal(err)
		}
		at = (at + 777_777) % n
		began := time.Now()
		_, err := r.Read(context.Background(), g.ref, partition.RemoteRead{From: at, End: n, Bytes: 1 << 20}, func(*record.Record, int64) bool { return false })
		if err != nil {
			b.Fatal(err)
		}
		took = append(took, time.Since(began))
	}
	slices.Sort(took)
	b.ReportMetric(float64(took[len(took)/2].Microseconds()), "p50-µs")
	b.ReportMetric(float64(took[len(took)*99/100].Microseconds()), "p99-µs")
}

// BenchmarkColdConsume reads 100-byte records of file:// through a partition, which builds batches of them, a MiB at a time.
func BenchmarkColdConsume(b *testing.B) {
	const n = 1_000_000
	w := newWorld(b, DefaultReaderSettings())
	w.commit(w.write(span(0, n/2), hundred, asCopied), w.write(span(n/2, n), hundred, asCopied))
	w.redis.Do("HSET", w.keys.Leader, "topic", w.ref.TopicID())
	w.redis.Do("HSET", w.keys.Segments, "topic", w.ref.TopicID(), "local", fmt.Sprint(n), "tiered", fmt.Sprint(n)) // as after Redis was lost
	count := 0
	for b.Loop() {
		m := w.broker("1/a")
		for from := int64(0); from < n; {
			res, err := m.Read(context.Background(), w.ref, partition.ReadRequest{Offset: from, MaxBytes: 1 << 20, AtLeastOne: true}, nil)
			if err != nil || len(res.Batches) == 0 {
				b.Fatalf("read at %d: %d bytes, %v", from, len(res.Batches), err)
			}
			for rest := res.Batches; len(rest) > 0; {
				h, _ := batch.Peek(rest)
				from, rest = h.LastOffset+1, rest[h.Size:]
				count += int(h.Count)
			}
		}
	}
	b.ReportMetric(float64(count)/b.Elapsed().Seconds()/1000, "krecords/s")
}
