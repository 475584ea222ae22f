package worker

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/redis/rueidis"

	"github.com/korvet-io/korvet/internal/metadata"
	"github.com/korvet-io/korvet/internal/partition"
	"github.com/korvet-io/korvet/internal/redisstream"
	"github.com/korvet-io/korvet/internal/redistest"
)

func toInt(m rueidis.RedisMessage) (int64, error) { return m.AsInt64() }

// calls counts the commands that Redis ran since the statistics were reset, scripts' own included.
func (r *rig) calls() map[string]int64 {
	r.Helper()
	m := r.do("INFO", "commandstats")
	text, err := m.ToString()
	if err != nil {
		r.Fatal(err)
	}
	all := map[string]int64{}
	for line := range strings.Lines(text) {
		name, rest, _ := strings.Cut(strings.TrimPrefix(line, "cmdstat_"), ":calls=")
		var n int64
		for _, c := range rest {
			if c < '0' || c > '9' {
				break
			}
			n = n*10 + int64(c-'0')
		}
		all[name] = n
	}
	return all
}

func TestOneProcessActsAtATime(t *testing.T) {
	r := newRig(t)
	p := r.create("t", map[string]string{"retention.ms": hours(5)})
	r.tick()
	p.add(10, 6*hour, 10)
	other := r.worker("2/b")
	if err := other.RunOnce(t.Context()); !held(err) {
		t.Errorf("the second worker got %v, want that the first has the lease", err)
	}
	p.expect(0, 0)
	r.storage.release(t.Context())
	if err := other.RunOnce(t.Context()); err != nil {
		t.Fatal(err)
	}
	p.expect(10, -1)
}

func held(err error) bool {
	_, ok := errors.AsType[*redisstream.HeldError](err)
	return ok
}

func TestWorkerWhoseLeaseIsOverStopsAtOnce(t *testing.T) {
	r := newRig(t)
	p := r.create("t", map[string]string{"retention.ms": hours(5)})
	r.tick()
	p.add(10, 6*hour, 10)
	start := time.Now()
	r.storage.now = func() time.Time { return start.Add(time.Hour) } // it was paused
	target := r.storage.targets(nil)
	if err := r.storage.glance(t.Context(), target); err != nil {
		t.Fatal(err)
	}
	if err := r.storage.visit(t.Context(), target, true); !errors.Is(err, redisstream.ErrLeaseLost) {
		t.Errorf("the paused worker got %v, want that its lease is lost", err)
	}
	p.expect(0, 0)
}

func TestLeaseIsRenewedBeforeItEnds(t *testing.T) {
	r := newRig(t)
	r.tick()
	first := r.storage.lease
	start := time.Now()
	r.storage.now = func() time.Time { return start.Add(time.Minute) }
	r.tick()
	if second := r.storage.lease; second.fence != first.fence || !second.ends.After(first.ends) {
		t.Errorf("lease %+v after %+v", second, first)
	}
}

func TestPausedWorkerDoesNoHarmWithoutNoticing(t *testing.T) {
	r := newRig(t)
	p := r.create("t", map[string]string{"retention.ms": hours(5)})
	p.add(10, 6*hour, 10)
	r.tick()
	r.do("HSET", "korvet:storage:worker", "until", "1")
	other := r.worker("2/b")
	p.add(10, 6*hour, 10)
	if err := other.RunOnce(t.Context()); err != nil {
		t.Fatal(err)
	}
	p.add(10, 6*hour, 10)
	if err := r.storage.RunOnce(t.Context()); !errors.Is(err, redisstream.ErrFenced) {
		t.Errorf("the first worker got %v, want that it is fenced", err)
	}
	p.expect(20, 20)
}

func TestIdlePartitionsAreOnlyLookedAt(t *testing.T) {
	r := newRig(t)
	const partitions = 10_000
	id := uuid.Must(uuid.NewV7())
	r.topics.topics = []*metadata.Topic{{Name: "wide", ID: id, Partitions: partitions, Config: r.schema.Effective("wide", nil)}}
	busy := r.create("busy", nil)
	busy.add(10, 0, 10)
	r.tick()
	r.do("CONFIG", "RESETSTAT")
	r.tick()
	calls := r.calls()
	if looks := calls["xinfo|stream"] + calls["xinfo"]; looks != partitions+1 {
		t.Errorf("%d looks at %d idle partitions", looks, partitions+1)
	}
	if n := calls["eval"] + calls["evalsha"] + calls["memory|usage"] + calls["memory"] + calls["xtrim"] + calls["xrange"] + calls["hset"]; n != 0 {
		t.Errorf("idle partitions were measured or changed: %v", calls)
	}
}

func TestBrokenPartitionHoldsUpNoOther(t *testing.T) {
	r := newRig(t)
	bad, good := r.create("bad", map[string]string{"retention.ms": hours(5)}), r.create("good", map[string]string{"retention.ms": hours(5)})
	r.do("DEL", bad.keys.Segments)
	r.do("SET", bad.keys.Segments, "not a hash")
	good.add(10, 6*hour, 10)
	r.tick()
	good.expect(10, -1)
	if r.seen.failures != 1 {
		t.Errorf("%d failures, want 1", r.seen.failures)
	}
}

func TestAnotherLifeOfATopicIsLeftAlone(t *testing.T) {
	r := newRig(t)
	p := r.create("t", map[string]string{"retention.ms": hours(5)})
	p.add(10, 6*hour, 10)
	r.do("HSET", p.keys.Leader, "topic", strings.Repeat("f", 32))
	r.tick()
	p.expect(0, 0)
}

func TestWakingLooksAtOnce(t *testing.T) {
	r := newRig(t)
	p := r.create("t", nil)
	p.add(10, 0, 10)
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() { r.storage.Run(ctx); close(done) }()
	ticks := func() (n int) { r.seen.change(func() { n = r.seen.ticks }); return n }
	redistest.Eventually(t, "the first tick", func() bool { return ticks() == 1 })
	r.do("HSET", p.keys.Segments, "start", "5")
	r.storage.Wake(partition.Ref{Topic: "t", ID: p.topic.ID})
	redistest.Eventually(t, "the second tick", func() bool { return ticks() == 2 })
	p.expect(5, 5)
	cancel()
	<-done
	if err := r.worker("2/b").RunOnce(t.Context()); err != nil {
		t.Errorf("the lease was not given back: %v", err)
	}
}

func TestLocalBytesAreToldByTopic(t *testing.T) {
	r := newRig(t)
	p := r.create("t", nil)
	p.add(1000, 0, 1000)
	p.seal()
	p.add(1000, 0, 1000)
	r.tick()
	if got, want := r.seen.bytes["t"], p.measured(); got < want*9/10 || got > want*11/10 {
		t.Errorf("told %d bytes of %d", got, want)
	}
	r.topics.topics = nil
	r.tick()
	if len(r.seen.bytes) != 0 {
		t.Errorf("a topic that is gone has %v", r.seen.bytes)
	}
}

func TestFullRedisIsRelievedByRetention(t *testing.T) {
	r := newRig(t)
	p := r.create("t", map[string]string{"retention.bytes": "2000000"})
	p.add(10_000, 0, 1000)
	r.do("CONFIG", "SET", "maxmemory", "6mb")
	r.tick()
	if got := p.measured(); got > 2_030_000 {
		t.Errorf("%d bytes are left", got)
	}
	p.add(1, 0, 10)
	r.tick()
	if r.seen.full {
		t.Error("Redis still counts as full")
	}
}

func TestFullRedisInWhichNothingCanGoIsToldOnce(t *testing.T) {
	r := newRig(t)
	p := r.create("t", nil)
	p.add(5000, 0, 1000)
	r.do("CONFIG", "SET", "maxmemory", "4mb")
	r.tick()
	r.tick()
	if n := strings.Count(r.logged.String(), "Redis is full"); n != 1 || !r.seen.full {
		t.Errorf("told %d times, metric %v:\n%s", n, r.seen.full, r.logged)
	}
	r.do("CONFIG", "SET", "maxmemory", "0")
	r.tick()
	if r.seen.full || !strings.Contains(r.logged.String(), "has memory again") {
		t.Errorf("metric %v:\n%s", r.seen.full, r.logged)
	}
}
