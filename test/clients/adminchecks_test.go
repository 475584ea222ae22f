package clients_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
)

// haveTopic makes sure of the topic, for clients that cannot create one.
func (r *adminRun) haveTopic(ctx context.Context) error {
	retention := adminRetention
	_, err := r.admin.CreateTopic(ctx, 2, 1, map[string]*string{"retention.ms": &retention}, r.topic)
	if err != nil && !errors.Is(err, kerr.TopicAlreadyExists) {
		return fmt.Errorf("create topic: %w", err)
	}
	return r.eventually(ctx, func() error { _, err := r.details(ctx); return err })
}

// haveRecords makes sure that partition 0 has its records.
func (r *adminRun) haveRecords(ctx context.Context) error {
	if err := r.haveTopic(ctx); err != nil {
		return err
	}
	ends, err := r.admin.ListEndOffsets(ctx, r.topic)
	if err != nil {
		return fmt.Errorf("list end offsets: %w", err)
	}
	end, _ := ends.Lookup(r.topic, 0)
	for range adminRecords - end.Offset {
		if err := r.producer.ProduceSync(ctx, &kgo.Record{Topic: r.topic, Value: []byte("x")}).FirstErr(); err != nil {
			return fmt.Errorf("produce: %w", err)
		}
	}
	return nil
}

// haveGroup makes sure of a group without members that has committed an offset.
func (r *adminRun) haveGroup(ctx context.Context) error {
	if err := r.haveTopic(ctx); err != nil {
		return err
	}
	var offsets kadm.Offsets
	offsets.AddOffset(r.topic, 0, adminCommitted, -1)
	if err := r.admin.CommitAllOffsets(ctx, r.group, offsets); err != nil {
		return fmt.Errorf("commit offsets: %w", err)
	}
	return nil
}

// eventually tries until there is no error: the answer to a change may come before all brokers show it.
func (r *adminRun) eventually(ctx context.Context, check func() error) error {
	for {
		err := check()
		if err == nil {
			return nil
		}
		select {
		case <-ctx.Done():
			return err
		case <-time.After(10 * time.Millisecond):
		}
	}
}

func (r *adminRun) details(ctx context.Context) (kadm.TopicDetail, error) {
	topics, err := r.admin.ListTopics(ctx, r.topic)
	if err != nil {
		return kadm.TopicDetail{}, fmt.Errorf("list topics: %w", err)
	}
	return topics[r.topic], topics[r.topic].Err
}

func (r *adminRun) partitions(ctx context.Context, want int) error {
	return r.eventually(ctx, func() error {
		d, err := r.details(ctx)
		return errors.Join(err, equal("the number of partitions", len(d.Partitions), want))
	})
}

func (r *adminRun) retention(ctx context.Context, want string) error {
	return r.eventually(ctx, func() error {
		configs, err := r.admin.DescribeTopicConfigs(ctx, r.topic)
		if err != nil || len(configs) != 1 {
			return fmt.Errorf("describe configs: %d topics: %w", len(configs), err)
		}
		for _, c := range configs[0].Configs {
			if c.Key == "retention.ms" {
				return equal(c.Key, c.MaybeValue(), want)
			}
		}
		return errors.New("there is no retention.ms")
	})
}

func (r *adminRun) created(ctx context.Context, _ []string) error {
	return errors.Join(r.partitions(ctx, 2), r.retention(ctx, adminRetention))
}

func (r *adminRun) grown(ctx context.Context, _ []string) error { return r.partitions(ctx, 4) }

func (r *adminRun) altered(ctx context.Context, _ []string) error {
	return r.retention(ctx, adminAltered)
}

func (r *adminRun) trimmed(ctx context.Context, _ []string) error {
	starts, err := r.admin.ListStartOffsets(ctx, r.topic)
	start, _ := starts.Lookup(r.topic, 0)
	return errors.Join(err, equal("the log's start", start.Offset, adminTrimmed))
}

func (r *adminRun) offset(ctx context.Context) (int64, error) {
	offsets, err := r.admin.FetchOffsets(ctx, r.group)
	at, found := offsets.Lookup(r.topic, 0)
	if !found {
		return -1, err
	}
	return at.At, err
}

func (r *adminRun) wasReset(ctx context.Context, _ []string) error {
	at, err := r.offset(ctx)
	return errors.Join(err, equal("the group's offset", at, adminReset))
}

func (r *adminRun) forgotten(ctx context.Context, _ []string) error {
	at, err := r.offset(ctx)
	return errors.Join(err, equal("the group's offset", at, -1))
}

func (r *adminRun) ungrouped(ctx context.Context, _ []string) error {
	groups, err := r.admin.ListGroups(ctx)
	_, found := groups[r.group]
	return errors.Join(err, equal("that the group is there", found, false))
}

// toldBrokers compares the brokers' ids.
func (r *adminRun) toldBrokers(ctx context.Context, told []string) error {
	brokers, err := r.admin.ListBrokers(ctx)
	if err != nil {
		return fmt.Errorf("list brokers: %w", err)
	}
	var want []string
	for _, id := range brokers.NodeIDs() {
		want = append(want, strconv.Itoa(int(id)))
	}
	slices.Sort(told)
	slices.Sort(want)
	return equal("the list of brokers", fmt.Sprint(told), fmt.Sprint(want))
}

func (r *adminRun) deleted(ctx context.Context, _ []string) error {
	return r.eventually(ctx, func() error {
		if _, err := r.details(ctx); !errors.Is(err, kerr.UnknownTopicOrPartition) {
			return fmt.Errorf("the topic is still there: %w", err)
		}
		return nil
	})
}
