package conformance

import (
	"fmt"
	"strings"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// produceTo makes a request for partition 0 of a topic.
func produceTo(version int16, t topic, acks int16, batches ...[]byte) *kmsg.ProduceRequest {
	p := kmsg.NewProduceRequestTopicPartition()
	p.Records = []byte{}
	for _, b := range batches {
		p.Records = append(p.Records, b...)
	}
	return produceRequest(version, acks, produceTopic(t, p))
}

func produceTopic(t topic, partitions ...kmsg.ProduceRequestTopicPartition) kmsg.ProduceRequestTopic {
	topic := kmsg.NewProduceRequestTopic()
	topic.Topic, topic.TopicID = t.name, t.id
	topic.Partitions = partitions
	return topic
}

func produceRequest(version, acks int16, topics ...kmsg.ProduceRequestTopic) *kmsg.ProduceRequest {
	req := kmsg.NewPtrProduceRequest()
	req.Version = version
	req.Acks = acks
	req.TimeoutMillis = requestTimeout
	req.Topics = topics
	return req
}

// produced describes the answer for the first partition: OK @0 is accepted at offset 0.
func (c *conn) produced(req *kmsg.ProduceRequest) string {
	c.t.Helper()
	resp, err := c.try(req)
	if err != nil {
		return outcome(err)
	}
	return describeProduced(resp.(*kmsg.ProduceResponse).Topics[0].Partitions[0])
}

// describeProduced demands that base offset and log append time are -1 on errors.
func describeProduced(p kmsg.ProduceResponseTopicPartition) string {
	if p.ErrorCode == 0 {
		return fmt.Sprintf("OK @%d", p.BaseOffset)
	}
	s := code(p.ErrorCode)
	if p.BaseOffset != -1 {
		s += fmt.Sprintf(" with base offset %d", p.BaseOffset)
	}
	if p.LogAppendTime != -1 {
		s += fmt.Sprintf(" with log append time %d", p.LogAppendTime)
	}
	for i, r := range p.ErrorRecords {
		s += fmt.Sprintf("%s%d", map[bool]string{true: " records ", false: ","}[i == 0], r.RelativeOffset)
	}
	return s
}

// must produces batches, one request each, and demands that they are accepted; it returns the last base offset.
func (c *conn) must(t topic, batches ...*recordBatch) int64 {
	c.t.Helper()
	base := int64(-1)
	for _, b := range batches {
		resp := ask[*kmsg.ProduceResponse](c, produceTo(9, t, -1, b.bytes()))
		p := resp.Topics[0].Partitions[0]
		if p.ErrorCode != 0 {
			c.t.Fatalf("produce: %s: %s", code(p.ErrorCode), text(p.ErrorMessage))
		}
		base = p.BaseOffset
	}
	return base
}

// fetchOptions are a fetch of partition 0 with the waits and limits that matter to a test.
type fetchOptions struct {
	version                    int16
	offset                     int64
	waitMs, minBytes, maxBytes int32
	partitionMaxBytes          int32
	isolation                  int8
	currentEpoch, fetchedEpoch int32
	replica                    int32
}

func fetchAt(offset int64) fetchOptions {
	return fetchOptions{version: 12, offset: offset, minBytes: 1, maxBytes: 50 << 20, partitionMaxBytes: 1 << 20, currentEpoch: -1, fetchedEpoch: -1, replica: -1}
}

func (o fetchOptions) partition(number int32) kmsg.FetchRequestTopicPartition {
	p := kmsg.NewFetchRequestTopicPartition()
	p.Partition = number
	p.FetchOffset = o.offset
	p.CurrentLeaderEpoch = o.currentEpoch
	p.LastFetchedEpoch = o.fetchedEpoch
	p.LogStartOffset = -1
	p.PartitionMaxBytes = o.partitionMaxBytes
	return p
}

// request fetches the given partitions of a topic, partition 0 without any.
func (o fetchOptions) request(t topic, partitions ...int32) *kmsg.FetchRequest {
	if len(partitions) == 0 {
		partitions = []int32{0}
	}
	topic := kmsg.NewFetchRequestTopic()
	topic.Topic, topic.TopicID = t.name, t.id
	for _, p := range partitions {
		topic.Partitions = append(topic.Partitions, o.partition(p))
	}
	req := kmsg.NewPtrFetchRequest()
	req.Version = o.version
	req.ReplicaID = o.replica
	req.MaxWaitMillis = o.waitMs
	req.MinBytes = o.minBytes
	req.MaxBytes = o.maxBytes
	req.IsolationLevel = o.isolation
	req.SessionID, req.SessionEpoch = 0, -1
	req.Topics = []kmsg.FetchRequestTopic{topic}
	return req
}

// fetched describes the answer for the first partition: "OK [0-1] [2-2]" are two batches by their first and last offsets.
func (c *conn) fetched(t topic, o fetchOptions) string {
	c.t.Helper()
	resp, err := c.try(o.request(t))
	if err != nil {
		return outcome(err)
	}
	return c.describeFetched(resp.(*kmsg.FetchResponse))
}

func (c *conn) describeFetched(resp *kmsg.FetchResponse) string {
	c.t.Helper()
	if resp.ErrorCode != 0 {
		return code(resp.ErrorCode)
	}
	var parts []string
	for _, t := range resp.Topics {
		for _, p := range t.Partitions {
			parts = append(parts, c.describeFetchedPartition(p))
		}
	}
	return strings.Join(parts, "; ")
}

// describeFetchedPartition demands that an error comes without offsets and records.
func (c *conn) describeFetchedPartition(p kmsg.FetchResponseTopicPartition) string {
	c.t.Helper()
	s := code(p.ErrorCode)
	batches, rest := parseBatches(c.t, p.RecordBatches)
	for _, b := range batches {
		s += fmt.Sprintf(" [%d-%d]", b.FirstOffset, b.last())
	}
	if len(rest) > 0 {
		s += " and a part of a batch"
	}
	if p.ErrorCode != 0 && (p.HighWatermark != -1 || p.LogStartOffset != -1) {
		s += fmt.Sprintf(" with high watermark %d, log start %d", p.HighWatermark, p.LogStartOffset)
	}
	return s
}

// batches fetches everything from an offset on.
func (c *conn) batches(t topic, offset int64) []stored {
	c.t.Helper()
	resp := ask[*kmsg.FetchResponse](c, fetchAt(offset).request(t))
	p := resp.Topics[0].Partitions[0]
	if p.ErrorCode != 0 {
		c.t.Fatalf("fetch from %d: %s", offset, code(p.ErrorCode))
	}
	batches, rest := parseBatches(c.t, p.RecordBatches)
	if len(rest) > 0 {
		c.t.Fatalf("fetched %d bytes after the last whole batch", len(rest))
	}
	return batches
}

// end returns the log end offset.
func (c *conn) end(t topic) int64 {
	c.t.Helper()
	return c.listOffset(9, t, -1).Offset
}

func (c *conn) listOffset(version int16, t topic, timestamp int64) kmsg.ListOffsetsResponseTopicPartition {
	c.t.Helper()
	resp := ask[*kmsg.ListOffsetsResponse](c, listOffsets(version, t, timestamp))
	return resp.Topics[0].Partitions[0]
}

func listOffsets(version int16, t topic, timestamp int64) *kmsg.ListOffsetsRequest {
	p := kmsg.NewListOffsetsRequestTopicPartition()
	p.Timestamp = timestamp
	p.CurrentLeaderEpoch = -1
	topic := kmsg.NewListOffsetsRequestTopic()
	topic.Topic = t.name
	topic.Partitions = append(topic.Partitions, p)
	req := kmsg.NewPtrListOffsetsRequest()
	req.Version = version
	req.ReplicaID = -1
	req.TimeoutMillis = requestTimeout
	req.Topics = append(req.Topics, topic)
	return req
}

func deleteRecords(version int16, t topic, offset int64) *kmsg.DeleteRecordsRequest {
	p := kmsg.NewDeleteRecordsRequestTopicPartition()
	p.Offset = offset
	topic := kmsg.NewDeleteRecordsRequestTopic()
	topic.Topic = t.name
	topic.Partitions = append(topic.Partitions, p)
	req := kmsg.NewPtrDeleteRecordsRequest()
	req.Version = version
	req.TimeoutMillis = requestTimeout
	req.Topics = append(req.Topics, topic)
	return req
}

// deleted describes the answer: the low watermark or the error.
func (c *conn) deleted(t topic, offset int64) string {
	c.t.Helper()
	resp := ask[*kmsg.DeleteRecordsResponse](c, deleteRecords(2, t, offset))
	p := resp.Topics[0].Partitions[0]
	if p.ErrorCode != 0 && p.LowWatermark != -1 {
		return fmt.Sprintf("%s with low watermark %d", code(p.ErrorCode), p.LowWatermark)
	}
	if p.ErrorCode != 0 {
		return code(p.ErrorCode)
	}
	return fmt.Sprintf("OK %d", p.LowWatermark)
}

// newProducer returns a new producer id, which comes with epoch 0.
func (c *conn) newProducer() int64 {
	c.t.Helper()
	var resp *kmsg.InitProducerIDResponse
	c.eventually("producer id given", func() bool { // Kafka's first answer may be COORDINATOR_LOAD_IN_PROGRESS
		resp = ask[*kmsg.InitProducerIDResponse](c, initProducer(4, nil, -1, -1))
		return resp.ErrorCode == 0
	})
	if resp.ProducerEpoch != 0 {
		c.t.Fatalf("new producer id has epoch %d", resp.ProducerEpoch)
	}
	return resp.ProducerID
}

func initProducer(version int16, transactionalID *string, id int64, epoch int16) *kmsg.InitProducerIDRequest {
	req := kmsg.NewPtrInitProducerIDRequest()
	req.Version = version
	req.TransactionalID = transactionalID
	req.TransactionTimeoutMillis = requestTimeout
	req.ProducerID, req.ProducerEpoch = id, epoch
	return req
}
