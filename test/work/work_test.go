package work

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/korvet-io/korvet/internal/redistest"
	"github.com/korvet-io/korvet/test/harness"
)

// long tells whether segments are as large as they are by default.
func long() bool { return os.Getenv("KORVET_TEST_LONG") != "" }

func segmentBytes() int {
	if long() {
		return 128 << 20
	}
	return 8 << 20
}

// world is a broker whose Redis is watched.
type world struct {
	*testing.T
	broker *harness.Broker
	redis  *redistest.Server
	client *kgo.Client
	admin  *kadm.Client
}

func newWorld(t *testing.T) (w *world, count *ledger, sync func()) {
	w = &world{T: t, redis: redistest.Start(t)}
	count = newLedger(t, redistest.Start(t))
	sync = watch(t, w.redis, count.take)
	w.redis.Do("CONFIG", "SET", "slowlog-log-slower-than", "5000")
	w.redis.Do("CONFIG", "SET", "slowlog-max-len", "1000")
	w.broker = harness.Start(t, harness.Options{Own: true, Redis: w.redis, Args: []string{
		"--korvet.storage.worker.tick-interval=1s", "--korvet.broker.native-groups-interval=100ms",
	}})
	client, err := kgo.NewClient(kgo.SeedBrokers(w.broker.Addr), kgo.MaxBufferedRecords(50_000),
		kgo.ProducerBatchCompression(kgo.NoCompression()), kgo.ProducerLinger(5*time.Millisecond))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(client.Close)
	w.client, w.admin = client, kadm.NewClient(client)
	return w, count, sync
}

func (w *world) create(topic string, configs ...string) {
	w.Helper()
	set := map[string]*string{}
	for i := 0; i < len(configs); i += 2 {
		set[configs[i]] = &configs[i+1]
	}
	if _, err := w.admin.CreateTopic(w.Context(), 1, 1, set, topic); err != nil {
		w.Fatalf("create %s: %v", topic, err)
	}
}

func (w *world) alter(topic, name, value string) {
	w.Helper()
	_, err := w.admin.AlterTopicConfigs(w.Context(), []kadm.AlterConfig{{Op: kadm.SetConfig, Name: name, Value: &value}}, topic)
	if err != nil {
		w.Fatalf("alter %s of %s: %v", name, topic, err)
	}
}

// produce appends so many bytes of values, each of that size; keys are of so many kinds, none with 0.
func (w *world) produce(topic string, bytes, size, keys int) {
	w.Helper()
	ctx, cancel := context.WithCancelCause(w.Context())
	defer cancel(nil)
	value := []byte(strings.Repeat("v", size))
	for i := range max(1, bytes/size) {
		r := &kgo.Record{Topic: topic, Value: value}
		if keys > 0 {
			r.Key = fmt.Append(nil, "key-", i%keys)
		}
		w.client.Produce(ctx, r, func(_ *kgo.Record, err error) {
			if err != nil {
				cancel(err)
			}
		})
	}
	if err := w.client.Flush(ctx); err != nil {
		w.Fatalf("produce to %s: %v", topic, context.Cause(ctx))
	}
}

// bounds are the log's start and end.
func (w *world) bounds(topic string) (start, end int64) {
	w.Helper()
	starts, err := w.admin.ListStartOffsets(w.Context(), topic)
	if err != nil {
		w.Fatal(err)
	}
	ends, err := w.admin.ListEndOffsets(w.Context(), topic)
	if err != nil {
		w.Fatal(err)
	}
	s, _ := starts.Lookup(topic, 0)
	e, _ := ends.Lookup(topic, 0)
	return s.Offset, e.Offset
}

func (w *world) number(args ...string) int64 {
	w.Helper()
	m := w.redis.Do(args...)
	n, _ := m.AsInt64() // 0 where there is none
	return n
}

func stream(topic string) string   { return "korvet:storage:local:" + topic + ":0" }
func registry(topic string) string { return "korvet:storage:segments:{" + stream(topic) + "}" }

// delete asks for DeleteRecords up to an offset.
func (w *world) delete(topic string, at int64) {
	w.Helper()
	r, err := w.admin.DeleteRecords(w.Context(), kadm.Offsets{topic: {0: {Topic: topic, At: at}}})
	if d, ok := r.Lookup(topic, 0); err != nil || !ok || d.Err != nil || d.LowWatermark < at { // retention may be ahead
		w.Fatalf("delete records of %s below %d: %+v, %v", topic, at, d, err)
	}
}

// No command, nor a script with all that it calls, works through what grows with a log.
func TestNoCommandsWorkGrowsWithTheLog(t *testing.T) {
	w, count, sync := newWorld(t)
	for _, size := range []int{100, 1 << 10, 990_000} {
		topic := fmt.Sprint("t", size)
		w.segments(topic, size)
		w.adoption(topic+"-adopted", size)
		if size < 990_000 { // large records make no holes
			w.compaction(topic+"-compacted", size)
		}
		sync()
	}
	count.check()
	if !long() {
		return
	}
	m := w.redis.Do("SLOWLOG", "GET", "1000")
	entries, err := m.ToArray()
	if err != nil {
		t.Fatal(err)
	}
	for i := range entries {
		if e, err := entries[i].ToArray(); err == nil && len(e) > 3 {
			us, _ := e[2].AsInt64()
			words, _ := e[3].AsStrSlice()
			if c := class(append(slices.Clone(words), "", "")); !strings.HasPrefix(c, "script ") || count.scripts[c] != "" {
				t.Logf("SLOWLOG, on this machine now: %d us, %s %s", us, c, count.scripts[c])
			}
		}
	}
}

// segments fills a topic, and does everything to its segments that is done to any.
func (w *world) segments(topic string, size int) {
	bytes := segmentBytes()
	w.create(topic, "segment.bytes", fmt.Sprint(bytes), "retention.ms", "-1", "retention.bytes", "-1")
	w.produce(topic, bytes*3/4, size, 0)
	_, first := w.bounds(topic)
	early := time.Now()
	w.produce(topic, bytes*3/4, size, 0)
	between := time.Now()
	w.produce(topic, bytes*3/2, size, 0)
	if n := w.number("HGET", registry(topic), "open"); n < 2 {
		w.Fatalf("%s: %d segments were sealed", topic, n)
	}
	w.broker.Kill9() // the next start takes over, and waits for nothing
	w.broker.Restart()
	w.produce(topic, size, size, 0)
	for _, at := range []time.Time{early, between} { // a search by time, in a sealed segment
		found, err := w.admin.ListOffsetsAfterMilli(w.Context(), at.UnixMilli(), topic)
		if o, ok := found.Lookup(topic, 0); err != nil || !ok || o.Offset < first {
			w.Fatalf("%s: first record since %v: %+v, %v", topic, at, o, err)
		}
	}
	w.delete(topic, first/2)
	w.read(topic, first/2)
	w.commit(topic, first/2)
	w.expire(topic, between)
	w.produce(topic, bytes*3/2, size, 0) // on a quick machine all of it has expired by now
	start, _ := w.bounds(topic)
	w.alter(topic, "retention.bytes", fmt.Sprint(bytes/4))
	redistest.Eventually(w, "retention by bytes", func() bool { s, _ := w.bounds(topic); return s > start })
	w.alter(topic, "retention.bytes", "-1")
	if start, end := w.bounds(topic); end-start > 3 {
		w.delete(topic, (start+end)/2)
		w.commit(topic, (start+end)/2)
		redistest.Eventually(w, "the head of the open segment to go", func() bool {
			return w.number("XLEN", stream(topic)) <= end-(start+end)/2
		})
	}
	w.drop(topic)
}

// expire lets go what was appended before a time.
func (w *world) expire(topic string, before time.Time) {
	w.Helper()
	start, _ := w.bounds(topic)
	w.alter(topic, "retention.ms", fmt.Sprint(time.Since(before).Milliseconds()))
	redistest.Eventually(w, "retention by time", func() bool { s, _ := w.bounds(topic); return s > start })
	w.alter(topic, "retention.ms", "-1")
}

// read reads one record at an offset.
func (w *world) read(topic string, at int64) {
	w.Helper()
	c, err := kgo.NewClient(kgo.SeedBrokers(w.broker.Addr), kgo.ConsumePartitions(map[string]map[int32]kgo.Offset{topic: {0: kgo.NewOffset().At(at)}}))
	if err != nil {
		w.Fatal(err)
	}
	defer c.Close()
	if got := c.PollRecords(w.Context(), 1).Records(); len(got) != 1 || got[0].Offset != at {
		w.Fatalf("%s: read %v at %d", topic, got, at)
	}
}

// commit has a group commit an offset, and waits until Redis shows it.
func (w *world) commit(topic string, at int64) {
	w.Helper()
	group := fmt.Sprint(topic, "-", at)
	offsets := kadm.Offsets{}
	offsets.AddOffset(topic, 0, at, -1)
	if err := w.admin.CommitAllOffsets(w.Context(), group, offsets); err != nil {
		w.Fatalf("commit: %v", err)
	}
	redistest.Eventually(w, "the native group of "+group, func() bool {
		m := w.redis.Do("XINFO", "GROUPS", stream(topic))
		return strings.Contains(m.String(), "kafka:"+group)
	})
}

// adoption makes segments of a topic that was one stream of that size, and trims within it.
func (w *world) adoption(topic string, size int) {
	bytes := segmentBytes()
	w.create(topic, "segment.bytes", "-1", "retention.ms", "-1", "retention.bytes", "-1")
	w.produce(topic, bytes, size, 0)
	w.alter(topic, "segment.bytes", fmt.Sprint(bytes/8))
	w.produce(topic, bytes/4, size, 0)
	if n := w.number("EXISTS", "korvet:storage:segment:{"+stream(topic)+"}:0"); n != 1 {
		w.Fatalf("%s was not sealed", topic)
	}
	start, _ := w.bounds(topic)
	w.alter(topic, "retention.bytes", fmt.Sprint(bytes/2))
	redistest.Eventually(w, "the adopted stream to be trimmed", func() bool {
		s, _ := w.bounds(topic)
		return s > start && w.number("XLEN", "korvet:storage:segment:{"+stream(topic)+"}:0") < int64(bytes/size*3/4)
	})
	w.drop(topic)
}

// compaction lets a log of many records of few keys be compacted and written anew.
func (w *world) compaction(topic string, size int) {
	bytes := segmentBytes()
	w.create(topic, "cleanup.policy", "compact", "min.cleanable.dirty.ratio", "0.01")
	records := int64(bytes / size)
	w.produce(topic, bytes, size, int(records/10))
	redistest.Eventually(w, "compaction and the stream written anew", func() bool {
		if w.number("XLEN", stream(topic)) > records/5 {
			return false
		}
		m := w.redis.Do("HGETALL", registry(topic))
		fields, err := m.AsStrMap()
		return err == nil && fields["clean"] != "" && fields["holes:0"] == ""
	})
	w.drop(topic)
}

// drop deletes a topic and waits until its keys are gone.
func (w *world) drop(topic string) {
	w.Helper()
	if _, err := w.admin.DeleteTopics(w.Context(), topic); err != nil {
		w.Fatalf("delete %s: %v", topic, err)
	}
	redistest.Eventually(w, "the keys of "+topic+" to go", func() bool {
		return w.number("EXISTS", stream(topic), registry(topic)) == 0
	})
}
