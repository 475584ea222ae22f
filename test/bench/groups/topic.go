package groups

import (
	"context"
	"fmt"

	"github.com/twmb/franz-go/pkg/kgo"
)

// Fill appends records to each partition, so that the offsets exist that are committed.
func Fill(ctx context.Context, address string, topic Topic) error {
	client, err := kgo.NewClient(kgo.SeedBrokers(address), kgo.DefaultProduceTopic(topic.Name), kgo.RecordPartitioner(kgo.ManualPartitioner()))
	if err != nil {
		return fmt.Errorf("make producer: %w", err)
	}
	defer client.Close()
	records := make([]*kgo.Record, 0, int(topic.Partitions)*highestOffset)
	for p := range topic.Partitions {
		for range highestOffset {
			records = append(records, &kgo.Record{Partition: p, Value: []byte("record")})
		}
	}
	if err := client.ProduceSync(ctx, records...).FirstErr(); err != nil {
		return fmt.Errorf("fill topic %s: %w", topic.Name, err)
	}
	return nil
}
