// Package load is the benchmark's Kafka client: producers, a consumer, or both, as one process that runs beside the
// broker. Every system under test is measured with it.
package load

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/korvet-io/korvet/test/bench/stats"
)

// Spec is what one client process does with a topic that was just created.
type Spec struct {
	Role         string        `json:"role"` // produce, consume or tail (a consumer beside the producers)
	Address      string        `json:"address"`
	Topic        string        `json:"topic"`
	Partitions   int32         `json:"partitions"`
	Producers    int           `json:"producers"`
	Records      int           `json:"records"` // over all producers
	RecordSize   int           `json:"record_size"`
	Compressible float64       `json:"compressible"` // the part of each value that is words, the rest is random
	JSON         bool          `json:"json"`         // values are structured JSON instead
	Keys         int           `json:"keys"`         // different keys; 0: none
	From         int64         `json:"from"`         // offset that a consumer begins at, in each partition
	Codec        string        `json:"codec"`        // none, gzip, snappy, lz4, zstd
	Acks         string        `json:"acks"`         // all (idempotent), 1, 0
	Linger       time.Duration `json:"linger"`       // franz-go's default is 10 ms
	Rate         float64       `json:"rate"`         // records a second over all producers, or of a consumer alone; 0: as fast as it goes
	StampEvery   int           `json:"stamp_every"`  // the latency of one in so many records is taken; 0: of none
	Unmeasured   int           `json:"unmeasured"`   // stamped records that each producer sends before latencies count
}

// Result is what a client process measured.
type Result struct {
	Records           int             `json:"records"`
	ProducedPerSecond float64         `json:"produced_per_second"` // until the last acknowledgement
	ConsumedPerSecond float64         `json:"consumed_per_second"` // until the last record was read
	Acknowledged      stats.Quantiles `json:"acknowledged"`        // ms from handing a record to the client to its acknowledgement
	EndToEnd          stats.Quantiles `json:"end_to_end"`          // ms from handing a record to the producer to its coming out of the consumer
	ClientCPU         float64         `json:"client_cpu"`          // seconds that this process used
}

// Run does what spec says.
func Run(ctx context.Context, spec Spec) (Result, error) {
	var result Result
	var err error
	switch spec.Role {
	case "produce":
		result, err = runProduce(ctx, spec)
	case "consume":
		result, err = runConsume(ctx, spec)
	case "tail":
		result, err = runTail(ctx, spec)
	default:
		err = fmt.Errorf("unknown role %q", spec.Role)
	}
	result.Records = spec.Records
	return result, err
}

func runProduce(ctx context.Context, spec Spec) (Result, error) {
	p := newProducing(spec)
	if err := p.run(ctx); err != nil {
		return Result{}, err
	}
	return p.result(), nil
}

func runConsume(ctx context.Context, spec Spec) (Result, error) {
	began := time.Now()
	c, err := newConsuming(spec)
	if err != nil {
		return Result{}, err
	}
	if err := c.run(ctx, newPacer(spec.Rate)); err != nil {
		return Result{}, err
	}
	return Result{ConsumedPerSecond: float64(spec.Records) / c.ended.Sub(began).Seconds()}, nil
}

// runTail reads what it writes. The first failure ends both sides.
func runTail(ctx context.Context, spec Spec) (Result, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	c, err := newConsuming(spec)
	if err != nil {
		return Result{}, err
	}
	p := newProducing(spec)
	consumed := make(chan error, 1)
	go func() {
		err := c.run(ctx, pacer{})
		if err != nil {
			cancel(err)
		}
		consumed <- err
	}()
	if err := p.run(ctx); err != nil {
		cancel(err)
		<-consumed
		return Result{}, context.Cause(ctx)
	}
	if err := <-consumed; err != nil {
		return Result{}, err
	}
	result := p.result()
	result.ConsumedPerSecond = float64(spec.Records) / c.ended.Sub(p.began).Seconds()
	result.EndToEnd = stats.QuantilesOf(c.latencies)
	return result, nil
}

func (s Spec) content(seed uint64) *Content {
	if s.JSON {
		return NewJSON(s.RecordSize, seed)
	}
	return NewContent(s.RecordSize, s.Compressible, seed)
}

// key is that of a producer's i-th record; nil without keys.
func (s Spec) key(i int) []byte {
	if s.Keys == 0 {
		return nil
	}
	return strconv.AppendInt(nil, int64(i%s.Keys), 10)
}

func (s Spec) producerOptions() ([]kgo.Opt, error) {
	opts := []kgo.Opt{
		kgo.SeedBrokers(s.Address),
		kgo.DefaultProduceTopic(s.Topic),
		kgo.ProducerLinger(s.Linger),
	}
	codecs := map[string]kgo.CompressionCodec{
		"none": kgo.NoCompression(), "gzip": kgo.GzipCompression(), "snappy": kgo.SnappyCompression(),
		"lz4": kgo.Lz4Compression(), "zstd": kgo.ZstdCompression(),
	}
	codec, ok := codecs[s.Codec]
	if !ok {
		return nil, fmt.Errorf("unknown codec %q", s.Codec)
	}
	opts = append(opts, kgo.ProducerBatchCompression(codec))
	switch s.Acks {
	case "all":
	case "1":
		opts = append(opts, kgo.RequiredAcks(kgo.LeaderAck()), kgo.DisableIdempotentWrite())
	case "0":
		opts = append(opts, kgo.RequiredAcks(kgo.NoAck()), kgo.DisableIdempotentWrite())
	default:
		return nil, fmt.Errorf("unknown acks %q", s.Acks)
	}
	return opts, nil
}
