package conformance

import (
	"fmt"

	"github.com/twmb/franz-go/pkg/kmsg"
)

func deleteTopicsRows() []row {
	return []row{
		{name: "unknown name", do: deletedName(newName()), want: "UNKNOWN_TOPIC_OR_PARTITION"},
		{name: "invalid name", do: deletedName("a/b"), want: "UNKNOWN_TOPIC_OR_PARTITION"},
		{name: "unknown id", do: deletedTopic(deletion(nil, [16]byte{9, 9})), want: "UNKNOWN_TOPIC_ID"},
		{name: "neither name nor id", do: deletedTopic(deletion(nil, [16]byte{})), want: "INVALID_REQUEST"},
		{name: "both name and id", do: deletedTopic(deletion(kmsg.StringPtr("both"), [16]byte{9, 9})), want: "INVALID_REQUEST"},
		{name: "a name twice", do: deletedTwice, want: "1 answer, INVALID_REQUEST"},
		{name: "by id", do: deletedByID, want: "OK with name, gone"},
		{name: "delete, create again", do: deleteAndCreate, want: "new id, 0 records, first offset 0"},
		{name: "a consumer's offset of the former life", do: deleteUnderConsumer, want: "OFFSET_OUT_OF_RANGE"},
		{name: "fetch by the former id", do: fetchFormerID, want: "UNKNOWN_TOPIC_ID"},
		{name: "produce by the former id", do: produceFormerID, want: "UNKNOWN_TOPIC_ID"},
	}
}

func deletedName(name string) func(*conn) string {
	return func(c *conn) string {
		return code(ask[*kmsg.DeleteTopicsResponse](c, deleteTopics(6, name)).Topics[0].ErrorCode)
	}
}

func deletion(name *string, id [16]byte) kmsg.DeleteTopicsRequestTopic {
	t := kmsg.NewDeleteTopicsRequestTopic()
	t.Topic, t.TopicID = name, id
	return t
}

func deletedTopic(t kmsg.DeleteTopicsRequestTopic) func(*conn) string {
	return func(c *conn) string {
		req := deleteTopics(6)
		req.Topics = append(req.Topics, t)
		return code(ask[*kmsg.DeleteTopicsResponse](c, req).Topics[0].ErrorCode)
	}
}

func deletedTwice(c *conn) string {
	name := c.newTopic().name
	resp := ask[*kmsg.DeleteTopicsResponse](c, deleteTopics(6, name, name))
	return fmt.Sprintf("%d answer, %s", len(resp.Topics), code(resp.Topics[0].ErrorCode))
}

func deletedByID(c *conn) string {
	t := c.newTopic()
	req := deleteTopics(6)
	req.Topics = append(req.Topics, deletion(nil, t.id))
	got := ask[*kmsg.DeleteTopicsResponse](c, req).Topics[0]
	s := code(got.ErrorCode)
	if text(got.Topic) == t.name && got.TopicID == t.id {
		s += " with name"
	}
	c.eventually("topic is gone", func() bool {
		return code(c.metadata(12, t.name).Topics[0].ErrorCode) == "UNKNOWN_TOPIC_OR_PARTITION"
	})
	return s + ", gone"
}

// recreated makes a topic with five records, deletes it, creates it again, and returns both lives.
func (c *conn) recreated() (before, after topic) {
	c.t.Helper()
	before = c.newTopic()
	c.must(before, values("1", "2", "3", "4", "5"))
	c.remove(before.name)
	c.create(before.name, 1)
	return before, topic{name: before.name, id: c.awaitTopic(before.name, 1)}
}

func deleteAndCreate(c *conn) string {
	before, after := c.recreated()
	s := "same id"
	if before.id != after.id {
		s = "new id"
	}
	s += fmt.Sprintf(", %d records", c.end(after))
	return s + fmt.Sprintf(", first offset %d", c.must(after, values("new")))
}

func deleteUnderConsumer(c *conn) string {
	_, after := c.recreated()
	return c.fetched(after, fetchAt(5))
}

func fetchFormerID(c *conn) string {
	before, _ := c.recreated()
	o := fetchAt(0)
	o.version = 13
	return c.fetched(before, o)
}

func produceFormerID(c *conn) string {
	before, _ := c.recreated()
	return c.produced(produceTo(13, before, -1, values("v").bytes()))
}

func createPartitionsRows() []row {
	return []row{
		{name: "more", do: grown(3, nil), want: "OK, 3 partitions"},
		{name: "more, then produce to the new one", do: grownAndUsed, want: "OK @0"},
		{name: "to the same number", do: grown(2, nil), want: "INVALID_PARTITIONS, 2 partitions"},
		{name: "fewer", do: grown(1, nil), want: "INVALID_PARTITIONS, 2 partitions"},
		{name: "0", do: grown(0, nil), want: "INVALID_PARTITIONS, 2 partitions"},
		{name: "-1", do: grown(-1, nil), want: "INVALID_PARTITIONS, 2 partitions"},
		{name: "2147483647", do: grown(2147483647, nil), want: "POLICY_VIOLATION, 2 partitions"},
		{name: "validate_only", do: grownValidateOnly, want: "OK, 2 partitions"},
		{name: "unknown topic", do: grownUnknown, want: "UNKNOWN_TOPIC_OR_PARTITION"},
		{name: "named twice", do: grownTwice, want: "INVALID_REQUEST"},
		{name: "assignment list of the wrong length", do: grown(3, [][]int32{{0}, {0}}), want: "INVALID_REPLICA_ASSIGNMENT, 2 partitions"},
		{name: "assignment to an unknown broker", do: grown(3, [][]int32{{99}}), want: "INVALID_REPLICA_ASSIGNMENT, 2 partitions"},
	}
}

func createPartitions(version int16, name string, count int32, assignment [][]int32) *kmsg.CreatePartitionsRequest {
	t := kmsg.NewCreatePartitionsRequestTopic()
	t.Topic, t.Count = name, count
	for _, replicas := range assignment {
		t.Assignment = append(t.Assignment, kmsg.CreatePartitionsRequestTopicAssignment{Replicas: replicas})
	}
	req := kmsg.NewPtrCreatePartitionsRequest()
	req.Version = version
	req.TimeoutMillis = requestTimeout
	req.Topics = append(req.Topics, t)
	return req
}

// grown asks for that many partitions of a topic that has two.
func grown(count int32, assignment [][]int32) func(*conn) string {
	return func(c *conn) string {
		t := c.newTopicOf(2)
		got := ask[*kmsg.CreatePartitionsResponse](c, createPartitions(3, t.name, count, assignment)).Topics[0]
		want := 2
		if got.ErrorCode == 0 {
			want = int(count)
		}
		c.awaitTopic(t.name, want)
		return fmt.Sprintf("%s, %d partitions", code(got.ErrorCode), want)
	}
}

func grownAndUsed(c *conn) string {
	t := c.newTopic()
	ask[*kmsg.CreatePartitionsResponse](c, createPartitions(3, t.name, 2, nil))
	c.awaitTopic(t.name, 2)
	req := produceTo(9, t, -1, values("v").bytes())
	req.Topics[0].Partitions[0].Partition = 1
	return c.produced(req)
}

func grownValidateOnly(c *conn) string {
	t := c.newTopicOf(2)
	req := createPartitions(3, t.name, 3, nil)
	req.ValidateOnly = true
	got := ask[*kmsg.CreatePartitionsResponse](c, req).Topics[0]
	return fmt.Sprintf("%s, %d partitions", code(got.ErrorCode), len(c.metadata(12, t.name).Topics[0].Partitions))
}

func grownUnknown(c *conn) string {
	return code(ask[*kmsg.CreatePartitionsResponse](c, createPartitions(3, newName(), 2, nil)).Topics[0].ErrorCode)
}

func grownTwice(c *conn) string {
	t := c.newTopic()
	req := createPartitions(3, t.name, 2, nil)
	req.Topics = append(req.Topics, req.Topics[0])
	return code(ask[*kmsg.CreatePartitionsResponse](c, req).Topics[0].ErrorCode)
}
