package load

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/korvet-io/korvet/test/bench/stats"
)

// process is the start of the clock that stamps are taken from.
var process = time.Now()

// producing is a number of producers at work, each a client of its own.
type producing struct {
	spec      Spec
	began     time.Time // when all producers were connected
	ended     time.Time // the last acknowledgement
	latencies []int64   // ns, of stamped records
}

func newProducing(spec Spec) *producing { return &producing{spec: spec} }

// run sends the records. Before the clock starts every producer has sent one record and knows its acknowledgement, so
// that neither connecting nor asking for a producer id is measured.
func (p *producing) run(ctx context.Context) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	producers := make([]*producer, p.spec.Producers)
	for i := range producers {
		one, err := newProducer(p.spec, i)
		if err != nil {
			return err
		}
		defer one.client.Close()
		if err := one.client.ProduceSync(ctx, &kgo.Record{Key: p.spec.key(0), Value: one.content.Next()}).FirstErr(); err != nil {
			return fmt.Errorf("produce first record: %w", err)
		}
		producers[i] = one
	}
	p.began = time.Now()
	var working sync.WaitGroup
	for _, one := range producers {
		working.Go(func() {
			if err := one.run(ctx); err != nil {
				cancel(err)
			}
		})
	}
	working.Wait()
	p.ended = time.Now()
	for _, one := range producers {
		p.latencies = append(p.latencies, one.latencies...)
	}
	return context.Cause(ctx)
}

func (p *producing) result() Result {
	measured := p.spec.Records - p.spec.Producers
	return Result{
		ProducedPerSecond: float64(measured) / p.ended.Sub(p.began).Seconds(),
		Acknowledged:      stats.QuantilesOf(p.latencies),
	}
}

type producer struct {
	spec    Spec
	client  *kgo.Client
	content *Content
	records int // that this one sends after its first
	free    sync.Pool

	mu        sync.Mutex // of what acknowledgements change
	err       error
	latencies []int64
}

func newProducer(spec Spec, number int) (*producer, error) {
	opts, err := spec.producerOptions()
	if err != nil {
		return nil, err
	}
	client, err := kgo.NewClient(opts...)
	if err != nil {
		return nil, fmt.Errorf("make producer: %w", err)
	}
	share := spec.Records / spec.Producers
	if number < spec.Records%spec.Producers {
		share++
	}
	return &producer{
		spec: spec, client: client, records: share - 1,
		content: spec.content(uint64(number) + 1),
		free:    sync.Pool{New: func() any { return new(kgo.Record) }},
	}, nil
}

// run sends this producer's records and waits for their acknowledgements.
func (p *producer) run(ctx context.Context) error {
	pace := newPacer(p.spec.Rate / float64(p.spec.Producers))
	stamped := 0
	for i := range p.records {
		if ctx.Err() != nil {
			break
		}
		pace.wait(i)
		if p.spec.StampEvery > 0 && i%p.spec.StampEvery == 0 {
			stamped++
			p.sendStamped(ctx, stamped > p.spec.Unmeasured)
			continue
		}
		record := p.free.Get().(*kgo.Record)
		*record = kgo.Record{Key: p.spec.key(i), Value: p.content.Next()}
		p.client.Produce(ctx, record, p.acknowledged)
	}
	if err := p.client.Flush(ctx); err != nil {
		return fmt.Errorf("flush: %w", err)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.err
}

// sendStamped sends a record whose value tells when. A stamp of 0 tells the consumer not to measure it.
func (p *producer) sendStamped(ctx context.Context, measured bool) {
	now := time.Since(process)
	stamp := now
	if !measured {
		stamp = 0
	}
	record := &kgo.Record{Value: p.content.Stamped(stamp)}
	p.client.Produce(ctx, record, func(_ *kgo.Record, err error) {
		took := time.Since(process) - now
		p.mu.Lock()
		defer p.mu.Unlock()
		if measured && err == nil {
			p.latencies = append(p.latencies, int64(took))
		}
		p.note(err)
	})
}

func (p *producer) acknowledged(record *kgo.Record, err error) {
	p.free.Put(record)
	if err != nil {
		p.mu.Lock()
		defer p.mu.Unlock()
		p.note(err)
	}
}

// note keeps the first error. The caller holds mu.
func (p *producer) note(err error) {
	if p.err == nil && err != nil {
		p.err = fmt.Errorf("produce: %w", err)
	}
}

// pacer spreads records evenly; late ones are sent at once.
type pacer struct {
	start     time.Time
	perSecond float64 // 0: no pace
}

func newPacer(perSecond float64) pacer { return pacer{start: time.Now(), perSecond: perSecond} }

// wait returns when record i is due, or up to a millisecond later: shorter sleeps cost more than they are worth.
func (p pacer) wait(i int) {
	if p.perSecond <= 0 {
		return
	}
	due := time.Duration(float64(i) / p.perSecond * float64(time.Second))
	if ahead := due - time.Since(p.start); ahead > 0 {
		time.Sleep(max(ahead, min(time.Millisecond, time.Duration(float64(time.Second)/p.perSecond))))
	}
}
