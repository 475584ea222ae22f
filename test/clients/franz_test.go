package clients_test

import (
	"context"
	"fmt"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
)

func newFranz(addr string) *client {
	return &client{
		name:    "franz-go",
		version: moduleVersion("github.com/twmb/franz-go"),
		produce: func(ctx context.Context, r produceRequest) ([]int64, error) { return franzProduce(ctx, addr, r) },
		consume: func(ctx context.Context, topic string, partition int32, count int) ([]record, error) {
			return franzConsume(ctx, addr, topic, partition, count)
		},
		since: func(ctx context.Context, topic string, at time.Time, count int) ([]record, error) {
			from := kgo.NewOffset().AfterMilli(at.UnixMilli())
			return franzRead(ctx, count, kgo.SeedBrokers(addr), kgo.ConsumeTopics(topic), kgo.ConsumeStartOffset(from))
		},
		admin:  franzAdmin(addr),
		member: goMember("franz-go", addr),
		lacks: map[string]string{
			// It leaves with epoch -2 and without the instance id: "InstanceId can't be null" is Kafka's answer.
			consumerProtocol + rowStatic: "leaves as a static member without naming the instance, which Kafka refuses",
			xerialSnappy:                 "writes raw snappy only",
			messageSet0:                  "has no option for old message formats: it follows what the broker offers",
			messageSet1:                  "has no option for old message formats: it follows what the broker offers",
		},
	}
}

func franzProduce(ctx context.Context, addr string, r produceRequest) ([]int64, error) {
	opts := []kgo.Opt{
		kgo.SeedBrokers(addr),
		kgo.DefaultProduceTopic(r.topic),
		kgo.RecordPartitioner(kgo.ManualPartitioner()),
		kgo.ProducerBatchCompression(map[string]kgo.CompressionCodec{
			"none": kgo.NoCompression(), "gzip": kgo.GzipCompression(), "snappy": kgo.SnappyCompression(),
			"lz4": kgo.Lz4Compression(), "zstd": kgo.ZstdCompression(),
		}[r.codec]),
		kgo.RequiredAcks(map[string]kgo.Acks{"0": kgo.NoAck(), "1": kgo.LeaderAck(), "all": kgo.AllISRAcks()}[r.acks]),
		kgo.ProducerBatchMaxBytes(int32(batchLimit(r.records))),
		kgo.ProducerLinger(50 * time.Millisecond),
		kgo.AllowAutoTopicCreation(),
	}
	if !r.idempotent {
		opts = append(opts, kgo.DisableIdempotentWrite(), kgo.MaxProduceRequestsInflightPerBroker(1))
	}
	c, err := kgo.NewClient(opts...)
	if err != nil {
		return nil, fmt.Errorf("make client: %w", err)
	}
	defer c.Close()
	sent := make([]*kgo.Record, len(r.records))
	for i, in := range r.records {
		sent[i] = &kgo.Record{Partition: in.partition, Key: in.key, Value: in.value}
		if in.timestamp != noTimestamp {
			sent[i].Timestamp = time.UnixMilli(in.timestamp)
		}
		for _, h := range in.headers {
			sent[i].Headers = append(sent[i].Headers, kgo.RecordHeader{Key: h.name, Value: h.value})
		}
	}
	if err := c.ProduceSync(ctx, sent...).FirstErr(); err != nil {
		return nil, fmt.Errorf("produce: %w", err)
	}
	offsets := unknownOffsets(len(sent))
	if r.acks != "0" {
		for i := range sent {
			offsets[i] = sent[i].Offset
		}
	}
	return offsets, nil
}

func franzConsume(ctx context.Context, addr, topic string, partition int32, count int) ([]record, error) {
	from := map[string]map[int32]kgo.Offset{topic: {partition: kgo.NewOffset().AtStart()}}
	return franzRead(ctx, count, kgo.SeedBrokers(addr), kgo.ConsumePartitions(from))
}

func franzRead(ctx context.Context, count int, opts ...kgo.Opt) ([]record, error) {
	c, err := kgo.NewClient(opts...)
	if err != nil {
		return nil, fmt.Errorf("make client: %w", err)
	}
	defer c.Close()
	var records []record
	for len(records) < count {
		fetches := c.PollFetches(ctx)
		if err := fetches.Err(); err != nil {
			return records, fmt.Errorf("fetch after %d records: %w", len(records), err)
		}
		fetches.EachRecord(func(in *kgo.Record) {
			out := record{partition: in.Partition, offset: in.Offset, timestamp: in.Timestamp.UnixMilli(), kind: createTime, key: in.Key, value: in.Value}
			if in.Attrs.TimestampType() == 1 {
				out.kind = appendTime
			}
			for _, h := range in.Headers {
				out.headers = append(out.headers, header{h.Key, h.Value})
			}
			records = append(records, out)
		})
	}
	return records, nil
}
