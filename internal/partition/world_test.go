package partition_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/korvet-io/korvet/internal/batch"
	"github.com/korvet-io/korvet/internal/partition"
	"github.com/korvet-io/korvet/internal/record"
	"github.com/korvet-io/korvet/internal/redisstream"
	"github.com/korvet-io/korvet/internal/redistest"
)

// all asks for an acknowledgement by all replicas.
var all = partition.AppendOptions{AllReplicas: true}

// produce appends one batch and waits for its outcome.
func (f *fixture) produce(ref partition.Ref, b *batch.Batch, opt partition.AppendOptions) outcome {
	f.t.Helper()
	select {
	case o := <-f.appendAsync(ref, b, opt):
		return o
	case <-time.After(time.Minute):
		f.t.Fatal("an append was never answered")
		return outcome{}
	}
}

// produceUntil appends the batch that build makes again and again until it is acknowledged, as a client does.
func (f *fixture) produceUntil(ref partition.Ref, build func() *batch.Batch) partition.Appended {
	f.t.Helper()
	var got partition.Appended
	redistest.Eventually(f.t, "a batch to be acknowledged", func() bool {
		o := f.produce(ref, build(), all)
		if o.err != nil && !errors.Is(o.err, partition.ErrNotLeader) && !errors.Is(o.err, partition.ErrTimeout) && !errors.Is(o.err, partition.ErrStorage) {
			f.t.Fatalf("append: %v", o.err)
		}
		got = o.got
		return o.err == nil
	})
	return got
}

func (f *fixture) bounds(ref partition.Ref) partition.Bounds {
	f.t.Helper()
	b, err := f.Bounds(f.t.Context(), ref)
	if err != nil {
		f.t.Fatalf("bounds: %v", err)
	}
	return b
}

// numbers are the values "from" to "to - 1".
func numbers(from, to int) []string {
	var list []string
	for i := from; i < to; i++ {
		list = append(list, fmt.Sprint(i))
	}
	return list
}

// dense is what a log of these values reads as from an offset on.
func dense(offset int, values ...string) []string {
	list := make([]string, len(values))
	for i, v := range values {
		list[i] = fmt.Sprintf("%d=%s", offset+i, v)
	}
	return list
}

func same(a, b []string) bool { return fmt.Sprint(a) == fmt.Sprint(b) }

// timed builds a batch of records with these timestamps.
func timed(t testing.TB, stamps ...int64) *batch.Batch {
	t.Helper()
	var b batch.Builder
	b.Reset(nil, batch.BuildOptions{})
	for i, ts := range stamps {
		b.Put(&record.Record{Offset: int64(i), Timestamp: ts, Value: []byte("v")})
	}
	parsed, err := batch.Parse(b.Finish(), batch.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	return parsed
}

// crash ends a broker's connections without a word to anybody: its lease runs on.
func (f *fixture) crash() { f.shard.Close() }

// close ends a broker in order.
func (f *fixture) close() {
	f.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	if err := f.Close(ctx); err != nil {
		f.t.Fatalf("close: %v", err)
	}
}

// seen is an observer that counts.
type seen struct {
	mu     sync.Mutex
	lost   int64
	fences map[string]int
	tiers  map[string]int
}

func (s *seen) AppendDone(int, int, time.Duration, error) {}

func (s *seen) ReadDone(tier string, _ int, _ time.Duration, _ error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.tiers == nil {
		s.tiers = map[string]int{}
	}
	s.tiers[tier]++
}

func (s *seen) Fenced(result string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.fences == nil {
		s.fences = map[string]int{}
	}
	s.fences[result]++
}

func (s *seen) ValuesCompressed(partition.Ref, int, int) {}

func (s *seen) ValueCorrupt(partition.Ref) {}

func (s *seen) Truncated(_ partition.Ref, n int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.lost += n
}

func (s *seen) truncated() int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.lost
}

func (s *seen) fencesOf(result string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.fences[result]
}

func (s *seen) readsOf(tier string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.tiers[tier]
}

// gate is a Replicator that a test opens.
type gate struct {
	mu        sync.Mutex
	connected int
	asked     []func(error)
	answer    func() error // nil: whoever asks waits
}

func (g *gate) Connected(n int) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.connected >= n
}

func (g *gate) Confirm(_ redisstream.Identity, _ int, done func(error)) {
	g.mu.Lock()
	answer := g.answer
	if answer == nil {
		g.asked = append(g.asked, done)
	}
	g.mu.Unlock()
	if answer != nil {
		done(answer())
	}
}

// release answers all that asked with err.
func (g *gate) release(err error) {
	g.mu.Lock()
	asked := g.asked
	g.asked = nil
	g.mu.Unlock()
	for _, done := range asked {
		done(err)
	}
}

// waiting tells how many wait for an answer.
func (g *gate) waiting() int {
	g.mu.Lock()
	defer g.mu.Unlock()
	return len(g.asked)
}

// open answers every question from now on with what answer says.
func (g *gate) open(answer func() error) {
	g.mu.Lock()
	g.answer = answer
	g.mu.Unlock()
	g.release(answer())
}
