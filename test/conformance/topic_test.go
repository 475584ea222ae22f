package conformance

import (
	"fmt"
	"strings"
	"sync/atomic"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// requestTimeout is the timeout that requests with such a field ask for, in ms.
const requestTimeout = 10_000

var topicNumber atomic.Int64

// run-wide part of topic names, so that a broker may be tested more than once.
var runID = fmt.Sprintf("%x", time.Now().UnixMilli())

func now() int64 { return time.Now().UnixMilli() }

// topic is a topic that a test created.
type topic struct {
	name string
	id   [16]byte
}

// newName returns a topic name that was not used before.
func newName() string { return fmt.Sprintf("t-%s-%d", runID, topicNumber.Add(1)) }

// newTopic creates a topic of one partition with the settings given as name=value and waits until it has a leader.
func (c *conn) newTopic(settings ...string) topic {
	c.t.Helper()
	return c.newTopicOf(1, settings...)
}

func (c *conn) newTopicOf(partitions int32, settings ...string) topic {
	c.t.Helper()
	name := newName()
	c.create(name, partitions, settings...)
	return topic{name: name, id: c.awaitTopic(name, int(partitions))}
}

func (c *conn) create(name string, partitions int32, settings ...string) {
	c.t.Helper()
	req := createTopics(7, newTopicRequest(name, partitions, 1, settings...))
	resp := ask[*kmsg.CreateTopicsResponse](c, req)
	if got := resp.Topics[0]; got.ErrorCode != 0 {
		c.t.Fatalf("create topic %s %v: %s: %s", name, settings, code(got.ErrorCode), text(got.ErrorMessage))
	}
}

// awaitTopic waits until all partitions have a leader: Apache Kafka answers a creation before that.
func (c *conn) awaitTopic(name string, partitions int) [16]byte {
	c.t.Helper()
	var got kmsg.MetadataResponseTopic
	c.eventually("topic has leaders", func() bool {
		got = c.metadata(12, name).Topics[0]
		if got.ErrorCode != 0 || len(got.Partitions) != partitions {
			return false
		}
		for _, p := range got.Partitions {
			if p.ErrorCode != 0 || p.Leader < 0 {
				return false
			}
		}
		return true
	})
	if !c.to.korvet {
		c.awaitLogs(name, partitions)
	}
	return got.TopicID
}

// awaitLogs waits until the leader knows that it leads, which Apache Kafka tells in Metadata before.
func (c *conn) awaitLogs(name string, partitions int) {
	c.t.Helper()
	req := listOffsets(9, topic{name: name}, latest)
	p := req.Topics[0].Partitions[0]
	req.Topics[0].Partitions = nil
	for i := range partitions {
		p.Partition = int32(i)
		req.Topics[0].Partitions = append(req.Topics[0].Partitions, p)
	}
	c.eventually("leader leads", func() bool {
		for _, p := range ask[*kmsg.ListOffsetsResponse](c, req).Topics[0].Partitions {
			if p.ErrorCode != 0 {
				return false
			}
		}
		return true
	})
}

// eventually asks again until the condition holds.
func (c *conn) eventually(what string, holds func() bool) {
	c.t.Helper()
	for deadline := time.Now().Add(patience); !holds(); {
		if time.Now().After(deadline) {
			c.t.Fatalf("waited in vain: %s", what)
		}
		time.Sleep(10 * time.Millisecond) // between two looks at the condition
	}
}

func createTopics(version int16, topics ...kmsg.CreateTopicsRequestTopic) *kmsg.CreateTopicsRequest {
	req := kmsg.NewPtrCreateTopicsRequest()
	req.Version = version
	req.TimeoutMillis = requestTimeout
	req.Topics = topics
	return req
}

func newTopicRequest(name string, partitions int32, replication int16, settings ...string) kmsg.CreateTopicsRequestTopic {
	t := kmsg.NewCreateTopicsRequestTopic()
	t.Topic = name
	t.NumPartitions = partitions
	t.ReplicationFactor = replication
	for _, s := range settings {
		name, value, _ := strings.Cut(s, "=")
		config := kmsg.NewCreateTopicsRequestTopicConfig()
		config.Name, config.Value = name, &value
		t.Configs = append(t.Configs, config)
	}
	return t
}

func (c *conn) metadata(version int16, names ...string) *kmsg.MetadataResponse {
	c.t.Helper()
	req := metadataRequest(version, names...)
	return ask[*kmsg.MetadataResponse](c, req)
}

func metadataRequest(version int16, names ...string) *kmsg.MetadataRequest {
	req := kmsg.NewPtrMetadataRequest()
	req.Version = version
	req.Topics = []kmsg.MetadataRequestTopic{}
	for _, name := range names {
		t := kmsg.NewMetadataRequestTopic()
		t.Topic = &name
		req.Topics = append(req.Topics, t)
	}
	return req
}

// remove deletes a topic and waits until it is gone from Metadata.
func (c *conn) remove(name string) {
	c.t.Helper()
	resp := ask[*kmsg.DeleteTopicsResponse](c, deleteTopics(6, name))
	if got := resp.Topics[0]; got.ErrorCode != 0 {
		c.t.Fatalf("delete topic %s: %s", name, code(got.ErrorCode))
	}
	c.eventually("topic is gone", func() bool {
		return code(c.metadata(12, name).Topics[0].ErrorCode) == "UNKNOWN_TOPIC_OR_PARTITION"
	})
}

func deleteTopics(version int16, names ...string) *kmsg.DeleteTopicsRequest {
	req := kmsg.NewPtrDeleteTopicsRequest()
	req.Version = version
	req.TimeoutMillis = requestTimeout
	for _, name := range names {
		t := kmsg.NewDeleteTopicsRequestTopic()
		t.Topic = &name
		req.Topics = append(req.Topics, t)
	}
	req.TopicNames = names
	return req
}
