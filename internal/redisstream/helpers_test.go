package redisstream

import (
	"context"
	"crypto/rand"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/korvet-io/korvet/internal/record"
	"github.com/korvet-io/korvet/internal/redistest"
)

// Ids of two lives of a topic; the later compares greater.
const (
	lifeOne = "0198c0de000070008000000000000001"
	lifeTwo = "0198c0de000070008000000000000002"
)

func testOptions(t testing.TB, s *redistest.Server) Options {
	t.Helper()
	o, err := ParseURI(s.URI())
	if err != nil {
		t.Fatal(err)
	}
	o.WriteConnections, o.ReadConnections = 2, 2
	o.DialTimeout, o.Breaker, o.OpenDuration = 5*time.Second, true, 50*time.Millisecond
	return o
}

func openShard(t testing.TB, s *redistest.Server) *Shard {
	t.Helper()
	sh := Open(testOptions(t, s), slog.New(slog.DiscardHandler))
	t.Cleanup(sh.Close)
	return sh
}

// bench is one partition on a real Redis and a connection to write to it.
type bench struct {
	testing.TB
	*redistest.Server
	shard *Shard
	keys  Keys
	conn  Conn
}

func newBench(t testing.TB, args ...string) *bench {
	t.Helper()
	s := redistest.Start(t, args...)
	b := &bench{TB: t, Server: s, shard: openShard(t, s), keys: NewKeys("korvet", "t", 0)}
	b.conn = b.acquire()
	return b
}

func (b *bench) acquire() Conn {
	b.Helper()
	c, err := Await(b.Context(), func(done func(Conn, error)) { b.shard.Acquire(b.keys.Stream, done) })
	if err != nil {
		b.Fatalf("acquire: %v", err)
	}
	return c
}

// request is a fence as broker 1 in its first life makes it; change makes it another.
func request(change func(*FenceRequest)) FenceRequest {
	q := FenceRequest{Owner: "1/a", Token: rand.Text(), TopicID: lifeOne, LeaseMs: 3000, EndAtMin: BeforeFirst}
	if change != nil {
		change(&q)
	}
	return q
}

func (b *bench) fence(change func(*FenceRequest)) (Fenced, string, error) {
	b.Helper()
	q := request(change)
	f, err := Await(b.Context(), func(done func(Fenced, error)) { Fence(b.conn, b.keys, q, done) })
	return f, q.Token, err
}

func (b *bench) mustFence(change func(*FenceRequest)) (Fenced, string) {
	b.Helper()
	f, token, err := b.fence(change)
	if err != nil {
		b.Fatalf("fence: %v", err)
	}
	return f, token
}

// records is a cursor over a list.
type records struct {
	list []record.Record
	next int
}

func (c *records) Next(r *record.Record) bool {
	if c.next == len(c.list) {
		return false
	}
	*r = c.list[c.next]
	c.next++
	return true
}

func values(n int) []record.Record {
	list := make([]record.Record, n)
	for i := range list {
		list[i] = record.Record{Value: fmt.Append(nil, "v", i), Timestamp: int64(1000 + i)}
	}
	return list
}

// appendAt makes the append of these records under a token.
func appendAt(token string, ms uint64, base int64, list []record.Record) *Append {
	return &Append{
		Token: token, Ms: ms, Base: base, Expiry: ms + 3000,
		Sources: []Source{{Records: &records{list: list}, Count: len(list), WithTime: true}},
	}
}

func (b *bench) send(a *Append) error {
	b.Helper()
	done := make(chan error, 1)
	NewAppender(b.keys).Send(b.conn, a, func(err error) { done <- err })
	select {
	case err := <-done:
		return err
	case <-b.Context().Done():
		b.Fatal("no answer to the append")
		return nil
	}
}

func (b *bench) mustSend(a *Append) {
	b.Helper()
	if err := b.send(a); err != nil {
		b.Fatalf("append: %v", err)
	}
}

// filled is a bench with a fence and n records at offsets from 0 on. It returns the token and the ms of the append.
func filled(t testing.TB, n int, args ...string) (*bench, string, uint64) {
	b := newBench(t, args...)
	f, token := b.mustFence(nil)
	ms := max(f.Now, f.Floor+1)
	b.mustSend(appendAt(token, ms, 0, values(n)))
	return b, token, ms
}

// kept copies what a range gives.
type kept struct {
	entries []Entry
	limit   int
}

func (k *kept) PutEntry(e *Entry) bool {
	c := *e
	c.Record.Value = cloneField(e.Record.Value)
	c.Record.Key = cloneField(e.Record.Key)
	c.Record.Headers = cloneField(e.Record.Headers)
	k.entries = append(k.entries, c)
	return k.limit == 0 || len(k.entries) < k.limit
}

func cloneField(b []byte) []byte {
	if b == nil {
		return nil
	}
	return append([]byte{}, b...)
}

func (b *bench) entries(stream string) []Entry {
	b.Helper()
	var k kept
	if _, err := b.shard.Range(b.Context(), stream, ID{}, true, 1_000_000, &k); err != nil {
		b.Fatalf("range: %v", err)
	}
	return k.entries
}

func ids(entries []Entry) string {
	var text []string
	for i := range entries {
		text = append(text, entries[i].ID.String())
	}
	return strings.Join(text, " ")
}

func (b *bench) text(args ...string) string {
	b.Helper()
	m := b.Do(args...)
	if m.IsNil() {
		return "(nil)"
	}
	if n, err := m.AsInt64(); err == nil {
		return fmt.Sprint(n)
	}
	s, err := m.ToString()
	if err != nil {
		b.Fatalf("%v answered %v", args, m.String())
	}
	return s
}

// hash reads a hash.
func (b *bench) hash(key string) map[string]string {
	b.Helper()
	m := b.Do("HGETALL", key)
	h, err := m.AsStrMap()
	if err != nil {
		b.Fatalf("read %s: %v", key, err)
	}
	return h
}

// lastID is the stream's last generated id.
func (b *bench) lastID(stream string) string {
	b.Helper()
	m := b.Do("XINFO", "STREAM", stream)
	info, err := m.AsMap()
	if err != nil {
		b.Fatalf("look at %s: %v", stream, err)
	}
	id := info["last-generated-id"]
	text, err := id.ToString()
	if err != nil {
		b.Fatalf("look at %s: %v", stream, err)
	}
	return text
}

func (b *bench) look() View {
	b.Helper()
	v, err := b.shard.Look(b.Context(), b.keys)
	if err != nil {
		b.Fatalf("look: %v", err)
	}
	return v
}

// within is a context by which a test that hangs ends.
func within(t testing.TB) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	t.Cleanup(cancel)
	return ctx
}
