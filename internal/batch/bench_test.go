package batch

import (
	"bytes"
	"fmt"
	"testing"

	"github.com/korvet-io/korvet/internal/record"
)

// benchRecords is how many records a batch of the benchmarks has. ns/op is for one batch, ns/record for one record.
const benchRecords = 1000

func benchBatch(codec Codec, valueSize int) []byte {
	records := make([]record.Record, benchRecords)
	for i := range records {
		value := bytes.Repeat([]byte(fmt.Sprintf("%08d", i*7919)), valueSize/8+1)[:valueSize]
		records[i] = record.Record{Offset: int64(i), Timestamp: 1_700_000_000_000 + int64(i), Value: value}
	}
	return build(records, BuildOptions{LeaderEpoch: -1, Codec: codec})
}

func reportPerRecord(b *testing.B) {
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/benchRecords, "ns/record")
	b.ReportAllocs()
}

func benchmarkParse(b *testing.B, valueSize int) {
	for _, codec := range allCodecs {
		b.Run(codec.String(), func(b *testing.B) {
			raw := benchBatch(codec, valueSize)
			for b.Loop() {
				batch, err := Parse(raw, Limits{})
				if err != nil {
					b.Fatal(err)
				}
				batch.Release()
			}
			reportPerRecord(b)
		})
	}
}

func BenchmarkParse100B(b *testing.B) { benchmarkParse(b, 100) }
func BenchmarkParse1KiB(b *testing.B) { benchmarkParse(b, 1024) }

func BenchmarkCursor(b *testing.B) {
	batch, err := Parse(benchBatch(None, 100), Limits{})
	if err != nil {
		b.Fatal(err)
	}
	var c Cursor
	var r record.Record
	for b.Loop() {
		c.Reset(batch)
		for c.Next(&r) {
		}
	}
	reportPerRecord(b)
}

func benchmarkBuilder(b *testing.B, valueSize int) {
	for _, codec := range allCodecs {
		b.Run(codec.String(), func(b *testing.B) {
			batch, err := Parse(benchBatch(None, valueSize), Limits{})
			if err != nil {
				b.Fatal(err)
			}
			records := readAllRecords(batch)
			dst := make([]byte, 0, 2*len(batch.Raw))
			var builder Builder
			for b.Loop() {
				builder.Reset(dst, BuildOptions{Codec: codec})
				for i := range records {
					builder.Put(&records[i])
				}
				builder.Finish()
			}
			reportPerRecord(b)
		})
	}
}

func BenchmarkBuilder100B(b *testing.B) { benchmarkBuilder(b, 100) }
func BenchmarkBuilder1KiB(b *testing.B) { benchmarkBuilder(b, 1024) }

func BenchmarkConvert(b *testing.B) {
	for _, codec := range []Codec{None, Gzip, LZ4} {
		b.Run(codec.String(), func(b *testing.B) {
			set := bytes.Repeat(messageV1(0, 1_700_000_000_000, None, nil, make([]byte, 100)), benchRecords)
			if codec != None {
				set = messageV1(0, 1_700_000_000_000, codec, nil, codec.compress(nil, set, DefaultLevel))
			}
			for b.Loop() {
				batch, err := Convert(set, Limits{})
				if err != nil {
					b.Fatal(err)
				}
				batch.Release()
			}
			reportPerRecord(b)
		})
	}
}
