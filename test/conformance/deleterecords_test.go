package conformance

import (
	"fmt"

	"github.com/twmb/franz-go/pkg/kmsg"
)

func deleteRecordsRows() []row {
	return []row{
		{name: "2", do: deletedTo(2), want: "OK 2, from 2 to 3"},
		{name: "-1", do: deletedTo(-1), want: "OK 3, from 3 to 3"},
		{name: "3", do: deletedTo(3), want: "OK 3, from 3 to 3"},
		{name: "0", do: deletedTo(0), want: "OK 0, from 0 to 3"},
		{name: "4", do: deletedTo(4), want: "OFFSET_OUT_OF_RANGE, from 0 to 3"},
		{name: "-2", do: deletedTo(-2), want: "OFFSET_OUT_OF_RANGE, from 0 to 3"},
		{name: "below the start", do: deletedTo(2, 1), want: "OK 2, OK 2, from 2 to 3"},
		{name: "inside a batch", do: deletedInside, want: "OK 1; OK [0-2]", rebuilt: "OK 1; OK [1-2]"},
		{name: "unknown topic", do: deletedUnknown, want: "UNKNOWN_TOPIC_OR_PARTITION"},
		{name: "unknown partition", do: deletedPartition(9), want: "UNKNOWN_TOPIC_OR_PARTITION"},
		{name: "partition -1", do: deletedPartition(-1), want: "UNKNOWN_TOPIC_OR_PARTITION"},
		{name: "compacted", do: deletedPolicy("compact"), want: "POLICY_VIOLATION"},
		{name: "compact,delete", do: deletedPolicy("compact,delete"), want: "OK 1"},
		{name: "internal", do: deletedInternal, want: "INVALID_TOPIC_EXCEPTION", korvet: differs("UNKNOWN_TOPIC_OR_PARTITION", "Internal topics")},
		{name: "then produce goes on at the end", do: deletedThenProduced, want: "OK 3, @3"},
	}
}

// deletedTo deletes from a topic of three records, maybe several times, and tells the log's ends.
func deletedTo(offsets ...int64) func(*conn) string {
	return func(c *conn) string {
		t := c.newTopic()
		c.must(t, values("0"), values("1"), values("2"))
		s := ""
		for _, o := range offsets {
			s += c.deleted(t, o) + ", "
		}
		return fmt.Sprintf("%sfrom %d to %d", s, c.listOffset(9, t, earliest).Offset, c.end(t))
	}
}

func deletedInside(c *conn) string {
	t := c.newTopic()
	c.must(t, values("0", "1", "2"))
	return c.deleted(t, 1) + "; " + c.fetched(t, fetchAt(1))
}

func deletedUnknown(c *conn) string { return c.deleted(topic{name: newName()}, 0) }

func deletedPartition(partition int32) func(*conn) string {
	return func(c *conn) string {
		req := deleteRecords(2, c.newTopic(), 0)
		req.Topics[0].Partitions[0].Partition = partition
		return code(ask[*kmsg.DeleteRecordsResponse](c, req).Topics[0].Partitions[0].ErrorCode)
	}
}

func deletedPolicy(policy string) func(*conn) string {
	return func(c *conn) string {
		t := c.newTopic("cleanup.policy=" + policy)
		c.must(t, batchOf(record{key: []byte("k"), timestamp: now()}, record{key: []byte("k"), timestamp: now()}))
		return c.deleted(t, 1)
	}
}

// deletedInternal makes Kafka create the topic first.
func deletedInternal(c *conn) string {
	producedInternal(c)
	return c.deleted(topic{name: "__consumer_offsets"}, 0)
}

func deletedThenProduced(c *conn) string {
	t := c.newTopic()
	c.must(t, values("0", "1", "2"))
	s := c.deleted(t, -1)
	return fmt.Sprintf("%s, @%d", s, c.must(t, values("3")))
}
