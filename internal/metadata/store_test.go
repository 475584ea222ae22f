package metadata

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/korvet-io/korvet/internal/redistest"
	"github.com/korvet-io/korvet/internal/topicconfig"
)

func options(t testing.TB, broker int32) Options {
	t.Helper()
	schema, problems := topicconfig.New(topicconfig.Options{})
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	return Options{
		Namespace: "korvet", BrokerID: broker, Host: "localhost", Port: 9092, CreatedBy: "korvet test",
		Timeout: 20 * time.Second, Schema: schema, Log: slog.New(slog.NewTextHandler(io.Discard, nil)),
	}
}

func open(t testing.TB, redis *redistest.Server, opt Options) *Store {
	t.Helper()
	s, err := Open(context.Background(), redis.Client(), opt)
	if err != nil {
		t.Fatalf("open: %v", err)
	}
	return s
}

func create(t testing.TB, s *Store, name string) *Topic {
	t.Helper()
	topic, err := s.Create(t.Context(), name, 3, map[string]string{"retention.ms": "5"})
	if err != nil {
		t.Fatal(err)
	}
	return topic
}

func TestTopicCreatedOnOneBrokerIsFoundOnAnotherAtOnce(t *testing.T) {
	redis := redistest.Start(t)
	a, b := open(t, redis, options(t, 1)), open(t, redis, options(t, 2))
	for i := range 100 {
		made := create(t, a, fmt.Sprintf("t%d", i))
		byName, err := b.Topic(t.Context(), made.Name)
		if err != nil || byName.ID != made.ID || byName.Config.RetentionMs != 5 {
			t.Fatalf("by name on the other broker: %+v, %v, want id %s", byName, err, made.ID)
		}
		made = create(t, a, fmt.Sprintf("u%d", i))
		if byID, err := b.TopicByID(t.Context(), made.ID); err != nil || byID.Name != made.Name {
			t.Fatalf("by id on the other broker: %+v, %v, want %s", byID, err, made.Name)
		}
	}
}

func TestOwnChangesAreSeenInOrderWithoutAReload(t *testing.T) {
	s := open(t, redistest.Start(t), options(t, 1))
	v1 := create(t, s, "t")
	v2, err := s.Alter(t.Context(), v1, 5, map[string]string{"max.message.bytes": "100"})
	if err != nil || v2.Version != 2 || v2.Partitions != 5 || v2.ID != v1.ID || v2.Config.MaxMessageBytes != 100 || v2.Config.RetentionMs == 5 {
		t.Fatalf("altered to %+v, %v", v2, err)
	}
	if got, _ := s.Topic(t.Context(), "t"); got != v2 {
		t.Errorf("after the change %+v is read", got)
	}
	if v1.Partitions != 3 {
		t.Error("the topic handed out before was changed")
	}
	if _, err := s.Alter(t.Context(), v1, 7, nil); !errors.Is(err, ErrVersionConflict) {
		t.Errorf("change of an old version: %v, want a conflict", err)
	}
	if _, err := s.Create(t.Context(), "t", 1, nil); !errors.Is(err, ErrTopicExists) {
		t.Errorf("create again: %v, want ErrTopicExists", err)
	}
	if err := s.Delete(t.Context(), v1); err != nil {
		t.Fatalf("delete with an old version in hand: %v", err)
	}
	if _, err := s.Topic(t.Context(), "t"); !errors.Is(err, ErrUnknownTopic) {
		t.Errorf("read after deletion: %v, want ErrUnknownTopic", err)
	}
	if _, err := s.TopicByID(t.Context(), v1.ID); !errors.Is(err, ErrUnknownTopicID) {
		t.Errorf("read by id after deletion: %v, want ErrUnknownTopicID", err)
	}
	if _, err := s.Alter(t.Context(), v2, 7, nil); !errors.Is(err, ErrUnknownTopic) {
		t.Errorf("alter after deletion: %v, want ErrUnknownTopic", err)
	}
	if err := s.Delete(t.Context(), v2); !errors.Is(err, ErrUnknownTopic) {
		t.Errorf("delete again: %v, want ErrUnknownTopic", err)
	}
}

func TestEveryLifeOfATopicHasAHigherID(t *testing.T) {
	redis := redistest.Start(t)
	s := open(t, redis, options(t, 1))
	var last uuid.UUID
	for range 50 {
		topic := create(t, s, "t")
		if topic.ID.String() <= last.String() || topic.ID.Version() != 7 || topic.ID.Variant() != uuid.RFC4122 {
			t.Fatalf("id %s after %s", topic.ID, last)
		}
		last = topic.ID
		if err := s.Delete(t.Context(), topic); err != nil {
			t.Fatal(err)
		}
	}
}

func TestIDsRiseEvenWhenRedisForgotTheLastOneOrItsClockWentBack(t *testing.T) {
	redis := redistest.Start(t)
	s := open(t, redis, options(t, 1))
	future := "0fffffff-ffff-7000-8000-000000000000"
	redis.Do("HSET", "korvet:topics:deleting", future, "{}")
	first := create(t, s, "t")
	if first.ID.String() <= future {
		t.Errorf("id %s is not above that of a topic being deleted", first.ID)
	}
	redis.Do("HSET", "korvet:topics", ":last", "1fffffff-ffff-7000-8000-000000000000")
	if second := create(t, s, "u"); second.ID.String() <= "1fffffff-ffff-7000-8000-000000000000" {
		t.Errorf("id %s is not above the last one given", second.ID)
	}
}

func TestDeletionListsEveryPartitionAddedMeanwhile(t *testing.T) {
	redis := redistest.Start(t)
	a, b := open(t, redis, options(t, 1)), open(t, redis, options(t, 2))
	old := create(t, a, "t")
	theirs, err := b.Topic(t.Context(), "t")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := b.Alter(t.Context(), theirs, 9, nil); err != nil {
		t.Fatal(err)
	}
	if err := a.Delete(t.Context(), old); err != nil {
		t.Fatal(err)
	}
	select {
	case <-a.Deleted():
	default:
		t.Error("the worker was not woken")
	}
	list, err := b.Deletions(t.Context())
	if err != nil || len(list) != 1 || list[0].Partitions != 9 || list[0].ID != old.ID {
		t.Fatalf("deletions %+v, %v, want one of 9 partitions", list, err)
	}
	if err := b.DeletionDone(t.Context(), list[0]); err != nil {
		t.Fatal(err)
	}
	if list, err := a.Deletions(t.Context()); err != nil || len(list) != 0 {
		t.Errorf("deletions %+v, %v after the last was done", list, err)
	}
}

func TestHeartbeatTakesOverWhatOthersChanged(t *testing.T) {
	redis := redistest.Start(t)
	a, b := open(t, redis, options(t, 1)), open(t, redis, options(t, 2))
	create(t, a, "kept")
	gone := create(t, a, "gone")
	if err := b.Heartbeat(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := a.Delete(t.Context(), gone); err != nil {
		t.Fatal(err)
	}
	create(t, a, "added")
	if err := b.Heartbeat(t.Context()); err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, topic := range b.All() {
		names = append(names, topic.Name)
	}
	if got := strings.Join(names, " "); got != "added kept" {
		t.Errorf("topics %q, want added and kept", got)
	}
}

func TestSurvivesRestartWithSameIDs(t *testing.T) {
	redis := redistest.Start(t, "--appendonly", "yes", "--appendfsync", "always")
	a := open(t, redis, options(t, 1))
	made := create(t, a, "t")
	redis.Restart()
	b := open(t, redis, options(t, 1))
	got, err := b.Topic(t.Context(), "t")
	if err != nil || got.ID != made.ID || !maps.Equal(got.Configs, made.Configs) || b.ID() != a.ID() || len(b.ID()) != 22 {
		t.Errorf("after a restart %+v, %v, cluster %s; before %+v, cluster %s", got, err, b.ID(), made, a.ID())
	}
}

func TestABrokerStartsAgainOnARedisThatLostEverythingWhileItRan(t *testing.T) {
	redis := redistest.Start(t)
	s := open(t, redis, options(t, 1))
	redis.Do("FLUSHALL")
	if err := s.Heartbeat(t.Context()); err != nil {
		t.Fatal(err)
	}
	if again := open(t, redis, options(t, 1)); again.ID() != s.ID() {
		t.Errorf("cluster %s, before it was %s", again.ID(), s.ID())
	}
}

func TestReadsGoOnFromMemoryWhileRedisIsDown(t *testing.T) {
	redis := redistest.Start(t, "--appendonly", "yes", "--appendfsync", "always")
	s := open(t, redis, options(t, 1))
	made := create(t, s, "t")
	redis.Kill()
	if got, err := s.Topic(t.Context(), "t"); err != nil || got.ID != made.ID {
		t.Errorf("read of a known topic: %+v, %v", got, err)
	}
	if _, err := s.Topic(t.Context(), "other"); !errors.Is(err, ErrUnavailable) {
		t.Errorf("read of a topic that is not in memory: %v, want ErrUnavailable", err)
	}
	if _, err := s.Create(t.Context(), "u", 1, nil); !errors.Is(err, ErrUnavailable) {
		t.Errorf("create: %v, want ErrUnavailable", err)
	}
	if err := s.Heartbeat(t.Context()); !errors.Is(err, ErrUnavailable) {
		t.Errorf("heartbeat: %v, want ErrUnavailable", err)
	}
	if err := s.Delete(t.Context(), made); !errors.Is(err, ErrUnavailable) {
		t.Errorf("delete: %v, want ErrUnavailable", err)
	}
	if len(s.Nodes()) != 1 || len(s.All()) != 1 {
		t.Errorf("%d brokers and %d topics in memory, want one each", len(s.Nodes()), len(s.All()))
	}
	redis.Restart()
	redistest.Eventually(t, "a heartbeat to succeed", func() bool { return s.Heartbeat(t.Context()) == nil })
	redistest.Eventually(t, "a creation to succeed", func() bool { // on whichever connection the client takes
		_, err := s.Create(t.Context(), "u", 1, nil)
		return err == nil || errors.Is(err, ErrTopicExists)
	})
}

func TestFrozenRedisFailsCallsWithinTheTimeout(t *testing.T) {
	redis := redistest.Start(t)
	opt := options(t, 1)
	opt.Timeout = 50 * time.Millisecond
	s := open(t, redis, opt)
	redis.Pause()
	if _, err := s.Create(t.Context(), "t", 1, nil); !errors.Is(err, ErrUnavailable) {
		t.Errorf("create: %v, want ErrUnavailable", err)
	}
	redis.Resume()
	redistest.Eventually(t, "a heartbeat to succeed", func() bool { return s.Heartbeat(t.Context()) == nil })
}

func TestFullRedisTakesWhatFreesMemoryAndNoNewTopics(t *testing.T) {
	redis := redistest.Start(t)
	s := open(t, redis, options(t, 1))
	topic := create(t, s, "t")
	redis.Do("CONFIG", "SET", "maxmemory", "1")
	if err := s.Heartbeat(t.Context()); err != nil {
		t.Errorf("heartbeat: %v", err)
	}
	if _, err := s.Create(t.Context(), "u", 1, nil); !errors.Is(err, ErrUnavailable) || !strings.Contains(err.Error(), "OOM") {
		t.Errorf("create: %v, want ErrUnavailable because of OOM", err)
	}
	topic, err := s.Alter(t.Context(), topic, 3, map[string]string{"retention.ms": "1"})
	if err != nil {
		t.Fatalf("alter: %v", err)
	}
	if err := s.Delete(t.Context(), topic); err != nil {
		t.Fatalf("delete: %v", err)
	}
	list, err := s.Deletions(t.Context())
	if err != nil || len(list) != 1 {
		t.Fatalf("deletions %+v, %v", list, err)
	}
	if err := s.DeletionDone(t.Context(), list[0]); err != nil {
		t.Errorf("end of the deletion: %v", err)
	}
}

func TestUnknownNamesAreAskedForOncePerInterval(t *testing.T) {
	var mu sync.Mutex
	clock := time.Unix(1000, 0)
	looks := 0
	var m misses
	m.init(time.Second, func() time.Time { mu.Lock(); defer mu.Unlock(); return clock })
	ask := func() {
		if err := m.once(t.Context(), "name:t", func() error { looks++; return nil }); err != nil {
			t.Fatal(err)
		}
	}
	ask()
	ask()
	if looks != 1 {
		t.Errorf("%d looks within the interval, want 1", looks)
	}
	clock = clock.Add(time.Second)
	ask()
	if looks != 2 {
		t.Errorf("%d looks after the interval, want 2", looks)
	}
	for i := range 3 * maxMisses {
		if err := m.once(t.Context(), fmt.Sprint(i), func() error { return nil }); err != nil {
			t.Fatal(err)
		}
	}
	if len(m.byID) > maxMisses {
		t.Errorf("%d names are remembered, want at most %d", len(m.byID), maxMisses)
	}
}

func TestEntriesThatAreNoTopicsAreLeftOut(t *testing.T) {
	redis := redistest.Start(t)
	s := open(t, redis, options(t, 1))
	create(t, s, "t")
	redis.Do("HSET", "korvet:topics", "hand", "made", "wrong", `{"name":"other"}`,
		"huge", `{"name":"huge","id":"01890a5d-ac96-774b-bcce-b302099a8057","partitions":2147483647}`, ":rev", "changed")
	if err := s.Heartbeat(t.Context()); err != nil {
		t.Fatal(err)
	}
	if n := len(s.All()); n != 1 {
		t.Errorf("%d topics, want 1", n)
	}
	if _, err := s.Topic(t.Context(), ":rev"); !errors.Is(err, ErrUnknownTopic) {
		t.Errorf("topic :rev: %v, want ErrUnknownTopic", err)
	}
}

func TestListOfDeletionsKeepsTheNewestVersion(t *testing.T) {
	redis := redistest.Start(t)
	s := open(t, redis, options(t, 1))
	v1 := create(t, s, "t")
	v2, err := s.Alter(t.Context(), v1, 9, nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Delete(t.Context(), v2); err != nil {
		t.Fatal(err)
	}
	// A worker that read the list before it knew of the change goes on with what it has.
	final, err := s.CommitDeletion(t.Context(), v1)
	if err != nil || final.Partitions != 9 {
		t.Errorf("deletion goes on with %+v, %v, want 9 partitions", final, err)
	}
	if list, err := s.Deletions(t.Context()); err != nil || len(list) != 1 || list[0].Partitions != 9 {
		t.Errorf("deletions %+v, %v, want one of 9 partitions", list, err)
	}
}
