package load

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/korvet-io/korvet/test/faults/checker"
	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
)

// Config describes a load.
type Config struct {
	Brokers     []string
	Topic       string // created with Partitions and TopicConfig
	Partitions  int
	TopicConfig map[string]*string
	Idempotent  int // producers of each sort
	Plain       int
	Consumers   int
	Rate        int // records a second of each producer
	Acks        kgo.Acks
	Seed        uint64
	Timeout     time.Duration // of a produce request; 0 means 10 s
}

// Load is producers and consumers at work on one topic.
type Load struct {
	cfg       Config
	producers []*Producer
	consumers []*Consumer
}

// Start creates the topic and sets everybody to work.
func Start(ctx context.Context, cfg Config) (*Load, error) {
	if cfg.Timeout == 0 {
		cfg.Timeout = 10 * time.Second
	}
	if err := createTopic(ctx, cfg); err != nil {
		return nil, err
	}
	l := &Load{cfg: cfg}
	for i := range cfg.Consumers {
		c, err := StartConsumer("consumer-"+strconv.Itoa(i), cfg.Brokers, cfg.Topic, cfg.Partitions)
		if err != nil {
			l.Abort()
			return nil, err
		}
		l.consumers = append(l.consumers, c)
	}
	for i := range cfg.Idempotent + cfg.Plain {
		p, err := StartProducer(ProducerConfig{
			Brokers: cfg.Brokers, Topic: cfg.Topic, Partitions: cfg.Partitions, ID: int32(i), Idempotent: i < cfg.Idempotent,
			Rate: cfg.Rate, Acks: cfg.Acks, Seed: cfg.Seed, Timeout: cfg.Timeout,
		})
		if err != nil {
			l.Abort()
			return nil, err
		}
		l.producers = append(l.producers, p)
	}
	return l, nil
}

func createTopic(ctx context.Context, cfg Config) error {
	client, err := kgo.NewClient(kgo.SeedBrokers(cfg.Brokers...))
	if err != nil {
		return fmt.Errorf("create client: %w", err)
	}
	defer client.Close()
	_, err = kadm.NewClient(client).CreateTopic(ctx, int32(cfg.Partitions), 1, cfg.TopicConfig, cfg.Topic)
	if err != nil && !errors.Is(err, kerr.TopicAlreadyExists) {
		return fmt.Errorf("create topic %s: %w", cfg.Topic, err)
	}
	return nil
}

// Abort stops everybody who still works, without waiting for outcomes.
func (l *Load) Abort() {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	for _, p := range l.producers {
		p.Stop(ctx)
	}
	for _, c := range l.consumers {
		c.Stop()
	}
}

// Acked tells how many records were acknowledged to each producer so far.
func (l *Load) Acked() []int {
	acked := make([]int, len(l.producers))
	for i, p := range l.producers {
		acked[i] = p.Acked()
	}
	return acked
}

// AwaitProgress waits until every producer had n more records acknowledged than it has now.
func (l *Load) AwaitProgress(ctx context.Context, n int) error {
	before := l.Acked()
	for i, p := range l.producers {
		for p.Acked() < before[i]+n {
			select {
			case <-ctx.Done():
				return fmt.Errorf("await %d more acknowledgements for producer %d, which had %d and has %d: %w",
					n, i, before[i], p.Acked(), ctx.Err())
			case <-time.After(5 * time.Millisecond):
			}
		}
	}
	return nil
}

// Result is what a load leaves behind.
type Result struct {
	Run checker.Run
	// Errors counts what producers and consumers were told, "who: error".
	Errors map[string]int
}

// Finish ends the load: producers stop and wait for what is outstanding, consumers read on to the end, and the log is read
// once more. What was learnt until an error is in the Result all the same.
func (l *Load) Finish(ctx context.Context) (Result, error) {
	res := Result{Errors: map[string]int{}}
	for _, p := range l.producers {
		history, told := p.Stop(ctx)
		res.Run.Producers = append(res.Run.Producers, history)
		res.count(fmt.Sprintf("producer %d", history.ID), told)
	}
	ends, err := Ends(ctx, l.cfg.Brokers, l.cfg.Topic)
	for _, c := range l.consumers {
		if err == nil {
			err = c.AwaitEnds(ctx, ends)
		}
		views, told := c.Stop()
		res.Run.Views = append(res.Run.Views, views...)
		res.count(c.name, told)
	}
	if err != nil {
		return res, err
	}
	res.Run.Final, err = ReadAll(ctx, l.cfg.Brokers, l.cfg.Topic)
	return res, err
}

func (r *Result) count(who string, told map[string]int) {
	for text, n := range told {
		r.Errors[who+": "+text] += n
	}
}
