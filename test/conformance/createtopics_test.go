package conformance

import (
	"fmt"
	"strings"

	"github.com/twmb/franz-go/pkg/kmsg"
)

func createTopicsRows() []row {
	rows := []row{
		{name: "partitions -1, replication factor -1", do: created(-1, -1), want: "OK 1 1"},
		{name: "partitions 0", do: created(0, 1), want: "INVALID_PARTITIONS"},
		{name: "partitions -2", do: created(-2, 1), want: "INVALID_PARTITIONS"},
		{name: "partitions 10001", do: created(10001, 1), want: "POLICY_VIOLATION"},
		{name: "partitions 2147483647", do: created(2147483647, 1), want: "POLICY_VIOLATION"},
		{name: "replication factor 0", do: created(1, 0), want: "INVALID_REPLICATION_FACTOR"},
		{name: "replication factor -2", do: created(1, -2), want: "INVALID_REPLICATION_FACTOR"},
		{name: "replication factor 2 on one broker", do: created(1, 2), want: "INVALID_REPLICATION_FACTOR", korvet: differs("OK 1 1", "Replication factor")},
		{name: "replication factor 3 on one broker", do: created(1, 3), want: "INVALID_REPLICATION_FACTOR", korvet: differs("OK 1 1", "Replication factor")},
		{name: "a.b while a_b exists", do: createColliding, want: "INVALID_TOPIC_EXCEPTION"},
		{name: "exists", do: createExisting(false), want: "TOPIC_ALREADY_EXISTS"},
		{name: "exists, validate_only", do: createExisting(true), want: "TOPIC_ALREADY_EXISTS"},
		{name: "a name twice in one request", do: createTwice, want: "1 answer, INVALID_REQUEST"},
		{name: "one bad and one good topic", do: createBadAndGood, want: "INVALID_PARTITIONS, OK, created"},
		{name: "validate_only", do: createValidateOnly, want: "OK, nothing created"},
		{name: "setting with a null value", do: createNullSetting, want: "INVALID_CONFIG"},
		{name: "a setting twice", do: createdWith("retention.ms", "retention.ms=1000", "retention.ms=2000"), want: "OK 2000 source 1"},
		{name: "cleanup.policy empty", do: createdWith("cleanup.policy", "cleanup.policy="), want: "OK  source 1"},
		{name: "min.insync.replicas=2 with one replica, acks -1", do: createMinInsync, want: "OK @0"},
		{name: "local.retention.ms above retention.ms, not tiered", do: createdWith("local.retention.ms", "retention.ms=1000", "local.retention.ms=2000"), want: "OK 2000 source 1"},
		{name: "assignment to an unknown broker", do: createAssigned(-1, -1, 99), want: "INVALID_REPLICA_ASSIGNMENT"},
		{name: "assignment and a partition count", do: createAssigned(1, -1, 0), want: "INVALID_REQUEST"},
		{name: "assignment of partition 1 only", do: createAssignment(1), want: "INVALID_REPLICA_ASSIGNMENT"},
		{name: "assignment of partition -1", do: createAssignment(-1), want: "INVALID_REPLICA_ASSIGNMENT"},
		{name: "assignment of partition 0 twice", do: createAssignment(0, 0), want: "INVALID_REPLICA_ASSIGNMENT"},
		{name: "assignment of partitions 0 and 2", do: createAssignment(0, 2), want: "INVALID_REPLICA_ASSIGNMENT"},
		{name: "assignment of partitions 1 and 0", do: createAssignment(1, 0), want: "OK 2 1"},
		{name: "no topics", do: createNone, want: "0 answers"},
		{name: "assignment and a replication factor", do: createAssigned(-1, 1, 0), want: "INVALID_REQUEST"},
		{name: "assignment to this broker", do: createAssignment(0), want: "OK 1 1"},
		{name: "answer lists all settings with their source", do: createListsSettings, want: "OK retention.ms=1000 source 1, cleanup.policy=delete source 5, more than 30"},
		{name: "usable at once", do: createUsable, want: "OK @0"},
	}
	return append(rows, createNameRows()...)
}

func createNameRows() []row {
	var rows []row
	for _, n := range []struct{ title, name, want string }{
		{"empty", "", "INVALID_TOPIC_EXCEPTION"},
		{".", ".", "INVALID_TOPIC_EXCEPTION"},
		{"..", "..", "INVALID_TOPIC_EXCEPTION"},
		{"of 250 characters", strings.Repeat("x", 250), "INVALID_TOPIC_EXCEPTION"},
		{"with slash", "a/b", "INVALID_TOPIC_EXCEPTION"},
		{"with blank", "a b", "INVALID_TOPIC_EXCEPTION"},
		{"with colon", "a:b", "INVALID_TOPIC_EXCEPTION"},
		{"with brace", "a{b}", "INVALID_TOPIC_EXCEPTION"},
		{"with a non-ASCII letter", "ä", "INVALID_TOPIC_EXCEPTION"},
		{"...", "...", "OK"},
		{"of 249 characters", strings.Repeat("y", 249), "OK"},
	} {
		rows = append(rows, row{name: "name " + n.title, want: n.want, do: func(c *conn) string {
			resp := ask[*kmsg.CreateTopicsResponse](c, createTopics(7, newTopicRequest(n.name, 1, 1)))
			if resp.Topics[0].ErrorCode == 0 {
				c.remove(n.name)
			}
			return code(resp.Topics[0].ErrorCode)
		}})
	}
	return rows
}

// created describes the answer to a creation by partition count and replication factor.
func created(partitions int32, replication int16) func(*conn) string {
	return func(c *conn) string {
		return describeCreated(c, createTopics(7, newTopicRequest(newName(), partitions, replication)))
	}
}

func describeCreated(c *conn, req *kmsg.CreateTopicsRequest) string {
	got := ask[*kmsg.CreateTopicsResponse](c, req).Topics[0]
	if got.ErrorCode != 0 {
		return code(got.ErrorCode)
	}
	return fmt.Sprintf("OK %d %d", got.NumPartitions, got.ReplicationFactor)
}

// createdWith creates a topic with settings and tells how the answer shows the one of that name.
func createdWith(show string, settings ...string) func(*conn) string {
	return func(c *conn) string {
		got := ask[*kmsg.CreateTopicsResponse](c, createTopics(7, newTopicRequest(newName(), 1, 1, settings...))).Topics[0]
		if got.ErrorCode != 0 {
			return code(got.ErrorCode)
		}
		for _, s := range got.Configs {
			if s.Name == show {
				return fmt.Sprintf("OK %s source %d", text(s.Value), s.Source)
			}
		}
		return "OK without " + show
	}
}

func createColliding(c *conn) string {
	name := newName()
	c.create(name+"_b", 1)
	return describeCreated(c, createTopics(7, newTopicRequest(name+".b", 1, 1)))
}

func createExisting(validateOnly bool) func(*conn) string {
	return func(c *conn) string {
		t := c.newTopic()
		req := createTopics(7, newTopicRequest(t.name, 1, 1))
		req.ValidateOnly = validateOnly
		return describeCreated(c, req)
	}
}

func createTwice(c *conn) string {
	name := newName()
	resp := ask[*kmsg.CreateTopicsResponse](c, createTopics(7, newTopicRequest(name, 1, 1), newTopicRequest(name, 1, 1)))
	return fmt.Sprintf("%d answer, %s", len(resp.Topics), code(resp.Topics[0].ErrorCode))
}

func createBadAndGood(c *conn) string {
	bad, good := newName(), newName()
	resp := ask[*kmsg.CreateTopicsResponse](c, createTopics(7, newTopicRequest(bad, 0, 1), newTopicRequest(good, 1, 1)))
	answers := map[string]string{}
	for _, t := range resp.Topics {
		answers[t.Topic] = code(t.ErrorCode)
	}
	c.awaitTopic(good, 1)
	return answers[bad] + ", " + answers[good] + ", created"
}

func createValidateOnly(c *conn) string {
	name := newName()
	req := createTopics(7, newTopicRequest(name, 1, 1))
	req.ValidateOnly = true
	got := code(ask[*kmsg.CreateTopicsResponse](c, req).Topics[0].ErrorCode)
	if code(c.metadata(12, name).Topics[0].ErrorCode) == "UNKNOWN_TOPIC_OR_PARTITION" {
		got += ", nothing created"
	}
	return got
}

func createNullSetting(c *conn) string {
	t := newTopicRequest(newName(), 1, 1)
	config := kmsg.NewCreateTopicsRequestTopicConfig()
	config.Name = "retention.ms"
	t.Configs = append(t.Configs, config)
	return describeCreated(c, createTopics(7, t))
}

func createMinInsync(c *conn) string {
	t := c.newTopic("min.insync.replicas=2")
	return c.produced(produceTo(9, t, -1, values("v").bytes()))
}

func createAssigned(partitions int32, replication int16, broker int32) func(*conn) string {
	return func(c *conn) string {
		t := newTopicRequest(newName(), partitions, replication)
		a := kmsg.NewCreateTopicsRequestTopicReplicaAssignment()
		a.Replicas = []int32{broker}
		t.ReplicaAssignment = append(t.ReplicaAssignment, a)
		return describeCreated(c, createTopics(7, t))
	}
}

// createAssignment assigns these partitions to the one broker.
func createAssignment(partitions ...int32) func(*conn) string {
	return func(c *conn) string {
		t := newTopicRequest(newName(), -1, -1)
		broker := c.metadata(12).Brokers[0].NodeID
		for _, p := range partitions {
			a := kmsg.NewCreateTopicsRequestTopicReplicaAssignment()
			a.Partition, a.Replicas = p, []int32{broker}
			t.ReplicaAssignment = append(t.ReplicaAssignment, a)
		}
		return describeCreated(c, createTopics(7, t))
	}
}

func createNone(c *conn) string {
	return fmt.Sprintf("%d answers", len(ask[*kmsg.CreateTopicsResponse](c, createTopics(7)).Topics))
}

func createListsSettings(c *conn) string {
	got := ask[*kmsg.CreateTopicsResponse](c, createTopics(5, newTopicRequest(newName(), 1, 1, "retention.ms=1000"))).Topics[0]
	s := code(got.ErrorCode)
	for _, name := range []string{"retention.ms", "cleanup.policy"} {
		for _, config := range got.Configs {
			if config.Name == name {
				s += fmt.Sprintf(" %s=%s source %d,", name, text(config.Value), config.Source)
			}
		}
	}
	if len(got.Configs) > 30 {
		s += " more than 30"
	}
	return s
}

// createUsable: on korvet nothing needs to be awaited between creation and use.
func createUsable(c *conn) string {
	name := newName()
	c.create(name, 1)
	if !c.to.korvet {
		c.awaitTopic(name, 1)
	}
	return c.produced(produceTo(9, topic{name: name}, -1, values("v").bytes()))
}
