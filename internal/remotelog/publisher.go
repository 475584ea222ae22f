package remotelog

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"time"

	"github.com/korvet-io/korvet/internal/batch"
	"github.com/korvet-io/korvet/internal/compress"
	"github.com/korvet-io/korvet/internal/metadata"
	"github.com/korvet-io/korvet/internal/partition"
	"github.com/korvet-io/korvet/internal/record"
	"github.com/korvet-io/korvet/internal/redisstream"
)

// Queues is where events wait: redisstream.Shard. It is safe for concurrent use.
type Queues interface {
	Queued(ctx context.Context, keys []redisstream.OutboxKeys, count int) ([][]redisstream.QueuedEvent, error)
	Unqueue(ctx context.Context, keys redisstream.OutboxKeys, events []redisstream.QueuedEvent) error
}

// Logs appends: partition.Manager. It is safe for concurrent use.
type Logs interface {
	Append(ref partition.Ref, b *batch.Batch, opt partition.AppendOptions, done func(partition.Appended, error))
}

// Published is told what became of events, for metrics. It must not block.
type Published interface {
	EventsPublished(n int, waiting int64)
}

// Publisher appends events that wait to the partitions of the topic that its broker leads. An event goes from the queue once it is
// a record: it may become one twice, and none is lost.
type Publisher struct {
	Namespace string
	// Topic finds the internal topic in memory; nil: there is none yet.
	Topic func() *metadata.Topic
	// Leads tells whether a partition is this broker's.
	Leads    func(topic *metadata.Topic, partition int32) bool
	Queues   Queues
	Logs     Logs
	Observer Published
	Log      *slog.Logger

	failed bool
}

const (
	// publishEvery is how long an event waits at most, when nothing fails.
	publishEvery = time.Second
	// mostInBatch is how many become records at once.
	mostInBatch = 200
	// appendTimeout bounds an append, in ms.
	appendTimeout = 10_000
)

// Run publishes until ctx ends.
func (p *Publisher) Run(ctx context.Context) {
	ticker := time.NewTicker(publishEvery)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
		err := p.Publish(ctx)
		if err != nil && !p.failed && ctx.Err() == nil {
			p.Log.Warn("changes of remote segments wait to become records of "+Topic, "error", err)
		}
		p.failed = err != nil
	}
}

// Publish appends what waits now.
func (p *Publisher) Publish(ctx context.Context) error {
	topic := p.Topic()
	if topic == nil {
		return nil
	}
	var own []int32
	var keys []redisstream.OutboxKeys
	for partition := range topic.Partitions {
		if p.Leads(topic, partition) {
			own, keys = append(own, partition), append(keys, redisstream.NewOutboxKeys(p.Namespace, partition))
		}
	}
	if len(own) == 0 {
		return nil
	}
	for more := true; more; {
		waiting, err := p.Queues.Queued(ctx, keys, mostInBatch)
		if err != nil {
			return err
		}
		more = false
		published, left := 0, int64(0)
		for i, events := range waiting {
			if len(events) == 0 {
				continue
			}
			if err = p.append(ctx, topic, own[i], events); err == nil {
				err = p.Queues.Unqueue(ctx, keys[i], events)
			}
			if err != nil {
				left += int64(len(events))
				break
			}
			published += len(events)
			more = more || len(events) == mostInBatch
		}
		p.Observer.EventsPublished(published, left)
		if err != nil {
			return err
		}
	}
	return nil
}

// append makes records of events. What is none of ours is passed over.
func (p *Publisher) append(ctx context.Context, topic *metadata.Topic, number int32, events []redisstream.QueuedEvent) error {
	b, err := batchOf(events)
	if err != nil || b == nil {
		return err
	}
	values := partition.Values{}
	if codec, err := compress.Parse(topic.Config.StorageCompression); err == nil {
		values = partition.Values{Codec: codec, Dictionary: topic.Config.StorageDictionary}
	}
	opt := partition.AppendOptions{
		AllReplicas: true, MinReplicas: max(topic.Config.MinInsyncReplicas, 1), LogAppendTime: topic.Config.LogAppendTime,
		TimeoutMs: appendTimeout, Values: values,
	}
	if topic.Config.Segmented && !topic.Config.Compact {
		opt.Segment = partition.SegmentPolicy{Bytes: topic.Config.SegmentBytes, Ms: topic.Config.SegmentMs}
	}
	_, err = redisstream.Await(ctx, func(done func(partition.Appended, error)) {
		p.Logs.Append(partition.Ref{Topic: topic.Name, ID: topic.ID, Partition: number}, b, opt, done)
	})
	if err != nil {
		return fmt.Errorf("append to %s, partition %d: %w", Topic, number, err)
	}
	return nil
}

// batchOf makes a batch; nil where no event is one of ours.
func batchOf(events []redisstream.QueuedEvent) (*batch.Batch, error) {
	var builder batch.Builder
	builder.Reset(nil, batch.BuildOptions{})
	for _, e := range events {
		var decoded Event
		if err := json.Unmarshal([]byte(e.Event), &decoded); err != nil {
			continue
		}
		builder.Put(&record.Record{
			Offset: int64(builder.Count()), Timestamp: max(decoded.TimeMs, 0), Key: []byte(Key(decoded.TopicID, decoded.Partition)), Value: []byte(e.Event),
		})
	}
	if builder.Count() == 0 {
		return nil, nil
	}
	return batch.Parse(builder.Finish(), batch.Limits{})
}
