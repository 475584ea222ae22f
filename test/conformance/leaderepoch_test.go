package conformance

import (
	"fmt"

	"github.com/twmb/franz-go/pkg/kmsg"
)

func leaderEpochRows() []row {
	return []row{
		{name: "the current epoch", do: epochEnd(func(current int32) (int32, int32) { return current, -1 }), want: "OK, current epoch, end 2"},
		{name: "a later epoch", do: epochEnd(func(current int32) (int32, int32) { return current + 5, -1 }), want: "OK, epoch -1, end -1"},
		{name: "-1", do: epochEnd(func(int32) (int32, int32) { return -1, -1 }), want: "OK, epoch -1, end -1"},
		{name: "current epoch right", do: epochEnd(func(current int32) (int32, int32) { return current, current }), want: "OK, current epoch, end 2"},
		{name: "current epoch too new", do: epochEnd(func(current int32) (int32, int32) { return current, current + 5 }), want: "UNKNOWN_LEADER_EPOCH, epoch -1, end -1"},
		{name: "unknown topic", do: epochUnknown, want: "UNKNOWN_TOPIC_OR_PARTITION"},
		{name: "unknown partition", do: epochUnknownPartition, want: "UNKNOWN_TOPIC_OR_PARTITION"},
		{name: "batches carry the epoch that Metadata tells", do: epochOfBatches, want: "the same"},
	}
}

func offsetForLeaderEpoch(version int16, name string, epoch, current int32) *kmsg.OffsetForLeaderEpochRequest {
	p := kmsg.NewOffsetForLeaderEpochRequestTopicPartition()
	p.LeaderEpoch, p.CurrentLeaderEpoch = epoch, current
	t := kmsg.NewOffsetForLeaderEpochRequestTopic()
	t.Topic = name
	t.Partitions = append(t.Partitions, p)
	req := kmsg.NewPtrOffsetForLeaderEpochRequest()
	req.Version = version
	req.ReplicaID = -1
	req.Topics = append(req.Topics, t)
	return req
}

// epochEnd asks, of a partition with two records, for the end of the epoch that ask picks given the current one.
func epochEnd(pick func(current int32) (epoch, currentLeader int32)) func(*conn) string {
	return func(c *conn) string {
		t := c.newTopic()
		c.must(t, values("a", "b"))
		current := c.metadata(12, t.name).Topics[0].Partitions[0].LeaderEpoch
		epoch, currentLeader := pick(current)
		p := ask[*kmsg.OffsetForLeaderEpochResponse](c, offsetForLeaderEpoch(4, t.name, epoch, currentLeader)).Topics[0].Partitions[0]
		which := fmt.Sprintf("epoch %d", p.LeaderEpoch)
		if p.LeaderEpoch == current {
			which = "current epoch"
		}
		return fmt.Sprintf("%s, %s, end %d", code(p.ErrorCode), which, p.EndOffset)
	}
}

func epochUnknown(c *conn) string {
	resp := ask[*kmsg.OffsetForLeaderEpochResponse](c, offsetForLeaderEpoch(4, newName(), 0, -1))
	return code(resp.Topics[0].Partitions[0].ErrorCode)
}

func epochUnknownPartition(c *conn) string {
	req := offsetForLeaderEpoch(4, c.newTopic().name, 0, -1)
	req.Topics[0].Partitions[0].Partition = 9
	return code(ask[*kmsg.OffsetForLeaderEpochResponse](c, req).Topics[0].Partitions[0].ErrorCode)
}

func epochOfBatches(c *conn) string {
	t := c.newTopic()
	c.must(t, values("a").with(func(b *recordBatch) { b.PartitionLeaderEpoch = 99 }))
	want := c.metadata(12, t.name).Topics[0].Partitions[0].LeaderEpoch
	if got := c.batches(t, 0)[0].PartitionLeaderEpoch; got != want {
		return fmt.Sprintf("batch has %d, metadata %d", got, want)
	}
	return "the same"
}
