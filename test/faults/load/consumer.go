package load

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/korvet-io/korvet/test/faults/checker"
	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
)

// Consumer reads all partitions of a topic from offset 0 by manual assignment and remembers what it saw.
type Consumer struct {
	name   string
	client *kgo.Client
	cancel context.CancelFunc
	done   chan struct{}

	mu     sync.Mutex
	cond   *sync.Cond
	views  map[int32]*checker.View
	errors map[string]int
	fatal  error
}

// StartConsumer begins to read.
func StartConsumer(name string, brokers []string, topic string, partitions int) (*Consumer, error) {
	assignment := map[int32]kgo.Offset{}
	c := &Consumer{name: name, done: make(chan struct{}), views: map[int32]*checker.View{}, errors: map[string]int{}}
	c.cond = sync.NewCond(&c.mu)
	for p := range int32(partitions) {
		assignment[p] = kgo.NewOffset().At(0)
		c.views[p] = &checker.View{Consumer: name, Partition: p}
	}
	client, err := kgo.NewClient(
		kgo.SeedBrokers(brokers...),
		kgo.ClientID("load-"+name),
		kgo.ConsumePartitions(map[string]map[int32]kgo.Offset{topic: assignment}),
		kgo.ConsumeResetOffset(kgo.NoResetOffset()), // an offset out of range is a fault, not a reason to begin elsewhere
		kgo.RetryBackoffFn(func(int) time.Duration { return 50 * time.Millisecond }),
		kgo.MetadataMinAge(50*time.Millisecond),
		kgo.FetchMaxWait(500*time.Millisecond),
	)
	if err != nil {
		return nil, fmt.Errorf("create %s: %w", name, err)
	}
	c.client = client
	ctx, cancel := context.WithCancel(context.Background())
	c.cancel = cancel
	go c.run(ctx)
	return c, nil
}

func (c *Consumer) run(ctx context.Context) {
	defer close(c.done)
	for ctx.Err() == nil {
		fetches := c.client.PollFetches(ctx)
		c.mu.Lock()
		fetches.EachError(func(_ string, p int32, err error) { c.failed(p, err) })
		fetches.EachRecord(func(r *kgo.Record) {
			v := c.views[r.Partition]
			v.Entries = append(v.Entries, Entry(r))
		})
		c.cond.Broadcast()
		c.mu.Unlock()
	}
}

// failed notes an error that reached the application. Some of them are final for a consumer.
func (c *Consumer) failed(partition int32, err error) {
	if errors.Is(err, context.Canceled) {
		return
	}
	c.errors[err.Error()]++
	var loss *kgo.ErrDataLoss
	if errors.As(err, &loss) || errors.Is(err, kerr.OffsetOutOfRange) || errors.Is(err, kerr.CorruptMessage) {
		c.fatal = errors.Join(c.fatal, fmt.Errorf("%s, partition %d: %w", c.name, partition, err))
	}
}

// AwaitEnds waits until the consumer has seen everything below the given offsets. It fails when ctx ends before, or when
// the consumer was told that it cannot go on.
func (c *Consumer) AwaitEnds(ctx context.Context, ends map[int32]int64) error {
	defer context.AfterFunc(ctx, c.cond.Broadcast)()
	c.mu.Lock()
	defer c.mu.Unlock()
	for !c.reached(ends) {
		if c.fatal != nil {
			return c.fatal
		}
		if ctx.Err() != nil {
			return fmt.Errorf("await ends %v with %s, which is at %v: %w", ends, c.name, c.positions(), ctx.Err())
		}
		c.cond.Wait()
	}
	return c.fatal
}

// Seen tells how many records the consumer saw so far.
func (c *Consumer) Seen() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	n := 0
	for _, v := range c.views {
		n += len(v.Entries)
	}
	return n
}

func (c *Consumer) reached(ends map[int32]int64) bool {
	at := c.positions()
	for p, end := range ends {
		if at[p] < end {
			return false
		}
	}
	return true
}

func (c *Consumer) positions() map[int32]int64 {
	at := map[int32]int64{}
	for p, v := range c.views {
		if n := len(v.Entries); n > 0 {
			at[p] = v.Entries[n-1].Offset + 1
		}
	}
	return at
}

// Stop ends the reading. It returns one view for each partition and the errors that reached the application.
func (c *Consumer) Stop() ([]checker.View, map[string]int) {
	c.cancel()
	<-c.done
	c.client.Close()
	views := make([]checker.View, 0, len(c.views))
	for _, v := range c.views {
		v.Complete = true
		views = append(views, *v)
	}
	return views, c.errors
}

// Ends asks the broker for the end offset of each partition.
func Ends(ctx context.Context, brokers []string, topic string) (map[int32]int64, error) {
	client, err := kgo.NewClient(kgo.SeedBrokers(brokers...), kgo.MetadataMinAge(50*time.Millisecond))
	if err != nil {
		return nil, fmt.Errorf("create client: %w", err)
	}
	defer client.Close()
	listed, err := kadm.NewClient(client).ListEndOffsets(ctx, topic)
	if err == nil {
		err = listed.Error()
	}
	if err != nil {
		return nil, fmt.Errorf("list end offsets: %w", err)
	}
	ends := map[int32]int64{}
	listed.Each(func(o kadm.ListedOffset) { ends[o.Partition] = o.Offset })
	return ends, nil
}

// ReadAll reads every partition from offset 0 to its end with a client of its own.
func ReadAll(ctx context.Context, brokers []string, topic string) (map[int32][]checker.Entry, error) {
	ends, err := Ends(ctx, brokers, topic)
	if err != nil {
		return nil, err
	}
	c, err := StartConsumer("reader", brokers, topic, len(ends))
	if err != nil {
		return nil, err
	}
	err = c.AwaitEnds(ctx, ends)
	views, _ := c.Stop()
	if err != nil {
		return nil, fmt.Errorf("read the log: %w", err)
	}
	log := map[int32][]checker.Entry{}
	for _, v := range views {
		log[v.Partition] = v.Entries
	}
	return log, nil
}
