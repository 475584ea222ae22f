package compaction

import (
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/korvet-io/korvet/internal/partition"
	"github.com/korvet-io/korvet/internal/record"
	"github.com/korvet-io/korvet/internal/redisstream"
	"github.com/korvet-io/korvet/internal/redistest"
	"github.com/korvet-io/korvet/internal/topicconfig"
	"github.com/korvet-io/korvet/internal/worker/tick"
	"github.com/korvet-io/korvet/internal/worker/workertest"
)

const life = "0198c0de000070008000000000000001"

// keyedLog is a partition on a real Redis that a test appends to and compacts. Its clock is the test's.
type keyedLog struct {
	testing.TB
	*redistest.Server
	shard  *redisstream.Shard
	keys   redisstream.Keys
	conn   redisstream.Conn
	out    *redisstream.Appender
	token  string
	ms     uint64 // of the newest append
	next   int64
	now    uint64 // what the worker takes for Redis's time; 0: ms
	fence  int64
	memory int64
	cfg    topicconfig.Effective
	seen   reports
}

// reports counts what compaction reports.
type reports struct {
	mu                sync.Mutex
	n                 int
	scanned, removed  int64
	rewrites, freed   int64
	failed, postponed int
}

func (p *reports) CompactionPassed(_ time.Duration, scanned, removed int64, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.n++
	p.scanned += scanned
	p.removed += removed
	if err != nil {
		p.failed++
	}
}

func (p *reports) StreamRewritten(bytes int64, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if err != nil {
		p.postponed++
		return
	}
	p.rewrites++
	p.freed += bytes
}

func newKeyedLog(t testing.TB, args ...string) *keyedLog {
	t.Helper()
	s := redistest.Start(t, args...)
	l := &keyedLog{
		TB: t, Server: s, keys: redisstream.NewKeys("korvet", "t", 0), fence: 1, memory: 1 << 24,
		cfg: topicconfig.Effective{Compact: true, MaxCompactionLagMs: 1 << 62, DeleteRetentionMs: 1000},
	}
	l.shard = workertest.OpenShard(t, s.URI())
	l.out = redisstream.NewAppender(l.keys)
	l.lead()
	return l
}

// lead fences the partition as its owner does.
func (l *keyedLog) lead() {
	l.Helper()
	var err error
	l.conn, err = redisstream.Await(l.Context(), func(done func(redisstream.Conn, error)) { l.shard.Acquire(l.keys.Stream, done) })
	if err != nil {
		l.Fatal(err)
	}
	l.token = fmt.Sprint("token", l.ms)
	q := redisstream.FenceRequest{Owner: "1/a", Token: l.token, TopicID: life, LeaseMs: 3000, EndAtMin: redisstream.BeforeFirst, Stamped: l.ms}
	f, err := redisstream.Await(l.Context(), func(done func(redisstream.Fenced, error)) { redisstream.Fence(l.conn, l.keys, q, done) })
	if err != nil {
		l.Fatal(err)
	}
	l.ms, l.next = max(l.ms, f.Floor), redisstream.EndOffset(f.LastSeq)
}

type cursor []record.Record

func (c *cursor) Next(r *record.Record) bool {
	if len(*c) == 0 {
		return false
	}
	*r, *c = (*c)[0], (*c)[1:]
	return true
}

// append makes one append, one ms after the one before.
func (l *keyedLog) append(records ...record.Record) {
	l.Helper()
	l.ms++
	c := cursor(records)
	a := &redisstream.Append{
		Token: l.token, Ms: l.ms, Base: l.next, Expiry: l.ms + 3000,
		Sources: []redisstream.Source{{Records: &c, Count: len(records), WithTime: true}},
	}
	done := make(chan error, 1)
	l.out.Send(l.conn, a, func(err error) { done <- err })
	if err := <-done; err != nil {
		l.Fatalf("append: %v", err)
	}
	l.next += int64(len(records))
}

// put appends one record a word: key=value, key= an empty value, key a tombstone, =value no key.
func (l *keyedLog) put(words ...string) {
	l.Helper()
	for _, w := range words {
		k, v, valued := strings.Cut(w, "=")
		r := record.Record{Timestamp: int64(l.ms)}
		if k != "" {
			r.Key = []byte(k)
		}
		if valued {
			r.Value = []byte(v)
		}
		l.append(r)
	}
}

func (l *keyedLog) target() *tick.Target {
	l.Helper()
	all, err := l.shard.Glances(l.Context(), []redisstream.Keys{l.keys})
	if err != nil || all[0].Err != nil {
		l.Fatalf("glance: %v, %v", err, all)
	}
	t := &tick.Target{Ref: partition.Ref{Topic: "t"}, Keys: l.keys, TopicID: life, Config: &l.cfg, Glance: all[0], Fence: l.fence}
	if t.Glance.Now = l.now; l.now == 0 {
		t.Glance.Now = l.ms
	}
	return t
}

func (l *keyedLog) compactor(s *redisstream.Shard) *Compactor {
	c := New(s, l.memory, &l.seen, slog.New(slog.DiscardHandler))
	c.now = func() time.Time { return time.Time{} }
	return c
}

// compact makes the pass that is due, if one is, and tells whether there was one.
func (l *keyedLog) compact() bool {
	l.Helper()
	before := l.seen.n
	if err := l.compactor(l.shard).Compact(l.Context(), l.target()); err != nil {
		l.Fatalf("compact: %v", err)
	}
	return l.seen.n > before
}

// content is the log as words of offset:key=value, with put's notation.
func (l *keyedLog) content() string {
	l.Helper()
	var words []string
	v, err := l.shard.Look(l.Context(), l.keys)
	if err != nil {
		l.Fatal(err)
	}
	for _, stream := range v.Streams(l.keys) {
		w := walk{next: v.LogStart, end: l.next, take: func(e *redisstream.Entry) bool {
			word := fmt.Sprintf("%d:%s", e.Record.Offset, e.Record.Key)
			if e.Record.Value != nil {
				word += "=" + string(e.Record.Value)
			}
			words = append(words, word)
			return true
		}}
		if _, err := l.shard.Range(l.Context(), stream, redisstream.ID{}, true, 1_000_000, &w); err != nil {
			l.Fatal(err)
		}
	}
	return strings.Join(words, " ")
}

func (l *keyedLog) want(want string) {
	l.Helper()
	if got := l.content(); got != want {
		l.Errorf("the log is %s\nwant %s", got, want)
	}
}

func keyed(key, value string) record.Record {
	return record.Record{Key: []byte(key), Value: []byte(value), Timestamp: 1}
}
