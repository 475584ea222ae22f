package clients_test

import (
	"context"
	"fmt"
	"strings"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"
)

// franzAdmin makes calls with franz-go's kadm.
func franzAdmin(addr string) adminFunc {
	return func(ctx context.Context, verb string, w ...string) ([]string, error) {
		c, err := kgo.NewClient(kgo.SeedBrokers(addr))
		if err != nil {
			return nil, fmt.Errorf("make client: %w", err)
		}
		defer c.Close()
		return franzCall(ctx, kadm.NewClient(c), verb, w)
	}
}

func franzCall(ctx context.Context, a *kadm.Client, verb string, w []string) ([]string, error) {
	var offsets kadm.Offsets
	switch verb {
	case "create":
		name, value, _ := strings.Cut(w[2], "=")
		_, err := a.CreateTopic(ctx, number[int32](w[1]), 1, map[string]*string{name: &value}, w[0])
		return nil, err
	case "topics":
		topics, err := a.ListTopics(ctx)
		return topics.Names(), err
	case "partitions":
		topics, err := a.ListTopics(ctx, w[0])
		return texts(len(topics[w[0]].Partitions)), err
	case "grow":
		_, err := a.UpdatePartitions(ctx, number[int](w[1]), w[0])
		return nil, err
	case "config":
		configs, err := a.DescribeTopicConfigs(ctx, w[0])
		for _, c := range configs[0].Configs {
			if c.Key == w[1] {
				return []string{c.MaybeValue()}, err
			}
		}
		return nil, err
	case "alter":
		_, err := a.AlterTopicConfigs(ctx, []kadm.AlterConfig{{Name: w[1], Value: &w[2]}}, w[0])
		return nil, err
	case "end":
		ends, err := a.ListEndOffsets(ctx, w[0])
		end, _ := ends.Lookup(w[0], number[int32](w[1]))
		return texts(end.Offset), err
	case "trim":
		offsets.AddOffset(w[0], number[int32](w[1]), number[int64](w[2]), -1)
		_, err := a.DeleteRecords(ctx, offsets)
		return nil, err
	case "groups":
		groups, err := a.ListGroups(ctx)
		return groups.Groups(), err
	case "group":
		groups, err := a.DescribeGroups(ctx, w[0])
		return []string{strings.ToLower(groups[w[0]].State)}, err
	case "committed":
		committed, err := a.FetchOffsets(ctx, w[0])
		at, _ := committed.Lookup(w[1], number[int32](w[2]))
		return texts(at.At), err
	case "reset":
		offsets.AddOffset(w[1], number[int32](w[2]), number[int64](w[3]), -1)
		return nil, a.CommitAllOffsets(ctx, w[0], offsets)
	case "forget":
		_, err := a.DeleteOffsets(ctx, w[0], kadm.TopicsSet{w[1]: {number[int32](w[2]): {}}})
		return nil, err
	case "ungroup":
		_, err := a.DeleteGroups(ctx, w[0])
		return nil, err
	case "brokers":
		brokers, err := a.ListBrokers(ctx)
		return texts(brokers.NodeIDs()...), err
	case "delete":
		_, err := a.DeleteTopics(ctx, w[0])
		return nil, err
	}
	return nil, errUnknownVerb
}
