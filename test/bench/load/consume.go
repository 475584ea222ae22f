package load

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
)

// consuming is one consumer that reads every partition of a topic, from offset 0 on unless the spec names another.
type consuming struct {
	spec      Spec
	client    *kgo.Client
	next      []int64 // per partition: the offset that must come next
	ended     time.Time
	latencies []int64 // ns, of stamped records
}

func newConsuming(spec Spec) (*consuming, error) {
	from, next := map[int32]kgo.Offset{}, make([]int64, spec.Partitions)
	for partition := range spec.Partitions {
		from[partition] = kgo.NewOffset().At(spec.From)
		next[partition] = spec.From
	}
	client, err := kgo.NewClient(
		kgo.SeedBrokers(spec.Address),
		kgo.ConsumePartitions(map[string]map[int32]kgo.Offset{spec.Topic: from}),
		kgo.WithPools(&recordPool{}),
	)
	if err != nil {
		return nil, fmt.Errorf("make consumer: %w", err)
	}
	return &consuming{spec: spec, client: client, next: next}, nil
}

// run reads until all records came, and fails when an offset is missing or comes twice or a value has a wrong length. It takes
// no more records a second than pace lets it.
func (c *consuming) run(ctx context.Context, pace pacer) error {
	defer c.client.Close()
	for left := c.spec.Records; left > 0; {
		pace.wait(c.spec.Records - left)
		fetches := c.client.PollFetches(ctx)
		if err := fetches.Err0(); err != nil {
			return fmt.Errorf("poll: %w", err)
		}
		for _, failed := range fetches.Errors() {
			return fmt.Errorf("fetch partition %d: %w", failed.Partition, failed.Err)
		}
		now := time.Since(process)
		var bad error
		fetches.EachPartition(func(p kgo.FetchTopicPartition) {
			left -= len(p.Records)
			for _, record := range p.Records {
				if err := c.take(record, now); err != nil && bad == nil {
					bad = err
				}
				record.Recycle()
			}
		})
		if bad != nil {
			return bad
		}
	}
	c.ended = time.Now()
	return nil
}

func (c *consuming) take(record *kgo.Record, now time.Duration) error {
	if record.Offset != c.next[record.Partition] {
		return fmt.Errorf("partition %d: offset %d came where %d was due", record.Partition, record.Offset, c.next[record.Partition])
	}
	c.next[record.Partition]++
	if c.spec.StampEvery == 0 {
		if len(record.Value) != c.spec.RecordSize {
			return fmt.Errorf("offset %d of partition %d: a value of %d bytes", record.Offset, record.Partition, len(record.Value))
		}
		return nil
	}
	if stamp, ok := stampOf(record.Value); ok && stamp > 0 {
		c.latencies = append(c.latencies, int64(now-stamp))
	}
	return nil
}

// recordPool gives the client's slices of records a second life: a consumer that is the bottleneck hides the broker.
type recordPool struct{ free sync.Pool }

// GetRecords implements kgo.PoolRecords.
func (p *recordPool) GetRecords(n int) []kgo.Record {
	if kept, ok := p.free.Get().(*[]kgo.Record); ok && cap(*kept) >= n {
		return *kept
	}
	return make([]kgo.Record, n)
}

// PutRecords implements kgo.PoolRecords.
func (p *recordPool) PutRecords(records []kgo.Record) { p.free.Put(&records) }
