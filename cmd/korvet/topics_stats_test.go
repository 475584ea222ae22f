package main

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/korvet-io/korvet/internal/redistest"
)

// statsWorld is a broker whose topic orders has a partition of n records, one of n/2 and an empty one.
func statsWorld(t *testing.T, n int) (stats func(args ...string) (int, string, string), client *kgo.Client, redis *redistest.Server) {
	t.Helper()
	h := newHome(t)
	redis = redistest.Start(t)
	port := freePort(t)
	h.start(append(h.flags(port, freePort(t)), "--korvet.redis.uri="+redis.URI())...).says("serving Kafka clients")
	client, err := kgo.NewClient(kgo.SeedBrokers("127.0.0.1:"+port), kgo.RecordPartitioner(kgo.ManualPartitioner()))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(client.Close)
	if _, err := kadm.NewClient(client).CreateTopic(t.Context(), 3, 1, nil, "orders"); err != nil {
		t.Fatal(err)
	}
	var records []*kgo.Record
	for i := range n + n/2 {
		value := fmt.Sprintf(`{"event":"order_created","order":"o-%08d","customer":{"id":"customer-%05d","country":"DE"},"items":[{"sku":"SKU-%06d","quantity":%d}]}`, i*7919%100_000_000, i*104_729%100_000, i*15_485_863%1_000_000, i%9)
		records = append(records, &kgo.Record{Topic: "orders", Partition: int32(i / n), Key: fmt.Append(nil, "o-", i), Value: []byte(value), Headers: []kgo.RecordHeader{{Key: "trace", Value: []byte("x")}, {Key: "null"}}})
	}
	if err := client.ProduceSync(t.Context(), records...).FirstErr(); err != nil {
		t.Fatal(err)
	}
	return func(args ...string) (int, string, string) {
		return h.run(append([]string{"topics", "stats", "--bootstrap-server", "127.0.0.1:" + port}, args...)...)
	}, client, redis
}

func TestTopicsStatsMeasuresEveryCodecAndTheMemoryInRedis(t *testing.T) {
	stats, _, redis := statsWorld(t, 1000)
	code, out, stderr := stats("orders", "--records", "600", "--redis-uri", redis.URI(), "--no-interactive", "--json")
	var got topicStats
	if err := json.Unmarshal([]byte(out), &got); err != nil || code != 0 {
		t.Fatalf("exit %d, %v, said %s%s", code, err, out, stderr)
	}
	if got.Sampled != 600 || got.Offsets != 1500 || got.Partitions != 3 || len(got.Rows) != 6 || got.DictionaryBytes == 0 {
		t.Errorf("%+v", got)
	}
	none, best := got.Rows[0], got.Rows[5]
	if !none.Present || best.Name() != "zstd + dictionary" || best.RedisBytes >= none.RedisBytes || none.RedisBytes < got.ValueBytes || best.StoredBytes*2 > none.StoredBytes {
		t.Errorf("%+v", got.Rows)
	}
	code, out, _ = stats("orders", "--no-redis", "--partition", "1")
	for _, want := range []string{"topic orders: 500 records sampled, of 500 offsets", "none", "<- the topic's own", "recommended: zstd + dictionary"} {
		if code != 0 || !strings.Contains(out, want) {
			t.Errorf("exit %d, missing %q in\n%s", code, want, out)
		}
	}
	if keys := redis.Do("KEYS", "*scratch*"); strings.Contains(keys.String(), "scratch:") {
		t.Errorf("left in Redis: %s", keys.String())
	}
}

func TestTopicsStatsTellsWhatItCannotMeasure(t *testing.T) {
	stats, client, _ := statsWorld(t, 20)
	address := "127.0.0.1:" + freePort(t)
	code, out, stderr := stats("orders", "--redis-uri", "redis://"+address)
	if code != exitError || !strings.Contains(out, "recommended: ") || !strings.Contains(stderr, address) {
		t.Errorf("without Redis: exit %d, said %s%s", code, out, stderr)
	}
	if code, _, stderr := stats("missing", "--no-redis"); code != exitError || !strings.Contains(stderr, "there is no such topic") {
		t.Errorf("unknown topic: exit %d, said %s", code, stderr)
	}
	if code, _, stderr := stats("orders", "--no-redis", "--partition", "2"); code != exitError || !strings.Contains(stderr, "0 records of 0 offsets were read") {
		t.Errorf("empty partition: exit %d, said %s", code, stderr)
	}
	if err := client.ProduceSync(t.Context(), &kgo.Record{Topic: "orders", Partition: 2, Key: []byte("gone")}).FirstErr(); err != nil {
		t.Fatal(err)
	}
	if code, _, stderr := stats("orders", "--no-redis", "--partition", "2"); code != exitError || !strings.Contains(stderr, "none of the records has a value") {
		t.Errorf("tombstones alone: exit %d, said %s", code, stderr)
	}
	for _, line := range []string{"", "a b", "a --records 0", "a --records 100001"} {
		if code, _, stderr := stats(strings.Fields(line)...); code != exitUsage {
			t.Errorf("%q: exit %d, said %s", line, code, stderr)
		}
	}
}

func TestSamplesLieOverTheWholeLog(t *testing.T) {
	_, client, _ := statsWorld(t, 1000)
	consumer, err := openClient(t.Context(), strings.Join(client.OptValue(kgo.SeedBrokers).([]string), ","), "test")
	if err != nil {
		t.Fatal(err)
	}
	defer consumer.Close()
	partitions, err := sampledPartitions(t.Context(), kadm.NewClient(consumer), scope{topic: "orders", partitions: []int32{0}})
	if err != nil {
		t.Fatal(err)
	}
	shares(partitions, 50)
	s := sampler{client: consumer, topic: "orders"}
	if err := s.read(t.Context(), partitions); err != nil {
		t.Fatal(err)
	}
	var tenths [10]int
	for _, r := range s.taken {
		tenths[r.Offset/100]++
	}
	if tenths != [10]int{5, 5, 5, 5, 5, 5, 5, 5, 5, 5} {
		t.Errorf("of each tenth of the log were read %v", tenths)
	}
	if got, want := string(s.taken[0].Headers), "\x04\x0atrace\x02x\x08null\x01"; got != want {
		t.Errorf("headers %q, want %q", got, want)
	}
	cut, cancel := context.WithCancel(t.Context())
	cancel()
	if err := s.read(cut, partitions); err == nil {
		t.Error("it reads on after an interrupt")
	}
}

func TestSharesGoByLengthAndWindowsCoverThePartition(t *testing.T) {
	partitions := []sampledPartition{{number: 0, start: 10, end: 910}, {number: 1, start: 0, end: 100}, {number: 2, start: 5, end: 5}, {number: 3, start: 0, end: 1}}
	shares(partitions, 100)
	for i, want := range []int64{90, 10, 0, 1} {
		if partitions[i].wanted != want {
			t.Errorf("partition %d gives %d records, want %d", i, partitions[i].wanted, want)
		}
	}
	for _, p := range partitions {
		at, total := p.start, int64(0)
		for i := range int64(sampleRanges) {
			first, next, n := p.window(i)
			if n == 0 {
				continue
			}
			if first != at || n > next-first {
				t.Errorf("partition %d: window %d is %d records of %d to %d after %d", p.number, i, n, first, next, at)
			}
			at, total = next, total+n
		}
		if at != p.end && p.wanted > 0 || total != p.wanted {
			t.Errorf("partition %d: windows end at %d of %d with %d of %d records", p.number, at, p.end, total, p.wanted)
		}
	}
}
