package faults

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/korvet-io/korvet/internal/redistest"
	"github.com/korvet-io/korvet/test/harness"
	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"
)

// changelog is a compacted topic of one partition that is written, read and trimmed while it is compacted.
type changelog struct {
	*world
	client *kgo.Client

	mu    sync.Mutex
	sent  []string // the key by offset, also of records that are not acknowledged yet
	acked int64    // as many are
	start int64    // the log start, at least
}

const changelogTopic = "changelog"

func (c *changelog) connect(options ...kgo.Opt) *kgo.Client {
	c.t.Helper()
	client, err := kgo.NewClient(append(options, kgo.SeedBrokers(c.broker.Addr))...)
	if err != nil {
		c.t.Fatal(err)
	}
	c.t.Cleanup(client.Close)
	return client
}

// write appends some records: most to few keys, some to keys of their own, one in fifty a tombstone.
func (c *changelog) write(count int) {
	c.t.Helper()
	value := []byte(strings.Repeat("v", 250))
	var batch []*kgo.Record
	c.mu.Lock()
	for range count {
		n := len(c.sent)
		key := fmt.Sprintf("hot-%d", c.rnd.IntN(40))
		if n%10 == 0 {
			key = fmt.Sprintf("own-%d", n)
		}
		c.sent = append(c.sent, key)
		r := &kgo.Record{Topic: changelogTopic, Key: []byte(key), Value: value, Headers: []kgo.RecordHeader{{Key: "n", Value: []byte(strconv.Itoa(n))}}}
		if c.rnd.IntN(50) == 0 {
			r.Value = nil
		}
		batch = append(batch, r)
	}
	c.mu.Unlock()
	if err := c.client.ProduceSync(c.t.Context(), batch...).FirstErr(); err != nil {
		c.t.Fatalf("produce: %v", err)
	}
	c.mu.Lock()
	c.acked = int64(len(c.sent))
	c.mu.Unlock()
}

// trim deletes all but the newest records.
func (c *changelog) trim(keep int64) {
	c.t.Helper()
	c.mu.Lock()
	start := max(0, c.acked-keep)
	c.start = start // a reader may miss what lies below from now on
	c.mu.Unlock()
	var offsets kadm.Offsets
	offsets.Add(kadm.Offset{Topic: changelogTopic, At: start})
	got, err := kadm.NewClient(c.client).DeleteRecords(c.t.Context(), offsets)
	if err == nil {
		err = got.Error()
	}
	if err != nil {
		c.t.Fatalf("delete records: %v", err)
	}
}

// read reads the log from its start to where it ended when this began, and checks what it sees: records as they were written,
// in order, each at most once, and none missing but those that are superseded or deleted.
func (c *changelog) read(ctx context.Context, consumer *kgo.Client) (offsets []int64, err error) {
	c.mu.Lock()
	end := c.acked
	c.mu.Unlock()
	seen, last := map[int64]bool{}, int64(-1)
	for last < end-1 {
		fetches := consumer.PollFetches(ctx)
		if err := fetches.Err(); err != nil {
			return nil, fmt.Errorf("fetch behind offset %d of %d: %w", last, end, err)
		}
		for _, r := range fetches.Records() {
			if r.Offset <= last {
				return nil, fmt.Errorf("offset %d comes after %d", r.Offset, last)
			}
			last, seen[r.Offset] = r.Offset, true
			offsets = append(offsets, last)
			if err := c.genuine(r); err != nil {
				return nil, err
			}
		}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	newest := map[string]int64{}
	for offset, key := range c.sent {
		newest[key] = int64(offset)
	}
	for offset := c.start; offset <= last; offset++ {
		if key := c.sent[offset]; !seen[offset] && newest[key] == offset {
			return nil, fmt.Errorf("offset %d, the newest record of %s, was not read; the log starts at %d", offset, key, c.start)
		}
	}
	return offsets, nil
}

// genuine checks that a record is what was written at its offset.
func (c *changelog) genuine(r *kgo.Record) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if n := strconv.FormatInt(r.Offset, 10); len(r.Headers) != 1 || string(r.Headers[0].Value) != n || string(r.Key) != c.sent[r.Offset] {
		return fmt.Errorf("offset %d holds %s %v", r.Offset, r.Key, r.Headers)
	}
	return nil
}

// metric is a counter of the broker's, all its labels together.
func (c *changelog) metric(name, labels string) (total float64) {
	c.t.Helper()
	_, text := c.broker.Get("/metrics")
	for line := range strings.Lines(text) {
		if words := strings.Fields(line); len(words) == 2 && strings.HasPrefix(line, name) && strings.Contains(words[0], labels) {
			n, _ := strconv.ParseFloat(words[1], 64)
			total += n
		}
	}
	return total
}

// removed is how many records compaction has taken out.
func (c *changelog) removed() float64 {
	c.t.Helper()
	return c.metric("korvet_storage_compaction_removed_records_total", "")
}

// rewrites is how many streams were written anew.
func (c *changelog) rewrites() float64 {
	c.t.Helper()
	return c.metric("korvet_storage_compaction_rewrites_total", `"ok"`)
}

// compacted tells whether so many of the records were removed that readers met it.
func (c *changelog) compacted() bool { return c.removed() >= float64(len(c.sent)/4) }

func newChangelog(t *testing.T) *changelog {
	w := newWorld(t, harness.Options{
		Redis: redistest.Start(t),
		Args: []string{
			"--korvet.storage.worker.tick-interval=100ms", "--korvet.storage.worker.lease-duration=10s", "--korvet.broker.tail-cache-bytes=64KB",
		},
	})
	w.topic(changelogTopic, map[string]string{"cleanup.policy": "compact,delete", "retention.ms": "-1", "min.cleanable.dirty.ratio": "0.3"})
	c := &changelog{world: w}
	c.client = c.connect(kgo.RecordPartitioner(kgo.ManualPartitioner()))
	return c
}

// Compaction, with its rewrites, beside a writer, DeleteRecords and consumers: no consumer notices more than that superseded
// records are gone.
func TestConsumersOfALogThatIsCompactedMissNothing(t *testing.T) {
	c := newChangelog(t)
	ctx, cancel := context.WithTimeout(t.Context(), time.Duration(rounds(1))*patience)
	defer cancel()
	over := make(chan struct{})
	reads := 0
	readers := make(chan error, 1)
	go func() {
		for {
			consumer := c.connect(kgo.ConsumeTopics(changelogTopic), kgo.FetchMaxBytes(32<<10), kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()))
			_, err := c.read(ctx, consumer)
			consumer.Close()
			reads++
			select {
			case <-over:
				readers <- err
				return
			default:
			}
			if err != nil {
				readers <- err
				return
			}
		}
	}()
	trimmed, removed := 0, 0.0 // a writer that trims faster than a pass comes would leave nothing to compact
	for round := 1; round <= rounds(100) || trimmed == 0 || !c.compacted() || c.rewrites() < float64(rounds(3)); round++ {
		c.write(400)
		if round%60 == 0 {
			if now := c.removed(); now > removed {
				c.trim(20_000)
				trimmed, removed = trimmed+1, now
			}
		}
		if ctx.Err() != nil || len(readers) > 0 {
			break
		}
	}
	close(over)
	if err := <-readers; err != nil {
		t.Fatal(err)
	}
	t.Logf("%d records, %.0f removed, %.0f rewrites, %d trims, %d times read to the end", len(c.sent), c.removed(), c.rewrites(), trimmed, reads)
	if !c.compacted() || c.rewrites() < 1 {
		t.Error("that is hardly a test")
	}
	c.requireStored(ctx)
}

// requireStored compares what a consumer reads with what Redis has, once compaction is at rest.
func (c *changelog) requireStored(ctx context.Context) {
	c.t.Helper()
	redistest.Eventually(c.t, "a consumer to read what Redis has", func() bool {
		consumer := c.connect(kgo.ConsumeTopics(changelogTopic), kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()))
		defer consumer.Close()
		read, err := c.read(ctx, consumer)
		if err != nil {
			c.t.Fatal(err)
		}
		var there []int64
		for _, e := range stored(c.t, c.redis, changelogTopic, 0).Entries {
			if e.Offset >= c.start {
				there = append(there, e.Offset)
			}
		}
		return slices.Equal(read, there)
	})
}
