package partition_test

import (
	"context"
	"fmt"
	"log/slog"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/korvet-io/korvet/internal/batch"
	"github.com/korvet-io/korvet/internal/partition"
	"github.com/korvet-io/korvet/internal/record"
	"github.com/korvet-io/korvet/internal/redisstream"
	"github.com/korvet-io/korvet/internal/redistest"
)

// silent is an observer that nobody asks.
type silent struct{}

func (silent) AppendDone(int, int, time.Duration, error)  {}
func (silent) ReadDone(string, int, time.Duration, error) {}
func (silent) Fenced(string)                              {}
func (silent) Truncated(partition.Ref, int64)             {}
func (silent) ValuesCompressed(partition.Ref, int, int)   {}
func (silent) ValueCorrupt(partition.Ref)                 {}

// fixture is a broker's partitions over a real Redis.
type fixture struct {
	*partition.Manager
	t     testing.TB
	shard *redisstream.Shard
}

func options(t testing.TB, s *redistest.Server) redisstream.Options {
	o, err := redisstream.ParseURI(s.URI())
	if err != nil {
		t.Fatal(err)
	}
	o.WriteConnections, o.ReadConnections = 2, 2
	o.DialTimeout, o.Breaker, o.OpenDuration = 2*time.Second, true, 30*time.Second
	return o
}

func newFixture(t testing.TB, s *redistest.Server, owner string, change func(*partition.Settings)) *fixture {
	return newBroker(t, s, owner, change, partition.Dependencies{})
}

// newBroker is newFixture with an observer or a replicator of the test's.
func newBroker(t testing.TB, s *redistest.Server, owner string, change func(*partition.Settings), d partition.Dependencies) *fixture {
	return newBrokerOn(t, redisstream.Open(options(t, s), slog.New(slog.DiscardHandler)), owner, change, d)
}

// newBrokerOn is newBroker with connections of the test's.
func newBrokerOn(t testing.TB, shard *redisstream.Shard, owner string, change func(*partition.Settings), d partition.Dependencies) *fixture {
	d.Log = slog.New(slog.DiscardHandler)
	if d.Shard == nil {
		d.Shard = shard
	}
	if d.Observer == nil {
		d.Observer = silent{}
	}
	settings := partition.DefaultSettings()
	settings.Owner = owner
	if change != nil {
		change(&settings)
	}
	m := partition.NewManager(settings, d)
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
		defer cancel()
		_ = m.Close(ctx) // a test that broke its Redis cannot close in order
		shard.Close()
	})
	return &fixture{Manager: m, t: t, shard: shard}
}

func newRef(topic string) partition.Ref {
	return partition.Ref{Topic: topic, ID: uuid.Must(uuid.NewV7()), Partition: 0}
}

// makeBatch builds a producer's batch of records with these values.
func makeBatch(t testing.TB, pid int64, epoch int16, seq int32, ts int64, values ...string) *batch.Batch {
	var b batch.Builder
	b.Reset(nil, batch.BuildOptions{})
	for i, v := range values {
		b.Put(&record.Record{Offset: int64(i), Timestamp: ts + int64(i), Value: []byte(v), Key: []byte("k")})
	}
	raw := b.Finish()
	if pid >= 0 {
		raw = withProducer(raw, pid, epoch, seq)
	}
	parsed, err := batch.Parse(raw, batch.Limits{})
	if err != nil {
		t.Fatalf("parse batch: %v", err)
	}
	return parsed
}

func withProducer(raw []byte, pid int64, epoch int16, seq int32) []byte {
	var rb kmsg.RecordBatch
	if err := rb.ReadFrom(raw); err != nil {
		panic(err)
	}
	rb.ProducerID, rb.ProducerEpoch, rb.FirstSequence = pid, epoch, seq
	out := rb.AppendTo(nil)
	return fixCRC(out)
}

type outcome struct {
	got partition.Appended
	err error
}

func (f *fixture) appendAsync(ref partition.Ref, b *batch.Batch, opt partition.AppendOptions) <-chan outcome {
	ch := make(chan outcome, 1)
	f.Append(ref, b, opt, func(a partition.Appended, err error) { ch <- outcome{a, err} })
	return ch
}

func (f *fixture) mustAppend(ref partition.Ref, values ...string) int64 {
	f.t.Helper()
	o := <-f.appendAsync(ref, makeBatch(f.t, -1, -1, -1, 1000, values...), partition.AppendOptions{AllReplicas: true})
	if o.err != nil {
		f.t.Fatalf("append: %v", o.err)
	}
	return o.got.BaseOffset
}

// readAll reads the log's records from an offset on, as text "offset=value".
func (f *fixture) readAll(ref partition.Ref, offset int64, maxBytes int) []string {
	f.t.Helper()
	var all []string
	for {
		res, err := f.Read(context.Background(), ref, partition.ReadRequest{Offset: offset, MaxBytes: maxBytes, AtLeastOne: true}, nil)
		if err != nil {
			f.t.Fatalf("read at %d: %v", offset, err)
		}
		if len(res.Batches) == 0 {
			return all
		}
		for rest := res.Batches; len(rest) > 0; {
			h, ok := batch.Peek(rest)
			if !ok {
				f.t.Fatal("a read gave a part of a batch")
			}
			for _, r := range records(f.t, rest[:h.Size]) {
				if r.Offset >= offset {
					all = append(all, fmt.Sprintf("%d=%s", r.Offset, r.Value))
				}
			}
			offset = h.LastOffset + 1
			rest = rest[h.Size:]
		}
	}
}

func TestAppendedRecordsAreReadFromCacheAndFromRedis(t *testing.T) {
	s := redistest.Start(t)
	f := newFixture(t, s, "1/a", nil)
	ref := newRef("orders")
	for i := range 10 {
		if got := f.mustAppend(ref, fmt.Sprint("v", 2*i), fmt.Sprint("v", 2*i+1)); got != int64(2*i) {
			t.Fatalf("batch %d got offset %d", i, got)
		}
	}
	want := []string{}
	for i := range 20 {
		want = append(want, fmt.Sprintf("%d=v%d", i, i))
	}
	cold := newFixture(t, s, "2/b", nil)
	for _, from := range []int64{0, 1, 7, 19, 20} {
		for name, reader := range map[string]*fixture{"cache": f, "redis": cold} {
			if got := reader.readAll(ref, from, 300); fmt.Sprint(got) != fmt.Sprint(want[from:]) {
				t.Errorf("from %d by %s: %v", from, name, got)
			}
		}
	}
	if v := s.Do("XLEN", "korvet:storage:local:orders:0"); func() int64 { n, _ := v.AsInt64(); return n }() != 20 {
		t.Error("the stream does not hold one entry per record")
	}
}
