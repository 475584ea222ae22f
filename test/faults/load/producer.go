package load

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/korvet-io/korvet/test/faults/checker"
	"github.com/twmb/franz-go/pkg/kgo"
)

// ProducerConfig describes one producer.
type ProducerConfig struct {
	Brokers    []string
	Topic      string
	Partitions int
	ID         int32
	Idempotent bool // with unlimited retries; else plain: one request in flight, retries for some seconds, failures are outcomes unknown
	Rate       int  // records a second
	Acks       kgo.Acks
	Seed       uint64
	Timeout    time.Duration // of a produce request
}

// plainPatience is how long a plain record is tried again before its outcome counts as unknown.
const plainPatience = 5 * time.Second

// buffered bounds the records a producer has without an outcome.
const buffered = 500

// Producer sends until it is stopped and remembers every record's outcome.
type Producer struct {
	cfg    ProducerConfig
	client *kgo.Client
	slots  chan struct{}
	stop   chan struct{}
	done   chan struct{}
	once   sync.Once // stop is closed once

	mu      sync.Mutex
	history []checker.Sent
	acked   int
	errors  map[string]int
}

// StartProducer begins to send.
func StartProducer(cfg ProducerConfig) (*Producer, error) {
	opts := []kgo.Opt{
		kgo.SeedBrokers(cfg.Brokers...),
		kgo.ClientID(fmt.Sprintf("load-producer-%d", cfg.ID)),
		kgo.RecordPartitioner(kgo.ManualPartitioner()),
		kgo.RequiredAcks(cfg.Acks),
		kgo.ProduceRequestTimeout(cfg.Timeout),
		kgo.ProducerBatchCompression(codec(cfg.ID)),
		kgo.RetryBackoffFn(func(int) time.Duration { return 50 * time.Millisecond }),
		kgo.MetadataMinAge(50 * time.Millisecond),
		kgo.UnknownTopicRetries(-1),
	}
	if cfg.Idempotent {
		// A sequence number refused for good is a fault of the broker: stop and say so instead of hiding it behind a new epoch.
		opts = append(opts, kgo.StopProducerOnDataLossDetected())
	} else {
		opts = append(opts, kgo.DisableIdempotentWrite(), kgo.MaxProduceRequestsInflightPerBroker(1), kgo.RecordDeliveryTimeout(plainPatience))
	}
	client, err := kgo.NewClient(opts...)
	if err != nil {
		return nil, fmt.Errorf("create producer %d: %w", cfg.ID, err)
	}
	p := &Producer{
		cfg: cfg, client: client, errors: map[string]int{},
		slots: make(chan struct{}, buffered), stop: make(chan struct{}), done: make(chan struct{}),
	}
	go p.run()
	return p, nil
}

func codec(id int32) kgo.CompressionCodec {
	codecs := []kgo.CompressionCodec{kgo.NoCompression(), kgo.Lz4Compression(), kgo.SnappyCompression(), kgo.ZstdCompression(), kgo.GzipCompression()}
	return codecs[int(id)%len(codecs)]
}

func (p *Producer) run() {
	defer close(p.done)
	rnd := rand.New(rand.NewPCG(p.cfg.Seed, uint64(p.cfg.ID)))
	const tick = 5 * time.Millisecond
	ticker := time.NewTicker(tick)
	defer ticker.Stop()
	due := 0.0
	for seq := int64(0); ; {
		select {
		case <-p.stop:
			return
		case <-ticker.C:
		}
		for due += float64(p.cfg.Rate) * tick.Seconds(); due >= 1; due-- {
			select {
			case <-p.stop:
				return
			case p.slots <- struct{}{}:
			}
			p.send(seq, rnd)
			seq++
		}
	}
}

func (p *Producer) send(seq int64, rnd *rand.Rand) {
	r := newRecord(checker.ID{Producer: p.cfg.ID, Seq: seq}, time.Now(), rnd)
	r.Topic, r.Partition = p.cfg.Topic, int32(rnd.IntN(p.cfg.Partitions))
	p.mu.Lock()
	p.history = append(p.history, checker.Sent{Partition: r.Partition, Seq: seq, Digest: digest(r)})
	p.mu.Unlock()
	p.client.Produce(context.Background(), r, func(r *kgo.Record, err error) {
		p.heard(seq, r.Offset, err)
		<-p.slots
	})
}

func (p *Producer) heard(seq, offset int64, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if err != nil {
		p.errors[err.Error()]++
		return
	}
	p.acked++
	p.history[seq].Outcome, p.history[seq].Offset = checker.Acked, offset
}

// Acked tells how many records were acknowledged so far.
func (p *Producer) Acked() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.acked
}

// Stop sends no more, waits for outstanding outcomes until ctx ends (what is open then stays unknown), and returns the
// history and how often each error was the last word on a record.
func (p *Producer) Stop(ctx context.Context) (checker.Producer, map[string]int) {
	p.once.Do(func() { close(p.stop) })
	<-p.done
	if err := p.client.Flush(ctx); err != nil {
		p.mu.Lock()
		p.errors["flush: "+err.Error()]++
		p.mu.Unlock()
	}
	p.client.Close()
	p.mu.Lock()
	defer p.mu.Unlock()
	return checker.Producer{ID: p.cfg.ID, Idempotent: p.cfg.Idempotent, Sent: p.history}, p.errors
}
