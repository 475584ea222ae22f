package copying_test

import (
	"context"
	"log/slog"
	"strings"
	"sync/atomic"
	"testing"

	objectstore "github.com/korvet-io/korvet/internal/iceberg/store"
	"github.com/korvet-io/korvet/internal/partition"
	"github.com/korvet-io/korvet/internal/redisstream"
	"github.com/korvet-io/korvet/internal/redistest"
	"github.com/korvet-io/korvet/internal/worker/copying"
	"github.com/korvet-io/korvet/internal/worker/tiertest"
	"github.com/korvet-io/korvet/internal/worker/workertest"
)

// A log that Redis has lost altogether, or lost again.

func TestLogThatRedisLostWaitsForItsTable(t *testing.T) {
	w := &rewound{Rig: tiertest.New(t)}
	w.open()
	for how, lose := range map[string]func(){
		"flushed":           func() { w.Do("FLUSHALL") }, // its identity stays
		"an empty replica":  func() { w.rewind(nil) },
		"a lost shard":      func() { w.Do("DEL", w.part.Keys.Stream, w.part.Keys.Leader, w.part.Keys.Segments, w.part.Keys.Epochs) },
		"a new broker, too": func() { w.Do("FLUSHALL"); w.open() },
	} {
		w.begin(strings.NewReplacer(" ", "", ",", "").Replace(how))
		w.log = nil
		for _, step := range w.steps() {
			step()
		}
		end := w.ended()
		lose()
		w.store.gone.Store(true)
		w.waits(how)
		w.store.gone.Store(false)
		redistest.Eventually(t, "the log to go on without a client", func() bool { return w.broker.Waiting() == 0 })
		if base := w.produce("x", 5); base != end || end != 20 {
			t.Fatalf("%s: the log goes on at %d, the table ends at %d", how, base, end)
		}
		w.roll()
		for range 4 {
			w.try()
		}
		w.produce("y", 3)
		w.check(how)
		if w.Copied.Cut != 0 {
			t.Fatalf("%s: %d offsets were taken out of the table", how, w.Copied.Cut)
		}
	}
}

// newLost is a log in Redis and in its table, after Redis has lost everything.
func newLost(t *testing.T) *rewound {
	t.Helper()
	w := &rewound{Rig: tiertest.New(t)}
	w.open()
	w.begin("t")
	for _, step := range w.steps() {
		step()
	}
	w.Do("FLUSHALL")
	return w
}

func TestPartitionThatIsNewNeedsNoStore(t *testing.T) {
	w := newLost(t)
	w.store.gone.Store(true)
	old := w.ref
	w.ref.Partition, w.log = 1, nil
	if base := w.produce("n", 3); base != 0 {
		t.Errorf("a new partition begins at %d", base)
	}
	w.ref = old
	w.waits("of a partition that the table may have")
}

func TestBrokerWithoutTheTierBeginsNoLogThatATableMayHave(t *testing.T) {
	w := newLost(t)
	s := partition.DefaultSettings()
	s.Owner = "9/b"
	shard := workertest.OpenShard(t, w.Redis.URI())
	t.Cleanup(shard.Close)
	w.broker = partition.NewManager(s, partition.Dependencies{Shard: shard, Observer: unheard{}, Log: slog.New(slog.DiscardHandler), Tiered: w.Tables.MayHave})
	if _, err := w.append("z"); err == nil || !strings.Contains(err.Error(), partition.ErrRemote.Error()) {
		t.Errorf("an append is answered %v", err)
	}
	if w.Exists(w.part) && w.ended() != 20 {
		t.Errorf("the table ends at %d", w.ended())
	}
}

// rewinding has Redis be rewound around one put of a table's metadata.
type rewinding struct {
	objectstore.Store
	before, after func()
	puts          atomic.Int32
}

func (r *rewinding) PutIfAbsent(ctx context.Context, location string, body []byte) error {
	if !strings.HasSuffix(location, ".metadata.json") || r.puts.Add(1) != 1 {
		return r.Store.PutIfAbsent(ctx, location, body)
	}
	r.before()
	err := r.Store.PutIfAbsent(ctx, location, body)
	r.after()
	return err
}

// TestTableIsNotCutForALogThatIsGone has Redis be rewound a second time, when the worker has decided that the table is to be cut:
// the log is then what the table has.
func TestTableIsNotCutForALogThatIsGone(t *testing.T) {
	for _, when := range []string{"before the commit", "within the commit", "after the commit"} {
		w := &rewound{Rig: tiertest.New(t)}
		w.open()
		w.begin("t")
		steps := w.steps()
		for _, step := range steps[:2] {
			step()
		}
		early := w.save()
		for _, step := range steps[2:10] {
			step()
		}
		late := w.save()
		rows := w.Rows(w.part)
		w.rewind(early)
		w.open() // it does not know that the log was longer
		w.store.gone.Store(true)
		w.produce("other", 7)
		w.roll()
		w.store.gone.Store(false)

		nothing, again := func() {}, func() { w.rewind(late) }
		r := &rewinding{Store: w.Plain, before: nothing, after: nothing}
		switch when {
		case "before the commit":
			w.Storage.Copier.Redis = &rewindingGlances{Sources: w.Storage.Copier.Redis, at: 2, do: again}
		case "within the commit":
			r.before = again
		case "after the commit":
			r.after = again
		}
		w.Storage.Copier.Tables = w.TablesOn(r)
		for range 4 {
			w.try()
		}
		got := w.Rows(w.part)
		if len(got) != len(rows) || w.ended() != 20 {
			t.Fatalf("%s: the table has %d rows and ends at %d, want %d and 20\n%s", when, len(got), w.ended(), len(rows), w.Rig.Logged)
		}
		for i := range rows {
			if string(got[i].Value) != string(rows[i].Value) {
				t.Fatalf("%s: offset %d is %s, want %s", when, i, got[i].Value, rows[i].Value)
			}
		}
		w.open()
		w.log = w.log[:0:0]
		for _, row := range rows {
			w.log = append(w.log, string(row.Value))
		}
		w.produce("y", 3)
		w.check(when)
	}
}

// rewindingGlances has something happen before the logs are looked at for the nth time.
type rewindingGlances struct {
	copying.Sources
	at, seen int
	do       func()
}

func (r *rewindingGlances) Glances(ctx context.Context, keys []redisstream.Keys) ([]redisstream.Glance, error) {
	if r.seen++; r.seen == r.at {
		r.do()
	}
	return r.Sources.Glances(ctx, keys)
}
