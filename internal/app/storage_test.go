package app

import (
	"log/slog"
	"net/http"
	"testing"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/korvet-io/korvet/internal/config"
	"github.com/korvet-io/korvet/internal/redisstream"
	"github.com/korvet-io/korvet/internal/redistest"
)

func createTopic(t *testing.T, c *kgo.Client, topic string, configs map[string]*string) {
	t.Helper()
	if _, err := kadm.NewClient(c).CreateTopic(t.Context(), 1, 1, configs, topic); err != nil {
		t.Fatalf("create topic: %v", err)
	}
}

func startOffset(t *testing.T, c *kgo.Client, topic string) int64 {
	t.Helper()
	offsets, err := kadm.NewClient(c).ListStartOffsets(t.Context(), topic)
	if err != nil {
		t.Fatalf("list offsets: %v", err)
	}
	o, _ := offsets.Lookup(topic, 0)
	return o.Offset
}

func TestWorkerAloneKeepsRetentionForBrokersWithout(t *testing.T) {
	redis := redistest.Start(t)
	broker := start(t, load(t, "--korvet.redis.uri="+redis.URI(), "--korvet.storage.worker.enabled=false"))
	c := client(t, broker)
	createTopic(t, c, "t", map[string]*string{"retention.bytes": kadm.StringPtr("100000"), "segment.bytes": kadm.StringPtr("-1")})
	(&numbered{client: c}).send(t, 1000)
	worker := start(t, load(t, "--korvet.redis.uri="+redis.URI(), "--korvet.broker.enabled=false"))
	redistest.Eventually(t, "the log start to rise", func() bool {
		m := redis.Do("HGET", "korvet:storage:segments:{korvet:storage:local:t:0}", "start")
		start, _ := m.AsInt64() // nothing before it rises
		return start > 850
	})
	for _, path := range []string{"/livez", "/readyz", "/metrics"} {
		r, err := http.Get("http://" + worker.HTTPAddr() + path)
		if err != nil || r.StatusCode != http.StatusOK {
			t.Errorf("%s: %v, %v", path, r, err)
			continue
		}
		_ = r.Body.Close()
	}
	meta, err := kadm.NewClient(c).BrokerMetadata(t.Context())
	if err != nil || len(meta.Brokers) != 1 {
		t.Errorf("brokers %v, %v, want the one that is a broker", meta.Brokers, err)
	}
}

func TestDeleteRecordsWakesTheWorker(t *testing.T) {
	redis := redistest.Start(t)
	b := start(t, load(t, "--korvet.redis.uri="+redis.URI(), "--korvet.storage.worker.tick-interval=1h", "--korvet.storage.worker.lease-duration=2h"))
	n := &numbered{client: client(t, b)}
	createTopic(t, n.client, "t", nil)
	n.send(t, 100)
	keys := redisstream.NewKeys("korvet", "t", 0)
	id := redis.Do("HGET", keys.Leader, "topic")
	topic, err := id.ToString()
	if err != nil {
		t.Fatal(err)
	}
	o, err := streamOptions(b.Redis(), config.Storage{WriteConnections: 1})
	if err != nil {
		t.Fatal(err)
	}
	shard := redisstream.Open(o, slog.New(slog.DiscardHandler))
	defer shard.Close()
	if _, rolled, err := shard.Roll(t.Context(), keys, redisstream.Claim{TopicID: topic, Fence: 1}, 0); err != nil || !rolled {
		t.Fatalf("rolled: %v, %v", rolled, err)
	}
	n.send(t, 10)
	var upTo kadm.Offsets
	upTo.AddOffset("t", 0, 105, -1)
	if _, err := kadm.NewClient(n.client).DeleteRecords(t.Context(), upTo); err != nil {
		t.Fatal(err)
	}
	redistest.Eventually(t, "the sealed segment to go", func() bool {
		m := redis.Do("EXISTS", keys.Segment(0))
		there, err := m.AsInt64()
		return err == nil && there == 0
	})
	checkLog(t, b, n.next)
}
