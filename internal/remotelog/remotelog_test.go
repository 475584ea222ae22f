package remotelog

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/korvet-io/korvet/internal/batch"
	"github.com/korvet-io/korvet/internal/iceberg/chain"
	"github.com/korvet-io/korvet/internal/iceberg/datafile"
	"github.com/korvet-io/korvet/internal/iceberg/store"
	"github.com/korvet-io/korvet/internal/iceberg/tables"
	"github.com/korvet-io/korvet/internal/metadata"
	"github.com/korvet-io/korvet/internal/partition"
	"github.com/korvet-io/korvet/internal/record"
	"github.com/korvet-io/korvet/internal/redisstream"
	"github.com/korvet-io/korvet/internal/redistest"
	"github.com/korvet-io/korvet/internal/worker/lifecycle"
)

var life = uuid.MustParse("0198c0de-0000-7000-8000-000000000002")

// known are topics and tables in memory.
type known struct {
	topic           *metadata.Topic
	tables, dropped []metadata.Table
}

func (k *known) Topic(context.Context, string) (*metadata.Topic, error) {
	if k.topic == nil {
		return nil, metadata.ErrUnknownTopic
	}
	return k.topic, nil
}

func (k *known) Create(_ context.Context, name string, partitions int32, configs map[string]string) (*metadata.Topic, error) {
	k.topic = &metadata.Topic{Name: name, ID: uuid.New(), Partitions: partitions, Configs: configs}
	return k.topic, nil
}

func (k *known) Tables() []metadata.Table        { return k.tables }
func (k *known) DroppedTables() []metadata.Table { return k.dropped }

// counted is an observer.
type counted struct {
	queued, published int
	waiting           int64
}

func (c *counted) EventsQueued(n int) { c.queued += n }
func (c *counted) EventsPublished(n int, waiting int64) {
	c.published, c.waiting = c.published+n, waiting
}

// logs are what was appended, by partition.
type logs struct {
	records map[int32][]record.Record
	fail    error
}

func (l *logs) Append(ref partition.Ref, b *batch.Batch, opt partition.AppendOptions, done func(partition.Appended, error)) {
	if l.fail != nil {
		done(partition.Appended{}, l.fail)
		return
	}
	c, r := b.Cursor(), record.Record{}
	for c.Next(&r) {
		one := r
		one.Key, one.Value = bytes.Clone(r.Key), bytes.Clone(r.Value)
		l.records[ref.Partition] = append(l.records[ref.Partition], one)
	}
	done(partition.Appended{}, nil)
}

// world is a topic with a table of two partitions.
type world struct {
	*testing.T
	redis     *redistest.Server
	store     store.Store
	table     *tables.Table
	entry     metadata.Table
	known     *known
	logs      *logs
	seen      counted
	announcer *Announcer
	publisher *Publisher
	copying   map[string]bool // as who was told of a partition last knows: what was begun and has no end
}

func newWorld(t *testing.T) *world {
	t.Helper()
	objects, err := store.Open(t.Context(), "file:///", store.S3{})
	if err != nil {
		t.Fatal(err)
	}
	w := &world{T: t, redis: redistest.Start(t), store: objects, logs: &logs{records: map[int32][]record.Record{}}}
	o, err := redisstream.ParseURI(w.redis.URI())
	if err != nil {
		t.Fatal(err)
	}
	o.WriteConnections, o.ReadConnections, o.DialTimeout = 1, 2, 5*time.Second
	shard := redisstream.Open(o, slog.New(slog.DiscardHandler))
	t.Cleanup(shard.Close)
	w.entry = metadata.Table{Name: "t", Topic: "t", TopicID: life, Location: "file://" + t.TempDir() + "/t"}
	w.table = tables.Open(&chain.Chain{Store: objects, Hint: chain.NoHint{}, Location: w.entry.Location, Now: time.Now}, "korvet", "t")
	if err := w.table.Create(t.Context(), tables.Life{Topic: "t", ID: life.String()}, nil); err != nil {
		t.Fatal(err)
	}
	w.known = &known{tables: []metadata.Table{w.entry}}
	w.restart(shard)
	w.publisher = &Publisher{
		Namespace: "korvet", Topic: func() *metadata.Topic { return w.known.topic }, Leads: func(*metadata.Topic, int32) bool { return true },
		Queues: shard, Logs: w.logs, Observer: &w.seen, Log: slog.New(slog.DiscardHandler),
	}
	return w
}

// restart gives the world an announcer that knows nothing.
func (w *world) restart(outbox Outbox) {
	w.announcer = &Announcer{
		Namespace: "korvet", Partitions: 5, Topics: w.known, Outbox: outbox, Open: func(metadata.Table) Table { return w.table }, Objects: w.store,
		Observer: &w.seen, Log: slog.New(slog.DiscardHandler), Now: time.Now,
	}
}

func (w *world) state() *tables.State {
	w.Helper()
	s, err := w.table.State(w.Context())
	if err != nil {
		w.Fatal(err)
	}
	return s
}

// copied adds a data file of offsets [from, to).
func (w *world) copied(p int32, from, to int64) {
	w.Helper()
	var body bytes.Buffer
	f := datafile.NewWriter(&body, p, datafile.Options{PageBytes: 500, RowGroupBytes: 3000})
	for o := from; o < to; o++ {
		if err := f.Write(&datafile.Row{Record: record.Record{Offset: o, Timestamp: 1000 + o}, AppendMs: 1000 + o}); err != nil {
			w.Fatal(err)
		}
	}
	summary, err := f.Close()
	if err != nil {
		w.Fatal(err)
	}
	a := tables.Added{Partition: p, Location: fmt.Sprintf("%s/data/%d-%d.parquet", w.entry.Location, p, from), Bytes: int64(body.Len()), Summary: summary, End: to}
	if err := w.store.Put(w.Context(), a.Location, &body); err != nil {
		w.Fatal(err)
	}
	if _, err := w.table.Append(w.Context(), w.state(), 7, []tables.Added{a}); err != nil {
		w.Fatal(err)
	}
}

func (w *world) sync() {
	w.Helper()
	if err := w.announcer.Sync(w.Context()); err != nil {
		w.Fatal(err)
	}
	if err := w.publisher.Publish(w.Context()); err != nil {
		w.Fatal(err)
	}
}

// told are all records about a partition, in order, and what a consumer of them knows.
func (w *world) told(p int32) (all []string, there []string) {
	w.Helper()
	key := Key(life, p)
	w.copying = map[string]bool{}
	for number, records := range w.logs.records {
		for _, r := range records {
			if string(r.Key) != key {
				continue
			}
			if number != PartitionOf(key, w.known.topic.Partitions) {
				w.Errorf("a record of %s is in partition %d", key, number)
			}
			var e Event
			if err := json.Unmarshal(r.Value, &e); err != nil || e.Format != 1 || e.Topic != "t" || e.TopicID != life || e.Partition != p || e.TimeMs == 0 {
				w.Errorf("record %s: %v", r.Value, err)
			}
			all = append(all, e.State+" "+e.Segment)
			switch e.State {
			case ListStarted, DeletePartition:
				there = nil
				clear(w.copying)
			case lifecycle.CopySegmentFinished:
				delete(w.copying, e.Location)
				if !slices.Contains(there, e.Segment) {
					there = append(there, e.Segment)
				}
			case lifecycle.CopySegmentStarted:
				w.copying[e.Location] = true
			case lifecycle.DeleteSegmentStarted:
				delete(w.copying, e.Location)
				there = slices.DeleteFunc(there, func(s string) bool { return s == e.Segment })
			}
		}
	}
	return all, there
}

func TestChangesOfTheTableBecomeRecords(t *testing.T) {
	w := newWorld(t)
	w.copied(0, 0, 10)
	w.copied(1, 0, 5)
	w.announcer.RemoteSegments(t.Context(), 7, []lifecycle.Event{{State: lifecycle.CopySegmentStarted, Topic: "t", TopicID: life, First: 10, Last: 20, Location: "x/y"}})
	w.sync()
	w.copied(0, 10, 20)
	w.sync()
	w.sync() // nothing changed
	if _, _, err := w.table.DropBefore(t.Context(), w.state(), 7, map[int32]int64{0: 10}); err != nil {
		t.Fatal(err)
	}
	w.sync()
	all, there := w.told(0)
	want := []string{
		"COPY_SEGMENT_STARTED y", "LIST_STARTED ", "COPY_SEGMENT_FINISHED 0-0.parquet", "COPY_SEGMENT_FINISHED 0-10.parquet",
		"DELETE_SEGMENT_STARTED 0-0.parquet",
	}
	if !slices.Equal(all, want) || !slices.Equal(there, []string{"0-10.parquet"}) {
		t.Errorf("told of %q, there %q", all, there)
	}
	if all, _ := w.told(1); !slices.Equal(all, []string{"LIST_STARTED ", "COPY_SEGMENT_FINISHED 1-0.parquet"}) {
		t.Errorf("of partition 1 %q", all)
	}
	if w.seen.queued != 7 || w.seen.published != 7 {
		t.Errorf("counted %+v", w.seen)
	}
	w.known.tables = nil
	w.sync()
	w.sync()
	all, there = w.told(0)
	if len(all) != 6 || all[5] != "DELETE_PARTITION_MARKED " || len(there) != 0 {
		t.Errorf("after the topic's end told of %q", all)
	}
}

func TestWhatWasLostIsToldAgain(t *testing.T) {
	w := newWorld(t)
	w.copied(0, 0, 10)
	w.sync()
	w.copied(0, 10, 20)
	w.restart(w.announcer.Outbox) // another process goes on
	w.sync()
	if all, there := w.told(0); len(all) != 3 || len(there) != 2 {
		t.Errorf("told of %q", all)
	}
	w.redis.Do("FLUSHALL") // with it the marks
	w.copied(0, 20, 30)
	w.sync()
	if _, there := w.told(0); len(there) != 3 {
		t.Errorf("a consumer knows %q", there)
	}
	w.copied(0, 30, 40)
	if err := w.store.Delete(t.Context(), []string{w.entry.Location + "/metadata/v4.metadata.json"}); err != nil { // the version of the mark
		t.Fatal(err)
	}
	w.sync()
	all, there := w.told(0)
	if all[len(all)-5] != "LIST_STARTED " || len(there) != 4 {
		t.Errorf("told of %q, a consumer knows %q", all, there)
	}
	broken := errors.New("redis is away")
	w.logs.fail = broken
	w.copied(0, 40, 50)
	if err := w.announcer.Sync(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := w.publisher.Publish(t.Context()); !errors.Is(err, broken) || w.seen.waiting != 1 {
		t.Errorf("%v, %d wait", err, w.seen.waiting)
	}
	w.logs.fail = nil
	w.sync()
	if _, there := w.told(0); len(there) != 5 || w.seen.waiting != 0 {
		t.Errorf("a consumer knows %q, %d wait", there, w.seen.waiting)
	}
}

func events(texts ...string) (list []redisstream.NewEvent) {
	for _, t := range texts {
		list = append(list, redisstream.NewEvent{Text: t})
	}
	return list
}

// What went from a table is told again when its object is gone: once, whoever deleted it and whoever tells.
func TestWhatIsGoneFromTheStoreIsTold(t *testing.T) {
	w := newWorld(t)
	w.copied(0, 0, 10)
	w.copied(0, 10, 20)
	w.sync()
	if _, _, err := w.table.DropBefore(t.Context(), w.state(), 7, map[int32]int64{0: 10}); err != nil {
		t.Fatal(err)
	}
	w.sync()
	if err := w.store.Delete(t.Context(), []string{w.entry.Location + "/data/0-0.parquet"}); err != nil {
		t.Fatal(err)
	}
	w.sync() // nobody told of it, and it is not long ago that it was looked for
	if all, _ := w.told(0); len(all) != 4 {
		t.Errorf("told of %q", all)
	}
	other := w.announcer
	w.restart(w.announcer.Outbox) // another process looks at once
	w.sync()
	other.RemoteSegments(t.Context(), 7, []lifecycle.Event{{State: lifecycle.DeleteSegmentFinished, Topic: "t", TopicID: life}})
	if err := other.Sync(t.Context()); err != nil {
		t.Fatal(err)
	}
	w.sync()
	if all, there := w.told(0); len(all) != 5 || all[4] != "DELETE_SEGMENT_FINISHED 0-0.parquet" || len(there) != 1 {
		t.Errorf("told of %q, there %q", all, there)
	}
	w.known.tables = nil
	w.sync()
	if all, _ := w.told(0); len(all) != 6 {
		t.Errorf("told of %q", all)
	}
	if err := w.store.Clear(t.Context(), w.entry.Location+"/"); err != nil {
		t.Fatal(err)
	}
	w.sync()
	w.sync()
	if all, _ := w.told(0); len(all) != 7 || all[6] != "DELETE_PARTITION_FINISHED " {
		t.Errorf("told of %q", all)
	}
}

// Of two announcers that tell of the same, one does; and no more wait than may.
func TestQueueIsCompared(t *testing.T) {
	w := newWorld(t)
	keys := redisstream.NewOutboxKeys("korvet", 3)
	outbox := w.announcer.Outbox
	told := redisstream.Told{Of: "x", After: "1"}
	if err := outbox.Queue(t.Context(), keys, told, 2, events("a", "b")); err != nil {
		t.Fatal(err)
	}
	if err := outbox.Queue(t.Context(), keys, told, 10, events("a")); !errors.Is(err, redisstream.ErrMoved) {
		t.Errorf("told of twice: %v", err)
	}
	if err := outbox.Queue(t.Context(), keys, redisstream.Told{Of: "x", Before: "1", After: "2"}, 2, events("c")); !errors.Is(err, redisstream.ErrFull) {
		t.Errorf("a third of two: %v", err)
	}
	marks, err := outbox.Marks(t.Context(), []redisstream.OutboxKeys{keys, redisstream.NewOutboxKeys("korvet", 4)})
	if err != nil || marks[0]["x"] != "1" || len(marks[1]) != 0 {
		t.Errorf("marks %v, %v", marks, err)
	}
}

// The values are those of Kafka's own tests (UtilsTest.testMurmur2).
func TestPartitionIsTheOneThatKafkasClientsChoose(t *testing.T) {
	for text, want := range map[string]int32{
		"21": -973932308, "foobar": -790332482, "a-little-bit-long-string": -985981536, "a-little-bit-longer-string": -1486304829,
		"lkjh234lh9fiuh90y23oiuhsafujhadof229phr9h19h89h8": -58897971, "abc": 479470107,
	} {
		if got := int32(murmur2([]byte(text))); got != want {
			t.Errorf("%s: %d, want %d", text, got, want)
		}
	}
}

func FuzzEvents(f *testing.F) {
	f.Add(`{"format":1,"topic_id":"0198c0de-0000-7000-8000-000000000002","time":5}`)
	f.Add(`{"time":-9223372036854775808}`)
	f.Fuzz(func(t *testing.T, text string) {
		b, err := batchOf([]redisstream.QueuedEvent{{ID: "1-1", Event: text}, {ID: "1-2", Event: "x"}})
		if err != nil || b != nil && b.Count != 1 {
			t.Errorf("%+v, %v", b, err)
		}
	})
}

func FuzzMark(f *testing.F) {
	f.Add("12 t file:///x")
	f.Fuzz(func(t *testing.T, text string) {
		if m, ok := parseMark(text); ok {
			if again, ok := parseMark(m.String()); !ok || again != m {
				t.Errorf("%q: %+v became %+v", text, m, again)
			}
		}
	})
}
