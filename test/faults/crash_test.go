package faults

import (
	"errors"
	"testing"
	"time"

	"github.com/korvet-io/korvet/internal/redistest"
	"github.com/korvet-io/korvet/test/harness"
	"github.com/twmb/franz-go/pkg/kerr"
)

func TestBrokerKilledAtRandomMoments(t *testing.T) {
	w := newWorld(t, harness.Options{})
	w.start(nil)
	killBroker(w)
	w.verdict()
}

func TestBrokerKilledWithMetadataAndMessagesInTwoRedisServers(t *testing.T) {
	messages := redistest.Start(t, always...)
	w := newWorld(t, harness.Options{Args: []string{"--korvet.storage.local.redis.uri=" + messages.URI()}})
	w.messages = messages
	w.keepRedisLog("messages", messages)
	w.start(nil)
	killBroker(w)
	w.verdict()
	requireKeys(t, messages, "korvet:storage:*", true)
	requireKeys(t, messages, "korvet:topics", false)
	requireKeys(t, w.redis, "korvet:topics", true)
	requireKeys(t, w.redis, "korvet:storage:local:*", false)
}

func killBroker(w *world) {
	w.progress(20)
	for range rounds(5) {
		w.moment()
		w.broker.Kill9()
		w.faults++
		w.broker.Launch()
	}
	w.broker.AwaitReady()
	w.progress(50)
}

func requireKeys(t *testing.T, s *redistest.Server, pattern string, want bool) {
	t.Helper()
	m := s.Do("KEYS", pattern)
	keys, err := m.AsStrSlice()
	if err != nil {
		t.Fatalf("read KEYS: %v", err)
	}
	if (len(keys) > 0) != want {
		t.Errorf("%s has keys %q of %s, want some: %v", s.Addr(), keys, pattern, want)
	}
}

func TestRedisKilledAtRandomMoments(t *testing.T) {
	w := newWorld(t, harness.Options{})
	w.start(nil)
	w.progress(20)
	for range rounds(5) {
		w.moment()
		w.redis.Kill()
		w.faults++
		w.pass(200 * time.Millisecond)
		w.redis.Restart()
	}
	w.progress(50)
	w.verdict()
}

// A broker that was killed serves reads as soon as it is back. Writes may have to wait for the old lease, which tells
// clients to try again and nothing else.
func TestKilledBrokerServesReadsAtOnceAndWritesWhenTheLeaseIsOver(t *testing.T) {
	w := newWorld(t, harness.Options{})
	w.topic("direct", nil)
	for i := range int64(rounds(3)) {
		eventually(t, "write", func() error { _, err := w.probe().Produce("direct", "before", -1); return err })
		w.broker.Kill9()
		w.broker.Restart()
		if a, err := w.probe().Fetch("direct", 0); err != nil || a.Next != 2*i+1 || a.HighWatermark != 2*i+1 {
			t.Errorf("first read after the restart: %+v, %v; want everything below %d", a, err, 2*i+1)
		}
		eventually(t, "first write after the restart", func() error {
			offset, err := w.probe().Produce("direct", "after", -1)
			if err == nil && offset != 2*i+1 {
				t.Errorf("written at offset %d, want %d", offset, 2*i+1)
			}
			if err != nil && !errors.Is(err, kerr.NotLeaderForPartition) {
				t.Errorf("refused with %v, want NOT_LEADER_OR_FOLLOWER", err)
			}
			return err
		})
	}
}

// SIGTERM answers what is in flight and gives up the lease: nothing is in the log that its producer was not told of, and
// the next broker writes at once.
func TestStoppedBrokerLeavesNoOutcomeUnknownAndNoLease(t *testing.T) {
	w := newWorld(t, harness.Options{})
	w.start(nil)
	w.topic("direct", nil)
	eventually(t, "first write", func() error { _, err := w.probe().Produce("direct", "first", -1); return err })
	for i := range int64(rounds(5)) {
		w.progress(1 + w.rnd.IntN(100))
		w.broker.Stop()
		w.faults++
		if code := w.broker.AwaitExit(); code != 0 {
			t.Errorf("exit code %d after SIGTERM", code)
		}
		w.broker.Restart()
		if offset, err := w.probe().Produce("direct", "next", -1); err != nil || offset != i+1 {
			t.Errorf("first write after the restart: offset %d, %v; want %d", offset, err, i+1)
		}
	}
	w.progress(50)
	report := w.verdict()
	if report.Duplicates > 0 || report.UnknownPresent > 0 {
		t.Errorf("%d plain records were sent again although they were in the log, %d were given up", report.Duplicates, report.UnknownPresent)
	}
}
