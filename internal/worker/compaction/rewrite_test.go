package compaction

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"testing"

	"github.com/redis/rueidis"

	"github.com/korvet-io/korvet/internal/record"
	"github.com/korvet-io/korvet/internal/redisstream"
	"github.com/korvet-io/korvet/internal/worker/tick"
)

// fill appends n records of some bytes, of which a tenth stays.
func (l *keyedLog) fill(n, bytes int) {
	l.Helper()
	l.fillEvery(10, n, bytes)
}

// fillEvery appends n records of some bytes. Every so many has a key of its own, the others share a few.
func (l *keyedLog) fillEvery(own, n, bytes int) {
	l.Helper()
	value := strings.Repeat("v", bytes)
	for i := 0; i < n; {
		var some []record.Record
		for ; i < n && len(some) < 500; i++ {
			key := fmt.Sprintf("hot-%d", i%7)
			if i%own == 0 {
				key = fmt.Sprintf("key-%d", i)
			}
			some = append(some, keyed(key, value))
		}
		l.append(some...)
	}
}

func (l *keyedLog) number(args ...string) int64 {
	l.Helper()
	n, err := l.ask(args...).AsInt64()
	if err != nil {
		l.Fatalf("%v: %v", args, err)
	}
	return n
}

// ask is Do for answers that are looked into.
func (l *keyedLog) ask(args ...string) *rueidis.RedisMessage {
	l.Helper()
	m := l.Do(args...)
	return &m
}

func (l *keyedLog) memoryOf(stream string) int64 {
	l.Helper()
	return l.number("MEMORY", "USAGE", stream, "SAMPLES", "0")
}

// slowest is the longest time in microseconds that a command took.
func (l *keyedLog) slowest() (micros int64, command string) {
	l.Helper()
	entries, err := l.ask("SLOWLOG", "GET", "1000").ToArray()
	if err != nil {
		l.Fatal(err)
	}
	for _, e := range entries {
		f, _ := e.ToArray()
		if n, _ := f[2].AsInt64(); n > micros {
			args, _ := f[3].AsStrSlice()
			micros, command = n, strings.Join(args[:min(2, len(args))], " ")
		}
	}
	return micros, command
}

func TestMemoryOfWhatIsSupersededIsGivenBack(t *testing.T) {
	l := newKeyedLog(t, "--slowlog-log-slower-than", "1000")
	l.fill(200_000, 230)
	before := l.memoryOf(l.keys.Stream)
	l.compact()
	after := l.memoryOf(l.keys.Stream)
	micros, command := l.slowest()
	t.Logf("%d KiB before, %d KiB after; the slowest command took %d us: %s", before>>10, after>>10, micros, command)
	if after > before/5 {
		t.Errorf("%d KiB before, %d KiB after: less than 80 %% is given back", before>>10, after>>10)
	}
	if l.seen.rewrites != 1 || l.seen.freed < before/2 {
		t.Errorf("%d rewrites gave %d bytes back", l.seen.rewrites, l.seen.freed)
	}
	if n := l.number("EXISTS", l.keys.Copy); n != 0 {
		t.Error("the copy is left")
	}
	if c := l.target().Glance.Clean; len(c.Holes)+len(c.Dense) != 0 {
		t.Errorf("the registry says %+v", c)
	}
	l.append(keyed("key-1", "new")) // the writer goes on
	if l.compact(); !strings.HasSuffix(l.content(), "=new") {
		t.Error("the newest record is not there")
	}
}

func TestRewriteKeepsNativeGroupsAndTheLastID(t *testing.T) {
	l := newKeyedLog(t)
	l.fill(4000, 100)
	read := fmt.Sprintf("%d-7", l.ms)
	l.Do("XGROUP", "CREATE", l.keys.Stream, "g", read)
	l.lead() // raises the last id above the last entry
	last := l.info("last-generated-id")
	l.compact()
	if l.seen.rewrites != 1 {
		t.Fatal("no rewrite")
	}
	if got := l.info("last-generated-id"); got != last {
		t.Errorf("last id %s, was %s", got, last)
	}
	if groups, err := l.ask("XINFO", "GROUPS", l.keys.Stream).ToAny(); !strings.Contains(fmt.Sprint(groups), read) {
		t.Errorf("groups %v, %v", groups, err)
	}
}

func (l *keyedLog) info(field string) string {
	l.Helper()
	m, err := l.ask("XINFO", "STREAM", l.keys.Stream).AsMap()
	if err != nil {
		l.Fatal(err)
	}
	f := m[field]
	if n, err := f.AsInt64(); err == nil {
		return strconv.FormatInt(n, 10)
	}
	s, _ := f.ToString()
	return s
}

func TestStreamWithPendingEntriesIsRewrittenOnceTheyAreAcknowledged(t *testing.T) {
	l := newKeyedLog(t)
	l.fill(4000, 100)
	l.Do("XGROUP", "CREATE", l.keys.Stream, "g", "0")
	l.Do("XREADGROUP", "GROUP", "g", "c", "COUNT", "10", "STREAMS", l.keys.Stream, ">")
	l.compact()
	if l.seen.n != 1 || l.seen.rewrites != 0 || l.seen.postponed != 1 {
		t.Fatalf("reports %+v", &l.seen)
	}
	pending, err := l.ask("XPENDING", l.keys.Stream, "g", "-", "+", "100").ToArray()
	if err != nil || len(pending) != 10 {
		t.Fatalf("%d pending, %v", len(pending), err)
	}
	for _, p := range pending {
		f, _ := p.ToArray()
		id, _ := f[0].ToString()
		l.Do("XACK", l.keys.Stream, "g", id)
	}
	l.compact()
	if l.seen.n != 1 || l.seen.rewrites != 1 {
		t.Errorf("reports %+v", &l.seen)
	}
}

func TestRewriteWaitsForRoomInRedis(t *testing.T) {
	l := newKeyedLog(t)
	l.fillEvery(2, 40_000, 1000)
	l.Do("CONFIG", "SET", "maxmemory", "40mb") // it is full
	l.compact()
	if l.seen.n != 1 || l.seen.postponed != 1 || l.seen.rewrites != 0 {
		t.Errorf("reports %+v", &l.seen)
	}
	l.Do("CONFIG", "SET", "maxmemory", "1gb")
	l.compact()
	if l.seen.n != 1 || l.seen.rewrites != 1 {
		t.Errorf("reports %+v", &l.seen)
	}
}

func TestFullRedisIsFreedAllTheSame(t *testing.T) {
	l := newKeyedLog(t)
	l.fill(50_000, 200)
	used := l.memoryOf(l.keys.Stream)
	l.Do("CONFIG", "SET", "maxmemory", "2mb")
	l.compact()
	if left := l.memoryOf(l.keys.Stream); l.seen.rewrites != 1 || left > used/5 {
		t.Errorf("%d bytes of %d are left, reports %+v", left, used, &l.seen)
	}
}

func TestSealedSegmentsTakePart(t *testing.T) {
	l := newKeyedLog(t)
	l.put("a=1", "b=1", "=1")
	l.roll(0)
	l.put("a=2", "c=1")
	l.roll(1)
	l.put("a=3", "b=2", "x=1")
	l.compact()
	l.want("4:c=1 5:a=3 6:b=2 7:x=1")
	v := l.target().Glance.View
	if len(v.Segments) != 1 || v.Segments[0].Number != 1 {
		t.Errorf("segments %+v", v.Segments)
	}
	if n := l.number("EXISTS", l.keys.Segment(0), l.keys.Times(0)); n != 0 {
		t.Error("the empty segment is left")
	}
}

func TestSealedSegmentsAreRewritten(t *testing.T) {
	l := newKeyedLog(t)
	l.fill(5000, 100)
	l.roll(0)
	l.fill(5000, 100)
	l.roll(1)
	l.put("x=1")
	before := l.memoryOf(l.keys.Segment(1))
	l.compact()
	if n := l.number("XLEN", l.keys.Segment(1)); n < 500 || n > 510 {
		t.Errorf("%d entries", n)
	}
	if after := l.memoryOf(l.keys.Segment(1)); after > before/3 {
		t.Errorf("%d bytes before, %d after", before, after)
	}
	got := l.target().Glance.Segments
	if len(got) != 1 || got[0].Bytes != l.memoryOf(l.keys.Segment(1)) || got[0].MaxTimestamp != 7 {
		t.Errorf("the segments are %+v", got)
	}
}

func (l *keyedLog) roll(open int64) {
	l.Helper()
	q := redisstream.RollRequest{TopicID: life, Open: open, Token: l.token, Bytes: 1 << 30, MaxTimestamp: 7}
	sealed, err := redisstream.Await(l.Context(), func(done func(redisstream.Segment, error)) {
		redisstream.Roll(l.conn, l.keys, q, func(s redisstream.Segment, _ bool, err error) { done(s, err) })
	})
	if err != nil || sealed.Last != l.next-1 {
		l.Fatalf("roll: %+v, %v", sealed, err)
	}
}

func TestWorkerThatWasReplacedChangesNothing(t *testing.T) {
	l := newKeyedLog(t)
	l.put("a=1", "a=2", "x=1")
	old := l.target()
	l.fence = 2
	l.put("a=3", "x=2")
	l.compact()
	l.put("a=4", "x=3")
	want := l.content()
	old.Glance = l.target().Glance
	if err := l.compactor(l.shard).Compact(t.Context(), old); !errors.Is(err, redisstream.ErrFenced) {
		t.Errorf("got %v", err)
	}
	l.want(want)
}

func TestAnotherLifeOfTheTopicIsLeftAlone(t *testing.T) {
	l := newKeyedLog(t)
	l.put("a=1", "a=2", "x=1")
	for _, change := range []func(*tick.Target){
		func(t *tick.Target) { t.TopicID = "0198c0de000070008000000000000002" },
		func(t *tick.Target) { t.TopicID = "0198c0de000070008000000000000002"; t.Glance.TopicID = t.TopicID },
		func(t *tick.Target) { t.Glance.Open = 3 },
	} {
		other := l.target()
		change(other)
		if err := l.compactor(l.shard).Compact(t.Context(), other); err != nil {
			t.Error(err)
		}
		l.want("0:a=1 1:a=2 2:x=1")
	}
}

func TestDeletionOfAPartitionRemovesTheCopy(t *testing.T) {
	l := newKeyedLog(t)
	l.put("a=1")
	l.Do("XADD", l.keys.Copy, "1-1", "f", "v")
	if err := l.shard.Delete(t.Context(), l.keys, life); err != nil {
		t.Fatal(err)
	}
	if n := l.number("EXISTS", l.keys.Copy, l.keys.Stream); n != 0 {
		t.Error("something is left")
	}
}
