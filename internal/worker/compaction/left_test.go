package compaction

import (
	"log/slog"
	"testing"
	"time"

	"github.com/korvet-io/korvet/internal/redisstream"
	"github.com/korvet-io/korvet/internal/redistest"
	"github.com/korvet-io/korvet/internal/worker/workertest"
)

// dieCopying has a worker die in the middle of a rewrite.
func (l *keyedLog) dieCopying() {
	l.Helper()
	l.fill(4000, 100)
	passed := false
	for n := 1; l.number("EXISTS", l.keys.Copy) == 0; n++ {
		if !passed && len(l.target().Glance.Clean.Holes) > 0 { // only the rewrite is left to do
			passed, n = true, 1
		}
		if l.seen.rewrites > 0 {
			l.Fatal("no worker died while it copied")
		}
		f := workertest.NewFuse(l, l.Addr(), n)
		_ = l.compactor(workertest.OpenShard(l, f.URI())).Compact(l.Context(), l.target())
	}
}

func TestNextPassRemovesTheCopyOfAWorkerThatDied(t *testing.T) {
	l := newKeyedLog(t)
	l.dieCopying()
	want := l.content()
	l.fence++
	l.compact()
	l.want(want)
	if n := l.number("EXISTS", l.keys.Copy); n != 0 || l.seen.rewrites != 1 {
		t.Errorf("%d copies are left, %d rewrites", n, l.seen.rewrites)
	}
}

func TestCopyIsRemovedThoughRedisHasNoRoomForANewOne(t *testing.T) {
	l := newKeyedLog(t)
	l.fillEvery(2, 40_000, 1000)
	l.Do("CONFIG", "SET", "maxmemory", "40mb")
	l.compact()
	l.Do("CONFIG", "SET", "maxmemory", "0")
	l.Do("XADD", l.keys.Copy, "1-1", "f", "v")
	l.Do("CONFIG", "SET", "maxmemory", "40mb")
	if l.compact(); l.seen.rewrites != 0 || l.number("EXISTS", l.keys.Copy) != 0 {
		t.Errorf("a copy is left, or the stream was written anew: %+v", &l.seen)
	}
}

// waitingFor makes a compactor that waits for replicas of the log's Redis.
func (l *keyedLog) waitingFor(replicas int) *Compactor {
	l.Helper()
	o, err := redisstream.ParseURI(l.URI())
	if err != nil {
		l.Fatal(err)
	}
	o.WriteConnections, o.ReadConnections, o.DialTimeout = 1, 1, 20*time.Second
	r := redisstream.NewReplicas(o, "korvet:wait", 50*time.Millisecond, slog.New(slog.DiscardHandler))
	l.Cleanup(r.Close)
	c := l.compactor(l.shard)
	c.AwaitReplicas(r, replicas)
	return c
}

func TestOnlyWhatTheReplicasHaveIsCompacted(t *testing.T) {
	l := newKeyedLog(t)
	replica := l.Replica()
	l.cfg.MinInsyncReplicas = 2
	c := l.waitingFor(1)
	l.put("a=1", "a=2", "x=1")
	replica.Pause()
	l.put("a=3", "x=2")
	pass := func() {
		t.Helper()
		if err := c.Compact(t.Context(), l.target()); err != nil {
			t.Fatal(err)
		}
	}
	pass()
	l.want("0:a=1 1:a=2 2:x=1 3:a=3 4:x=2")
	if l.seen.n != 0 {
		t.Errorf("a pass is reported: %+v", &l.seen)
	}
	replica.Resume()
	redistest.Eventually(t, "a pass", func() bool { pass(); return l.seen.n == 1 })
	l.want("2:x=1 3:a=3 4:x=2") // nothing of the newest append is looked at
}

func TestReplicasThatTheTopicDoesNotWaitForDoNotHoldUpCompaction(t *testing.T) {
	l := newKeyedLog(t)
	l.cfg.MinInsyncReplicas = 1
	l.put("a=1", "a=2", "x=1")
	if err := l.waitingFor(1).Compact(t.Context(), l.target()); err != nil {
		t.Fatal(err)
	}
	l.want("1:a=2 2:x=1")
}
