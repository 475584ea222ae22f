package faults

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/korvet-io/korvet/internal/redistest"
	"github.com/korvet-io/korvet/test/harness"
)

// retention is that of the topic whose records are to go while the test looks on, in ms.
const retention = 3000

// keptRecord is one record whose producer was told that it is in the log.
type keptRecord struct {
	partition int32
	offset    int64
	appendMs  int64
	value     string
}

// ledger is what producers were told. Its methods are safe for concurrent use.
type ledger struct {
	mu     sync.Mutex
	kept   []keptRecord   // of topic short, by the time they were told
	newest map[string]int // of topic table, by key
}

// serial writes records one at a time until ctx ends, with a client of its own, and enters what it is told.
func (l *ledger) serial(ctx context.Context, t *testing.T, addr, topic string, id int) {
	client, err := kgo.NewClient(kgo.SeedBrokers(addr), kgo.DefaultProduceTopic(topic), kgo.ProducerLinger(0), kgo.RecordPartitioner(kgo.ManualPartitioner()),
		kgo.ProducerBatchCompression(kgo.NoCompression()))
	if err != nil {
		t.Errorf("open producer: %v", err)
		return
	}
	defer client.Close()
	body := strings.Repeat("x", 15_000)
	for n := 0; ctx.Err() == nil; n++ {
		key := fmt.Sprintf("%d-%d", id, n%20)
		r := &kgo.Record{Key: []byte(key), Value: fmt.Appendf(nil, "%d %s", n, body), Partition: int32(n % 2)}
		if topic == "table" {
			r.Partition = 0
		}
		err := client.ProduceSync(ctx, r).FirstErr()
		switch {
		case ctx.Err() != nil:
		case err != nil:
			t.Errorf("produce to %s: %v", topic, err)
			return
		case topic == "table":
			l.mu.Lock()
			l.newest[key] = n
			l.mu.Unlock()
		default:
			l.mu.Lock()
			l.kept = append(l.kept, keptRecord{r.Partition, r.Offset, r.Timestamp.UnixMilli(), string(r.Value)})
			l.mu.Unlock()
		}
	}
}

// seen reads a topic from its start to where it ended when that began.
func seen(t *testing.T, addr, topic string) (records []*kgo.Record) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	client, err := kgo.NewClient(kgo.SeedBrokers(addr), kgo.ConsumeTopics(topic), kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()))
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	ends := listed(ctx, t, topic, kadm.NewClient(client).ListEndOffsets)
	for left := len(ends[topic]); left > 0; {
		soon, done := context.WithTimeout(ctx, time.Second) // what was to come may be over by now: look at the starts again
		fetches := client.PollFetches(soon)
		done()
		if ctx.Err() != nil {
			t.Fatalf("%s is not read to its end: %v", topic, ctx.Err())
		}
		fetches.EachRecord(func(r *kgo.Record) { records = append(records, r) })
		left = 0
		starts := listed(ctx, t, topic, kadm.NewClient(client).ListStartOffsets)
		for p, o := range ends[topic] {
			at := slices.IndexFunc(records, func(r *kgo.Record) bool { return r.Partition == p && r.Offset >= o.Offset-1 })
			if start, _ := starts.Lookup(topic, p); at < 0 && start.Offset < o.Offset {
				left++
			}
		}
	}
	return records
}

// listed asks for a topic's offsets until all of them are told: the broker may be away.
func listed(ctx context.Context, t *testing.T, topic string, ask func(context.Context, ...string) (kadm.ListedOffsets, error)) kadm.ListedOffsets {
	t.Helper()
	for {
		offsets, err := ask(ctx, topic)
		if err = errors.Join(err, offsets.Error()); err == nil {
			return offsets
		}
		if ctx.Err() != nil {
			t.Fatalf("list offsets of %s: %v", topic, err)
		}
		time.Sleep(20 * time.Millisecond)
	}
}

// check compares what is in the log with what producers were told until now.
func (l *ledger) check(t *testing.T, w *world) {
	t.Helper()
	l.mu.Lock()
	told, newest := slices.Clone(l.kept), map[string]int{}
	for key, n := range l.newest {
		newest[key] = n
	}
	l.mu.Unlock()
	got := map[[2]int64]string{}
	for _, r := range seen(t, w.broker.Addr, "short") {
		got[[2]int64{int64(r.Partition), r.Offset}] = string(r.Value)
	}
	reply := w.redis.Do("TIME")
	now, err := reply.AsStrSlice()
	if err != nil {
		t.Fatal(err)
	}
	seconds, _ := strconv.ParseInt(now[0], 10, 64)
	young := 0
	for _, k := range told {
		value, there := got[[2]int64{int64(k.partition), k.offset}]
		if there && value != k.value {
			t.Errorf("partition %d offset %d has another value than was acknowledged", k.partition, k.offset)
		}
		if k.appendMs >= (seconds+1)*1000-retention {
			if young++; !there {
				t.Errorf("partition %d offset %d is lost, acknowledged at %d", k.partition, k.offset, k.appendMs)
			}
		}
	}
	last := map[string]int{}
	for _, r := range seen(t, w.broker.Addr, "table") {
		number, _, _ := strings.Cut(string(r.Value), " ")
		last[string(r.Key)], _ = strconv.Atoi(number)
	}
	for key, n := range newest {
		if got, there := last[key]; !there || got < n {
			t.Errorf("key %s has value %d, there %t, and %d was acknowledged", key, got, there, n)
		}
	}
	t.Logf("%d records acknowledged, %d of them young, %d there; %d keys", len(told), young, len(got), len(newest))
}

// A storage worker that is killed at any moment, and a Redis that is, lose nothing and leave nothing behind.
func TestStorageWorkerKilledAtRandomMoments(t *testing.T) {
	w := newWorld(t, harness.Options{Args: []string{"--korvet.storage.worker.enabled=false"}})
	for topic, settings := range map[string]map[string]string{
		"short": {"retention.ms": fmt.Sprint(retention), "segment.bytes": "1048576", "segment.ms": "700", "message.timestamp.type": "LogAppendTime"},
		"table": {"cleanup.policy": "compact", "min.cleanable.dirty.ratio": "0.1"},
	} {
		if err := w.probe().CreateTopic(topic, 2, settings); err != nil {
			t.Fatal(err)
		}
	}
	worker := harness.StartWorker(t, w.redis, "--korvet.storage.worker.tick-interval=100ms", "--korvet.storage.worker.lease-duration=300ms")
	w.keepLog("worker", worker.Logs)
	l := &ledger{newest: map[string]int{}}
	ctx, stop := context.WithCancel(t.Context())
	var writing sync.WaitGroup
	for id, topic := range []string{"short", "short", "table"} {
		writing.Go(func() { l.serial(ctx, t, w.broker.Addr, topic, id) })
	}
	began := time.Now()
	for i := 0; i < rounds(10) || w.storageWorked() != nil && time.Since(began) < patience; i++ {
		w.pass(time.Second)
		worker.Kill9()
		if w.rnd.IntN(3) == 0 {
			w.redis.Kill()
			w.redis.Restart()
		}
		w.faults++
		worker.Launch()
		if i%5 == 4 {
			l.check(t, w)
		}
	}
	stop()
	writing.Wait()
	l.check(t, w)
	eventually(t, "all records of the topic to be gone", func() error { return w.onlyOpenSegments("short") })
	w.requireDocumentedKeys()
	if err := w.storageWorked(); err != nil {
		t.Error(err)
	}
}

var errFew = errors.New("want 5")

// storageWorked tells what is missing until segments were sealed and a log was compacted.
func (w *world) storageWorked() error {
	sealed, compacted := w.redis.Do("HGET", "korvet:storage:segments:{korvet:storage:local:short:0}", "open"), w.redis.Do("HGET", "korvet:storage:segments:{korvet:storage:local:table:0}", "clean")
	if n, err := sealed.AsInt64(); err != nil || n < 5 {
		return fmt.Errorf("%d segments were sealed: %w", n, errors.Join(err, errFew))
	}
	if text, err := compacted.ToString(); err != nil {
		return fmt.Errorf("nothing was compacted: %s, %w", text, err)
	}
	return nil
}

// onlyOpenSegments tells what is left of a topic whose records are all over: nothing but empty open segments must be.
func (w *world) onlyOpenSegments(topic string) error {
	reply := w.redis.Do("KEYS", "*"+topic+"*")
	keys, err := reply.AsStrSlice()
	if err != nil {
		return err
	}
	for _, key := range keys {
		switch {
		case strings.Contains(key, ":segment:"), strings.Contains(key, ":times:"):
			return fmt.Errorf("a segment is left: %s", key)
		case strings.HasPrefix(key, "korvet:storage:local:"):
			length := w.redis.Do("XLEN", key)
			if n, err := length.AsInt64(); err != nil || n > 0 {
				return fmt.Errorf("records are left: %d of %s, %w", n, key, err)
			}
		}
	}
	return nil
}

// requireDocumentedKeys fails the test for each key that docs/redis.md does not list, or that something unfinished left.
func (w *world) requireDocumentedKeys() {
	w.t.Helper()
	root, err := harness.ModuleRoot()
	if err != nil {
		w.t.Fatal(err)
	}
	doc, err := os.ReadFile(filepath.Join(root, "docs", "redis.md"))
	if err != nil {
		w.t.Fatal(err)
	}
	var listed []*regexp.Regexp
	for _, row := range regexp.MustCompile("(?m)^\\| `(B|korvet:[^`]+)` \\|").FindAllStringSubmatch(string(doc), -1) {
		pattern := regexp.QuoteMeta(row[1])
		pattern = strings.ReplaceAll(pattern, `\{B\}`, `\{korvet:storage:local:[^:]+:[0-9]+\}`)
		pattern = regexp.MustCompile(`<[^>]+>`).ReplaceAllString(pattern, `[^{}]+`)
		if row[1] == "B" {
			pattern = `korvet:storage:local:[^:]+:[0-9]+`
		}
		listed = append(listed, regexp.MustCompile("^"+pattern+"$"))
	}
	redistest.Eventually(w.t, "what compaction copies to have taken its place", func() bool {
		left := w.redis.Do("KEYS", "korvet:storage:compact:*")
		keys, err := left.AsStrSlice()
		return err == nil && len(keys) == 0
	})
	all := w.redis.Do("KEYS", "*")
	keys, err := all.AsStrSlice()
	if err != nil || len(keys) == 0 {
		w.t.Fatalf("list keys: %d, %v", len(keys), err)
	}
	for _, key := range keys {
		if !slices.ContainsFunc(listed, func(r *regexp.Regexp) bool { return r.MatchString(key) }) {
			w.t.Errorf("docs/redis.md does not list key %s", key)
		}
	}
}
