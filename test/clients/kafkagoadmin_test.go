package clients_test

import (
	"context"
	"errors"
	"slices"
	"strconv"
	"strings"

	"github.com/segmentio/kafka-go"
)

// kafkaGoAdmin makes calls with kafka-go's Client.
func kafkaGoAdmin(addr string) adminFunc {
	c := &kafka.Client{Addr: kafka.TCP(addr)}
	return func(ctx context.Context, verb string, w ...string) ([]string, error) {
		if slices.Contains([]string{"groups", "group", "committed", "reset", "forget", "ungroup"}, verb) {
			return kafkaGoGroupCall(ctx, c, verb, w)
		}
		return kafkaGoTopicCall(ctx, c, verb, w)
	}
}

func kafkaGoTopicCall(ctx context.Context, c *kafka.Client, verb string, w []string) ([]string, error) {
	switch verb {
	case "create":
		name, value, _ := strings.Cut(w[2], "=")
		r, err := c.CreateTopics(ctx, &kafka.CreateTopicsRequest{Topics: []kafka.TopicConfig{{
			Topic: w[0], NumPartitions: number[int](w[1]), ReplicationFactor: 1, ConfigEntries: []kafka.ConfigEntry{{ConfigName: name, ConfigValue: value}},
		}}})
		if err != nil {
			return nil, err
		}
		return nil, r.Errors[w[0]]
	case "topics", "partitions", "brokers":
		r, err := c.Metadata(ctx, &kafka.MetadataRequest{})
		if err != nil {
			return nil, err
		}
		return kafkaGoMetadata(r, verb, w), nil
	case "grow":
		r, err := c.CreatePartitions(ctx, &kafka.CreatePartitionsRequest{Topics: []kafka.TopicPartitionsConfig{{Name: w[0], Count: number[int32](w[1])}}})
		if err != nil {
			return nil, err
		}
		return nil, r.Errors[w[0]]
	case "config":
		resource := kafka.DescribeConfigRequestResource{ResourceType: kafka.ResourceTypeTopic, ResourceName: w[0], ConfigNames: w[1:]}
		r, err := c.DescribeConfigs(ctx, &kafka.DescribeConfigsRequest{Resources: []kafka.DescribeConfigRequestResource{resource}})
		if err != nil {
			return nil, err
		}
		return []string{r.Resources[0].ConfigEntries[0].ConfigValue}, r.Resources[0].Error
	case "alter":
		set := kafka.IncrementalAlterConfigsRequestConfig{Name: w[1], Value: w[2], ConfigOperation: kafka.ConfigOperationSet}
		resource := kafka.IncrementalAlterConfigsRequestResource{ResourceType: kafka.ResourceTypeTopic, ResourceName: w[0], Configs: []kafka.IncrementalAlterConfigsRequestConfig{set}}
		r, err := c.IncrementalAlterConfigs(ctx, &kafka.IncrementalAlterConfigsRequest{Resources: []kafka.IncrementalAlterConfigsRequestResource{resource}})
		if err != nil {
			return nil, err
		}
		return nil, r.Resources[0].Error
	case "end":
		r, err := c.ListOffsets(ctx, &kafka.ListOffsetsRequest{Topics: map[string][]kafka.OffsetRequest{w[0]: {kafka.LastOffsetOf(number[int](w[1]))}}})
		if err != nil {
			return nil, err
		}
		return texts(r.Topics[w[0]][0].LastOffset), r.Topics[w[0]][0].Error
	case "delete":
		r, err := c.DeleteTopics(ctx, &kafka.DeleteTopicsRequest{Topics: w})
		if err != nil {
			return nil, err
		}
		return nil, r.Errors[w[0]]
	}
	return nil, errUnknownVerb
}

func kafkaGoMetadata(r *kafka.MetadataResponse, verb string, w []string) []string {
	var told []string
	if verb == "brokers" {
		for _, b := range r.Brokers {
			told = append(told, strconv.Itoa(b.ID))
		}
		return told
	}
	for _, topic := range r.Topics {
		switch {
		case verb == "topics":
			told = append(told, topic.Name)
		case topic.Name == w[0]:
			told = append(told, strconv.Itoa(len(topic.Partitions)))
		}
	}
	return told
}

func kafkaGoGroupCall(ctx context.Context, c *kafka.Client, verb string, w []string) ([]string, error) {
	switch verb {
	case "groups":
		r, err := c.ListGroups(ctx, &kafka.ListGroupsRequest{})
		if err != nil {
			return nil, err
		}
		var names []string
		for _, g := range r.Groups {
			names = append(names, g.GroupID)
		}
		return names, r.Error
	case "group":
		r, err := c.DescribeGroups(ctx, &kafka.DescribeGroupsRequest{GroupIDs: w})
		if err != nil {
			return nil, err
		}
		return []string{strings.ToLower(r.Groups[0].GroupState)}, r.Groups[0].Error
	case "committed":
		r, err := c.OffsetFetch(ctx, &kafka.OffsetFetchRequest{GroupID: w[0], Topics: map[string][]int{w[1]: {number[int](w[2])}}})
		if err != nil {
			return nil, err
		}
		return texts(r.Topics[w[1]][0].CommittedOffset), r.Error
	case "reset":
		at := kafka.OffsetCommit{Partition: number[int](w[2]), Offset: number[int64](w[3])}
		r, err := c.OffsetCommit(ctx, &kafka.OffsetCommitRequest{GroupID: w[0], GenerationID: -1, Topics: map[string][]kafka.OffsetCommit{w[1]: {at}}})
		if err != nil {
			return nil, err
		}
		return nil, r.Topics[w[1]][0].Error
	case "forget":
		r, err := c.OffsetDelete(ctx, &kafka.OffsetDeleteRequest{GroupID: w[0], Topics: map[string][]int{w[1]: {number[int](w[2])}}})
		if err != nil {
			return nil, err
		}
		return nil, errors.Join(r.Error, r.Topics[w[1]][0].Error)
	case "ungroup":
		r, err := c.DeleteGroups(ctx, &kafka.DeleteGroupsRequest{GroupIDs: w})
		if err != nil {
			return nil, err
		}
		return nil, r.Errors[w[0]]
	}
	return nil, errUnknownVerb
}
