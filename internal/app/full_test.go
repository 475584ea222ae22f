package app

import (
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/korvet-io/korvet/internal/redistest"
)

// info reads one number of Redis's INFO; 0 when it is not there.
func info(t *testing.T, redis *redistest.Server, section, field string) int64 {
	t.Helper()
	m := redis.Do("INFO", section)
	text, err := m.ToString()
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(text, field)
	end := strings.IndexFunc(rest, func(c rune) bool { return c < '0' || c > '9' })
	if end <= 0 {
		return 0
	}
	n, err := strconv.ParseInt(rest[:end], 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

func used(t *testing.T, redis *redistest.Server) int64 {
	return info(t, redis, "memory", "used_memory:")
}

func refusedWrites(t *testing.T, redis *redistest.Server) int64 {
	return info(t, redis, "errorstats", "errorstat_OOM:count=")
}

func setMemory(t *testing.T, redis *redistest.Server, bytes int64) {
	t.Helper()
	redis.Do("CONFIG", "SET", "maxmemory", strconv.FormatInt(bytes, 10))
}

// numbered produces records whose values begin with their number, the offset that each must get.
type numbered struct {
	client *kgo.Client
	next   int
}

func (n *numbered) send(t *testing.T, count int) {
	t.Helper()
	records := make([]*kgo.Record, count)
	for i := range records {
		records[i] = &kgo.Record{Topic: "t", Value: fmt.Appendf(nil, "%d %s", n.next+i, strings.Repeat("v", 1000))}
	}
	for i, r := range n.client.ProduceSync(t.Context(), records...) {
		if r.Err != nil {
			t.Fatalf("produce: %v", r.Err)
		}
		if r.Record.Offset != int64(n.next+i) {
			t.Fatalf("record %d is at offset %d: a gap or a duplicate", n.next+i, r.Record.Offset)
		}
	}
	n.next += count
}

// checkLog reads all that is in the log: each record at the offset that is its number, and none missing.
func checkLog(t *testing.T, b *Broker, end int) {
	t.Helper()
	from := startOffset(t, client(t, b), "t")
	c, err := kgo.NewClient(kgo.SeedBrokers(b.KafkaAddr()), kgo.ConsumePartitions(map[string]map[int32]kgo.Offset{"t": {0: kgo.NewOffset().At(from)}}))
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	for want := from; want < int64(end); {
		fetches := c.PollFetches(t.Context())
		if err := fetches.Err(); err != nil {
			t.Fatal(err)
		}
		fetches.EachRecord(func(r *kgo.Record) {
			number, _, _ := strings.Cut(string(r.Value), " ")
			if r.Offset != want || number != strconv.FormatInt(want, 10) {
				t.Fatalf("offset %d has record %s, want %d", r.Offset, number, want)
			}
			want++
		})
	}
}

// The next tick of the worker is an hour away: only the refusals wake it, or its own look whether Redis is full.
func fullWorld(t *testing.T, configs map[string]string, flags ...string) (*redistest.Server, *Broker, *numbered) {
	t.Helper()
	redis := redistest.Start(t)
	b := start(t, load(t, append([]string{
		"--korvet.redis.uri=" + redis.URI(), "--korvet.storage.worker.tick-interval=1h", "--korvet.storage.worker.lease-duration=2h",
	}, flags...)...))
	n := &numbered{client: client(t, b)}
	pointers := map[string]*string{}
	for name, value := range configs {
		pointers[name] = kadm.StringPtr(value)
	}
	createTopic(t, n.client, "t", pointers)
	n.send(t, 100)
	return redis, b, n
}

func TestFullRedisRecoversByRetentionBytesWithoutGapOrDuplicate(t *testing.T) {
	redis, b, n := fullWorld(t, map[string]string{"retention.bytes": "5000000", "segment.bytes": "-1"})
	setMemory(t, redis, used(t, redis)+20<<20)
	for n.next < 45_000 { // twice what fits
		n.send(t, 500)
	}
	if refusedWrites(t, redis) == 0 {
		t.Fatal("Redis refused nothing: the test shows nothing")
	}
	checkLog(t, b, n.next)
}

func TestFullRedisRecoversByRetentionTime(t *testing.T) {
	redis, b, n := fullWorld(t, map[string]string{"retention.ms": "2000", "segment.bytes": "1048576"})
	setMemory(t, redis, used(t, redis)+20<<20)
	for n.next < 30_000 || refusedWrites(t, redis) == 0 {
		n.send(t, 500)
	}
	checkLog(t, b, n.next)
}

func TestMaxmemoryLoweredWhileRunningIsMet(t *testing.T) {
	redis, b, n := fullWorld(t, map[string]string{"retention.bytes": "3000000", "segment.bytes": "-1"})
	n.send(t, 15_000)
	limit := used(t, redis) - 8<<20
	setMemory(t, redis, limit)
	redistest.Eventually(t, "the worker to free memory by itself", func() bool { return used(t, redis) < limit })
	n.send(t, 500)
	checkLog(t, b, n.next)
}

func TestConsumersReadOnFromAFullRedisInWhichNothingCanGo(t *testing.T) {
	redis, b, n := fullWorld(t, map[string]string{"segment.bytes": "-1"})
	n.send(t, 10_000)
	setMemory(t, redis, used(t, redis)-4<<20)
	ctx := t.Context()
	refused := make(chan error, 1)
	impatient, err := kgo.NewClient(kgo.SeedBrokers(b.KafkaAddr()), kgo.RecordDeliveryTimeout(time.Second))
	if err != nil {
		t.Fatal(err)
	}
	defer impatient.Close()
	go func() {
		refused <- impatient.ProduceSync(ctx, &kgo.Record{Topic: "t", Value: []byte("refused")}).FirstErr()
	}()
	checkLog(t, b, n.next)
	if err := <-refused; err == nil {
		t.Error("a record was accepted by a full Redis")
	}
	setMemory(t, redis, 0)
	n.send(t, 500)
	checkLog(t, b, n.next)
}
