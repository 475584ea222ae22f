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
	"github.com/korvet-io/korvet/internal/worker/workertest"
)

func toInt(m rueidis.RedisMessage) (int64, error) { return m.AsInt64() }

// calls counts the commands that Redis ran since the statistics were reset, scripts' own included.
func (r *rig) calls() map[string]int64 {
	r.Helper()
	m := r.Do("INFO", "commandstats")
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
	p := r.Create("t", map[string]string{"retention.ms": workertest.Hours(5)})
	r.Tick()
	p.Add(10, 6*hour, 10)
	other := r.worker("2/b")
	if err := other.RunOnce(t.Context()); !held(err) {
		t.Errorf("the second worker got %v, want that the first has the lease", err)
	}
	p.Expect(0, 0)
	r.storage.release(t.Context())
	if err := other.RunOnce(t.Context()); err != nil {
		t.Fatal(err)
	}
	p.Expect(10, -1)
}

func held(err error) bool {
	_, ok := errors.AsType[*redisstream.HeldError](err)
	return ok
}

func TestWorkerWhoseLeaseIsOverStopsAtOnce(t *testing.T) {
	r := newRig(t)
	p := r.Create("t", map[string]string{"retention.ms": workertest.Hours(5)})
	r.Tick()
	p.Add(10, 6*hour, 10)
	start := time.Now()
	r.storage.now = func() time.Time { return start.Add(time.Hour) } // it was paused
	target := r.storage.targets(nil)
	if err := r.storage.glance(t.Context(), target); err != nil {
		t.Fatal(err)
	}
	if err := r.storage.visit(t.Context(), target, true); !errors.Is(err, redisstream.ErrLeaseLost) {
		t.Errorf("the paused worker got %v, want that its lease is lost", err)
	}
	p.Expect(0, 0)
}

func TestLeaseIsRenewedBeforeItEnds(t *testing.T) {
	r := newRig(t)
	r.Tick()
	first := r.storage.lease
	start := time.Now()
	r.storage.now = func() time.Time { return start.Add(time.Minute) }
	r.Tick()
	if second := r.storage.lease; second.fence != first.fence || !second.ends.After(first.ends) {
		t.Errorf("lease %+v after %+v", second, first)
	}
}

func TestPausedWorkerDoesNoHarmWithoutNoticing(t *testing.T) {
	r := newRig(t)
	p := r.Create("t", map[string]string{"retention.ms": workertest.Hours(5)})
	p.Add(10, 6*hour, 10)
	r.Tick()
	r.Do("HSET", "korvet:storage:worker", "until", "1")
	other := r.worker("2/b")
	p.Add(10, 6*hour, 10)
	if err := other.RunOnce(t.Context()); err != nil {
		t.Fatal(err)
	}
	p.Add(10, 6*hour, 10)
	if err := r.storage.RunOnce(t.Context()); !errors.Is(err, redisstream.ErrFenced) {
		t.Errorf("the first worker got %v, want that it is fenced", err)
	}
	p.Expect(20, 20)
}

func TestIdlePartitionsAreOnlyLookedAt(t *testing.T) {
	r := newRig(t)
	const partitions = 10_000
	id := uuid.Must(uuid.NewV7())
	r.Topics.List = []*metadata.Topic{{Name: "wide", ID: id, Partitions: partitions, Config: r.Schema.Effective("wide", nil)}}
	busy := r.Create("busy", nil)
	busy.Add(10, 0, 10)
	r.Tick()
	r.Do("CONFIG", "RESETSTAT")
	r.Tick()
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
	bad, good := r.Create("bad", map[string]string{"retention.ms": workertest.Hours(5)}), r.Create("good", map[string]string{"retention.ms": workertest.Hours(5)})
	r.Do("DEL", bad.Keys.Segments)
	r.Do("SET", bad.Keys.Segments, "not a hash")
	good.Add(10, 6*hour, 10)
	r.Tick()
	good.Expect(10, -1)
	if r.Seen.Failures != 1 {
		t.Errorf("%d failures, want 1", r.Seen.Failures)
	}
}

func TestAnotherLifeOfATopicIsLeftAlone(t *testing.T) {
	r := newRig(t)
	p := r.Create("t", map[string]string{"retention.ms": workertest.Hours(5)})
	p.Add(10, 6*hour, 10)
	r.Do("HSET", p.Keys.Leader, "topic", strings.Repeat("f", 32))
	r.Tick()
	p.Expect(0, 0)
}

func TestWakingLooksAtOnce(t *testing.T) {
	r := newRig(t)
	p := r.Create("t", nil)
	p.Add(10, 0, 10)
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() { r.storage.Run(ctx); close(done) }()
	ticks := func() (n int) { r.Seen.Change(func() { n = r.Seen.Ticks }); return n }
	redistest.Eventually(t, "the first tick", func() bool { return ticks() == 1 })
	r.Do("HSET", p.Keys.Segments, "start", "5")
	r.storage.Wake(partition.Ref{Topic: "t", ID: p.Topic.ID})
	redistest.Eventually(t, "the second tick", func() bool { return ticks() == 2 })
	p.Expect(5, 5)
	cancel()
	<-done
	if err := r.worker("2/b").RunOnce(t.Context()); err != nil {
		t.Errorf("the lease was not given back: %v", err)
	}
}

func TestLocalBytesAreToldByTopic(t *testing.T) {
	r := newRig(t)
	p := r.Create("t", nil)
	p.Add(1000, 0, 1000)
	p.Seal()
	p.Add(1000, 0, 1000)
	r.Tick()
	if got, want := r.Seen.Bytes["t"], p.Measured(); got < want*9/10 || got > want*11/10 {
		t.Errorf("told %d bytes of %d", got, want)
	}
	r.Topics.List = nil
	r.Tick()
	if len(r.Seen.Bytes) != 0 {
		t.Errorf("a topic that is gone has %v", r.Seen.Bytes)
	}
}

func TestFullRedisIsRelievedByRetention(t *testing.T) {
	r := newRig(t)
	p := r.Create("t", map[string]string{"retention.bytes": "2000000"})
	p.Add(10_000, 0, 1000)
	r.Do("CONFIG", "SET", "maxmemory", "6mb")
	r.Tick()
	if got := p.Measured(); got > 2_030_000 {
		t.Errorf("%d bytes are left", got)
	}
	p.Add(1, 0, 10)
	r.Tick()
	if r.Seen.Full {
		t.Error("Redis still counts as full")
	}
}

func TestFullRedisInWhichNothingCanGoIsToldOnce(t *testing.T) {
	r := newRig(t)
	p := r.Create("t", nil)
	p.Add(5000, 0, 1000)
	r.Do("CONFIG", "SET", "maxmemory", "4mb")
	r.Tick()
	r.Tick()
	if n := strings.Count(r.Logged.String(), "Redis is full"); n != 1 || !r.Seen.Full {
		t.Errorf("told %d times, metric %v:\n%s", n, r.Seen.Full, r.Logged)
	}
	r.Do("CONFIG", "SET", "maxmemory", "0")
	r.Tick()
	if r.Seen.Full || !strings.Contains(r.Logged.String(), "has memory again") {
		t.Errorf("metric %v:\n%s", r.Seen.Full, r.Logged)
	}
}
