package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/korvet-io/korvet/internal/redistest"
)

// tiered is a broker with a remote tier in a directory.
type tiered struct {
	home
	redis       *redistest.Server
	kafka, http string
	dir         string
	settings    []string
}

func newTiered(t *testing.T) *tiered {
	t.Helper()
	w := &tiered{home: newHome(t), redis: redistest.Start(t), kafka: freePort(t), http: freePort(t)}
	w.dir = filepath.Join(w.home.dir, "tier")
	w.settings = []string{
		"--korvet.redis.uri=" + w.redis.URI(), "--korvet.storage.remote.path=file://" + w.dir,
		"--korvet.storage.worker.tick-interval=200ms", "--korvet.storage.worker.lease-duration=5s",
	}
	return w
}

// korvet runs a command with the broker's settings.
func (w *tiered) korvet(args ...string) (code int, out, stderr string) {
	w.t.Helper()
	return w.run(append(args, w.settings...)...)
}

func (w *tiered) server() *running {
	w.t.Helper()
	r := w.start(append(w.flags(w.kafka, w.http), w.settings...)...)
	r.says("serving Kafka clients")
	return r
}

func (w *tiered) create(topic string, partitions int) {
	w.t.Helper()
	args := []string{"topics", "--bootstrap-server", "127.0.0.1:" + w.kafka, "--create", "--topic", topic, "--partitions", fmt.Sprint(partitions)}
	for _, c := range []string{"remote.storage.enable=true", "segment.ms=300", "local.retention.ms=100", "storage.compression.type=zstd"} {
		args = append(args, "--config", c)
	}
	if code, _, stderr := w.run(args...); code != 0 {
		w.t.Fatal(stderr)
	}
}

// produce appends n records to a partition and returns the offset of the first.
func (w *tiered) produce(topic string, partition int32, n int) int64 {
	w.t.Helper()
	client, err := kgo.NewClient(kgo.SeedBrokers("127.0.0.1:"+w.kafka), kgo.RecordPartitioner(kgo.ManualPartitioner()))
	if err != nil {
		w.t.Fatal(err)
	}
	defer client.Close()
	var records []*kgo.Record
	for i := range n {
		records = append(records, &kgo.Record{Topic: topic, Partition: partition, Key: fmt.Appendf(nil, "k%d", i), Value: fmt.Appendf(nil, "value %d of some length", i)})
	}
	results := client.ProduceSync(w.t.Context(), records...)
	if err := results.FirstErr(); err != nil {
		w.t.Fatal(err)
	}
	return results[0].Record.Offset
}

// consume reads so many records of a topic from its beginning, and returns their offsets' ends by partition.
func (w *tiered) consume(topic string, n int) map[int32]int64 {
	w.t.Helper()
	client, err := kgo.NewClient(kgo.SeedBrokers("127.0.0.1:"+w.kafka), kgo.ConsumeTopics(topic), kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()))
	if err != nil {
		w.t.Fatal(err)
	}
	defer client.Close()
	ctx, cancel := context.WithTimeout(w.t.Context(), patience)
	defer cancel()
	next := map[int32]int64{}
	for n > 0 {
		fetches := client.PollFetches(ctx)
		if err := fetches.Err(); err != nil {
			w.t.Fatalf("%d records are missing: %v", n, err)
		}
		fetches.EachRecord(func(r *kgo.Record) {
			if r.Offset != next[r.Partition] {
				w.t.Errorf("partition %d: offset %d, want %d", r.Partition, r.Offset, next[r.Partition])
			}
			next[r.Partition] = r.Offset + 1
			n--
		})
	}
	return next
}

// tables is what korvet tables list --json prints, as far as tests look at it.
func (w *tiered) tables() []struct {
	Table, Topic, State string
	Rows                int64
	Partitions          []struct {
		End int64
		Log *struct{ Start, End, Lag, LocalStart int64 }
	}
} {
	w.t.Helper()
	code, out, stderr := w.korvet("tables", "list", "--json")
	var list []struct {
		Table, Topic, State string
		Rows                int64
		Partitions          []struct {
			End int64
			Log *struct{ Start, End, Lag, LocalStart int64 }
		}
	}
	if err := json.Unmarshal([]byte(out), &list); code != 0 || err != nil {
		w.t.Fatalf("exit %d, %v: %s%s", code, err, out, stderr)
	}
	return list
}

// copied waits until a topic's log is in its table.
func (w *tiered) copied(r *running, topic string, rows int64) {
	w.t.Helper()
	eventually(w.t, fmt.Sprintf("%d rows of %s; the broker said:\n", rows, topic), r.out, func() bool {
		for _, t := range w.tables() {
			if t.Topic == topic && t.State == "live" && t.Rows == rows {
				return true
			}
		}
		return false
	})
}

func TestEverythingThatWasTieredComesBackAfterRedisWasLost(t *testing.T) {
	w := newTiered(t)
	r := w.server()
	w.create("orders", 2)
	w.produce("orders", 0, 500)
	w.produce("orders", 1, 30)
	w.copied(r, "orders", 530)
	w.produce("orders", 0, 200)
	w.copied(r, "orders", 730)
	if code, _, stderr := w.korvet("recover", "--dry-run"); code != exitError || !strings.Contains(stderr, "broker 0 runs on") {
		t.Errorf("beside a broker: exit %d, said %s", code, stderr)
	}
	if code := r.interrupt(syscall.SIGTERM); code != 0 {
		t.Fatalf("exit %d", code)
	}
	w.redis.Do("FLUSHALL")
	code, _, stderr := w.run(append(w.flags(w.kafka, w.http), w.settings...)...)
	if code != exitError || !strings.Contains(stderr, "run korvet recover") || !strings.Contains(stderr, "orders") {
		t.Errorf("a broker on an empty Redis: exit %d, said %s", code, stderr)
	}
	code, out, stderr := w.korvet("recover", "--dry-run", "--json")
	var plan struct {
		Topics []struct {
			Topic, Action string
			Logs          []struct{ Start, End, Records int64 }
		}
		Done bool
	}
	if err := json.Unmarshal([]byte(out), &plan); code != 0 || err != nil || plan.Done || len(plan.Topics) != 1 || plan.Topics[0].Logs[0].End != 700 {
		t.Fatalf("exit %d, %v: %s%s", code, err, out, stderr)
	}
	size := w.redis.Do("DBSIZE")
	if n, _ := size.AsInt64(); n != 0 {
		t.Errorf("a dry run left %d keys", n)
	}
	if code, out, stderr := w.korvet("recover"); code != 0 || !strings.Contains(out, "1 topic and 2 partitions: restored") {
		t.Fatalf("exit %d, said %s%s", code, out, stderr)
	}
	r = w.server()
	if next := w.consume("orders", 730); next[0] != 700 || next[1] != 30 {
		t.Errorf("read up to %v", next)
	}
	if first := w.produce("orders", 0, 50); first != 700 {
		t.Errorf("the next record has offset %d", first)
	}
	w.copied(r, "orders", 780)
	w.consume("orders", 780)
	if code, out, stderr := w.korvet("tables", "verify", "orders"); code != 0 || !strings.Contains(out, "780 rows read") || !strings.Contains(out, "0 holes, 0 problems") {
		t.Errorf("exit %d, said %s%s", code, out, stderr)
	}
}

func TestTablesAreListedDescribedAndVerified(t *testing.T) {
	w := newTiered(t)
	r := w.server()
	w.create("Orders.EU", 1)
	w.produce("Orders.EU", 0, 100)
	w.copied(r, "Orders.EU", 100)
	if code, out, _ := w.korvet("tables", "list"); code != 0 || !strings.Contains(out, "orders_eu") || !strings.Contains(out, "live") {
		t.Errorf("exit %d, said %s", code, out)
	}
	for _, name := range []string{"Orders.EU", "orders_eu"} {
		if code, out, _ := w.korvet("tables", "describe", name); code != 0 || !strings.Contains(out, "0-99") || !strings.Contains(out, "append") || !strings.Contains(out, "<- current") {
			t.Errorf("exit %d, said %s", code, out)
		}
	}
	if code, _, stderr := w.korvet("tables", "describe", "none"); code != exitError || !strings.Contains(stderr, "no table and no topic with a table is called none") {
		t.Errorf("exit %d, said %s", code, stderr)
	}
	if code, _, stderr := w.run("tables", "list", "--korvet.redis.uri="+w.redis.URI()); code != exitError || !strings.Contains(stderr, "korvet.storage.remote.path is not set") {
		t.Errorf("without a tier: exit %d, said %s", code, stderr)
	}
	r.interrupt(syscall.SIGTERM)
	w.redis.Kill()
	if code, _, stderr := w.korvet("tables", "list"); code != exitError || !strings.Contains(stderr, w.redis.Addr()) {
		t.Errorf("Redis is away: exit %d, said %s", code, stderr)
	}
	files, err := filepath.Glob(w.dir + "/korvet/*/data/*/*.parquet")
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	if code, out, stderr := w.korvet("tables", "verify", "orders_eu", "--no-redis"); code != 0 || !strings.Contains(out, "100 rows read") {
		t.Errorf("exit %d, said %s%s", code, out, stderr)
	}
	if err := os.Remove(files[0]); err != nil {
		t.Fatal(err)
	}
	code, out, stderr := w.korvet("tables", "verify", "orders_eu", "--no-redis", "--json")
	var reports []struct{ Problems []struct{ File, What string } }
	if err := json.Unmarshal([]byte(out), &reports); code != exitError || err != nil || len(reports) != 1 || reports[0].Problems[0].File != "file://"+files[0] {
		t.Errorf("exit %d, %v: %s%s", code, err, out, stderr)
	}
}

func TestChangesOfRemoteSegmentsCanBeRead(t *testing.T) {
	w := newTiered(t)
	r := w.server()
	w.create("orders", 1)
	if code, _, stderr := w.korvet("tables", "verify", "orders"); code != exitError || !strings.Contains(stderr, "orders has no table yet") {
		t.Errorf("a topic of which nothing was copied: exit %d, said %s", code, stderr)
	}
	w.produce("orders", 0, 100)
	w.copied(r, "orders", 100)
	client, err := kgo.NewClient(kgo.SeedBrokers("127.0.0.1:"+w.kafka), kgo.ConsumeTopics("__remote_log_metadata"), kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()))
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	told := func(state string) (location string) {
		t.Helper()
		for found := false; !found; {
			fetches := client.PollFetches(ctx)
			if ctx.Err() != nil {
				t.Fatalf("%s was not told; the broker said:\n%s", state, r.out)
			}
			fetches.EachRecord(func(record *kgo.Record) {
				var e struct{ State, Location string }
				if err := json.Unmarshal(record.Value, &e); err != nil || !strings.HasSuffix(string(record.Key), ":0") {
					t.Errorf("key %s: %v", record.Key, err)
				}
				if e.State == state {
					found, location = true, e.Location
				}
			})
		}
		return location
	}
	told("COPY_SEGMENT_FINISHED")
	admin := kadm.NewClient(client)
	start := kadm.Offsets{}
	start.AddOffset("orders", 0, 100, -1)
	if _, err := admin.DeleteRecords(ctx, start); err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(strings.TrimPrefix(told("DELETE_SEGMENT_STARTED"), "file://")); err != nil { // as an engine's maintenance may
		t.Fatal(err)
	}
	if code := r.interrupt(syscall.SIGTERM); code != 0 {
		t.Fatalf("exit %d", code)
	}
	r = w.server() // who begins looks at once
	told("DELETE_SEGMENT_FINISHED")
	if _, err := admin.DeleteTopic(ctx, "orders"); err != nil {
		t.Fatal(err)
	}
	told("DELETE_PARTITION_FINISHED")
	producer, err := kgo.NewClient(kgo.SeedBrokers("127.0.0.1:" + w.kafka))
	if err != nil {
		t.Fatal(err)
	}
	defer producer.Close()
	if err := producer.ProduceSync(ctx, &kgo.Record{Topic: "__remote_log_metadata", Value: []byte("x")}).FirstErr(); err == nil || !strings.Contains(err.Error(), "INVALID_TOPIC_EXCEPTION") {
		t.Errorf("a client's record: %v", err)
	}
}
