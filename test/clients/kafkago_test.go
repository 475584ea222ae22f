package clients_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/segmentio/kafka-go"
)

func newKafkaGo(addr string) *client {
	return &client{
		name:    "kafka-go",
		version: moduleVersion("github.com/segmentio/kafka-go"),
		produce: func(ctx context.Context, r produceRequest) ([]int64, error) { return kafkaGoProduce(ctx, addr, r) },
		consume: func(ctx context.Context, topic string, partition int32, count int) ([]record, error) {
			return kafkaGoConsume(ctx, addr, topic, partition, count, func(r *kafka.Reader) error { return r.SetOffset(kafka.FirstOffset) })
		},
		since: partitionwise(func(ctx context.Context, topic string, partition int32, at time.Time, count int) ([]record, error) {
			return kafkaGoConsume(ctx, addr, topic, partition, count, func(r *kafka.Reader) error { return r.SetOffsetAt(ctx, at) })
		}),
		seen: func(r record) record {
			if len(r.key) == 0 {
				r.key = nil
			}
			if len(r.value) == 0 {
				r.value = nil
			}
			for i, h := range r.headers {
				if len(h.value) == 0 {
					r.headers = slices.Clone(r.headers)
					r.headers[i].value = nil
				}
			}
			if r.kind == appendTime {
				r.timestamp = anyTimestamp
			}
			return r
		},
		shows:                 "shows empty keys and values as null, and timestamps of LogAppendTime topics as they are inside the batch",
		admin:                 kafkaGoAdmin(addr),
		lacksAdmin:            map[string]string{"trim": "has no call for it"},
		member:                goMember("kafka-go", addr),
		lacksConsumerProtocol: "speaks the classic protocol only",
		lacks: map[string]string{
			rowCooperative: "rebalances eagerly only",
			rowStatic:      "has no static membership",
			rowPause:       "cannot pause a partition",
			rawSnappy:      "writes snappy in xerial framing",
			"idempotent":   "has no idempotent producer",
			messageSet0:    "has no option for old message formats: it follows what the broker offers",
			messageSet1:    "has no option for old message formats: it follows what the broker offers",
		},
	}
}

func kafkaGoProduce(ctx context.Context, addr string, r produceRequest) (offsets []int64, err error) {
	offsets = unknownOffsets(len(r.records))
	w := &kafka.Writer{
		Addr:  kafka.TCP(addr),
		Topic: r.topic,
		Balancer: kafka.BalancerFunc(func(m kafka.Message, _ ...int) int {
			return int(r.records[m.WriterData.(int)].partition)
		}),
		BatchSize:    10_000,
		BatchBytes:   bigLimit,
		BatchTimeout: 50 * time.Millisecond,
		RequiredAcks: map[string]kafka.RequiredAcks{"0": kafka.RequireNone, "1": kafka.RequireOne, "all": kafka.RequireAll}[r.acks],
		Compression: map[string]kafka.Compression{
			"none": 0, "gzip": kafka.Gzip, "snappy": kafka.Snappy, "lz4": kafka.Lz4, "zstd": kafka.Zstd,
		}[r.codec],
		AllowAutoTopicCreation: true,
		Completion: func(messages []kafka.Message, err error) {
			for _, m := range messages {
				if err == nil && r.acks != "0" {
					offsets[m.WriterData.(int)] = m.Offset
				}
			}
		},
	}
	messages := make([]kafka.Message, len(r.records))
	for i, in := range r.records {
		messages[i] = kafka.Message{Key: in.key, Value: in.value, WriterData: i}
		if in.timestamp != noTimestamp {
			messages[i].Time = time.UnixMilli(in.timestamp)
		}
		for _, h := range in.headers {
			messages[i].Headers = append(messages[i].Headers, kafka.Header{Key: h.name, Value: h.value})
		}
	}
	defer func() { err = errors.Join(err, w.Close()) }()
	if err := writeOnceTopicIsThere(ctx, w, messages); err != nil {
		return nil, fmt.Errorf("produce: %w", err)
	}
	return offsets, nil
}

// writeOnceTopicIsThere tries again while the broker creates the topic, as kafka-go asks applications to do. Nothing has been sent then.
func writeOnceTopicIsThere(ctx context.Context, w *kafka.Writer, messages []kafka.Message) error {
	for {
		err := w.WriteMessages(ctx, messages...)
		if !errors.Is(err, kafka.UnknownTopicOrPartition) && !errors.Is(err, kafka.LeaderNotAvailable) {
			return err
		}
		select {
		case <-ctx.Done():
			return err
		case <-time.After(20 * time.Millisecond):
		}
	}
}

func kafkaGoConsume(ctx context.Context, addr, topic string, partition int32, count int, seek func(*kafka.Reader) error) ([]record, error) {
	r := kafka.NewReader(kafka.ReaderConfig{
		Brokers: []string{addr}, Topic: topic, Partition: int(partition), MinBytes: 1, MaxBytes: 16 << 20, MaxWait: 200 * time.Millisecond,
	})
	defer func() { _ = r.Close() }()
	if err := seek(r); err != nil {
		return nil, fmt.Errorf("seek: %w", err)
	}
	var records []record
	for len(records) < count {
		in, err := r.FetchMessage(ctx)
		if err != nil {
			return records, fmt.Errorf("fetch after %d records: %w", len(records), err)
		}
		out := record{partition: int32(in.Partition), offset: in.Offset, timestamp: in.Time.UnixMilli(), kind: notTold, key: in.Key, value: in.Value}
		if in.Time.IsZero() {
			out.timestamp = noTimestamp
		}
		for _, h := range in.Headers {
			out.headers = append(out.headers, header{h.Key, h.Value})
		}
		records = append(records, out)
	}
	return records, nil
}
