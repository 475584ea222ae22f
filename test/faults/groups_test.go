package faults

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/korvet-io/korvet/test/faults/checker"
	"github.com/korvet-io/korvet/test/faults/members"
	"github.com/korvet-io/korvet/test/harness"
)

// clientLog keeps what clients say.
type clientLog struct {
	mu   sync.Mutex
	text strings.Builder
}

// Write makes it an io.Writer.
func (l *clientLog) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

func (l *clientLog) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

// groups are one group of each protocol that read and commit what a world's load writes.
type groups struct {
	*world
	running []*members.Group
}

func newGroups(t *testing.T) *groups {
	t.Helper()
	g := &groups{world: newWorld(t, harness.Options{Args: []string{"--korvet.broker.rebalance-delay=0"}})}
	g.start(nil)
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	for _, cfg := range []members.Config{{Group: "classic"}, {Group: "consumer", Consumer: true}} {
		log := &clientLog{}
		g.keepLog("clients-"+cfg.Group, log.String)
		cfg.Log = log
		cfg.Brokers, cfg.Topic, cfg.Partitions = []string{g.broker.Addr}, "load", 3
		one, err := members.Start(ctx, cfg)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(one.Abort)
		g.keepLog("group-"+cfg.Group, func() string { return history(one.Run()) })
		g.running = append(g.running, one)
	}
	return g
}

// commits waits until every member had n more commits acknowledged.
func (g *groups) commits(n int64) {
	g.t.Helper()
	ctx, cancel := context.WithTimeout(g.t.Context(), patience)
	defer cancel()
	for _, one := range g.running {
		if err := one.AwaitCommits(ctx, n); err != nil {
			g.t.Fatal(err)
		}
	}
}

// quietly does something while no member commits, and looks at what is committed at its end.
func (g *groups) quietly(do func()) {
	g.t.Helper()
	ctx, cancel := context.WithTimeout(g.t.Context(), patience)
	defer cancel()
	g.running[0].Quietly(func() {
		g.running[1].Quietly(func() {
			do()
			for _, one := range g.running {
				if err := one.AwaitLook(ctx); err != nil {
					g.t.Fatal(err)
				}
			}
		})
	})
}

// verdict ends the groups and the load and fails the test for every promise that was not kept. The commits are fetched
// again after a restart of the broker and read from Redis itself, and have to be the same.
func (g *groups) verdict() {
	g.t.Helper()
	ctx, cancel := context.WithTimeout(g.t.Context(), patience)
	defer cancel()
	for _, one := range g.running {
		if err := one.Stop(ctx); err != nil {
			g.t.Fatal(err)
		}
	}
	g.world.verdict()
	for _, one := range g.running {
		if err := one.Look(ctx); err != nil {
			g.t.Fatal(err)
		}
		run := one.Run()
		g.requireStored(run)
		report := checker.CheckGroup(run)
		g.t.Logf("%d faults: %s", g.faults, report)
		if !report.OK() {
			g.t.Errorf("promises to group %s broken", run.Group)
		}
		if report.Acked == 0 || report.Refused == 0 || report.Seen == 0 {
			g.t.Errorf("group %s shows nothing", run.Group)
		}
	}
}

// requireStored compares the last look at each partition with what Redis has, as docs/redis.md describes it.
func (g *groups) requireStored(run checker.GroupRun) {
	g.t.Helper()
	last := map[int32]int64{}
	for _, l := range run.Looks {
		last[l.Partition] = l.Offset
	}
	for p, want := range last {
		m := g.redis.Do("HGET", "korvet:broker:commit:"+run.Group, fmt.Sprintf("load:%d", p))
		text, err := m.ToString()
		if err != nil {
			g.t.Errorf("read the commit of group %s, partition %d, from Redis: %v", run.Group, p, err)
			continue
		}
		number, _, _ := strings.Cut(text, " ")
		if got, err := strconv.ParseInt(number, 10, 64); err != nil || got != want {
			g.t.Errorf("group %s, partition %d: Redis has %q, the broker says %d", run.Group, p, text, want)
		}
	}
}

// history writes a run in the order of its clock, an event a line.
func history(run checker.GroupRun) string {
	lines := map[int64]string{}
	for _, c := range run.Commits {
		lines[c.Sent] += fmt.Sprintf(" %s commits partition %d offset %d;", c.Who, c.Partition, c.Offset)
		if c.Outcome == checker.Acked {
			lines[c.Heard] += fmt.Sprintf(" %s is acknowledged partition %d offset %d;", c.Who, c.Partition, c.Offset)
		}
	}
	for _, l := range run.Looks {
		lines[l.Ended] += fmt.Sprintf(" partition %d is at %d, asked at tick %d;", l.Partition, l.Offset, l.Began)
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%+v %q\n", run.Settled, run.Assigned)
	for _, tick := range slices.Sorted(maps.Keys(lines)) {
		fmt.Fprintf(&b, "%d%s\n", tick, lines[tick])
	}
	return b.String()
}

// Members that do nothing but heartbeat and commit stay members over every restart of the broker: same ids, same
// generation, same partitions.
func TestGroupsWhoseBrokerIsKilledAtRandomMoments(t *testing.T) {
	g := newGroups(t)
	g.commits(5)
	for range rounds(5) {
		g.moment()
		g.broker.Kill9()
		g.faults++
		if g.rnd.IntN(2) == 0 {
			g.broker.Launch()
			continue
		}
		g.quietly(g.broker.Launch)
		g.commits(1 + g.rnd.Int64N(20))
	}
	g.broker.AwaitReady()
	g.commits(20)
	g.verdict()
}

func TestGroupsWhoseBrokerIsStopped(t *testing.T) {
	g := newGroups(t)
	g.commits(5)
	for range rounds(3) {
		g.moment()
		g.broker.Restart()
		g.faults++
		g.commits(1 + g.rnd.Int64N(20))
	}
	g.verdict()
}

func TestGroupsWhoseRedisIsKilledAtRandomMoments(t *testing.T) {
	g := newGroups(t)
	g.commits(5)
	for range rounds(5) {
		g.moment()
		g.redis.Kill()
		g.faults++
		g.pass(200 * time.Millisecond)
		if g.rnd.IntN(2) == 0 {
			g.redis.Restart()
			continue
		}
		g.quietly(g.redis.Restart)
		g.commits(1 + g.rnd.Int64N(20))
	}
	g.commits(20)
	g.verdict()
}
