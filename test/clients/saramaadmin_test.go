package clients_test

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/IBM/sarama"
)

// saramaAdmin makes calls with Sarama's ClusterAdmin.
func saramaAdmin(addr string) adminFunc {
	return func(_ context.Context, verb string, w ...string) (told []string, err error) {
		cfg := sarama.NewConfig()
		cfg.Version = sarama.MaxVersion
		c, err := sarama.NewClient([]string{addr}, cfg)
		if err != nil {
			return nil, fmt.Errorf("make client: %w", err)
		}
		a, err := sarama.NewClusterAdminFromClient(c)
		if err != nil {
			return nil, fmt.Errorf("make admin client: %w", err)
		}
		defer func() { err = errors.Join(err, a.Close()) }()
		return saramaCall(c, a, verb, w)
	}
}

func saramaCall(c sarama.Client, a sarama.ClusterAdmin, verb string, w []string) ([]string, error) {
	switch verb {
	case "create":
		name, value, _ := strings.Cut(w[2], "=")
		return nil, a.CreateTopic(w[0], &sarama.TopicDetail{NumPartitions: number[int32](w[1]), ReplicationFactor: 1, ConfigEntries: map[string]*string{name: &value}}, false)
	case "topics":
		topics, err := a.ListTopics()
		return keys(topics), err
	case "partitions":
		topics, err := a.DescribeTopics(w)
		return texts(len(topics[0].Partitions)), err
	case "grow":
		return nil, a.CreatePartitions(w[0], number[int32](w[1]), nil, false)
	case "config":
		resource := &sarama.ConfigResource{Type: sarama.TopicResource, Name: w[0], ConfigNames: w[1:]}
		described, err := a.DescribeConfigs([]*sarama.ConfigResource{resource}, sarama.DescribeConfigsOptions{})
		if err != nil {
			return nil, err
		}
		return []string{described[0].Configs[0].Value}, nil
	case "alter":
		set := map[string]sarama.IncrementalAlterConfigsEntry{w[1]: {Operation: sarama.IncrementalAlterConfigsOperationSet, Value: &w[2]}}
		return nil, a.IncrementalAlterConfig(sarama.TopicResource, w[0], set, false)
	case "end":
		end, err := c.GetOffset(w[0], number[int32](w[1]), sarama.OffsetNewest)
		return texts(end), err
	case "trim":
		return nil, a.DeleteRecords(w[0], map[int32]int64{number[int32](w[1]): number[int64](w[2])})
	case "groups":
		groups, err := a.ListConsumerGroups()
		return keys(groups), err
	case "group":
		groups, err := a.DescribeConsumerGroups(w)
		return []string{strings.ToLower(groups[0].State)}, err
	case "committed":
		committed, err := a.ListConsumerGroupOffsets(w[0], map[string][]int32{w[1]: {number[int32](w[2])}})
		return texts(committed.GetBlock(w[1], number[int32](w[2])).Offset), err
	case "reset":
		return nil, saramaReset(c, w[0], w[1], number[int32](w[2]), number[int64](w[3]))
	case "forget":
		return nil, a.DeleteConsumerGroupOffset(w[0], w[1], number[int32](w[2]))
	case "ungroup":
		return nil, a.DeleteConsumerGroup(w[0])
	case "brokers":
		brokers, _, err := a.DescribeCluster()
		var ids []int32
		for _, b := range brokers {
			ids = append(ids, b.ID())
		}
		return texts(ids...), err
	case "delete":
		return nil, a.DeleteTopic(w[0])
	}
	return nil, errUnknownVerb
}

// saramaReset moves a group's offset on as an offset manager does.
func saramaReset(c sarama.Client, group, topic string, partition int32, offset int64) error {
	m, err := sarama.NewOffsetManagerFromClient(group, c)
	if err != nil {
		return fmt.Errorf("make offset manager: %w", err)
	}
	p, err := m.ManagePartition(topic, partition)
	if err != nil {
		return errors.Join(err, m.Close())
	}
	p.MarkOffset(offset, "")
	m.Commit()
	return errors.Join(p.Close(), m.Close())
}
