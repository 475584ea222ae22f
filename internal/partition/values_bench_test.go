package partition_test

import (
	"bytes"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/korvet-io/korvet/internal/batch"
	"github.com/korvet-io/korvet/internal/compress"
	"github.com/korvet-io/korvet/internal/dictionary"
	"github.com/korvet-io/korvet/internal/partition"
	"github.com/korvet-io/korvet/internal/record"
	"github.com/korvet-io/korvet/internal/redisstream"
	"github.com/korvet-io/korvet/internal/redistest"
)

// jsonRaw is a batch of events of about 1 KiB whose names repeat and whose numbers do not.
func jsonRaw() []byte {
	var builder batch.Builder
	builder.Reset(nil, batch.BuildOptions{})
	for i := range benchBatch {
		value := fmt.Appendf(nil, `{"order":%d,"customer":"c-%06d","items":[`, 7_000_000+i, i*7919%1_000_000)
		for k := 0; len(value) < 900; k++ {
			value = fmt.Appendf(value, `{"sku":"SKU-%05d","name":"desk lamp","quantity":%d,"price":%d.%02d,"warehouse":"Berlin"},`, (i*31+k*977)%5000, k%9, i%200, k*13%100)
		}
		builder.Put(&record.Record{Offset: int64(i), Timestamp: 1_700_000_000_000, Value: append(value, "{}]}"...)})
	}
	return builder.Finish()
}

// counted is an observer that tells when a dictionary was trained.
type counted struct{ trained chan string }

func (c counted) DictionaryTrained(result string) { c.trained <- result }

// zstdFixture is a broker that has trained a dictionary for ref, unless values are plain.
func zstdFixture(b *testing.B, ref partition.Ref, raw []byte, values partition.Values) *fixture {
	b.Helper()
	s := redistest.Start(b)
	shard := redisstream.Open(options(b, s), slog.New(slog.DiscardHandler))
	c := counted{make(chan string, 1)}
	r := dictionary.New(dictionary.DefaultSettings(), dictionary.Dependencies{
		Store: shard, Observer: c, Log: slog.New(slog.DiscardHandler), Now: time.Now, Alive: func(string, string) bool { return true },
	})
	go r.Run(b.Context())
	f := newBrokerOn(b, shard, "1/a", func(s *partition.Settings) { s.TailCacheBytes = 0 }, partition.Dependencies{Dictionaries: r})
	topic := r.Topic(ref.Topic, strings.ReplaceAll(ref.ID.String(), "-", ""))
	redistest.Eventually(b, "the dictionary to be in force", func() bool {
		parsed, err := batch.Parse(bytes.Clone(raw), batch.Limits{})
		if err != nil {
			b.Fatal(err)
		}
		if o := f.produce(ref, parsed, partition.AppendOptions{Values: values}); o.err != nil {
			b.Fatal(o.err)
		}
		return !values.Dictionary || topic.Current(shard.Identity()) != nil
	})
	return f
}

var atRest = map[string]partition.Values{
	"none":            {},
	"zstd+dictionary": {Codec: compress.Zstd, Dictionary: true},
	"lz4":             {Codec: compress.LZ4},
}

// BenchmarkAppendValues appends batches of 1,000 JSON records of 1 KiB, four waiting at a time.
func BenchmarkAppendValues(b *testing.B) {
	raw := jsonRaw()
	for name, values := range atRest {
		b.Run(name, func(b *testing.B) {
			ref := newRef("bench")
			f := zstdFixture(b, ref, raw, values)
			tokens := make(chan error, 4)
			for range cap(tokens) {
				tokens <- nil
			}
			before := cpu()
			for b.Loop() {
				if err := <-tokens; err != nil {
					b.Fatal(err)
				}
				parsed, err := batch.Parse(bytes.Clone(raw), batch.Limits{})
				if err != nil {
					b.Fatal(err)
				}
				f.Append(ref, parsed, partition.AppendOptions{Values: values}, func(_ partition.Appended, err error) { tokens <- err })
			}
			for range cap(tokens) {
				<-tokens
			}
			reportPerRecord(b, b.N*benchBatch, before)
		})
	}
}

// BenchmarkReadValues reads what is in Redis only, a mebibyte at a time.
func BenchmarkReadValues(b *testing.B) {
	raw := jsonRaw()
	for name, values := range atRest {
		b.Run(name, func(b *testing.B) {
			ref := newRef("bench")
			f := zstdFixture(b, ref, raw, values)
			for range 50 {
				parsed, err := batch.Parse(bytes.Clone(raw), batch.Limits{})
				if err != nil {
					b.Fatal(err)
				}
				if o := f.produce(ref, parsed, partition.AppendOptions{Values: values}); o.err != nil {
					b.Fatal(o.err)
				}
			}
			end := f.bounds(ref).HighWatermark
			from := end - 50*benchBatch
			var dst []byte
			read, next, before := 0, from, cpu()
			for b.Loop() {
				res, err := f.Read(b.Context(), ref, partition.ReadRequest{Offset: next, MaxBytes: 1 << 20, AtLeastOne: true, Values: values}, dst[:0])
				if err != nil {
					b.Fatal(err)
				}
				dst = res.Batches
				last := behind(dst, next)
				read += int(last - next)
				if next = last; next >= end {
					next = from
				}
			}
			reportPerRecord(b, read, before)
		})
	}
}
