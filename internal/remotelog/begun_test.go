package remotelog

import (
	"context"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/korvet-io/korvet/internal/iceberg/chain"
	"github.com/korvet-io/korvet/internal/iceberg/storetest"
	"github.com/korvet-io/korvet/internal/iceberg/tables"
	"github.com/korvet-io/korvet/internal/metadata"
	"github.com/korvet-io/korvet/internal/redisstream"
	"github.com/korvet-io/korvet/internal/worker/lifecycle"
)

// begins tells of the copy of a data file, as a worker with the lease of a number does, and returns the file's location.
func (w *world) begins(fence int64, p int32, name string) string {
	w.Helper()
	location := w.entry.Location + "/data/" + name
	w.announcer.RemoteSegments(w.Context(), fence, []lifecycle.Event{{
		State: lifecycle.CopySegmentStarted, Topic: "t", TopicID: life, Partition: p, First: 0, Last: 9, Location: location, Table: w.entry.Location,
	}})
	return location
}

// over tells that all copies of the worker are.
func (w *world) over(fence int64) {
	w.announcer.RemoteSegments(w.Context(), fence, []lifecycle.Event{{State: lifecycle.CopiesEnded, Topic: "t", TopicID: life}})
}

// leads gives the lease of a number to another process's worker.
func (w *world) leads(fence int64) {
	w.restart(w.announcer.Outbox)
	w.announcer.Ticked(fence)
}

// expect checks all that was told of a partition, and that every copy has an end in it.
func (w *world) expect(p int32, want ...string) {
	w.Helper()
	all, _ := w.told(p)
	if !slices.Equal(all, want) {
		w.Errorf("told of %q, want %q", all, want)
	}
	if len(w.copying) > 0 {
		w.Errorf("copies without an end: %v", w.copying)
	}
}

// put makes the object of a copy.
func (w *world) put(location string) {
	w.Helper()
	if err := w.store.Put(w.Context(), location, strings.NewReader("x")); err != nil {
		w.Fatal(err)
	}
}

func (w *world) remove(location string) {
	w.Helper()
	if err := w.store.Delete(w.Context(), []string{location}); err != nil {
		w.Fatal(err)
	}
}

// looksAgain has the announcer look at what is going.
func (w *world) looksAgain() {
	w.announcer.RemoteSegments(w.Context(), 0, []lifecycle.Event{{State: lifecycle.DeleteSegmentFinished, Topic: "t", TopicID: life}})
	w.sync()
}

// A segment that was dropped or truncated while it was copied: nothing was put, or an object that no table has.
func TestACopyThatCameToNothingIsToldToHaveEnded(t *testing.T) {
	w := newWorld(t)
	w.copied(0, 0, 10)
	w.sync()
	w.begins(7, 0, "never")
	left := w.begins(7, 0, "left")
	w.put(left)
	w.sync() // it goes on
	if all, _ := w.told(0); len(all) != 4 || len(w.copying) != 2 {
		t.Errorf("told of %q while it goes on", all)
	}
	w.over(7)
	w.sync()
	all, there := w.told(0)
	slices.Sort(all[4:])
	want := []string{"DELETE_SEGMENT_FINISHED never", "DELETE_SEGMENT_STARTED left", "DELETE_SEGMENT_STARTED never"}
	if !slices.Equal(all[4:], want) || len(there) != 1 || len(w.copying) != 0 {
		t.Errorf("told of %q, there %q, without an end %v", all, there, w.copying)
	}
	w.remove(left)
	w.looksAgain()
	w.looksAgain()
	if all, _ := w.told(0); len(all) != 8 || all[7] != "DELETE_SEGMENT_FINISHED left" {
		t.Errorf("told of %q", all)
	}
}

// One that came to be in the table ends with that, whoever tells; also one that has left the table before somebody looked.
func TestACopyThatIsInTheTableHasThatAsItsEnd(t *testing.T) {
	w := newWorld(t)
	w.copied(1, 0, 5)
	w.sync()
	for _, first := range []int64{0, 10} { // names as copied gives them
		w.begins(7, 0, map[int64]string{0: "0-0.parquet", 10: "0-10.parquet"}[first])
		w.copied(0, first, first+10)
	}
	w.over(7)
	if _, _, err := w.table.DropBefore(t.Context(), w.state(), 7, map[int32]int64{0: 10}); err != nil {
		t.Fatal(err)
	}
	w.sync()
	w.sync()
	w.expect(0, "LIST_STARTED ", "COPY_SEGMENT_STARTED 0-0.parquet", "COPY_SEGMENT_STARTED 0-10.parquet", "COPY_SEGMENT_FINISHED 0-10.parquet",
		"DELETE_SEGMENT_STARTED 0-0.parquet")
}

// A worker that was killed says nothing more: the next one tells, and leaves alone what a later one has begun.
func TestCopiesOfAWorkerThatWasKilledAreToldToHaveEnded(t *testing.T) {
	w := newWorld(t)
	w.copied(0, 0, 10)
	w.sync()
	w.begins(7, 0, "killed")
	w.leads(8)
	w.sync()
	w.expect(0, "LIST_STARTED ", "COPY_SEGMENT_FINISHED 0-0.parquet", "COPY_SEGMENT_STARTED killed", "DELETE_SEGMENT_STARTED killed",
		"DELETE_SEGMENT_FINISHED killed")
	late := w.announcer // the worker with lease 8, which was paused
	w.leads(9)
	w.begins(9, 0, "going on")
	if err := late.Sync(t.Context()); err != nil {
		t.Fatal(err)
	}
	w.sync()
	if all, _ := w.told(0); len(all) != 6 || len(w.copying) != 1 {
		t.Errorf("told of %q", all)
	}
}

// The topic was deleted, or its tier turned off, while the first segment of it was copied, by a worker that was killed.
func TestCopiesOfATableThatNoTopicHasAnyMoreAreToldToHaveEnded(t *testing.T) {
	w := newWorld(t)
	w.known.tables[0].Copied = 1
	w.sync()
	left := w.begins(7, 2, "left")
	w.put(left)
	w.known.dropped, w.known.tables = w.known.tables, nil
	w.known.dropped[0].Copied = 4 // as it was noted before the copy was begun
	w.leads(8)
	w.sync()
	w.expect(2, "COPY_SEGMENT_STARTED left", "DELETE_PARTITION_MARKED ", "DELETE_SEGMENT_STARTED left")
	if err := w.store.Clear(t.Context(), w.entry.Location+"/"); err != nil {
		t.Fatal(err)
	}
	w.sync()
	w.sync()
	w.sync()
	w.expect(2, "COPY_SEGMENT_STARTED left", "DELETE_PARTITION_MARKED ", "DELETE_SEGMENT_STARTED left", "DELETE_PARTITION_FINISHED ",
		"DELETE_SEGMENT_FINISHED left")
	w.known.dropped = nil // forgotten, and with it what was noted
	w.sync()
	marks, err := w.announcer.Outbox.Marks(t.Context(), []redisstream.OutboxKeys{redisstream.NewOutboxKeys("korvet", PartitionOf(Key(life, 2), 5))})
	if err != nil || len(marks[0]) != 0 {
		t.Errorf("noted is %v, %v", marks, err)
	}
	w.expect(2, "COPY_SEGMENT_STARTED left", "DELETE_PARTITION_MARKED ", "DELETE_SEGMENT_STARTED left", "DELETE_PARTITION_FINISHED ",
		"DELETE_SEGMENT_FINISHED left")
}

// What Redis has lost of the queue takes the notes of copies along: the list that follows, or the partition's end, ends them, too.
func TestCopiesWhoseNotesWereLostHaveAnEnd(t *testing.T) {
	for name, dropped := range map[string]bool{"of a topic": false, "of one that was deleted": true} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.copied(0, 0, 10)
			w.sync()
			w.begins(7, 0, "lost")
			w.begins(7, 1, "lost, too") // of this partition the table has nothing
			if err := w.publisher.Publish(t.Context()); err != nil {
				t.Fatal(err)
			}
			w.redis.Do("FLUSHALL")
			w.known.tables[0].Copied = 3
			if dropped {
				w.known.tables, w.known.dropped = nil, []metadata.Table{w.known.tables[0]}
			} else {
				w.described(2)
			}
			w.leads(8)
			w.sync()
			w.sync()
			last := map[bool][]string{false: {"LIST_STARTED "}, true: {"DELETE_PARTITION_MARKED "}}[dropped]
			w.expect(1, append([]string{"COPY_SEGMENT_STARTED lost, too"}, last...)...)
			if !dropped {
				last = append(last, "COPY_SEGMENT_FINISHED 0-0.parquet")
			}
			w.expect(0, append([]string{"LIST_STARTED ", "COPY_SEGMENT_FINISHED 0-0.parquet", "COPY_SEGMENT_STARTED lost"}, last...)...)
		})
	}
}

// described has the table tell how many partitions its topic has.
func (w *world) described(partitions int32) {
	w.Helper()
	if _, err := w.table.Describe(w.Context(), w.state(), partitions, nil); err != nil {
		w.Fatal(err)
	}
}

// Deletions may fill their room: a copy that is told of can be noted, or is not told of.
func TestNoCopyIsToldOfThatCannotBeNoted(t *testing.T) {
	w := newWorld(t)
	keys := redisstream.NewOutboxKeys("korvet", 3)
	queue := func(kind redisstream.EventKind, of string) {
		t.Helper()
		e := redisstream.NewEvent{Text: string(kind) + " " + of, Kind: kind, Of: of}
		waiting, err := w.publisher.Queues.Queued(t.Context(), []redisstream.OutboxKeys{keys}, 10)
		if err == nil && len(waiting[0]) > 1 {
			err = w.publisher.Queues.Unqueue(t.Context(), keys, waiting[0][:1])
		}
		if err == nil {
			err = w.announcer.Outbox.Queue(t.Context(), keys, redisstream.Told{}, 2, []redisstream.NewEvent{e})
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	for _, of := range []string{"a", "b", "c"} {
		queue(redisstream.EventBegins, of) // of c the end is not told
	}
	for _, of := range []string{"d", "e", "f"} {
		queue(redisstream.EventStarts, of) // f is not told
	}
	queue(redisstream.EventTurns, "d")
	queue(redisstream.EventTurns, "f")
	queue(redisstream.EventDone, "e")
	queue(redisstream.EventEnds, "e")
	going, err := w.announcer.Outbox.Going(t.Context(), []redisstream.OutboxKeys{keys})
	if err != nil || len(going[0]) != 3 || going[0]["d"] != "turn d" {
		t.Errorf("noted is %v, %v", going, err)
	}
	waiting, err := w.publisher.Queues.Queued(t.Context(), []redisstream.OutboxKeys{keys}, 10)
	if err != nil || len(waiting[0]) != 1 || waiting[0][0].Event != "done e" {
		t.Errorf("queued is %v, %v", waiting, err)
	}
}

// A look at a table that nobody committed to costs no request to the store; what another process commits is told of all the same.
func TestALookAtAnIdleTableAsksTheStoreNothing(t *testing.T) {
	w := newWorld(t)
	h := &hint{}
	w.table = tables.Open(&chain.Chain{Store: w.store, Hint: h, Location: w.entry.Location, Now: time.Now}, "korvet", "t")
	w.copied(0, 0, 10)
	counting := storetest.NewCounting(w.store)
	looked := tables.Open(&chain.Chain{Store: counting, Hint: h, Location: w.entry.Location, Now: time.Now, Cache: chain.NewCache(1 << 20)}, "korvet", "t")
	w.announcer.Open = func(metadata.Table) Table { return looked }
	w.sync()
	counting.Take()
	w.sync()
	w.sync()
	if asked := counting.Take(); len(asked) > 0 {
		t.Errorf("looks at an idle table asked %+v", asked)
	}
	w.copied(0, 10, 20)
	w.sync()
	w.expect(0, "LIST_STARTED ", "COPY_SEGMENT_FINISHED 0-0.parquet", "COPY_SEGMENT_FINISHED 0-10.parquet")
}

// hint is the one that processes share.
type hint struct{ n atomic.Int64 }

func (h *hint) Load(context.Context, string) (int64, error)      { return h.n.Load(), nil }
func (h *hint) Store(_ context.Context, _ string, n int64) error { h.n.Store(n); return nil }
