package clients_test

import (
	"context"
	"fmt"
	"time"

	"github.com/IBM/sarama"
)

func newSarama(addr string) *client {
	return &client{
		name:    "Sarama",
		version: moduleVersion("github.com/IBM/sarama"),
		produce: func(_ context.Context, r produceRequest) ([]int64, error) { return saramaProduce(addr, r) },
		consume: func(ctx context.Context, topic string, partition int32, count int) ([]record, error) {
			return saramaConsume(ctx, addr, topic, partition, count, sarama.OffsetOldest)
		},
		since: partitionwise(func(ctx context.Context, topic string, partition int32, at time.Time, count int) ([]record, error) {
			return saramaConsume(ctx, addr, topic, partition, count, at.UnixMilli())
		}),
		shows:                 "does not show the timestamp type",
		admin:                 saramaAdmin(addr),
		member:                goMember("Sarama", addr),
		lacksConsumerProtocol: "speaks the classic protocol only",
		lacks:                 map[string]string{rawSnappy: "writes snappy in xerial framing"},
	}
}

func saramaProduce(addr string, r produceRequest) ([]int64, error) {
	c := sarama.NewConfig()
	c.Version = sarama.MaxVersion
	switch r.oldFormat {
	case messageSetV0:
		c.Version = sarama.V0_9_0_1
	case messageSetV1:
		c.Version = sarama.V0_10_0_1
	}
	// Without it Sarama asks the broker for its versions and takes newer ones.
	c.ApiVersionsRequest = r.oldFormat == ""
	c.Producer.Partitioner = sarama.NewManualPartitioner
	c.Producer.Return.Successes = true
	c.Producer.Compression = map[string]sarama.CompressionCodec{
		"none": sarama.CompressionNone, "gzip": sarama.CompressionGZIP, "snappy": sarama.CompressionSnappy,
		"lz4": sarama.CompressionLZ4, "zstd": sarama.CompressionZSTD,
	}[r.codec]
	c.Producer.RequiredAcks = map[string]sarama.RequiredAcks{"0": sarama.NoResponse, "1": sarama.WaitForLocal, "all": sarama.WaitForAll}[r.acks]
	c.Producer.Idempotent = r.idempotent
	c.Producer.MaxMessageBytes = batchLimit(r.records)
	c.Producer.Flush.Frequency = 50 * time.Millisecond
	c.Net.MaxOpenRequests = 1
	p, err := sarama.NewSyncProducer([]string{addr}, c)
	if err != nil {
		return nil, fmt.Errorf("make producer: %w", err)
	}
	sent := make([]*sarama.ProducerMessage, len(r.records))
	for i, in := range r.records {
		sent[i] = &sarama.ProducerMessage{Topic: r.topic, Partition: in.partition, Key: saramaBytes(in.key), Value: saramaBytes(in.value)}
		if in.timestamp != noTimestamp {
			sent[i].Timestamp = time.UnixMilli(in.timestamp)
		}
		for _, h := range in.headers {
			sent[i].Headers = append(sent[i].Headers, sarama.RecordHeader{Key: []byte(h.name), Value: h.value})
		}
	}
	if err := p.SendMessages(sent); err != nil {
		_ = p.Close()
		return nil, fmt.Errorf("produce: %w", err)
	}
	if err := p.Close(); err != nil {
		return nil, fmt.Errorf("close producer: %w", err)
	}
	offsets := unknownOffsets(len(sent))
	if r.acks != "0" {
		for i := range sent {
			offsets[i] = sent[i].Offset
		}
	}
	return offsets, nil
}

// saramaBytes is nil, not an encoder of nil, where the field is null.
func saramaBytes(b []byte) sarama.Encoder {
	if b == nil {
		return nil
	}
	return sarama.ByteEncoder(b)
}

// saramaConsume reads from a time on, in ms, or from sarama.OffsetOldest.
func saramaConsume(ctx context.Context, addr, topic string, partition int32, count int, from int64) ([]record, error) {
	cfg := sarama.NewConfig()
	cfg.Version = sarama.MaxVersion
	cfg.Consumer.Return.Errors = true
	cfg.Consumer.MaxWaitTime = 100 * time.Millisecond // closing waits for the last fetch
	client, err := sarama.NewClient([]string{addr}, cfg)
	if err != nil {
		return nil, fmt.Errorf("make client: %w", err)
	}
	defer func() { _ = client.Close() }()
	offset, err := client.GetOffset(topic, partition, from)
	if err != nil {
		return nil, fmt.Errorf("find offset: %w", err)
	}
	c, err := sarama.NewConsumerFromClient(client)
	if err != nil {
		return nil, fmt.Errorf("make consumer: %w", err)
	}
	defer func() { _ = c.Close() }()
	p, err := c.ConsumePartition(topic, partition, offset)
	if err != nil {
		return nil, fmt.Errorf("consume partition: %w", err)
	}
	defer func() { _ = p.Close() }()
	var records []record
	for len(records) < count {
		select {
		case in := <-p.Messages():
			out := record{partition: in.Partition, offset: in.Offset, timestamp: in.Timestamp.UnixMilli(), kind: notTold, key: in.Key, value: in.Value}
			if in.Timestamp.IsZero() {
				out.timestamp = noTimestamp
			}
			for _, h := range in.Headers {
				out.headers = append(out.headers, header{string(h.Key), h.Value})
			}
			records = append(records, out)
		case err := <-p.Errors():
			return records, fmt.Errorf("fetch after %d records: %w", len(records), err)
		case <-ctx.Done():
			return records, fmt.Errorf("fetch after %d records: %w", len(records), ctx.Err())
		}
	}
	return records, nil
}
