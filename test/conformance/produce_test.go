package conformance

import (
	"bytes"
	"fmt"
	"strings"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// produceRows are about the request around the records.
func produceRows() []row {
	return []row{
		{name: "unknown topic", do: producedTo(topic{name: newName()}, 0), want: "UNKNOWN_TOPIC_OR_PARTITION log start -1"},
		{name: "invalid topic name", do: producedTo(topic{name: "a/b"}, 0), want: "UNKNOWN_TOPIC_OR_PARTITION log start -1"},
		{name: "unknown partition", do: producedToPartition(1), want: "UNKNOWN_TOPIC_OR_PARTITION log start -1"},
		{name: "partition -1", do: producedToPartition(-1), want: "UNKNOWN_TOPIC_OR_PARTITION log start -1"},
		{name: "unknown topic id (v13)", do: producedToID, want: "UNKNOWN_TOPIC_ID"},
		{name: "by topic id (v13)", do: producedByID, want: "OK @0"},
		{name: "internal topic", do: producedInternal, want: "INVALID_TOPIC_EXCEPTION", korvet: differs("UNKNOWN_TOPIC_OR_PARTITION", "Internal topics")},
		{name: "no topics", do: producedNothing, want: "0 topics"},
		{name: "acks 2", do: producedAcks(2), want: "INVALID_REQUIRED_ACKS; INVALID_REQUIRED_ACKS; end 0"},
		{name: "acks -2", do: producedAcks(-2), want: "INVALID_REQUIRED_ACKS; INVALID_REQUIRED_ACKS; end 0"},
		{name: "acks 0", do: producedUnacked, want: "no answer, the connection goes on, end 1"},
		{name: "acks 0 and an unknown topic", do: unackedError(func(c *conn) *kmsg.ProduceRequest {
			return produceTo(9, topic{name: newName()}, 0, values("v").bytes())
		}), want: "closed"},
		{name: "acks 0 and a corrupt batch", do: unackedError(func(c *conn) *kmsg.ProduceRequest {
			return produceTo(9, c.newTopic(), 0, flipped(values("v").bytes()))
		}), want: "closed"},
		{name: "acks -1 with timeout 0", do: producedTimeout(0), want: "OK @0"},
		{name: "acks 1", do: producedOne, want: "OK @0"},
		{name: "one partition twice in a request", do: producedTwice, want: "1 answer"},
		{name: "one topic twice in a request", do: producedTopicTwice, want: "1 topic, 1 answer"},
		{name: "zero topic id (v13)", do: producedZeroID, want: "UNKNOWN_TOPIC_ID"},
		{name: "negative timeout", do: producedTimeout(-1), want: "OK @0"},
		{name: "transactional id empty, plain batch", do: producedWithID(""), want: "OK @0"},
		{name: "transactional id, plain batch", do: producedWithID("x"), want: "OK @0"},
		{name: "one good, one unknown partition", do: producedGoodAndUnknown, want: "OK @0; UNKNOWN_TOPIC_OR_PARTITION"},
		{name: "batch of max.message.bytes", do: producedSized(1048588), want: "OK @0, end 1"},
		{name: "batch of one byte more", do: producedSized(1048589), want: "MESSAGE_TOO_LARGE, end 0"},
		{name: "batch of 1000 bytes, limit 1024", do: producedSized(1000, "max.message.bytes=1024"), want: "OK @0, end 1"},
		{name: "batch of 2000 bytes, limit 1024", do: producedSized(2000, "max.message.bytes=1024"), want: "MESSAGE_TOO_LARGE, end 0"},
		{name: "compressed batch below the limit whose records are above it", do: producedCompressedBelow, want: "OK @0"},
		{name: "transactional bit, no transactional id in the request", do: producedBatch(func(b *recordBatch) { b.from(1, 0, 0).Attributes |= transactional }), want: "TRANSACTIONAL_ID_AUTHORIZATION_FAILED, end 0"},
		{name: "transactional id", do: producedTransactional, want: "INVALID_PRODUCER_ID_MAPPING", korvet: differs("TRANSACTIONAL_ID_AUTHORIZATION_FAILED", "Transactions")},
		{name: "pipelined to one partition", do: producedPipelined, want: "0 1 2 3 4 5 6 7 8 9"},
	}
}

func producedTo(t topic, partition int32) func(*conn) string {
	return func(c *conn) string {
		req := produceTo(9, t, -1, values("v").bytes())
		req.Topics[0].Partitions[0].Partition = partition
		p := ask[*kmsg.ProduceResponse](c, req).Topics[0].Partitions[0]
		return fmt.Sprintf("%s log start %d", describeProduced(p), p.LogStartOffset)
	}
}

func producedToPartition(partition int32) func(*conn) string {
	return func(c *conn) string { return producedTo(c.newTopic(), partition)(c) }
}

func producedToID(c *conn) string {
	return c.produced(produceTo(13, topic{id: [16]byte{7, 7}}, -1, values("v").bytes()))
}

func producedByID(c *conn) string {
	return c.produced(produceTo(13, c.newTopic(), -1, values("v").bytes()))
}

func producedInternal(c *conn) string {
	c.awaitCoordinator(groupCoordinator)
	return c.produced(produceTo(9, topic{name: "__consumer_offsets"}, -1, values("v").bytes()))
}

const (
	groupCoordinator       = int8(0)
	transactionCoordinator = int8(1)
)

// awaitCoordinator makes Kafka create the internal topic behind a kind of coordinator, which it does when one is looked for.
func (c *conn) awaitCoordinator(kind int8) {
	c.t.Helper()
	if c.to.korvet {
		return
	}
	req := kmsg.NewPtrFindCoordinatorRequest()
	req.Version = 4
	req.CoordinatorType = kind
	req.CoordinatorKeys = []string{"any"}
	c.eventually("coordinator found", func() bool {
		return ask[*kmsg.FindCoordinatorResponse](c, req).Coordinators[0].ErrorCode == 0
	})
}

func producedNothing(c *conn) string {
	req := produceTo(9, topic{}, -1)
	req.Topics = []kmsg.ProduceRequestTopic{}
	return fmt.Sprintf("%d topics", len(ask[*kmsg.ProduceResponse](c, req).Topics))
}

func producedAcks(acks int16) func(*conn) string {
	return func(c *conn) string {
		t := c.newTopicOf(2)
		req := produceTo(9, t, acks, values("v").bytes())
		second := req.Topics[0].Partitions[0]
		second.Partition = 1
		req.Topics[0].Partitions = append(req.Topics[0].Partitions, second)
		parts := ask[*kmsg.ProduceResponse](c, req).Topics[0].Partitions
		return fmt.Sprintf("%s; %s; end %d", code(parts[0].ErrorCode), code(parts[1].ErrorCode), c.end(t))
	}
}

// producedUnacked sends one batch without asking for an answer, and then something else on the same connection.
func producedUnacked(c *conn) string {
	t := c.newTopic()
	c.send(produceTo(9, t, 0, values("v").bytes()))
	if _, err := c.try(apiVersions(0)); err != nil {
		return outcome(err)
	}
	c.eventually("batch is in the log", func() bool { return c.end(t) == 1 })
	return "no answer, the connection goes on, end 1"
}

func unackedError(request func(*conn) *kmsg.ProduceRequest) func(*conn) string {
	return func(c *conn) string {
		c.send(request(c.another()))
		if c.closed() {
			return "closed"
		}
		return "a frame"
	}
}

func producedTimeout(ms int32) func(*conn) string {
	return func(c *conn) string {
		req := produceTo(9, c.newTopic(), -1, values("v").bytes())
		req.TimeoutMillis = ms
		return c.produced(req)
	}
}

func producedWithID(id string) func(*conn) string {
	return func(c *conn) string {
		req := produceTo(9, c.newTopic(), -1, values("v").bytes())
		req.TransactionID = &id
		return c.produced(req)
	}
}

func producedZeroID(c *conn) string {
	return c.produced(produceTo(13, topic{}, -1, values("v").bytes()))
}

func producedTopicTwice(c *conn) string {
	req := produceTo(9, c.newTopic(), -1, values("v").bytes())
	req.Topics = append(req.Topics, req.Topics[0])
	topics := ask[*kmsg.ProduceResponse](c, req).Topics
	return fmt.Sprintf("%d topic, %d answer", len(topics), len(topics[0].Partitions))
}

func producedOne(c *conn) string {
	return c.produced(produceTo(9, c.newTopic(), 1, values("v").bytes()))
}

func producedTwice(c *conn) string {
	req := produceTo(9, c.newTopic(), -1, values("v").bytes())
	req.Topics[0].Partitions = append(req.Topics[0].Partitions, req.Topics[0].Partitions[0])
	return fmt.Sprintf("%d answer", len(ask[*kmsg.ProduceResponse](c, req).Topics[0].Partitions))
}

func producedGoodAndUnknown(c *conn) string {
	req := produceTo(9, c.newTopic(), -1, values("v").bytes())
	second := req.Topics[0].Partitions[0]
	second.Partition = 5
	req.Topics[0].Partitions = append(req.Topics[0].Partitions, second)
	answers := map[int32]string{}
	for _, p := range ask[*kmsg.ProduceResponse](c, req).Topics[0].Partitions {
		answers[p.Partition] = describeProduced(p)
	}
	return answers[0] + "; " + answers[5]
}

// sized makes a batch of exactly that many bytes.
func sized(n int) []byte {
	value := n - len(values("").bytes())
	for {
		b := values(strings.Repeat("x", value)).bytes()
		if len(b) == n {
			return b
		}
		value -= len(b) - n
	}
}

func producedSized(n int, settings ...string) func(*conn) string {
	return func(c *conn) string {
		t := c.newTopic(settings...)
		return fmt.Sprintf("%s, end %d", c.produced(produceTo(9, t, -1, sized(n))), c.end(t))
	}
}

func producedCompressedBelow(c *conn) string {
	b := values(strings.Repeat("x", 5000)).codec(codecGzip).bytes()
	return c.produced(produceTo(9, c.newTopic("max.message.bytes=1024"), -1, b))
}

func producedTransactional(c *conn) string {
	c.awaitCoordinator(transactionCoordinator)
	req := produceTo(9, c.newTopic(), -1, values("v").from(1, 0, 0).with(func(b *recordBatch) { b.Attributes |= transactional }).bytes())
	req.TransactionID = kmsg.StringPtr("tx-" + newName())
	return c.produced(req)
}

func producedPipelined(c *conn) string {
	t := c.newTopic()
	req := produceTo(9, t, -1, values("v").bytes())
	var ids []int32
	for range 10 {
		ids = append(ids, c.send(req))
	}
	var bases []string
	for _, id := range ids {
		resp, err := c.receive(req, id)
		if err != nil {
			return outcome(err)
		}
		bases = append(bases, fmt.Sprint(resp.(*kmsg.ProduceResponse).Topics[0].Partitions[0].BaseOffset))
	}
	return strings.Join(bases, " ")
}

// flipped changes one payload byte without adapting the CRC.
func flipped(b []byte) []byte {
	b = bytes.Clone(b)
	b[len(b)-2] ^= 1
	return b
}
