package conformance

import (
	"fmt"
	"slices"
	"strings"

	"github.com/twmb/franz-go/pkg/kmsg"
)

func metadataRows() []row {
	return []row{
		{name: "unknown topic", do: metadataOf(12, newName()), want: "UNKNOWN_TOPIC_OR_PARTITION 0 partitions"},
		{name: "unknown topic in v0", do: metadataOf(0, newName()), want: "UNKNOWN_TOPIC_OR_PARTITION 0 partitions"},
		{name: "name empty", do: metadataOf(12, ""), want: "INVALID_TOPIC_EXCEPTION 0 partitions"},
		{name: "name invalid", do: metadataOf(12, "a/b"), want: "INVALID_TOPIC_EXCEPTION 0 partitions"},
		{name: "topics null", do: metadataAll(12, nil), want: "both"},
		{name: "topics null in v1", do: metadataAll(1, nil), want: "both"},
		{name: "empty list in v0", do: metadataAll(0, []kmsg.MetadataRequestTopic{}), want: "both"},
		{name: "empty list in v1", do: metadataAll(1, []kmsg.MetadataRequestTopic{}), want: "no topics, brokers and controller"},
		{name: "empty list", do: metadataAll(12, []kmsg.MetadataRequestTopic{}), want: "no topics, brokers and controller"},
		{name: "one name twice", do: metadataTwice, want: "1 entry"},
		{name: "by topic id", do: metadataByID(12), want: "OK with name"},
		{name: "by unknown id", do: metadataByUnknownID, want: "UNKNOWN_TOPIC_ID"},
		{name: "by id in v10", do: metadataByID(10), want: "INVALID_REQUEST"},
		{name: "authorized operations asked, no authorizer", do: metadataOperations(true), want: "3576"},
		{name: "authorized operations not asked", do: metadataOperations(false), want: "-2147483648"},
		{name: "by id and name", do: metadataByIDAndName, want: "OK"},
		{name: "name of 300 characters", do: metadataOf(12, strings.Repeat("x", 300)), want: "INVALID_TOPIC_EXCEPTION 0 partitions"},
		{name: "two partitions", do: metadataPartitions, want: "0 and 1, leader in replicas and in sync"},
		{name: "leader epoch of a partition not used yet", do: metadataEpoch, want: "0", korvet: differs("-1", "Leader epochs")},
		{name: "addresses can be dialled", do: metadataAddress, want: "alive"},
		{name: "brokers are the same in DescribeCluster", do: metadataAgrees, want: "same"},
		{name: "unknown topic with allow_auto_topic_creation, auto-creation off", do: metadataNoAutoCreate, want: "UNKNOWN_TOPIC_OR_PARTITION"},
	}
}

func metadataOf(version int16, name string) func(*conn) string {
	return func(c *conn) string {
		t := c.metadata(version, name).Topics[0]
		return fmt.Sprintf("%s %d partitions", code(t.ErrorCode), len(t.Partitions))
	}
}

// metadataAll asks with the given list, which stands for all topics or for none.
func metadataAll(version int16, topics []kmsg.MetadataRequestTopic) func(*conn) string {
	return func(c *conn) string {
		a, b := c.newTopic(), c.newTopic()
		req := metadataRequest(version)
		req.Topics = topics
		resp := ask[*kmsg.MetadataResponse](c, req)
		var names []string
		for _, t := range resp.Topics {
			names = append(names, *t.Topic)
		}
		switch {
		case slices.Contains(names, a.name) && slices.Contains(names, b.name):
			return "both"
		case len(names) == 0 && len(resp.Brokers) > 0 && resp.ControllerID >= 0:
			return "no topics, brokers and controller"
		}
		return fmt.Sprintf("topics %v, %d brokers, controller %d", names, len(resp.Brokers), resp.ControllerID)
	}
}

func metadataTwice(c *conn) string {
	t := c.newTopic()
	return fmt.Sprintf("%d entry", len(c.metadata(12, t.name, t.name).Topics))
}

func metadataByID(version int16) func(*conn) string {
	return func(c *conn) string {
		t := c.newTopic()
		got := c.metadataID(version, t.id)
		if got.ErrorCode == 0 && text(got.Topic) == t.name && got.TopicID == t.id {
			return "OK with name"
		}
		return code(got.ErrorCode)
	}
}

func metadataByIDAndName(c *conn) string {
	t := c.newTopic()
	req := metadataRequest(12, t.name)
	req.Topics[0].TopicID = t.id
	return code(ask[*kmsg.MetadataResponse](c, req).Topics[0].ErrorCode)
}

func metadataByUnknownID(c *conn) string {
	return code(c.metadataID(12, [16]byte{1, 2, 3}).ErrorCode)
}

func (c *conn) metadataID(version int16, id [16]byte) kmsg.MetadataResponseTopic {
	c.t.Helper()
	topic := kmsg.NewMetadataRequestTopic()
	topic.TopicID = id
	if version < 12 {
		topic.Topic = kmsg.StringPtr("") // not nullable yet
	}
	req := metadataRequest(version)
	req.Topics = append(req.Topics, topic)
	return ask[*kmsg.MetadataResponse](c, req).Topics[0]
}

func metadataOperations(include bool) func(*conn) string {
	return func(c *conn) string {
		t := c.newTopic()
		req := metadataRequest(12, t.name)
		req.IncludeTopicAuthorizedOperations = include
		return fmt.Sprint(ask[*kmsg.MetadataResponse](c, req).Topics[0].AuthorizedOperations)
	}
}

func metadataPartitions(c *conn) string {
	t := c.newTopicOf(2)
	got := c.metadata(12, t.name).Topics[0].Partitions
	slices.SortFunc(got, func(a, b kmsg.MetadataResponseTopicPartition) int { return int(a.Partition - b.Partition) })
	for i, p := range got {
		if int(p.Partition) != i || !slices.Contains(p.Replicas, p.Leader) || !slices.Contains(p.ISR, p.Leader) {
			return fmt.Sprintf("%+v", p)
		}
	}
	return "0 and 1, leader in replicas and in sync"
}

func metadataEpoch(c *conn) string {
	return fmt.Sprint(c.metadata(12, c.newTopic().name).Topics[0].Partitions[0].LeaderEpoch)
}

func metadataAddress(c *conn) string {
	for _, b := range c.metadata(12).Brokers {
		if b.Host == "" || b.Host == "0.0.0.0" || b.Host == "::" {
			return fmt.Sprintf("host %q", b.Host)
		}
		to := *c.to
		to.addr = fmt.Sprintf("%s:%d", b.Host, b.Port)
		if !dial(c.t, &to).alive() {
			return "not alive"
		}
	}
	return "alive"
}

func metadataAgrees(c *conn) string {
	m := c.metadata(12)
	d := ask[*kmsg.DescribeClusterResponse](c, describeCluster(1, 1))
	a := fmt.Sprint(m.Brokers[0].NodeID, m.Brokers[0].Host, m.Brokers[0].Port, text(m.ClusterID))
	b := fmt.Sprint(d.Brokers[0].NodeID, d.Brokers[0].Host, d.Brokers[0].Port, d.ClusterID)
	if a != b {
		return a + " and " + b
	}
	return "same"
}

func metadataNoAutoCreate(c *conn) string {
	if c.autoCreates() {
		c.t.Log("this broker has auto-creation on: see TestAutoCreation")
		return "UNKNOWN_TOPIC_OR_PARTITION"
	}
	req := metadataRequest(12, newName())
	req.AllowAutoTopicCreation = true
	for range 3 {
		if got := code(ask[*kmsg.MetadataResponse](c, req).Topics[0].ErrorCode); got != "UNKNOWN_TOPIC_OR_PARTITION" {
			return got
		}
	}
	return "UNKNOWN_TOPIC_OR_PARTITION"
}

// autoCreates asks the broker for its setting auto.create.topics.enable.
func (c *conn) autoCreates() bool {
	c.t.Helper()
	id := fmt.Sprint(c.metadata(12).Brokers[0].NodeID)
	resp := ask[*kmsg.DescribeConfigsResponse](c, describeConfigs(4, kmsg.ConfigResourceTypeBroker, id, "auto.create.topics.enable"))
	configs := resp.Resources[0].Configs
	if len(configs) != 1 {
		c.t.Fatalf("broker shows %d settings auto.create.topics.enable", len(configs))
	}
	return text(configs[0].Value) == "true"
}

func describeClusterRows() []row {
	return []row{
		{name: "brokers", do: clusterBrokers(1), want: "OK, endpoint type 1"},
		{name: "endpoint_type 3", do: clusterBrokers(3), want: "UNSUPPORTED_ENDPOINT_TYPE"},
		{name: "endpoint_type 2", do: clusterBrokers(2), want: "MISMATCHED_ENDPOINT_TYPE"},
	}
}

func clusterBrokers(endpoint int8) func(*conn) string {
	return func(c *conn) string {
		resp := ask[*kmsg.DescribeClusterResponse](c, describeCluster(1, endpoint))
		if resp.ErrorCode != 0 {
			return code(resp.ErrorCode)
		}
		if len(resp.Brokers) == 0 || resp.ClusterID == "" {
			return fmt.Sprintf("%d brokers, cluster id %q", len(resp.Brokers), resp.ClusterID)
		}
		return fmt.Sprintf("OK, endpoint type %d", resp.EndpointType)
	}
}

func describeCluster(version int16, endpoint int8) *kmsg.DescribeClusterRequest {
	req := kmsg.NewPtrDescribeClusterRequest()
	req.Version = version
	req.EndpointType = endpoint
	return req
}

func describeTopicPartitionsRows() []row {
	return []row{
		{name: "limit 1 of 3 partitions", do: partitionsPaged, want: "1 partition, next 1; then from 1"},
		{name: "limit 0", do: partitionsOf(func(req *kmsg.DescribeTopicPartitionsRequest) { req.ResponsePartitionLimit = 0 }), want: "OK 1 partitions, more true"},
		{name: "limit -1", do: partitionsOf(func(req *kmsg.DescribeTopicPartitionsRequest) { req.ResponsePartitionLimit = -1 }), want: "OK 1 partitions, more true"},
		{name: "no limit", do: partitionsOf(func(*kmsg.DescribeTopicPartitionsRequest) {}), want: "OK 3 partitions, more false"},
		{name: "one name twice", do: partitionsOf(func(req *kmsg.DescribeTopicPartitionsRequest) { req.Topics = append(req.Topics, req.Topics[0]) }), want: "OK 3 partitions, more false"},
		{name: "cursor beyond the partitions", do: partitionsOf(from(7)), want: "OK 0 partitions, more false"},
		{name: "cursor at partition -1", do: partitionsOf(from(-1)), want: "INVALID_REQUEST 0 partitions, more false"},
		{name: "unknown topic", do: partitionsUnknown, want: "UNKNOWN_TOPIC_OR_PARTITION"},
	}
}

func partitionsPaged(c *conn) string {
	t := c.newTopicOf(3)
	req := describeTopicPartitions(t.name)
	req.ResponsePartitionLimit = 1
	resp := ask[*kmsg.DescribeTopicPartitionsResponse](c, req)
	if resp.NextCursor == nil || resp.NextCursor.Topic != t.name {
		return fmt.Sprintf("next cursor %v", resp.NextCursor)
	}
	s := fmt.Sprintf("%d partition, next %d", len(resp.Topics[0].Partitions), resp.NextCursor.Partition)
	req.Cursor = &kmsg.DescribeTopicPartitionsRequestCursor{Topic: t.name, Partition: resp.NextCursor.Partition}
	resp = ask[*kmsg.DescribeTopicPartitionsResponse](c, req)
	return s + fmt.Sprintf("; then from %d", resp.Topics[0].Partitions[0].Partition)
}

// partitionsOf asks about a topic of three partitions; all that is described must be one topic.
func partitionsOf(change func(*kmsg.DescribeTopicPartitionsRequest)) func(*conn) string {
	return func(c *conn) string {
		req := describeTopicPartitions(c.newTopicOf(3).name)
		change(req)
		resp := ask[*kmsg.DescribeTopicPartitionsResponse](c, req)
		if len(resp.Topics) != 1 {
			return fmt.Sprintf("%d topics", len(resp.Topics))
		}
		return fmt.Sprintf("%s %d partitions, more %t", code(resp.Topics[0].ErrorCode), len(resp.Topics[0].Partitions), resp.NextCursor != nil)
	}
}

func from(partition int32) func(*kmsg.DescribeTopicPartitionsRequest) {
	return func(req *kmsg.DescribeTopicPartitionsRequest) {
		req.Cursor = &kmsg.DescribeTopicPartitionsRequestCursor{Topic: req.Topics[0].Topic, Partition: partition}
	}
}

func partitionsUnknown(c *conn) string {
	resp := ask[*kmsg.DescribeTopicPartitionsResponse](c, describeTopicPartitions(newName()))
	return code(resp.Topics[0].ErrorCode)
}

func describeTopicPartitions(names ...string) *kmsg.DescribeTopicPartitionsRequest {
	req := kmsg.NewPtrDescribeTopicPartitionsRequest()
	req.ResponsePartitionLimit = 2000
	for _, name := range names {
		t := kmsg.NewDescribeTopicPartitionsRequestTopic()
		t.Topic = name
		req.Topics = append(req.Topics, t)
	}
	return req
}
