package recovery

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/apache/iceberg-go"
	"github.com/google/uuid"

	"github.com/korvet-io/korvet/internal/iceberg/chain"
	"github.com/korvet-io/korvet/internal/iceberg/datafile"
	"github.com/korvet-io/korvet/internal/iceberg/store"
	"github.com/korvet-io/korvet/internal/iceberg/storetest"
	"github.com/korvet-io/korvet/internal/iceberg/tables"
	"github.com/korvet-io/korvet/internal/metadata"
	"github.com/korvet-io/korvet/internal/record"
	"github.com/korvet-io/korvet/internal/redisstream"
	"github.com/korvet-io/korvet/internal/redistest"
	"github.com/korvet-io/korvet/internal/remote"
)

// Lives of topics, by rising ids.
var (
	earlier = uuid.MustParse("0198c0de-0000-7000-8000-000000000001")
	later1  = uuid.MustParse("0198c0de-0000-7000-8000-000000000002")
)

const appended = 1_800_000_000_000 // ms

// world is a store with tables, and an empty Redis.
type world struct {
	*testing.T
	redis  *redistest.Server
	source Source
	target Target
	tables int
}

func newWorld(t *testing.T) *world {
	t.Helper()
	objects, err := store.Open(t.Context(), "file:///", store.S3{})
	if err != nil {
		t.Fatal(err)
	}
	w := &world{T: t, redis: redistest.Start(t)}
	w.source = Source{Settings: remote.Settings{Path: "file://" + t.TempDir(), Namespace: "korvet"}, Store: objects}
	o, err := redisstream.ParseURI(w.redis.URI())
	if err != nil {
		t.Fatal(err)
	}
	o.WriteConnections, o.ReadConnections, o.DialTimeout = 1, 2, 5*time.Second
	shard := redisstream.Open(o, slog.New(slog.DiscardHandler))
	t.Cleanup(shard.Close)
	w.target = Target{Messages: shard, Metadata: &metadata.Restorer{Redis: w.redis.Client(), Namespace: "korvet", CreatedBy: "test", Stale: 6 * time.Second}}
	return w
}

// In a bucket there are no folders, only names that begin alike.
func TestTablesInABucketAreFound(t *testing.T) {
	w, s3 := newWorld(t), storetest.Start(t)
	w.source.Settings = remote.Settings{Path: s3.Location() + "/tier/", Namespace: "korvet", S3: s3.Options("")}
	var err error
	if w.source.Store, err = store.Open(t.Context(), w.source.Path, w.source.S3); err != nil {
		t.Fatal(err)
	}
	if topic, err := Lost(t.Context(), w.source); topic != "" || err != nil {
		t.Errorf("an empty bucket has %q, %v", topic, err)
	}
	w.table("a", later1, 1, nil, run{0, 0, 9}, run{0, 9, 12})
	w.table("b", earlier, 2, nil, run{1, 5, 7})
	if topic, err := Lost(t.Context(), w.source); topic != "a" || err != nil {
		t.Errorf("found %q, %v", topic, err)
	}
	plan := w.recover()
	if len(plan.Topics) != 2 || plan.Topics[0].Logs[0].End != 12 || plan.Topics[1].Logs[1].Start != 5 {
		t.Errorf("plan %+v", plan.Topics)
	}
	if v := w.look("b", 1); redisstream.EndOffset(v.LastSeq) != 7 || v.LogStart != 5 {
		t.Errorf("partition 1 of b: %+v", v)
	}
}

// run is offsets [from, to) of a partition.
type run struct {
	partition int32
	from, to  int64
}

// table makes a table of a topic with some records.
func (w *world) table(topic string, id uuid.UUID, partitions int32, properties iceberg.Properties, runs ...run) string {
	w.Helper()
	w.tables++
	location := fmt.Sprintf("%s%s-%s-%08x", w.source.NamespaceFolder(), metadata.TableName(topic), id.String()[:8], w.tables)
	c := &chain.Chain{Store: w.source.Store, Hint: chain.NoHint{}, Location: location, Now: time.Now}
	t := tables.Open(c, "korvet", metadata.TableName(topic))
	all := iceberg.Properties{tables.PartitionsProperty: fmt.Sprint(partitions), tables.ConfigsProperty: `{"remote.storage.enable":"true","retention.ms":"-1"}`}
	for k, v := range properties {
		all[k] = v
	}
	if err := t.Create(w.Context(), tables.Life{Topic: topic, ID: id.String()}, all); err != nil {
		w.Fatal(err)
	}
	state, err := t.State(w.Context())
	if err != nil {
		w.Fatal(err)
	}
	var added []tables.Added
	for _, r := range runs {
		added = append(added, w.file(location, r))
	}
	if len(added) > 0 {
		if _, err := t.Append(w.Context(), state, appended, added); err != nil {
			w.Fatal(err)
		}
	}
	return location
}

func (w *world) file(location string, r run) tables.Added {
	w.Helper()
	var body bytes.Buffer
	f := datafile.NewWriter(&body, r.partition, datafile.Options{PageBytes: 1 << 10, RowGroupBytes: 1 << 20})
	for o := r.from; o < r.to; o++ {
		if err := f.Write(&datafile.Row{Record: record.Record{Offset: o, Timestamp: o, Value: []byte("v")}, AppendMs: appended + o}); err != nil {
			w.Fatal(err)
		}
	}
	summary, err := f.Close()
	if err != nil {
		w.Fatal(err)
	}
	a := tables.Added{Partition: r.partition, Location: fmt.Sprintf("%s/data/partition=%d/%d.parquet", location, r.partition, r.from), Bytes: int64(body.Len()), Summary: summary, End: r.to}
	if err := w.source.Store.Put(w.Context(), a.Location, &body); err != nil {
		w.Fatal(err)
	}
	return a
}

func (w *world) make() (*Plan, error) {
	w.Helper()
	p, err := Make(w.Context(), w.source, w.target)
	if err != nil && !errors.Is(err, ErrRefused) {
		w.Fatal(err)
	}
	return p, err
}

func (w *world) recover() *Plan {
	w.Helper()
	p, err := w.make()
	if err == nil {
		err = p.Apply(w.Context(), "korvet", w.target)
	}
	if err != nil {
		w.Fatal(err)
	}
	return p
}

func (w *world) look(topic string, partition int32) redisstream.View {
	w.Helper()
	v, err := w.target.Messages.Look(w.Context(), redisstream.NewKeys("korvet", topic, partition))
	if err != nil {
		w.Fatal(err)
	}
	return v
}

// dump is all of Redis but what is random or a time.
func (w *world) dump() map[string]string {
	w.Helper()
	reply := w.redis.Do("KEYS", "*")
	names, err := reply.AsStrSlice()
	if err != nil {
		w.Fatal(err)
	}
	all := map[string]string{}
	for _, name := range names {
		kind := w.redis.Do("TYPE", name)
		if text, _ := kind.ToString(); text != "hash" {
			all[name] = text
			continue
		}
		fields := w.redis.Do("HGETALL", name)
		m, err := fields.AsStrMap()
		if err != nil {
			w.Fatal(err)
		}
		delete(m, ":rev")
		delete(m, "cluster_id")
		delete(m, "epoch")
		all[name] = fmt.Sprint(m)
	}
	return all
}

func TestRecoveryPutsBackWhatTablesKnow(t *testing.T) {
	w := newWorld(t)
	orders := w.table("Orders.EU", later1, 3, nil, run{0, 0, 50}, run{0, 60, 100}, run{2, 1 << 40, 1<<40 + 7})
	old := w.table("Orders.EU", earlier, 1, nil, run{0, 0, 5})
	gone := w.table("gone", earlier, 1, iceberg.Properties{tables.DeletingProperty: "true"}, run{0, 0, 5})
	before := w.dump()
	plan, err := w.make()
	if err != nil || len(plan.Topics) != 1 || !reflect.DeepEqual(w.dump(), before) {
		t.Fatalf("plan %+v, %v; Redis %v", plan, err, w.dump())
	}
	want := []Log{
		{Partition: 0, Start: 0, End: 100, Records: 90, Action: Restore, lastMs: appended + 99}, {Partition: 1, Action: Restore},
		{Partition: 2, Start: 1 << 40, End: 1<<40 + 7, Records: 7, Action: Restore, lastMs: appended + 1<<40 + 6},
	}
	if got := plan.Topics[0].Logs; !reflect.DeepEqual(got, want) {
		t.Errorf("logs %+v, want %+v", got, want)
	}
	var left []string
	for _, l := range plan.Left {
		left = append(left, l.Location+": "+l.Why)
	}
	slices.Sort(left)
	if want := []string{gone + ": it was being deleted", old + ": a later one has the topic"}; !slices.Equal(left, slices.Sorted(slices.Values(want))) {
		t.Errorf("left alone %q, want %q", left, want)
	}
	w.recover()
	for partition, end := range []int64{100, 0, 1<<40 + 7} {
		if v := w.look("Orders.EU", int32(partition)); redisstream.EndOffset(v.LastSeq) != end || v.TopicID != hexID(later1) {
			t.Errorf("partition %d: %+v", partition, v)
		}
	}
	found, err := w.target.Metadata.Look(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	topic := &metadata.Topic{
		Name: "Orders.EU", ID: later1, Partitions: 3, Version: 1, CreatedMs: metadata.CreatedMs(later1),
		Configs: map[string]string{"remote.storage.enable": "true", "retention.ms": "-1"},
	}
	if !reflect.DeepEqual(found.Topics, map[string]*metadata.Topic{"Orders.EU": topic}) {
		t.Errorf("topics %+v", found.Topics["Orders.EU"])
	}
	if table := (metadata.Table{Name: "orders_eu", Topic: "Orders.EU", TopicID: later1, Location: orders}); !reflect.DeepEqual(found.Tables, []metadata.Table{table}) {
		t.Errorf("tables %+v, want %+v", found.Tables, table)
	}
	fence := w.redis.Do("HGET", "korvet:storage:worker", "fence")
	if text, _ := fence.ToString(); text != fmt.Sprint(int64(appended)) {
		t.Errorf("the worker's fence is %q", text)
	}
	after := w.dump()
	if again := w.recover(); again.Topics[0].Action != Keep || again.Topics[0].Logs[2].Action != Keep || !reflect.DeepEqual(w.dump(), after) {
		t.Errorf("repeated: %+v, Redis %v", again.Topics[0], w.dump())
	}
}

// A recovery that was killed leaves Redis so that brokers do not start and that it can be repeated, wherever it was.
func TestRecoveryMayBeKilledAtEachStep(t *testing.T) {
	w := newWorld(t)
	w.table("a", earlier, 2, nil, run{0, 3, 9}, run{1, 0, 4})
	w.table("b", later1, 1, nil, run{0, 0, 2})
	w.recover()
	whole := w.dump()
	plan, err := w.make()
	if err != nil {
		t.Fatal(err)
	}
	for taken := range len(plan.steps("korvet", w.target)) {
		w.redis.Do("FLUSHALL")
		for _, step := range plan.steps("korvet", w.target)[:taken] {
			if err := step(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		if taken > 0 {
			if _, err := metadata.Claim(t.Context(), w.redis.Client(), "korvet", "x", "test"); !errors.Is(err, metadata.ErrRecovering) {
				t.Errorf("after %d steps a broker starts: %v", taken, err)
			}
		}
		w.recover()
		if got := w.dump(); !reflect.DeepEqual(got, whole) {
			t.Errorf("killed after %d steps and repeated: %v, want %v", taken, got, whole)
		}
	}
}

func TestRecoveryReplacesNothing(t *testing.T) {
	w := newWorld(t)
	location := w.table("a", later1, 1, nil, run{0, 0, 9})
	keys := redisstream.NewKeys("korvet", "a", 0)
	for name, c := range map[string]struct {
		setup [][]string
		want  string
	}{
		"a topic of the name": {[][]string{{"HSET", "korvet:topics", "a", topicJSON(t, earlier)}}, "has a topic of this name with id " + earlier.String()},
		"another table":       {[][]string{{"HSET", "korvet:storage:tables", "x", `{"name":"x","topic":"a","id":"` + later1.String() + `","location":"file:///x"}`}}, "has its table at file:///x"},
		"a partition":         {[][]string{{"HSET", keys.Leader, "topic", hexID(earlier)}}, "the partition of topic id " + hexID(earlier)},
		"records":             {[][]string{{"XADD", keys.Stream, "1-1", "value", "x"}}, "keys of the partition"},
		"a broker that runs":  {[][]string{{"HSET", "korvet:broker:nodes", "7", `{"id":7,"host":"here","port":1,"seen":99999999999999}`}}, "broker 7 runs on here:1"},
	} {
		w.redis.Do("FLUSHALL")
		for _, command := range c.setup {
			w.redis.Do(command...)
		}
		before := w.dump()
		_, err := w.make()
		if !errors.Is(err, ErrRefused) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q in it", name, err, c.want)
		}
		if after := w.dump(); !reflect.DeepEqual(after, before) {
			t.Errorf("%s: %v became %v", name, before, after)
		}
	}
	w.redis.Do("FLUSHALL")
	if err := w.source.Store.Put(t.Context(), location+"/metadata/v2.metadata.json", strings.NewReader("{")); err != nil {
		t.Fatal(err)
	}
	if _, err := Make(t.Context(), w.source, w.target); err == nil || !strings.Contains(err.Error(), location) {
		t.Errorf("a damaged table: %v, want one that names it", err)
	}
}

func TestLogsThatRedisLostTheEndOfAreMendedByWhoLeadsThem(t *testing.T) {
	w := newWorld(t)
	w.table("a", later1, 1, nil, run{0, 0, 9})
	keys := redisstream.NewKeys("korvet", "a", 0)
	w.redis.Do("HSET", keys.Leader, "topic", hexID(later1))
	w.redis.Do("XADD", keys.Stream, "1-1", "value", "x")
	p, err := w.make()
	if err != nil || p.Topics[0].Logs[0].Action != Keep || !strings.Contains(p.Topics[0].Logs[0].Why, "ends at 2, below the table's end 9") {
		t.Errorf("%+v, %v", p, err)
	}
}

func topicJSON(t *testing.T, id uuid.UUID) string {
	t.Helper()
	b, err := json.Marshal(metadata.Topic{Name: "a", ID: id, Partitions: 1, Version: 1})
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func TestTopicThatIsBeingDeletedIsNotRestored(t *testing.T) {
	w := newWorld(t)
	w.table("a", later1, 1, nil, run{0, 0, 9})
	w.redis.Do("HSET", "korvet:topics:deleting", later1.String(), topicJSON(t, later1))
	plan, err := w.make()
	if err != nil || len(plan.Topics) != 0 || len(plan.Left) != 1 {
		t.Errorf("plan %+v, %v", plan, err)
	}
}
