package app

import (
	"context"
	"io"
	"log/slog"
	"net"
	"net/http"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/korvet-io/korvet/internal/config"
	"github.com/korvet-io/korvet/internal/redistest"
)

const patience = 30 * time.Second

// load returns settings for a broker on loopback and free ports.
func load(t *testing.T, flags ...string) *config.Config {
	t.Helper()
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	c, _, err := config.Load(config.Sources{NoFile: true, Flags: append([]string{
		"--korvet.broker.host=127.0.0.1", "--korvet.broker.port=0", "--korvet.http.host=127.0.0.1", "--korvet.http.port=0",
	}, flags...)})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func start(t *testing.T, c *config.Config) *Broker {
	t.Helper()
	return startLogging(t, c, slog.DiscardHandler)
}

func startLogging(t *testing.T, c *config.Config, log slog.Handler) *Broker {
	t.Helper()
	b, err := Start(t.Context(), Options{Config: c, Version: "test", Log: slog.New(log), Out: io.Discard})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(b.Stop)
	select {
	case <-b.Ready():
	case err := <-b.Failed():
		t.Fatal(err)
	case <-time.After(patience):
		t.Fatalf("not ready: %v", b.notReady())
	}
	return b
}

func client(t *testing.T, b *Broker) *kgo.Client {
	t.Helper()
	c, err := kgo.NewClient(kgo.SeedBrokers(b.KafkaAddr()), kgo.AllowAutoTopicCreation())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c
}

func produce(t *testing.T, c *kgo.Client, topic, value string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	if err := c.ProduceSync(ctx, &kgo.Record{Topic: topic, Value: []byte(value)}).FirstErr(); err != nil {
		t.Fatalf("produce: %v", err)
	}
}

func get(t *testing.T, b *Broker, path string) string {
	t.Helper()
	resp, err := http.Get("http://" + b.HTTPAddr() + path)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return string(body)
}

func eventually(t *testing.T, what string, condition func() bool) {
	t.Helper()
	for deadline := time.Now().Add(patience); !condition(); time.Sleep(2 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("waited for %s", what)
		}
	}
}

// noRedis makes the default place one where nothing answers.
func noRedis(t *testing.T, c *config.Config) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	c.Redis.Host, c.Redis.Port = "127.0.0.1", l.Addr().(*net.TCPAddr).Port
	_ = l.Close()
	c.Redis.DataDir = filepath.Join(t.TempDir(), "data")
}

func TestWithoutAnyRedisTheBrokerRunsItsOwnAndGoesOnWithItsData(t *testing.T) {
	c := load(t)
	noRedis(t, c)
	for run := range 2 {
		b := start(t, c)
		if b.child == nil {
			t.Fatal("there is no child")
		}
		produce(t, client(t, b), "t", "v")
		ends, err := kadm.NewClient(client(t, b)).ListEndOffsets(t.Context(), "t")
		if end, ok := ends.Lookup("t", 0); err != nil || !ok || end.Offset != int64(run+1) {
			t.Errorf("run %d: log end %d, %v", run, end.Offset, err)
		}
		b.Stop()
		if answersRedis(t.Context(), b.child.Addr()) {
			t.Error("the child lives after Stop")
		}
	}
}

func TestARedisAtTheDefaultPlaceIsUsedWhenNoneIsNamed(t *testing.T) {
	redis := redistest.Start(t)
	c := load(t)
	noRedis(t, c)
	c.Redis.Port, c.Messages.Host, c.Messages.Port = redis.Port, "127.0.0.1", redis.Port
	b := start(t, c)
	if b.child != nil || b.RedisAddr() != redis.Addr() {
		t.Errorf("it uses %s, child %v", b.RedisAddr(), b.child != nil)
	}
}

func TestMessagesAndMetadataMayLiveInTwoRedisServers(t *testing.T) {
	metadata, messages := redistest.Start(t), redistest.Start(t)
	b := start(t, load(t, "--korvet.redis.uri="+metadata.URI(), "--korvet.storage.local.redis.uri="+messages.URI()))
	produce(t, client(t, b), "t", "v")
	for key, server := range map[string]*redistest.Server{"korvet:topics": metadata, "korvet:storage:local:t:0": messages} {
		m := server.Do("EXISTS", key)
		if n, err := m.AsInt64(); err != nil || n != 1 {
			t.Errorf("%s is not where it belongs: %d, %v", key, n, err)
		}
	}
}

func TestMessagesOfAnotherClusterAreRefused(t *testing.T) {
	messages := redistest.Start(t)
	for i, want := range []bool{true, false} {
		c := load(t, "--korvet.redis.uri="+redistest.Start(t).URI(), "--korvet.storage.local.redis.uri="+messages.URI())
		b, err := Start(t.Context(), Options{Config: c, Log: slog.New(slog.DiscardHandler), Out: io.Discard})
		if err != nil {
			t.Fatal(err)
		}
		select {
		case <-b.Ready():
			if !want {
				t.Errorf("cluster %d is served from another one's messages", i)
			}
		case err := <-b.Failed():
			if want || !strings.Contains(err.Error(), "belongs to cluster") {
				t.Errorf("cluster %d: %v", i, err)
			}
		case <-time.After(patience):
			t.Fatalf("cluster %d: neither ready nor failed", i)
		}
		b.Stop()
	}
}

func TestMetricsFollowTopics(t *testing.T) {
	b := start(t, load(t, "--korvet.redis.uri="+redistest.Start(t).URI()))
	c := client(t, b)
	produce(t, c, "orders", "v")
	for _, want := range []string{
		`korvet_broker_produce_records_total{topic="orders"} 1`, `korvet_broker_max_offset{partition="0",topic="orders"} 0`, "korvet_broker_up 1", "korvet_redis_up 1",
		`korvet_storage_write_messages_total 1`,
	} {
		eventually(t, want, func() bool { return strings.Contains(get(t, b, "/metrics"), want) })
	}
	if _, err := kadm.NewClient(c).DeleteTopic(t.Context(), "orders"); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the series of the deleted topic to vanish", func() bool { return !strings.Contains(get(t, b, "/metrics"), `topic="orders"`) })
}

func TestReadinessFollowsRedis(t *testing.T) {
	redis := redistest.Start(t)
	b := start(t, load(t, "--korvet.redis.uri="+redis.URI(), "--korvet.broker.heartbeat-interval=100ms"))
	redis.Kill()
	eventually(t, "the reason", func() bool { return strings.Contains(get(t, b, "/readyz"), "is away") })
	redis.Restart()
	eventually(t, "readiness", func() bool { return get(t, b, "/readyz") == "ok\n" })
}

func TestStopAnswersEveryProduceThatItAppended(t *testing.T) {
	redis := redistest.Start(t)
	b := start(t, load(t, "--korvet.redis.uri="+redis.URI()))
	c, err := kgo.NewClient(kgo.SeedBrokers(b.KafkaAddr()), kgo.AllowAutoTopicCreation(), kgo.MaxBufferedRecords(1000), kgo.ProducerBatchMaxBytes(2000))
	if err != nil {
		t.Fatal(err)
	}
	const records = 900
	acked := make(chan bool, records)
	for i := range records {
		c.TryProduce(t.Context(), &kgo.Record{Topic: "t", Value: []byte(strconv.Itoa(i))}, func(_ *kgo.Record, err error) { acked <- err == nil })
	}
	got := int64(0)
	count := func(ok bool) {
		if ok {
			got++
		}
	}
	count(<-acked) // the others are on their way, or still in the client
	b.Stop()
	c.Close()
	for range records - 1 {
		count(<-acked)
	}
	again := start(t, load(t, "--korvet.redis.uri="+redis.URI()))
	ends, err := kadm.NewClient(client(t, again)).ListEndOffsets(t.Context(), "t")
	if end, ok := ends.Lookup("t", 0); err != nil || !ok || end.Offset != got {
		t.Errorf("%d records are in the log, %v; %d were acknowledged", end.Offset, err, got)
	}
}

func TestASecondStopChangesNothing(t *testing.T) {
	b := start(t, load(t, "--korvet.redis.uri="+redistest.Start(t).URI()))
	b.Stop()
	b.Stop()
}
