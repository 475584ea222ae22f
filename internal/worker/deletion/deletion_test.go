package deletion

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/korvet-io/korvet/internal/metadata"
	"github.com/korvet-io/korvet/internal/partition"
	"github.com/korvet-io/korvet/internal/redistest"
	"github.com/korvet-io/korvet/internal/topicconfig"
)

// disk stands for the partitions' data: it remembers what was removed, and fails where it is told to.
type disk struct {
	mu      sync.Mutex
	ended   []uuid.UUID
	removed []partition.Ref
	fails   map[string]error // by topic
}

func (d *disk) DeletePartition(_ context.Context, p partition.Ref) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if err := d.fails[p.Topic]; err != nil {
		return err
	}
	d.removed = append(d.removed, p)
	return nil
}

// DeleteTopic notes the topics that end.
func (d *disk) DeleteTopic(_ context.Context, _ string, id uuid.UUID) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.ended = append(d.ended, id)
	return nil
}

func (d *disk) of(topic uuid.UUID) (partitions []int32) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, p := range d.removed {
		if p.ID == topic {
			partitions = append(partitions, p.Partition)
		}
	}
	return partitions
}

func quiet() *slog.Logger { return slog.New(slog.NewTextHandler(io.Discard, nil)) }

func store(t *testing.T, redis *redistest.Server) *metadata.Store {
	t.Helper()
	schema, problems := topicconfig.New(topicconfig.Options{})
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	s, err := metadata.Open(t.Context(), redis.Client(), metadata.Options{
		Namespace: "korvet", Tables: "file:///tier/korvet", BrokerID: 1, Host: "localhost", Port: 1, Timeout: 20 * time.Second, Schema: schema, Log: quiet(),
	})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func deleted(t *testing.T, s *metadata.Store, name string, partitions int32) *metadata.Topic {
	t.Helper()
	topic, err := s.Create(t.Context(), name, partitions, nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Delete(t.Context(), topic); err != nil {
		t.Fatal(err)
	}
	return topic
}

func waiting(t *testing.T, s *metadata.Store) int {
	t.Helper()
	list, err := s.Deletions(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return len(list)
}

func TestDeletionIsFinishedAtOnce(t *testing.T) {
	s, d := store(t, redistest.Start(t)), &disk{}
	done := make(chan struct{})
	ctx, cancel := context.WithCancel(t.Context())
	go func() { New(s, d, quiet()).Run(ctx, time.Hour); close(done) }()
	topic := deleted(t, s, "t", 3)
	redistest.Eventually(t, "the topic to leave the list", func() bool { return waiting(t, s) == 0 })
	if got := d.of(topic.ID); !slices.Equal(got, []int32{0, 1, 2}) {
		t.Errorf("partitions %v were removed, want 0, 1 and 2", got)
	}
	cancel()
	<-done
}

func TestDeletionOfABrokerThatDiedIsFinishedByTheNext(t *testing.T) {
	redis := redistest.Start(t)
	s := store(t, redis)
	topic, err := s.Create(t.Context(), "t", 2, nil)
	if err != nil {
		t.Fatal(err)
	}
	// The broker died after the first of the two steps: the topic is listed and still there.
	entry := redis.Do("HGET", "korvet:topics", "t")
	encoded, err := entry.ToString()
	if err != nil {
		t.Fatal(err)
	}
	redis.Do("HSET", "korvet:topics:deleting", topic.ID.String(), encoded)
	d, next := &disk{}, store(t, redis)
	if err := New(next, d, quiet()).FinishDeletions(t.Context()); err != nil {
		t.Fatal(err)
	}
	if _, err := next.Topic(t.Context(), "t"); !errors.Is(err, metadata.ErrUnknownTopic) {
		t.Errorf("topic after the deletion: %v, want ErrUnknownTopic", err)
	}
	if got := d.of(topic.ID); len(got) != 2 || waiting(t, next) != 0 {
		t.Errorf("removed %v, %d on the list, want both partitions and none", got, waiting(t, next))
	}
}

func TestFailedDeletionIsRepeatedAndHoldsUpNoOther(t *testing.T) {
	s := store(t, redistest.Start(t))
	broken := errors.New("broken")
	d := &disk{fails: map[string]error{"bad": broken}}
	w := New(s, d, quiet())
	bad, good := deleted(t, s, "bad", 1), deleted(t, s, "good", 1)
	if err := w.FinishDeletions(t.Context()); !errors.Is(err, broken) {
		t.Errorf("error %v, want the disk's", err)
	}
	if len(d.of(good.ID)) != 1 || waiting(t, s) != 1 {
		t.Errorf("removed of good: %v, %d on the list, want one each", d.of(good.ID), waiting(t, s))
	}
	d.fails = nil
	if err := w.FinishDeletions(t.Context()); err != nil || len(d.of(bad.ID)) != 1 || waiting(t, s) != 0 {
		t.Errorf("second run: %v, removed %v, %d on the list", err, d.of(bad.ID), waiting(t, s))
	}
}

func TestNewLifeOfANameIsLeftAlone(t *testing.T) {
	s, d := store(t, redistest.Start(t)), &disk{}
	old := deleted(t, s, "t", 1)
	life, err := s.Create(t.Context(), "t", 1, nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := New(s, d, quiet()).FinishDeletions(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got, err := s.Topic(t.Context(), "t"); err != nil || got.ID != life.ID {
		t.Errorf("topic %+v, %v, want the new life", got, err)
	}
	if len(d.of(old.ID)) != 1 || len(d.of(life.ID)) != 0 {
		t.Errorf("removed %v, want the old life's partition only", d.removed)
	}
}
