package load

import (
	"context"
	"fmt"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"
)

// CreateTopic makes a topic and waits until every partition has a leader. Of a setting that the system does not know the
// system decides.
func CreateTopic(ctx context.Context, address, topic string, partitions int32, settings map[string]*string) error {
	client, err := kgo.NewClient(kgo.SeedBrokers(address), kgo.MetadataMinAge(10*time.Millisecond))
	if err != nil {
		return fmt.Errorf("make admin client: %w", err)
	}
	defer client.Close()
	admin := kadm.NewClient(client)
	if _, err := admin.CreateTopic(ctx, partitions, 1, settings, topic); err != nil {
		return fmt.Errorf("create topic %s: %w", topic, err)
	}
	for {
		ends, err := admin.ListEndOffsets(ctx, topic)
		if err == nil && ends.Error() == nil && len(ends[topic]) == int(partitions) {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("wait for topic %s: %w", topic, ctx.Err())
		case <-time.After(5 * time.Millisecond):
		}
	}
}

// DeleteTopic removes a topic, so that its data takes no room in later runs.
func DeleteTopic(ctx context.Context, address, topic string) error {
	client, err := kgo.NewClient(kgo.SeedBrokers(address))
	if err != nil {
		return fmt.Errorf("make admin client: %w", err)
	}
	defer client.Close()
	if _, err := kadm.NewClient(client).DeleteTopic(ctx, topic); err != nil {
		return fmt.Errorf("delete topic %s: %w", topic, err)
	}
	return nil
}

// FirstProduce tries to append a record to an existing topic again and again, every few milliseconds, until a broker that
// is just starting accepts it.
func FirstProduce(ctx context.Context, address, topic string) error {
	soon := 2 * time.Millisecond
	client, err := kgo.NewClient(
		kgo.SeedBrokers(address),
		kgo.DefaultProduceTopic(topic),
		kgo.DisableIdempotentWrite(),
		kgo.ProducerLinger(0),
		kgo.MetadataMinAge(10*time.Millisecond),
		kgo.RetryBackoffFn(func(int) time.Duration { return soon }),
		kgo.RequestRetries(1<<20),
		kgo.UnknownTopicRetries(-1),
	)
	if err != nil {
		return fmt.Errorf("make producer: %w", err)
	}
	defer client.Close()
	for {
		err := client.ProduceSync(ctx, kgo.StringRecord("first")).FirstErr()
		if err == nil {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("produce first record: %w", err)
		case <-time.After(soon):
		}
	}
}

// AlterTopic changes one setting of a topic.
func AlterTopic(ctx context.Context, address, topic, name, value string) error {
	client, err := kgo.NewClient(kgo.SeedBrokers(address))
	if err != nil {
		return fmt.Errorf("make admin client: %w", err)
	}
	defer client.Close()
	answers, err := kadm.NewClient(client).AlterTopicConfigs(ctx, []kadm.AlterConfig{{Op: kadm.SetConfig, Name: name, Value: &value}}, topic)
	for _, a := range answers {
		if err == nil {
			err = a.Err
		}
	}
	if err != nil {
		return fmt.Errorf("set %s of topic %s: %w", name, topic, err)
	}
	return nil
}
