package deletion

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/korvet-io/korvet/internal/metadata"
	"github.com/korvet-io/korvet/internal/redistest"
)

// objects stands for a store: it notes the locations that were cleared.
type objects struct {
	cleared []string
	fails   error
}

func (o *objects) Clear(_ context.Context, t metadata.Table) error {
	if o.fails == nil {
		o.cleared = append(o.cleared, t.Location)
	}
	return o.fails
}

// tableRig is a finisher of topics with tables, whose clock a test moves.
type tableRig struct {
	*testing.T
	store    *metadata.Store
	objects  objects
	finisher *Finisher
	clock    time.Time
	log      strings.Builder
}

func newTableRig(t *testing.T) *tableRig {
	r := &tableRig{T: t, store: store(t, redistest.Start(t)), clock: time.Now()}
	r.finisher = New(r.store, &disk{}, slog.New(slog.NewTextHandler(&r.log, nil)))
	r.finisher.AfterTables(r.store, &r.objects)
	r.finisher.dropped.now = func() time.Time { return r.clock }
	return r
}

func (r *tableRig) tiered(name string) (*metadata.Topic, metadata.Table) {
	r.Helper()
	topic, err := r.store.Create(r.Context(), name, 1, nil)
	if err != nil {
		r.Fatal(err)
	}
	return topic, r.reserve(topic)
}

func (r *tableRig) reserve(topic *metadata.Topic) metadata.Table {
	r.Helper()
	table, err := r.store.EnsureTable(r.Context(), topic)
	if err != nil {
		r.Fatal(err)
	}
	return table
}

func (r *tableRig) look() {
	r.Helper()
	if err := errors.Join(r.finisher.FinishDeletions(r.Context()), r.finisher.FinishTables(r.Context())); err != nil {
		r.Error(err)
	}
}

func TestTheTableOfADeletedTopicGoesWithItsObjects(t *testing.T) {
	r := newTableRig(t)
	topic, table := r.tiered("t")
	_, other := r.tiered("u")
	if err := r.store.Delete(t.Context(), topic); err != nil {
		t.Fatal(err)
	}
	r.look()
	if !slices.Equal(r.objects.cleared, []string{table.Location}) {
		t.Errorf("cleared %v, want %s", r.objects.cleared, table.Location)
	}
	if all := r.store.Tables(); len(all) != 1 || all[0] != other {
		t.Errorf("tables are %v", all)
	}
	if len(r.store.DroppedTables()) != 1 {
		t.Error("the table was forgotten while a paused worker may still write to it")
	}
	r.clock = r.clock.Add(settled + time.Minute)
	r.look()
	if len(r.objects.cleared) != 2 || len(r.store.DroppedTables()) != 0 {
		t.Errorf("after its time it was cleared %d times, %d are left", len(r.objects.cleared), len(r.store.DroppedTables()))
	}
}

func TestAStoreThatIsAwayHoldsUpNoDeletionAndIsToldOfOnce(t *testing.T) {
	r := newTableRig(t)
	topic, table := r.tiered("t")
	if err := r.store.Delete(t.Context(), topic); err != nil {
		t.Fatal(err)
	}
	r.objects.fails = errors.New("away")
	for range 3 {
		r.look()
	}
	if waiting(t, r.store) != 0 || strings.Count(r.log.String(), "cannot be deleted") != 1 {
		t.Errorf("%d topics wait, the log says %s", waiting(t, r.store), r.log.String())
	}
	r.clock = r.clock.Add(settled + time.Minute)
	r.look()
	if len(r.store.DroppedTables()) != 1 {
		t.Error("the table was forgotten with its objects in place")
	}
	r.objects.fails = nil
	r.look()
	if !slices.Equal(r.objects.cleared, []string{table.Location}) || len(r.store.DroppedTables()) != 0 {
		t.Errorf("cleared %v, dropped ones %v", r.objects.cleared, r.store.DroppedTables())
	}
}

func TestATableThatWasReservedDuringTheDeletionIsFoundLater(t *testing.T) {
	r := newTableRig(t)
	topic, err := r.store.Create(t.Context(), "t", 1, nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := r.store.Delete(t.Context(), topic); err != nil {
		t.Fatal(err)
	}
	r.look()
	late := r.reserve(topic)
	_, kept := r.tiered("u")
	r.look()
	if len(r.objects.cleared) != 0 {
		t.Error("it was dropped at first sight")
	}
	r.clock = r.clock.Add(orphaned)
	r.look()
	if !slices.Equal(r.objects.cleared, []string{late.Location}) {
		t.Errorf("cleared %v, want %s", r.objects.cleared, late.Location)
	}
	if all := r.store.Tables(); len(all) != 1 || all[0] != kept {
		t.Errorf("tables are %v", all)
	}
}

func TestATableIsKeptWhenItsTopicCannotBeRead(t *testing.T) {
	redis := redistest.Start(t)
	r := &tableRig{T: t, store: store(t, redis), clock: time.Now()}
	r.finisher = New(r.store, &disk{}, quiet())
	r.finisher.AfterTables(r.store, &r.objects)
	r.finisher.dropped.now = func() time.Time { return r.clock }
	topic, _ := r.tiered("t")
	look := func() {
		for range 3 {
			if err := r.store.Heartbeat(t.Context()); err != nil {
				t.Fatal(err)
			}
			r.look()
			r.clock = r.clock.Add(orphaned)
		}
	}
	redis.Do("HSET", "korvet:topics", "t", `{"of":"a newer version"}`, ":rev", "x")
	look()
	redis.Do("HDEL", "korvet:topics", "t")
	redis.Do("HSET", "korvet:topics:deleting", topic.ID.String(), `{"of":"a newer version"}`)
	for range 3 {
		_ = r.finisher.FinishDeletions(t.Context()) // which cannot read it
		if err := r.finisher.FinishTables(t.Context()); err != nil {
			t.Error(err)
		}
		r.clock = r.clock.Add(orphaned)
	}
	redis.Do("DEL", "korvet:topics")
	redis.Do("DEL", "korvet:topics:deleting")
	look()
	if len(r.objects.cleared) != 0 || len(r.store.Tables()) != 1 {
		t.Errorf("cleared %v, tables %v", r.objects.cleared, r.store.Tables())
	}
}
