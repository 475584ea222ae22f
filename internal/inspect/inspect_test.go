package inspect

import (
	"bytes"
	"fmt"
	"log/slog"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/korvet-io/korvet/internal/compress"
	"github.com/korvet-io/korvet/internal/iceberg/chain"
	"github.com/korvet-io/korvet/internal/iceberg/datafile"
	"github.com/korvet-io/korvet/internal/iceberg/store"
	"github.com/korvet-io/korvet/internal/iceberg/tables"
	"github.com/korvet-io/korvet/internal/metadata"
	"github.com/korvet-io/korvet/internal/record"
	"github.com/korvet-io/korvet/internal/redisstream"
	"github.com/korvet-io/korvet/internal/redistest"
	"github.com/korvet-io/korvet/internal/remote"
)

var life = uuid.MustParse("0198c0de-0000-7000-8000-000000000002")

const began = 1_800_000_000_000 // ms of offset 0's append

// world is a topic t with one partition: a table and a log in Redis.
type world struct {
	*testing.T
	redis    *redistest.Server
	keys     redisstream.Keys
	source   *Source
	location string
	table    *tables.Table
}

func newWorld(t *testing.T) *world {
	t.Helper()
	objects, err := store.Open(t.Context(), "file:///", store.S3{})
	if err != nil {
		t.Fatal(err)
	}
	w := &world{T: t, redis: redistest.Start(t), keys: redisstream.NewKeys("korvet", "t", 0)}
	o, err := redisstream.ParseURI(w.redis.URI())
	if err != nil {
		t.Fatal(err)
	}
	o.WriteConnections, o.ReadConnections, o.DialTimeout = 1, 2, 5*time.Second
	shard := redisstream.Open(o, slog.New(slog.DiscardHandler))
	t.Cleanup(shard.Close)
	settings := remote.Settings{Path: "file://" + t.TempDir(), Namespace: "korvet"}
	w.location = settings.NamespaceFolder() + "t-0198c0de-00000001"
	w.source = &Source{
		Settings: settings, Store: objects, Messages: shard, MaxValueBytes: 1 << 20,
		Metadata: &metadata.Restorer{Redis: w.redis.Client(), Namespace: "korvet", CreatedBy: "test", Stale: time.Second},
	}
	w.table = tables.Open(&chain.Chain{Store: objects, Hint: chain.NoHint{}, Location: w.location, Now: time.Now}, "korvet", "t")
	if err := w.table.Create(t.Context(), tables.Life{Topic: "t", ID: life.String()}, nil); err != nil {
		t.Fatal(err)
	}
	topic := metadata.Topic{Name: "t", ID: life, Partitions: 1, Version: 1, Configs: map[string]string{codecSetting: "zstd"}}
	if _, err := w.source.Metadata.Topic(t.Context(), &topic); err != nil {
		t.Fatal(err)
	}
	if _, err := w.source.Metadata.Table(t.Context(), metadata.Table{Name: "t", Topic: "t", TopicID: life, Location: w.location}); err != nil {
		t.Fatal(err)
	}
	w.redis.Do("HSET", w.keys.Leader, "topic", hexID(life), "epoch", "1")
	return w
}

// row is the record of an offset.
func row(o int64) datafile.Row {
	r := datafile.Row{Record: record.Record{Offset: o, Timestamp: began + o, Value: fmt.Appendf(nil, "value %d of many", o)}, AppendMs: began + o}
	switch o % 4 {
	case 1:
		r.Key = fmt.Appendf(nil, "key %d", o)
	case 2:
		r.Headers, r.Value = record.AppendHeader([]byte{2}, "a", nil), nil
	case 3:
		r.Value = []byte{}
	}
	return r
}

// copied adds data files of offsets [from, to) to the table; those that are left out are not there.
func (w *world) copied(from, to int64, without ...int64) {
	w.Helper()
	var body bytes.Buffer
	f := datafile.NewWriter(&body, 0, datafile.Options{PageBytes: 500, RowGroupBytes: 3000})
	for o := from; o < to; o++ {
		if r := row(o); !slices.Contains(without, o) {
			if err := f.Write(&r); err != nil {
				w.Fatal(err)
			}
		}
	}
	summary, err := f.Close()
	if err != nil {
		w.Fatal(err)
	}
	a := tables.Added{Location: fmt.Sprintf("%s/data/partition=0/%020d-%d-x.parquet", w.location, from, to-1), Bytes: int64(body.Len()), Summary: summary, End: to}
	if err := w.source.Store.Put(w.Context(), a.Location, &body); err != nil {
		w.Fatal(err)
	}
	state, err := w.table.State(w.Context())
	if err == nil {
		_, err = w.table.Append(w.Context(), state, 7, []tables.Added{a})
	}
	if err != nil {
		w.Fatal(err)
	}
}

// sealed puts a segment of offsets [from, to) into Redis.
func (w *world) sealed(number, from, to int64) {
	w.Helper()
	for o := from; o < to; o++ {
		w.entry(w.keys.Segment(number), o)
	}
	text := fmt.Sprintf("sealed %d %d %d %d %d 1000", from, to-1, began+from, began+to-1, began+to-1)
	w.redis.Do("HSET", w.keys.Segments, "topic", hexID(life), fmt.Sprint("s:", number), text, "open", fmt.Sprint(number+1), "sealed", fmt.Sprint(to-1))
}

func (w *world) entry(stream string, o int64) {
	w.Helper()
	r := row(o)
	command := []string{"XADD", stream, fmt.Sprintf("%d-%d", r.AppendMs, o)}
	if r.Value != nil {
		command = append(command, "value", string(compress.Zstd.Append(nil, r.Value, nil)))
	}
	if r.Key != nil {
		command = append(command, "key", string(r.Key))
	}
	if r.Headers != nil {
		command = append(command, "headers", string(r.Headers))
	}
	w.redis.Do(append(command, "timestamp", fmt.Sprint(r.Timestamp))...)
}

func (w *world) look() *Table {
	w.Helper()
	list, err := w.source.Find(w.Context(), "t")
	if err != nil || len(list) != 1 {
		w.Fatal(list, err)
	}
	return list[0]
}

func (w *world) verify() *Report {
	w.Helper()
	r, err := w.source.Verify(w.Context(), w.look(), nil)
	if err != nil {
		w.Fatal(err)
	}
	return r
}

func (r *Report) said() string {
	var all []string
	for _, p := range r.Problems {
		all = append(all, p.What)
	}
	return strings.Join(all, "; ")
}

func TestTableIsShownBesideItsLog(t *testing.T) {
	w := newWorld(t)
	w.copied(0, 100)
	w.copied(100, 150)
	w.sealed(3, 100, 150)
	w.sealed(4, 150, 180)
	for o := range int64(7) {
		w.entry(w.keys.Stream, 180+o)
	}
	w.redis.Do("HSET", w.keys.Segments, "start", "20", "local", "100", "tiered", "150")
	got := w.look()
	if got.State != StateLive || got.Files != 2 || got.Rows != 150 || got.Snapshots != 2 || got.Problem != "" {
		t.Errorf("table %+v", got)
	}
	p, l := got.Partitions[0], *got.Partitions[0].Log
	if p.First != 0 || p.Last != 149 || p.End != 150 {
		t.Errorf("partition %+v", p)
	}
	if l.LagBytes < 1000 || l.LagMs != 0 {
		t.Errorf("log %+v", l)
	}
	l.LagBytes = 0
	if want := (Log{Start: 20, LocalStart: 100, TieredEnd: 150, End: 187, Lag: 37, Sealed: 1}); l != want {
		t.Errorf("log %+v, want %+v", l, want)
	}
	if files, history := got.DataFiles(), got.History(); len(files) != 2 || files[1].First != 100 || len(history) != 2 || !history[1].Current || !history[0].Own {
		t.Errorf("files %+v, history %+v", files, history)
	}
	if r := w.verify(); len(r.Problems)+len(r.Holes) != 0 || r.Rows != 150 || r.Compared != 50 || r.Files != 2 {
		t.Errorf("verified %+v", r)
	}
	w.source.Metadata, w.source.Messages = nil, nil
	if got := w.look(); got.State != StateLive || got.Partitions[0].Log != nil {
		t.Errorf("without Redis: %+v", got)
	}
	if r := w.verify(); len(r.Problems)+len(r.Holes) != 0 || r.Rows != 150 || r.Compared != 0 {
		t.Errorf("verified without Redis: %+v", r)
	}
}

func TestStatesOfTables(t *testing.T) {
	w := newWorld(t)
	states := func() string {
		t.Helper()
		list, err := w.source.Tables(t.Context(), func(string, string) bool { return true })
		if err != nil {
			t.Fatal(err)
		}
		var all []string
		for _, one := range list {
			all = append(all, one.Name+" "+one.State)
		}
		return strings.Join(all, ", ")
	}
	w.redis.Do("HSET", "korvet:storage:tables", "z", `{"name":"z","topic":"z","id":"`+life.String()+`","location":"`+w.location+`-z"}`)
	if got := states(); got != "t live, z reserved" {
		t.Error(got)
	}
	w.redis.Do("HDEL", "korvet:storage:tables", "t", "z")
	other := uuid.NewString()
	w.redis.Do("HSET", "korvet:topics", "new", `{"name":"new","id":"`+other+`","partitions":3,"configs":{"remote.storage.enable":"true"},"version":1}`)
	if got := states(); got != " none, t unknown" {
		t.Error(got)
	}
	if list, err := w.source.Find(t.Context(), "new"); err != nil || len(list) != 1 || len(list[0].Partitions) != 3 || list[0].Partitions[0].Log == nil {
		t.Errorf("a topic without a table: %+v, %v", list, err)
	}
	w.redis.Do("HDEL", "korvet:topics", "new")
	if got := states(); got != "t unknown" {
		t.Error(got)
	}
	if err := w.source.Store.Put(t.Context(), w.location+"/metadata/v2.metadata.json", strings.NewReader("{")); err != nil {
		t.Fatal(err)
	}
	if got := states(); got != "t damaged" {
		t.Error(got)
	}
}

func TestVerifyNamesWhatIsWrong(t *testing.T) {
	for name, c := range map[string]struct {
		damage func(w *world)
		want   string
	}{
		"a file that is gone":   {func(w *world) { w.remove(0) }, "it is not there"},
		"a shorter file":        {func(w *world) { w.rewrite(0, func(b []byte) []byte { return b[:len(b)-1] }) }, "bytes, not"},
		"a damaged page":        {func(w *world) { w.rewrite(0, func(b []byte) []byte { copy(b[200:], make([]byte, 300)); return b }) }, "corrupt data file"},
		"a damaged footer":      {func(w *world) { w.rewrite(0, func(b []byte) []byte { b[len(b)-2] = 0; return b }) }, "corrupt data file"},
		"another file's bytes":  {func(w *world) { w.rewrite(0, func([]byte) []byte { return w.bytes(1) }) }, "bytes, not"},
		"another record":        {func(w *world) { w.redis.Do("DEL", w.keys.Segment(1)); w.other(1, 60, 100) }, "its value differs"},
		"records that are lost": {func(w *world) { w.sealed(2, 100, 120); w.copied(120, 130) }, "offsets 100 to 119: the log has records there"},
		"a lost end of the log": {func(w *world) { w.copied(100, 300) }, "ahead of the log"},
		"a lost log":            {func(w *world) { w.redis.Do("DEL", w.keys.Leader) }, "korvet recover"},
	} {
		w := newWorld(t)
		w.copied(0, 60)
		w.copied(60, 100)
		w.sealed(1, 60, 100)
		w.redis.Do("HSET", w.keys.Segments, "local", "60", "tiered", "100")
		if r := w.verify(); len(r.Problems)+len(r.Holes) != 0 || r.Compared != 40 {
			t.Fatalf("%s: before: %+v", name, r)
		}
		c.damage(w)
		if r := w.verify(); !strings.Contains(r.said(), c.want) {
			t.Errorf("%s: %+v, want %q", name, r, c.want)
		}
	}
}

func (w *world) place(file int) string {
	return strings.TrimPrefix(w.look().DataFiles()[file].Location, "file://")
}

func (w *world) remove(file int) {
	w.Helper()
	if err := os.Remove(w.place(file)); err != nil {
		w.Fatal(err)
	}
}

func (w *world) bytes(file int) []byte {
	w.Helper()
	b, err := os.ReadFile(w.place(file))
	if err != nil {
		w.Fatal(err)
	}
	return b
}

func (w *world) rewrite(file int, change func([]byte) []byte) {
	w.Helper()
	if err := os.WriteFile(w.place(file), change(w.bytes(file)), 0o644); err != nil {
		w.Fatal(err)
	}
}

// other puts a segment into Redis whose records have the values of others.
func (w *world) other(number, from, to int64) {
	for o := from; o < to; o++ {
		w.redis.Do("XADD", w.keys.Segment(number), fmt.Sprintf("%d-%d", began+o, o), "value", string(compress.Zstd.Append(nil, []byte("x"), nil)), "timestamp", fmt.Sprint(began+o))
	}
}

func TestHolesAreNamedWithTheirCause(t *testing.T) {
	w := newWorld(t)
	w.copied(0, 50, 10, 11, 30)
	w.copied(60, 80)
	w.source.Metadata, w.source.Messages = nil, nil
	r := w.verify()
	want := []Hole{{0, 10, 12, CauseNever}, {0, 30, 31, CauseNever}, {0, 50, 60, CauseUnknown}}
	if !slices.Equal(r.Holes, want) || len(r.Problems) != 0 {
		t.Errorf("holes %+v, want %+v; problems %+v", r.Holes, want, r.Problems)
	}
}
