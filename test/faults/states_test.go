package faults

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/korvet-io/korvet/internal/redistest"
	"github.com/korvet-io/korvet/test/faults/probe"
	"github.com/korvet-io/korvet/test/harness"
	"github.com/twmb/franz-go/pkg/kerr"
)

func TestFrozenRedisGivesRetriableErrorsAndNoDuplicate(t *testing.T) {
	w := newWorld(t, harness.Options{Args: []string{"--korvet.broker.produce-timeout=700ms"}})
	w.topic("direct", nil)
	producer, err := w.probe().NewSequence()
	if err != nil {
		t.Fatal(err)
	}
	w.start(nil)
	for i := range rounds(2) {
		value := fmt.Sprint("value ", i)
		eventually(t, "write to a working Redis", func() error { return send(w, "before "+value, &producer) })
		w.progress(20)
		w.redis.Pause()
		w.faults++
		for range 3 { // each answer comes although Redis is still frozen
			if _, err := w.probe().ProduceSequenced("direct", value, producer); !kerr.IsRetriable(err) {
				t.Errorf("while Redis is frozen: %v, want a retriable error", err)
			}
		}
		if a, err := w.probe().Fetch("direct", int64(2*i)); err != nil || a.Next != int64(2*i+1) { // a takeover empties the cache
			t.Errorf("fetch while Redis is frozen: %+v, %v; want what is in the tail cache, below %d", a, err, 2*i+1)
		}
		w.redis.Resume()
		eventually(t, "write after Redis was frozen", func() error { return send(w, value, &producer) })
		if a, err := w.probe().Fetch("direct", 0); err != nil || a.HighWatermark != int64(2*i+2) {
			t.Errorf("the log is %+v, %v; want a high watermark of %d: every value once", a, err, 2*i+2)
		}
	}
	w.progress(50)
	w.verdict()
}

// An idle partition's lease ends without anybody noticing. If Redis freezes then, the broker cannot make sure that it still
// leads; clients are answered all the same.
func TestClientsOfAnIdlePartitionAreAnsweredWhileRedisIsFrozen(t *testing.T) {
	w := newWorld(t, harness.Options{Args: []string{"--korvet.broker.produce-timeout=700ms", "--korvet.broker.lease-duration=500ms"}})
	w.topic("direct", nil)
	eventually(t, "write", func() error { _, err := w.probe().Produce("direct", "v", -1); return err })
	redistest.Eventually(t, "the lease to end", func() bool {
		m := w.redis.Do("EVAL", `local state = redis.call('KEYS', 'korvet:storage:state:{korvet:storage:local:direct:0}:*')[1]
			local now = redis.call('TIME')
			return redis.call('HGET', state, 'exp') - now[1] * 1000 < 0 and 1 or 0`, "0")
		over, err := m.ToInt64()
		return err == nil && over == 1
	})
	w.redis.Pause()
	if _, err := w.probe().Produce("direct", "v", -1); !kerr.IsRetriable(err) {
		t.Errorf("produce: %v, want a retriable error", err)
	}
	for _, offset := range []int64{0, 1} {
		if a, err := w.probe().Fetch("direct", offset); err != nil && !kerr.IsRetriable(err) {
			t.Errorf("fetch from %d: %+v, %v; want an answer, if only a retriable error", offset, a, err)
		}
	}
	w.redis.Resume()
	eventually(t, "write after Redis was frozen", func() error { _, err := w.probe().Produce("direct", "v", -1); return err })
}

// send produces one record to topic direct; its sequence number is used up only by success.
func send(w *world, value string, s *probe.Sequence) error {
	_, err := w.probe().ProduceSequenced("direct", value, *s)
	if err == nil {
		s.Next++
	}
	return err
}

func TestFullRedisRefusesWritesServesReadsAndRecovers(t *testing.T) {
	w := newWorld(t, harness.Options{})
	w.topic("direct", nil)
	w.start(nil)
	for i := range int64(rounds(2)) {
		eventually(t, "write to a Redis with room", func() error { _, err := w.probe().Produce("direct", "v", -1); return err })
		w.progress(20)
		w.redis.Do("SETRANGE", "filler", "200000000", "x")
		w.redis.Do("CONFIG", "SET", "maxmemory", "100mb")
		w.faults++
		for range 3 {
			if _, err := w.probe().Produce("direct", "v", -1); !errors.Is(err, kerr.KafkaStorageError) {
				t.Errorf("while Redis is full: %v, want KAFKA_STORAGE_ERROR", err)
			}
		}
		if a, err := w.probe().Fetch("direct", 0); err != nil || a.Next != i+1 {
			t.Errorf("fetch while Redis is full: %+v, %v; want everything below %d", a, err, i+1)
		}
		w.redis.Do("DEL", "filler")
		w.progress(20)
	}
	w.verdict()
}

// Each state of Redis has one error code. Nothing of what was refused is in the log.
func TestEveryStateOfRedisHasItsErrorCode(t *testing.T) {
	redis := redistest.Start(t, append([]string{"--save", "3600 1000000", "--stop-writes-on-bgsave-error", "yes"}, always...)...)
	w := newWorld(t, harness.Options{Redis: redis, Args: []string{"--korvet.storage.local.write.connections=1"}})
	w.topic("direct", nil)
	// What is sent before a connection's end is noticed has an unknown outcome, and is answered so.
	noticed := func(end func()) func() {
		return func() {
			before := w.connectionsEnded()
			end()
			redistest.Eventually(t, "the broker to notice that its connection ended", func() bool { return w.connectionsEnded() > before })
		}
	}
	redis.Do("EVAL", "for i = 1, 20000 do redis.call('RPUSH', 'filler', i) end", "0") // something to load
	states := []struct {
		name     string
		enter    func()
		leave    func()
		want     error
		unusable bool // reads, too, may have to wait: a Redis that starts again is not known to be the same
	}{
		{"read-only replica",
			func() { redis.Do("REPLICAOF", "127.0.0.1", "1") }, // a master that does not answer: the data stay
			func() { redis.Do("REPLICAOF", "NO", "ONE") },
			kerr.NotLeaderForPartition, false},
		{"away", noticed(redis.Kill), redis.Restart, kerr.NotLeaderForPartition, true},
		{"loading", noticed(redis.RestartLoading), redis.FinishLoading, kerr.NotLeaderForPartition, true},
		{"snapshot failing", func() { failSnapshot(t, redis) }, func() { healSnapshot(t, redis) }, kerr.KafkaStorageError, false},
		{"too few replicas to write",
			func() { redis.Do("CONFIG", "SET", "min-replicas-to-write", "1") },
			func() { redis.Do("CONFIG", "SET", "min-replicas-to-write", "0") },
			kerr.NotEnoughReplicas, false},
		{"full",
			func() { redis.Do("CONFIG", "SET", "maxmemory", "1mb") },
			func() { redis.Do("CONFIG", "SET", "maxmemory", "0") },
			kerr.KafkaStorageError, false},
	}
	end := int64(0)
	write := func() error {
		offset, err := w.probe().Produce("direct", "v", -1)
		if err == nil && offset != end {
			t.Errorf("written at offset %d, want %d: what was refused is in the log", offset, end)
		}
		if err == nil {
			end = offset + 1
		}
		return err
	}
	for _, s := range states {
		eventually(t, "write before: "+s.name, write)
		s.enter()
		for range 3 {
			if err := write(); !errors.Is(err, s.want) {
				t.Errorf("%s: %v, want %v", s.name, err, s.want)
			}
		}
		if a, err := w.probe().Fetch("direct", 0); (err != nil || a.Next != end) && !(s.unusable && kerr.IsRetriable(err)) {
			t.Errorf("%s: fetch %+v, %v; want everything below %d", s.name, a, err, end)
		}
		s.leave()
		eventually(t, "write after: "+s.name, write)
	}
}

// connectionsEnded is how many of the broker's write connections were ended by their Redis so far.
func (w *world) connectionsEnded() int {
	n := 0
	for line := range strings.Lines(w.broker.Logs()) {
		if strings.Contains(line, "redis connection lost") && (strings.Contains(line, "from redis") || strings.Contains(line, "to redis")) {
			n++
		}
	}
	return n
}

// failSnapshot makes a snapshot fail: a folder is in the way of the file.
func failSnapshot(t *testing.T, s *redistest.Server) {
	t.Helper()
	if err := os.MkdirAll(filepath.Join(s.Dir(), "dump.rdb", "in-the-way"), 0o755); err != nil {
		t.Fatal(err)
	}
	snapshot(t, s, "err")
}

func healSnapshot(t *testing.T, s *redistest.Server) {
	t.Helper()
	if err := os.RemoveAll(filepath.Join(s.Dir(), "dump.rdb")); err != nil {
		t.Fatal(err)
	}
	snapshot(t, s, "ok")
}

func snapshot(t *testing.T, s *redistest.Server, want string) {
	t.Helper()
	s.Do("BGSAVE", "SCHEDULE")
	redistest.Eventually(t, "a snapshot to end with "+want, func() bool {
		m := s.Do("INFO", "persistence")
		info, err := m.ToString()
		return err == nil && strings.Contains(info, "rdb_bgsave_in_progress:0") && strings.Contains(info, "rdb_last_bgsave_status:"+want)
	})
}
