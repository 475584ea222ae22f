package tiered

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/korvet-io/korvet/internal/redistest"
)

// churn is a topic that is written to and read from its start all the time while a test changes it. What producers were told is
// compared with what readers get: nothing is missing above the log start, nothing is there twice, no other errors come than the
// right ones, and the ends of the tiers are told right at each moment.
type churn struct {
	*world
	topic string
	life  int // of the name

	mu      sync.Mutex
	times   [][]stamp // by partition and offset
	kind    string    // message.timestamp.type; "": it is being altered
	running context.Context
	stop    context.CancelFunc
	workers sync.WaitGroup
	full    int // reads from the start to the end
}

// stamp is what the timestamp of a record may be, ms: the first that is read is the one for good.
type stamp struct {
	given, from, to int64 // the producer's; else between two moments of the append
	read            int64 // 0: not yet
}

// fits tells whether a timestamp may be the record's, and remembers it.
func (s *stamp) fits(ms int64) bool {
	if s.read == 0 && (ms == s.given || s.from > 0 && ms >= s.from && ms <= s.to) {
		s.read = ms
	}
	return s.read == ms
}

func newChurn(t *testing.T, p place, more ...string) *churn {
	return &churn{world: start(t, p, append([]string{noCache}, more...)...), topic: "churn"}
}

// begin makes the topic and has it written, read and asked of.
func (c *churn) begin(partitions int32) {
	c.Helper()
	c.life++
	c.create(c.topic, partitions, tiered())
	c.running, c.stop = context.WithCancel(c.Context())
	c.times, c.kind = nil, "CreateTime"
	for range partitions {
		c.join()
	}
}

// join has the next partition written, read and asked of until end.
func (c *churn) join() {
	c.mu.Lock()
	p := int32(len(c.times))
	c.times = append(c.times, nil)
	c.mu.Unlock()
	for _, run := range []func(context.Context, int32){c.write, c.read, c.watch} {
		c.workers.Go(func() { run(c.running, p) })
	}
}

// end waits until nobody writes or reads any more.
func (c *churn) end() {
	c.stop()
	c.workers.Wait()
}

func (c *churn) key(offset int64) string { return fmt.Sprintf("%d-%d", c.life, offset) }

// acknowledged is the end of what producers were told of.
func (c *churn) acknowledged(partition int32) int64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	return int64(len(c.times[partition]))
}

func (c *churn) partitions() int32 {
	c.mu.Lock()
	defer c.mu.Unlock()
	return int32(len(c.times))
}

// write appends batches at a steady rate: two segments a second.
func (c *churn) write(ctx context.Context, partition int32) {
	pace := time.NewTicker(25 * time.Millisecond)
	defer pace.Stop()
	client, err := kgo.NewClient(kgo.SeedBrokers(c.Addr), kgo.RecordPartitioner(kgo.ManualPartitioner()), kgo.MaxBufferedRecords(1000))
	if err != nil {
		c.Error(err)
		return
	}
	defer client.Close()
	for next := int64(0); ctx.Err() == nil; <-pace.C {
		var list []*kgo.Record
		for o := next; o < next+50; o++ {
			list = append(list, &kgo.Record{Topic: c.topic, Partition: partition, Key: []byte(c.key(o)), Value: value(partition, o), Timestamp: time.UnixMilli(1_700_000_000_000 + o)})
		}
		kind, began := c.timestampType(), time.Now().UnixMilli()
		results := client.ProduceSync(c.Context(), list...)
		c.mu.Lock()
		if kind != c.kind {
			kind = ""
		}
		for _, r := range results {
			if r.Err != nil || r.Record.Offset != next {
				c.Errorf("partition %d: record %d got offset %d: %v", partition, next, r.Record.Offset, r.Err)
			}
			var s stamp
			if kind != "LogAppendTime" {
				s.given = r.Record.Timestamp.UnixMilli()
			}
			if kind != "CreateTime" {
				s.from, s.to = began-1000, time.Now().UnixMilli()+1000 // by another clock
			}
			c.times[partition] = append(c.times[partition], s)
			next++
		}
		c.mu.Unlock()
		if c.Failed() {
			return
		}
	}
}

func (c *churn) reads() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.full
}

func (c *churn) timestampType() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.kind
}

func (c *churn) read(ctx context.Context, partition int32) {
	pace := time.NewTicker(50 * time.Millisecond)
	defer pace.Stop()
	for ; ctx.Err() == nil && !c.Failed(); <-pace.C {
		if c.whole(partition) {
			c.mu.Lock()
			c.full++
			c.mu.Unlock()
		}
	}
}

// whole reads a partition from its start to what is acknowledged, and checks each record. A reader whose records go meanwhile is told
// so, and begins anew: false.
func (c *churn) whole(partition int32) bool {
	next, end := c.offset(c.topic, partition, earliest), c.acknowledged(partition)
	client, err := kgo.NewClient(kgo.SeedBrokers(c.Addr), kgo.ConsumeResetOffset(kgo.NoResetOffset()),
		kgo.ConsumePartitions(map[string]map[int32]kgo.Offset{c.topic: {partition: kgo.NewOffset().At(next)}}))
	if err != nil {
		c.Error(err)
		return false
	}
	defer client.Close()
	ctx, cancel := context.WithTimeout(c.Context(), time.Minute)
	defer cancel()
	for next < end && !c.Failed() {
		fetches := client.PollFetches(ctx)
		if err := fetches.Err(); err != nil {
			if begins := c.offset(c.topic, partition, earliest); !errors.Is(err, kerr.OffsetOutOfRange) || begins <= next {
				c.Errorf("partition %d: read at %d, the log starts at %d: %v", partition, next, begins, err)
			}
			return false
		}
		fetches.EachRecord(func(r *kgo.Record) {
			if r.Offset != next && !c.Failed() {
				if begins := c.offset(c.topic, partition, earliest); begins < r.Offset || r.Offset < next {
					c.Errorf("partition %d: offset %d where %d was due, the log starts at %d", partition, r.Offset, next, begins)
				}
			}
			next = r.Offset + 1
			if !c.Failed() {
				c.same(r)
			}
		})
	}
	return !c.Failed()
}

// same compares a record with what was produced.
func (c *churn) same(r *kgo.Record) {
	if string(r.Key) != c.key(r.Offset) || string(r.Value) != string(value(r.Partition, r.Offset)) {
		c.Errorf("partition %d: offset %d is %q", r.Partition, r.Offset, r.Key)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if times := c.times[r.Partition]; r.Offset < int64(len(times)) && !times[r.Offset].fits(r.Timestamp.UnixMilli()) {
		c.Errorf("partition %d: offset %d has timestamp %d, want one of %+v", r.Partition, r.Offset, r.Timestamp.UnixMilli(), times[r.Offset])
	}
}

// watch asks where the tiers begin and end: each answer fits those before it.
func (c *churn) watch(ctx context.Context, partition int32) {
	pace := time.NewTicker(10 * time.Millisecond)
	defer pace.Stop()
	wasStart, wasLocal := int64(0), int64(0)
	for ; ctx.Err() == nil && !c.Failed(); <-pace.C {
		acknowledged := c.acknowledged(partition)
		begins := c.offset(c.topic, partition, earliest)
		local := c.offset(c.topic, partition, earliestLocal)
		last := c.offset(c.topic, partition, latestTiered)
		pending := c.offset(c.topic, partition, earliestPending)
		end := c.offset(c.topic, partition, -1)
		// Each is asked after those before it and rises. Tiered is what Redis has no more, unless the tier is off.
		ok := begins >= wasStart && local >= max(begins, wasLocal) && (last == -1 || last < end) && (pending == -1 || pending > last && pending >= begins && pending <= end) && end >= acknowledged
		if after := c.offset(c.topic, partition, earliest); ok && after < local {
			ok = last >= local-1 || c.offset(c.topic, partition, earliest) >= local // turned off in between
		}
		if !ok {
			c.Errorf("partition %d: starts at %d (%d before), local %d (%d before), last tiered %d, pending %d, end %d of %d acknowledged", partition, begins, wasStart, local, wasLocal, last, pending, end, acknowledged)
		}
		wasStart, wasLocal = begins, local
	}
}

// more waits until so many more records of each partition are acknowledged.
func (c *churn) more(records int64) {
	c.Helper()
	for p := range c.partitions() {
		from := c.acknowledged(p)
		redistest.Eventually(c, fmt.Sprintf("more records of partition %d", p), func() bool { return c.acknowledged(p) >= from+records || c.Failed() })
	}
}
