package load

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/korvet-io/korvet/test/bench/stats"
)

// Timestamps of ListOffsets that tell of tiers (KIP-405, KIP-1005).
const (
	EarliestLocal = -4
	LatestTiered  = -5
)

// seekBytes is how much a seek's fetch asks for at most.
const seekBytes = 64 << 10

// Offset asks for the offset of a timestamp in partition 0; -1: there is none.
func Offset(ctx context.Context, address, topic string, timestamp int64) (int64, error) {
	client, err := kgo.NewClient(kgo.SeedBrokers(address))
	if err != nil {
		return 0, fmt.Errorf("make client: %w", err)
	}
	defer client.Close()
	p := kmsg.NewListOffsetsRequestTopicPartition()
	p.Timestamp = timestamp
	t := kmsg.NewListOffsetsRequestTopic()
	t.Topic, t.Partitions = topic, append(t.Partitions, p)
	q := kmsg.NewPtrListOffsetsRequest()
	q.ReplicaID, q.Topics = -1, append(q.Topics, t)
	answer, err := q.RequestWith(ctx, client)
	if err != nil {
		return 0, fmt.Errorf("list offsets of %s: %w", topic, err)
	}
	if len(answer.Topics) != 1 || len(answer.Topics[0].Partitions) != 1 {
		return 0, fmt.Errorf("list offsets of %s: no answer about it", topic)
	}
	a := answer.Topics[0].Partitions[0]
	if err := kerr.ErrorForCode(a.ErrorCode); err != nil {
		return 0, fmt.Errorf("list offsets of %s: %w", topic, err)
	}
	return a.Offset, nil
}

// Seeks fetches at so many random offsets of partition 0 below end, one after the other over one connection, and returns the
// times until the first records were there, in ms.
func Seeks(ctx context.Context, address, topic string, end int64, n int) (stats.Quantiles, error) {
	client, err := kgo.NewClient(kgo.SeedBrokers(address))
	if err != nil {
		return stats.Quantiles{}, fmt.Errorf("make client: %w", err)
	}
	defer client.Close()
	id, err := topicID(ctx, client, topic)
	if err != nil {
		return stats.Quantiles{}, err
	}
	random := rand.New(rand.NewPCG(uint64(n), uint64(end)))
	samples := make([]int64, n)
	for i := range samples {
		began := time.Now()
		if err := seek(ctx, client, topic, id, random.Int64N(end)); err != nil {
			return stats.Quantiles{}, err
		}
		samples[i] = int64(time.Since(began))
	}
	return stats.QuantilesOf(samples), nil
}

func topicID(ctx context.Context, client *kgo.Client, topic string) ([16]byte, error) {
	t := kmsg.NewMetadataRequestTopic()
	t.Topic = &topic
	q := kmsg.NewPtrMetadataRequest()
	q.Topics = append(q.Topics, t)
	answer, err := q.RequestWith(ctx, client)
	if err != nil || len(answer.Topics) != 1 {
		return [16]byte{}, fmt.Errorf("find topic %s: %w", topic, errors.Join(err, kerr.UnknownTopicOrPartition))
	}
	return answer.Topics[0].TopicID, nil
}

func seek(ctx context.Context, client *kgo.Client, topic string, id [16]byte, offset int64) error {
	p := kmsg.NewFetchRequestTopicPartition()
	p.FetchOffset, p.PartitionMaxBytes = offset, seekBytes
	t := kmsg.NewFetchRequestTopic()
	t.Topic, t.TopicID, t.Partitions = topic, id, append(t.Partitions, p)
	q := kmsg.NewPtrFetchRequest()
	q.MaxWaitMillis, q.MinBytes, q.MaxBytes, q.SessionEpoch, q.Topics = 10_000, 1, seekBytes, -1, append(q.Topics, t)
	answer, err := q.RequestWith(ctx, client)
	if err != nil {
		return fmt.Errorf("fetch at %d: %w", offset, err)
	}
	if len(answer.Topics) != 1 || len(answer.Topics[0].Partitions) != 1 {
		return fmt.Errorf("fetch at %d: no answer about the topic", offset)
	}
	a := answer.Topics[0].Partitions[0]
	if err := kerr.ErrorForCode(a.ErrorCode); err != nil {
		return fmt.Errorf("fetch at %d: %w", offset, err)
	}
	if len(a.RecordBatches) == 0 {
		return fmt.Errorf("fetch at %d: no records", offset)
	}
	return nil
}
