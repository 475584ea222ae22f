package copying_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"syscall"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/compress/zstd"
	"github.com/redis/rueidis"

	"github.com/korvet-io/korvet/internal/iceberg/datafile"
	objectstore "github.com/korvet-io/korvet/internal/iceberg/store"
	"github.com/korvet-io/korvet/internal/iceberg/storetest"
	"github.com/korvet-io/korvet/internal/metadata"
	"github.com/korvet-io/korvet/internal/record"
	"github.com/korvet-io/korvet/internal/redisstream"
	"github.com/korvet-io/korvet/internal/redistest"
	"github.com/korvet-io/korvet/internal/topicconfig"
	"github.com/korvet-io/korvet/internal/worker/copying"
	"github.com/korvet-io/korvet/internal/worker/tick"
	"github.com/korvet-io/korvet/internal/worker/tiertest"
	"github.com/korvet-io/korvet/internal/worker/workertest"
)

// benchRecords are in each partition: a sealed segment of usual size.
const benchRecords = 500_000

// word makes values that compress about as JSON events do.
func benchValue(r *rand.Rand, dst []byte) []byte {
	dst = fmt.Appendf(dst[:0], `{"order":%d,"customer":%d,"state":"paid","currency":"EUR","sku":"A-%d","quantity":%d`, r.IntN(1<<30), r.IntN(1<<20), r.IntN(5000), r.IntN(10))
	for len(dst) < 99 {
		dst = append(dst, ' ')
	}
	return append(dst[:99], '}')
}

// fill puts a sealed segment of records of 100 bytes into a partition.
func fill(b *testing.B, client rueidis.Client, keys redisstream.Keys, id uuid.UUID) {
	b.Helper()
	do := func(args ...string) rueidis.Completed { return client.B().Arbitrary(args...).Build() }
	ms, r, value := time.Now().Add(-time.Hour).UnixMilli(), rand.New(rand.NewPCG(1, 2)), []byte(nil)
	var page rueidis.Commands
	for o := range benchRecords {
		value = benchValue(r, value)
		page = append(page, do("XADD", keys.Segment(0), fmt.Sprintf("%d-%d", ms+int64(o)/100, o), "value", string(value), "timestamp", fmt.Sprint(ms)))
		if len(page) == 5000 || o == benchRecords-1 {
			for _, answer := range client.DoMulti(b.Context(), page...) {
				if err := answer.Error(); err != nil {
					b.Fatal(err)
				}
			}
			page = page[:0]
		}
	}
	text := fmt.Sprintf("sealed 0 %d %d %d -1 %d", benchRecords-1, ms, ms+benchRecords/100, 150*benchRecords)
	for _, command := range []rueidis.Completed{
		do("HSET", keys.Leader, "topic", fmt.Sprintf("%x", id[:]), "owner", "1/x", "token", "T", "epoch", "0"),
		do("XGROUP", "CREATE", keys.Stream, "x", "0", "MKSTREAM"),
		do("XSETID", keys.Stream, fmt.Sprintf("%d-%d", ms+benchRecords, benchRecords-1)),
		do("HSET", keys.Segments, "open", "1", "sealed", fmt.Sprint(benchRecords-1), "s:0", text),
	} {
		if err := client.Do(b.Context(), command).Error(); err != nil {
			b.Fatal(err)
		}
	}
}

type ignored struct{}

func (ignored) FileArchived(time.Duration, error)                     {}
func (ignored) ArchiveTruncated(int64)                                {}
func (ignored) Archived(int, int64)                                   {}
func (ignored) ArchiveFailed(string)                                  {}
func (ignored) ArchiveLag(map[string]int64, map[string]time.Duration) {}
func (ignored) ArchiveLagOffsets(map[string]int64)                    {}

// BenchmarkCopy copies a sealed segment of records of 100 bytes from each partition into a table.
func BenchmarkCopy(b *testing.B) {
	server := redistest.Start(b)
	for _, kind := range []string{"file", "s3"} {
		for _, partitions := range []int32{1, 4} {
			b.Run(fmt.Sprintf("%s/partitions=%d", kind, partitions), func(b *testing.B) {
				root, plain := "file://"+b.TempDir(), objectstore.Store(nil)
				var err error
				if kind == "s3" {
					s3 := storetest.Start(b)
					root = s3.Location() + "/tables"
					plain, err = objectstore.Open(b.Context(), root, s3.Options(""))
				} else {
					plain, err = objectstore.Open(b.Context(), root, objectstore.S3{})
				}
				if err != nil {
					b.Fatal(err)
				}
				benchCopy(b, server, root, plain, partitions)
			})
		}
	}
}

func benchCopy(b *testing.B, server *redistest.Server, root string, plain objectstore.Store, partitions int32) {
	client := server.Client()
	if err := client.Do(b.Context(), client.B().Arbitrary("FLUSHALL").Build()).Error(); err != nil {
		b.Fatal(err)
	}
	schema, _ := topicconfig.New(topicconfig.Options{RemoteStorage: true})
	configs := map[string]string{"remote.storage.enable": "true"}
	topic := &metadata.Topic{Name: "bench", ID: uuid.Must(uuid.NewV7()), Partitions: partitions, Config: schema.Effective("bench", configs)}
	job := copying.Job{Topic: topic}
	for p := range partitions {
		t := tick.Target{Keys: redisstream.NewKeys("korvet", "bench", p), TopicID: fmt.Sprintf("%x", topic.ID[:]), Config: &topic.Config, Fence: 1}
		t.Ref.Topic, t.Ref.ID, t.Ref.Partition = "bench", topic.ID, p
		fill(b, client, t.Keys, topic.ID)
		job.Targets = append(job.Targets, t)
	}
	list := &tiertest.Registry{}
	shard := workertest.OpenShard(b, server.URI())
	if _, err := shard.Glances(b.Context(), []redisstream.Keys{job.Targets[0].Keys}); err != nil { // it knows its Redis from now on
		b.Fatal(err)
	}
	set := copying.Settings{RowGroupBytes: 16 << 20, TargetFileBytes: 128 << 20, Threads: 10, MaxValueBytes: 1 << 30}
	var before syscall.Rusage
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &before)
	for b.Loop() {
		list.List = nil
		list.Root = fmt.Sprintf("%s/%d", root, time.Now().UnixNano())
		c := copying.New(copying.Dependencies{
			Redis: shard, Tables: tiertest.Tables(b, root, list, plain), Settings: func() copying.Settings { return set }, Observer: ignored{},
			Log: slog.New(slog.DiscardHandler), Version: "bench",
		})
		j := job
		j.Targets = append([]tick.Target{}, job.Targets...)
		if more, err := c.Copy(context.Background(), &j); err != nil || !more {
			b.Fatalf("copied %v, %v", more, err)
		}
	}
	var after syscall.Rusage
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &after)
	cpu := float64(after.Utime.Nano() + after.Stime.Nano() - before.Utime.Nano() - before.Stime.Nano())
	b.ReportMetric(cpu/float64(benchRecords)/float64(partitions)/float64(b.N), "cpu-ns/record")
	b.ReportMetric(float64(benchRecords)*float64(partitions)*float64(b.N)/b.Elapsed().Seconds(), "records/s")
}

// BenchmarkEncode writes the same records as a data file, without Redis and without a store: as korvet does, and as parquet-go does
// when it is given rows of the same columns, what copying is compared with.
func BenchmarkEncode(b *testing.B) {
	r := rand.New(rand.NewPCG(1, 2))
	values := make([][]byte, 50_000)
	for i := range values {
		values[i] = bytes.Clone(benchValue(r, nil))
	}
	b.Run("korvet", func(b *testing.B) { benchEncode(b, values, korvetFile) })
	b.Run("parquet-go", func(b *testing.B) { benchEncode(b, values, plainFile) })
}

func benchEncode(b *testing.B, values [][]byte, write func(rows []datafile.Row) error) {
	rows := make([]datafile.Row, benchRecords)
	for o := range rows {
		rows[o] = datafile.Row{Record: record.Record{Offset: int64(o), Timestamp: 1e12, Value: values[o%len(values)]}, AppendMs: 1e12 + int64(o)/100}
	}
	for b.Loop() {
		if err := write(rows); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(benchRecords*float64(b.N)/b.Elapsed().Seconds(), "records/s")
}

func korvetFile(rows []datafile.Row) error {
	w := datafile.NewWriter(io.Discard, 0, datafile.Options{PageBytes: datafile.DefaultPageBytes, RowGroupBytes: 16 << 20, CreatedBy: "bench"})
	for i := range rows {
		if err := w.Write(&rows[i]); err != nil {
			return err
		}
	}
	_, err := w.Close()
	return err
}

// plainRow has the columns of a table.
type plainRow struct {
	Partition  int32  `parquet:"partition,delta,uncompressed"`
	Offset     int64  `parquet:"offset,delta,uncompressed"`
	Timestamp  int64  `parquet:"timestamp,delta,timestamp(microsecond:utc)"`
	AppendTime int64  `parquet:"append_time,delta,timestamp(microsecond:utc)"`
	Key        []byte `parquet:"key,optional"`
	Value      []byte `parquet:"value,optional"`
	Headers    []*struct {
		Key   string `parquet:"key"`
		Value []byte `parquet:"value,optional"`
	} `parquet:"headers,optional,list" parquet-element:",optional"`
}

func plainFile(rows []datafile.Row) error {
	w := parquet.NewGenericWriter[plainRow](io.Discard,
		parquet.Compression(&zstd.Codec{Level: zstd.SpeedFastest}), parquet.PageBufferSize(datafile.DefaultPageBytes), parquet.DataPageStatistics(false),
		parquet.SkipPageBounds("key"), parquet.SkipPageBounds("value"))
	some := make([]plainRow, 0, 512)
	raw := 0
	for i := range rows {
		r := &rows[i]
		some = append(some, plainRow{Offset: r.Offset, Timestamp: datafile.Micros(r.Timestamp), AppendTime: datafile.Micros(r.AppendMs), Key: r.Key, Value: r.Value})
		if len(some) == cap(some) || i == len(rows)-1 {
			if _, err := w.Write(some); err != nil {
				return err
			}
			some = some[:0]
		}
		if raw += len(r.Value); raw >= 16<<20 {
			raw = 0
			if err := w.Flush(); err != nil {
				return err
			}
		}
	}
	return w.Close()
}
