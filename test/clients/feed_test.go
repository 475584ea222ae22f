package clients_test

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
)

// feedInterval is the pause between two records of a partition.
const feedInterval = 100 * time.Millisecond

// feed produces to all partitions of a topic all the time, so that who owns a partition shows in who reads its newest records.
type feed struct {
	topic      string
	partitions int32
	producer   *kgo.Client

	mu   sync.Mutex
	next []int64 // per partition
}

// fedValue is the value of a record of a feed, which is known from its place.
func fedValue(partition int32, offset int64) string { return fmt.Sprintf("%d-%d", partition, offset) }

// newFeed creates a topic that holds nothing yet.
func (s *suite) newFeed(ctx context.Context, topic string, partitions int32) (*feed, error) {
	if err := s.createTopic(ctx, topic, partitions, createTopic); err != nil {
		return nil, err
	}
	return &feed{topic: topic, partitions: partitions, producer: s.producer, next: make([]int64, partitions)}, nil
}

// tick produces one record to each partition.
func (f *feed) tick(ctx context.Context) error {
	records := make([]*kgo.Record, f.partitions)
	for p := range f.partitions {
		records[p] = &kgo.Record{Topic: f.topic, Partition: p, Value: []byte(fedValue(p, f.next[p]))}
	}
	if err := f.producer.ProduceSync(ctx, records...).FirstErr(); err != nil {
		return fmt.Errorf("feed %s: %w", f.topic, err)
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	for p := range f.partitions {
		if r := records[p]; r.Offset != f.next[p] {
			return fmt.Errorf("feed %s: record of partition %d has offset %d, want %d", f.topic, p, r.Offset, f.next[p])
		}
		f.next[p]++
	}
	return nil
}

// run ticks until the test ends.
func (f *feed) run(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() {
		defer close(done)
		for ctx.Err() == nil {
			if err := f.tick(ctx); err != nil {
				if ctx.Err() == nil {
					t.Error(err)
				}
				return
			}
			select {
			case <-ctx.Done():
			case <-time.After(feedInterval):
			}
		}
	}()
	t.Cleanup(func() {
		cancel()
		<-done
	})
}

// ends are the next offsets of the partitions.
func (f *feed) ends() []int64 {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Clone(f.next)
}
