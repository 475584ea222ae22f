// Package atrest holds tests of values at rest through the whole program: what they take in Redis, and that people read
// them with the codecs' own tools.
package atrest

import (
	"fmt"
	"strconv"
	"testing"

	"github.com/redis/rueidis"
	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/korvet-io/korvet/internal/redistest"
	"github.com/korvet-io/korvet/test/harness"
)

// start runs a broker and gives clients of it and of its Redis.
func start(t *testing.T, args ...string) (*harness.Broker, *kgo.Client, rueidis.Client) {
	t.Helper()
	redis := redistest.Start(t)
	b := harness.Start(t, harness.Options{Own: true, Redis: redis, Args: args})
	client, err := kgo.NewClient(kgo.SeedBrokers(b.Addr), kgo.RecordPartitioner(kgo.ManualPartitioner()))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(client.Close)
	return b, client, redis.Client()
}

// create makes a topic of one partition that is one stream.
func create(t *testing.T, client *kgo.Client, topic, codec string, more ...string) {
	t.Helper()
	configs := map[string]*string{"storage.compression.type": &codec, "segment.bytes": kadm.StringPtr("-1")}
	for i := 0; i < len(more); i += 2 {
		configs[more[i]] = &more[i+1]
	}
	r, err := kadm.NewClient(client).CreateTopic(t.Context(), 1, 1, configs, topic)
	if err != nil || r.Err != nil {
		t.Fatalf("create %s: %v, %v, %s", topic, err, r.Err, r.ErrMessage)
	}
}

func produce(t *testing.T, client *kgo.Client, topic string, from, to, size int) {
	t.Helper()
	var records []*kgo.Record
	for n := from; n < to; n++ {
		records = append(records, &kgo.Record{Topic: topic, Key: fmt.Appendf(nil, "key-%06d", n), Value: payload(n, size)})
	}
	if err := client.ProduceSync(t.Context(), records...).FirstErr(); err != nil {
		t.Fatalf("produce to %s: %v", topic, err)
	}
}

func do(t *testing.T, redis rueidis.Client, words ...string) rueidis.RedisResult {
	t.Helper()
	return redis.Do(t.Context(), redis.B().Arbitrary(words...).Build())
}

func usage(t *testing.T, redis rueidis.Client, key string) int64 {
	t.Helper()
	n, err := do(t, redis, "MEMORY", "USAGE", key, "SAMPLES", "0").AsInt64()
	if err != nil {
		t.Fatalf("measure %s: %v", key, err)
	}
	return n
}

// train produces what a dictionary is trained on, and waits until records of the topic use it.
func train(t *testing.T, client *kgo.Client, redis rueidis.Client, topic string, size int) {
	t.Helper()
	n := 100_000
	redistest.Eventually(t, "the broker to know that there is no dictionary, and then to use one", func() bool {
		produce(t, client, topic, n, n+200, size)
		n += 200
		used, err := do(t, redis, "HEXISTS", "korvet:storage:zdict:{korvet:storage:local:"+topic+":0}", "1").AsInt64()
		return err == nil && used == 1
	})
}

// records is how many each size is measured with.
const records = 2000

// What structured JSON takes in Redis, key and timestamp included, once the dictionary is trained: the bounds are those of
// docs/compression.md.
func TestMemoryPerRecordOfStructuredJSON(t *testing.T) {
	_, client, redis := start(t)
	for _, c := range []struct{ size, most int64 }{{240, 125}, {512, 173}, {1024, 270}, {2048, 424}, {4096, 768}, {6144, 1023}} {
		plain, packed := fmt.Sprint("plain-", c.size), fmt.Sprint("packed-", c.size)
		create(t, client, plain, "none")
		create(t, client, packed, "zstd")
		train(t, client, redis, packed, int(c.size))
		if _, err := do(t, redis, "XTRIM", "korvet:storage:local:"+packed+":0", "MAXLEN", "0").AsInt64(); err != nil {
			t.Fatal(err)
		}
		empty := usage(t, redis, "korvet:storage:local:"+packed+":0")
		produce(t, client, plain, 0, records, int(c.size))
		produce(t, client, packed, 0, records, int(c.size))
		none := usage(t, redis, "korvet:storage:local:"+plain+":0") / records
		with := (usage(t, redis, "korvet:storage:local:"+packed+":0") - empty) / records
		t.Logf("%d B (%d): none %d B, zstd with dictionary %d B, %.1fx", c.size, len(payload(1, int(c.size))), none, with, float64(none)/float64(with))
		if with > c.most {
			t.Errorf("%d B: %d B a record with the dictionary, want at most %d", c.size, with, c.most)
		}
	}
}

// consume reads a topic's first partition from an offset to an end.
func consume(t *testing.T, b *harness.Broker, topic string, from, to int64) []*kgo.Record {
	t.Helper()
	client, err := kgo.NewClient(kgo.SeedBrokers(b.Addr), kgo.ConsumePartitions(map[string]map[int32]kgo.Offset{topic: {0: kgo.NewOffset().At(from)}}))
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	var list []*kgo.Record
	for int64(len(list)) < to-from {
		fetched := client.PollFetches(t.Context())
		for _, e := range fetched.Errors() {
			t.Fatalf("consume %s-%s: %v", topic, strconv.Itoa(int(e.Partition)), e.Err)
		}
		list = append(list, fetched.Records()...)
	}
	return list
}
