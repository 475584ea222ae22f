package conformance

import (
	"fmt"
	"math"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// Special timestamps of ListOffsets.
const (
	latest        = -1
	earliest      = -2
	maxTimestamp  = -3
	earliestLocal = -4
	latestTiered  = -5
)

func listOffsetsRows() []row {
	rows := []row{
		{name: "-5 (v11), no remote storage", do: listed(11, latestTiered), want: "OK -1 at -1 epoch -1"},
		{name: "-5 in v9, no remote storage", do: listed(9, latestTiered), want: "OK -1 at -1 epoch -1"},
		{name: "-5 in v8", do: listed(8, latestTiered), want: "UNSUPPORTED_VERSION -1 at -1 epoch -1"},
		{name: "-6 (v11), no remote storage", do: listed(11, -6), want: "OK -1 at -1 epoch -1"},
		{name: "-7", do: listed(9, -7), want: "UNSUPPORTED_VERSION -1 at -1 epoch -1"},
		{name: "-3 in v6", do: listed(6, maxTimestamp), want: "UNSUPPORTED_VERSION -1 at -1 epoch -1"},
		{name: "-4 in v7", do: listed(7, earliestLocal), want: "UNSUPPORTED_VERSION -1 at -1 epoch -1"},
		{name: "-3 in v7", do: listed(7, maxTimestamp), want: "OK 1 at 3000 epoch current"},
		{name: "-4 in v8", do: listed(8, earliestLocal), want: "OK 0 at -1 epoch current"},
		{name: "latest in v1", do: listed(1, latest), want: "OK 4 at -1 epoch -1"},
		{name: "inside a batch", do: listedInBatch(1010), want: "OK 1 at 1010"},
		{name: "inside a batch, -3", do: listedInBatch(maxTimestamp), want: "OK 2 at 1020"},
		{name: "after DeleteRecords to 2: 1000", do: listedAfterDelete(2, 1000), want: "OK 2 at 2000"},
		{name: "after DeleteRecords to the end: -1", do: listedAfterDelete(4, latest), want: "OK 4 at -1"},
		{name: "after DeleteRecords to the end: -2", do: listedAfterDelete(4, earliest), want: "OK 4 at -1"},
		{name: "after DeleteRecords to the end: -4", do: listedAfterDelete(4, earliestLocal), want: "OK 4 at -1"},
		{name: "after DeleteRecords to the end: 1000", do: listedAfterDelete(4, 1000), want: "OK -1 at -1"},
		{name: "after DeleteRecords to the end: -3", do: listedAfterDelete(4, maxTimestamp), want: "OK 1 at 3000", korvet: differs("OK -1 at -1", "Largest timestamp")},
		{name: "unknown topic", do: listedUnknown, want: "UNKNOWN_TOPIC_OR_PARTITION -1"},
		{name: "unknown partition", do: listedChanged(func(p *kmsg.ListOffsetsRequestTopicPartition) { p.Partition = 4 }), want: "UNKNOWN_TOPIC_OR_PARTITION -1"},
		{name: "leader epoch too new", do: listedChanged(func(p *kmsg.ListOffsetsRequestTopicPartition) { p.CurrentLeaderEpoch = 1 << 30 }), want: "UNKNOWN_LEADER_EPOCH -1"},
		{name: "a partition twice", do: listedTwice, want: "INVALID_REQUEST"},
		{name: "read committed, latest", do: listedCommitted, want: "OK 4"},
	}
	for _, r := range []struct {
		timestamp int64
		want      string
	}{
		{latest, "OK 4 at -1 epoch current"},
		{earliest, "OK 0 at -1 epoch current"},
		{earliestLocal, "OK 0 at -1 epoch current"},
		{maxTimestamp, "OK 1 at 3000 epoch current"},
		{0, "OK 0 at 1000 epoch current"},
		{1000, "OK 0 at 1000 epoch current"},
		{1001, "OK 1 at 3000 epoch current"},
		{2000, "OK 1 at 3000 epoch current"},
		{3000, "OK 1 at 3000 epoch current"},
		{3001, "OK -1 at -1 epoch -1"},
		{1 << 62, "OK -1 at -1 epoch -1"},
		{math.MaxInt64, "OK -1 at -1 epoch -1"},
	} {
		rows = append(rows, row{name: fmt.Sprint(r.timestamp), do: listed(9, r.timestamp), want: r.want})
	}
	for _, timestamp := range []int64{0, 1000, maxTimestamp} {
		rows = append(rows, row{name: fmt.Sprintf("%d on an empty partition", timestamp), do: listedEmpty(timestamp), want: "OK -1 at -1"})
	}
	return rows
}

// clock makes the topic that the rows are about.
func (c *conn) clock() topic {
	c.t.Helper()
	t := c.newTopic("retention.ms=-1")
	c.must(t, stamped(1000), stamped(3000), stamped(2000), stamped(3000))
	return t
}

func listed(version int16, timestamp int64) func(*conn) string {
	return func(c *conn) string {
		t := c.clock()
		p := c.listOffset(version, t, timestamp)
		epoch := fmt.Sprint(p.LeaderEpoch)
		if p.LeaderEpoch == c.metadata(12, t.name).Topics[0].Partitions[0].LeaderEpoch {
			epoch = "current"
		}
		return fmt.Sprintf("%s %d at %d epoch %s", code(p.ErrorCode), p.Offset, p.Timestamp, epoch)
	}
}

func describeListed(p kmsg.ListOffsetsResponseTopicPartition) string {
	return fmt.Sprintf("%s %d at %d", code(p.ErrorCode), p.Offset, p.Timestamp)
}

func listedInBatch(timestamp int64) func(*conn) string {
	return func(c *conn) string {
		t := c.newTopic("retention.ms=-1")
		c.must(t, stamped(1000, 1010, 1020))
		return describeListed(c.listOffset(9, t, timestamp))
	}
}

func listedAfterDelete(offset, timestamp int64) func(*conn) string {
	return func(c *conn) string {
		t := c.clock()
		c.deleted(t, offset)
		return describeListed(c.listOffset(9, t, timestamp))
	}
}

func listedEmpty(timestamp int64) func(*conn) string {
	return func(c *conn) string { return describeListed(c.listOffset(9, c.newTopic(), timestamp)) }
}

func listedUnknown(c *conn) string {
	p := c.listOffset(9, topic{name: newName()}, latest)
	return fmt.Sprintf("%s %d", code(p.ErrorCode), p.Offset)
}

func listedChanged(change func(*kmsg.ListOffsetsRequestTopicPartition)) func(*conn) string {
	return func(c *conn) string {
		req := listOffsets(9, c.newTopic(), latest)
		change(&req.Topics[0].Partitions[0])
		p := ask[*kmsg.ListOffsetsResponse](c, req).Topics[0].Partitions[0]
		return fmt.Sprintf("%s %d", code(p.ErrorCode), p.Offset)
	}
}

func listedTwice(c *conn) string {
	req := listOffsets(9, c.newTopic(), latest)
	req.Topics[0].Partitions = append(req.Topics[0].Partitions, req.Topics[0].Partitions[0])
	return code(ask[*kmsg.ListOffsetsResponse](c, req).Topics[0].Partitions[0].ErrorCode)
}

func listedCommitted(c *conn) string {
	req := listOffsets(9, c.clock(), latest)
	req.IsolationLevel = 1
	p := ask[*kmsg.ListOffsetsResponse](c, req).Topics[0].Partitions[0]
	return fmt.Sprintf("%s %d", code(p.ErrorCode), p.Offset)
}
