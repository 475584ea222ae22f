package api

import (
	"fmt"
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/korvet-io/korvet/internal/topicconfig"
)

// newTopic is a request for one topic with broker defaults, and settings as name, value pairs.
func newTopic(name string, settings ...string) kmsg.CreateTopicsRequestTopic {
	t := kmsg.NewCreateTopicsRequestTopic()
	t.Topic, t.NumPartitions, t.ReplicationFactor = name, -1, -1
	for i := 0; i < len(settings); i += 2 {
		t.Configs = append(t.Configs, kmsg.CreateTopicsRequestTopicConfig{Name: settings[i], Value: &settings[i+1]})
	}
	return t
}

func createRequest(topics ...kmsg.CreateTopicsRequestTopic) *kmsg.CreateTopicsRequest {
	req := kmsg.NewPtrCreateTopicsRequest()
	req.Topics = topics
	return req
}

func (b *broker) createOutcome(t kmsg.CreateTopicsRequestTopic) string {
	b.t.Helper()
	resp := do[*kmsg.CreateTopicsResponse](b, createRequest(t), 7)
	if len(resp.Topics) != 1 || resp.Topics[0].Topic != t.Topic {
		b.t.Fatalf("answers %+v", resp.Topics)
	}
	r := resp.Topics[0]
	if made := b.topics.byName[t.Topic] != nil; made != (r.ErrorCode == 0) && codeName(r.ErrorCode) != "TOPIC_ALREADY_EXISTS" {
		b.t.Errorf("%s: %s, exists afterwards: %v", t.Topic, codeName(r.ErrorCode), made)
	}
	if (r.ErrorCode == 0) != (r.ErrorMessage == nil) {
		b.t.Errorf("%s: %s with message %v", t.Topic, codeName(r.ErrorCode), r.ErrorMessage)
	}
	return codeName(r.ErrorCode)
}

func TestCreateTopicsAnswersAsKafka(t *testing.T) {
	counts := func(name string, partitions int32, factor int16) kmsg.CreateTopicsRequestTopic {
		n := newTopic(name)
		n.NumPartitions, n.ReplicationFactor = partitions, factor
		return n
	}
	null := newTopic("n", "retention.ms", "1")
	null.Configs[0].Value = nil
	for _, c := range []struct {
		what  string
		topic kmsg.CreateTopicsRequestTopic
		want  string
	}{
		{"defaults", newTopic("n"), "OK"},
		{"partitions 0", counts("n", 0, 1), "INVALID_PARTITIONS"},
		{"partitions -2", counts("n", -2, 1), "INVALID_PARTITIONS"},
		{"a billion partitions", counts("n", 1_000_000_000, 1), "POLICY_VIOLATION"},
		{"replication factor 0", counts("n", 1, 0), "INVALID_REPLICATION_FACTOR"},
		{"replication factor -2", counts("n", 1, -2), "INVALID_REPLICATION_FACTOR"},
		{"replication factor 3, unlike Kafka", counts("n", 1, 3), "OK"},
		{"empty name", newTopic(""), "INVALID_TOPIC_EXCEPTION"},
		{"name .", newTopic("."), "INVALID_TOPIC_EXCEPTION"},
		{"name ..", newTopic(".."), "INVALID_TOPIC_EXCEPTION"},
		{"name ...", newTopic("..."), "OK"},
		{"249 characters", newTopic(strings.Repeat("x", 249)), "OK"},
		{"250 characters", newTopic(strings.Repeat("x", 250)), "INVALID_TOPIC_EXCEPTION"},
		{"name with /", newTopic("a/b"), "INVALID_TOPIC_EXCEPTION"},
		{"name with a blank", newTopic("a b"), "INVALID_TOPIC_EXCEPTION"},
		{"name with :", newTopic("a:b"), "INVALID_TOPIC_EXCEPTION"},
		{"name with a brace", newTopic("a{b"), "INVALID_TOPIC_EXCEPTION"},
		{"name that is not ASCII", newTopic("ä"), "INVALID_TOPIC_EXCEPTION"},
		{"collision", newTopic("c.d"), "INVALID_TOPIC_EXCEPTION"},
		{"exists", newTopic("t"), "TOPIC_ALREADY_EXISTS"},
		{"KRaft's own log", newTopic("__cluster_metadata"), "INVALID_REQUEST"},
		{"unknown setting", newTopic("n", "no.such", "1"), "INVALID_CONFIG"},
		{"wrong type", newTopic("n", "retention.ms", "soon"), "INVALID_CONFIG"},
		{"out of range", newTopic("n", "segment.bytes", "1048575"), "INVALID_CONFIG"},
		{"unknown policy", newTopic("n", "cleanup.policy", "keep"), "INVALID_CONFIG"},
		{"null value", null, "INVALID_CONFIG"},
		{"empty policy", newTopic("n", "cleanup.policy", ""), "OK"},
		{"a setting twice", newTopic("n", "retention.ms", "x", "retention.ms", "2"), "OK"},
		{"min.insync.replicas=2", newTopic("n", "min.insync.replicas", "2"), "OK"},
		{"tiered without a store", newTopic("n", "remote.storage.enable", "true"), "INVALID_CONFIG"},
		{"local retention above the total, not tiered", newTopic("n", "local.retention.ms", "2", "retention.ms", "1"), "OK"},
		{"very long value", newTopic("n", "leader.replication.throttled.replicas", strings.Repeat("0:1,", 10000)), "INVALID_CONFIG"},
	} {
		b := newBroker(t, nil)
		b.create("c_d", 1, nil)
		if got := b.createOutcome(c.topic); got != c.want {
			t.Errorf("%s: %s, want %s", c.what, got, c.want)
		}
	}
}

func TestTieredTopicsAreCheckedAsKafkaDoes(t *testing.T) {
	for _, c := range []struct {
		settings []string
		want     string
	}{
		{nil, "OK"},
		{[]string{"local.retention.ms", "2", "retention.ms", "1"}, "INVALID_CONFIG"},
		{[]string{"local.retention.bytes", "2", "retention.bytes", "1"}, "INVALID_CONFIG"},
		{[]string{"local.retention.ms", "-1"}, "INVALID_CONFIG"},
		{[]string{"cleanup.policy", "compact"}, "INVALID_CONFIG"},
		{[]string{"cleanup.policy", "compact,delete"}, "INVALID_CONFIG"},
	} {
		b := newBroker(t, nil)
		b.api.schema, _ = topicconfig.New(topicconfig.Options{RemoteStorage: true})
		if got := b.createOutcome(newTopic("n", append(c.settings, "remote.storage.enable", "true")...)); got != c.want {
			t.Errorf("%v: %s, want %s", c.settings, got, c.want)
		}
	}
}

func TestManualAssignmentsAreCheckedAsKafkaDoes(t *testing.T) {
	assign := func(lists ...[]int32) (list []kmsg.CreateTopicsRequestTopicReplicaAssignment) {
		for i, replicas := range lists {
			list = append(list, kmsg.CreateTopicsRequestTopicReplicaAssignment{Partition: int32(i), Replicas: replicas})
		}
		return list
	}
	gap := assign([]int32{1}, []int32{1})
	gap[1].Partition = 2
	for _, c := range []struct {
		what       string
		partitions int32
		factor     int16
		assignment []kmsg.CreateTopicsRequestTopicReplicaAssignment
		want       string
	}{
		{"this broker", -1, -1, assign([]int32{1}, []int32{1}), "OK"},
		{"unknown broker", -1, -1, assign([]int32{99}), "INVALID_REPLICA_ASSIGNMENT"},
		{"a broker twice", -1, -1, assign([]int32{1, 1}), "INVALID_REPLICA_ASSIGNMENT"},
		{"no broker", -1, -1, assign([]int32{}), "INVALID_REPLICA_ASSIGNMENT"},
		{"a gap", -1, -1, gap, "INVALID_REPLICA_ASSIGNMENT"},
		{"and a replication factor", -1, 1, assign([]int32{1}), "INVALID_REQUEST"},
		{"and a partition count", 1, -1, assign([]int32{1}), "INVALID_REQUEST"},
	} {
		b := newBroker(t, nil)
		n := newTopic("n")
		n.NumPartitions, n.ReplicationFactor, n.ReplicaAssignment = c.partitions, c.factor, c.assignment
		if got := b.createOutcome(n); got != c.want {
			t.Errorf("%s: %s, want %s", c.what, got, c.want)
		}
		if c.want == "OK" && b.topics.byName["n"].Partitions != int32(len(c.assignment)) {
			t.Errorf("%s: %d partitions", c.what, b.topics.byName["n"].Partitions)
		}
	}
}

func TestCreateTopicsTellsCountsIDAndAllSettings(t *testing.T) {
	b := newBroker(t, func(s *Settings) { s.NumPartitions = 4 })
	for version := int16(0); version <= 7; version++ {
		n := newTopic(fmt.Sprintf("n%d", version), "retention.ms", " 5 ")
		n.ReplicationFactor = 3
		r := do[*kmsg.CreateTopicsResponse](b, createRequest(n), version).Topics[0]
		if r.ErrorCode != 0 {
			t.Fatalf("v%d: %s", version, codeName(r.ErrorCode))
		}
		if version >= 7 && r.TopicID == [16]byte{} {
			t.Errorf("v%d: no id", version)
		}
		if version < 5 {
			continue
		}
		if r.NumPartitions != 4 || r.ReplicationFactor != 1 || len(r.Configs) != len(b.api.schema.Settings()) {
			t.Errorf("v%d: %d partitions, factor %d, %d settings", version, r.NumPartitions, r.ReplicationFactor, len(r.Configs))
		}
		for _, c := range r.Configs {
			if c.Name == "retention.ms" && (*c.Value != "5" || c.Source != int8(kmsg.ConfigSourceDynamicTopicConfig)) ||
				c.Name == "retention.bytes" && (*c.Value != "-1" || c.Source != int8(kmsg.ConfigSourceDefaultConfig)) {
				t.Errorf("v%d: %s=%s from %d", version, c.Name, *c.Value, c.Source)
			}
		}
	}
}

func TestEachTopicOfARequestHasItsOwnAnswer(t *testing.T) {
	b := newBroker(t, nil)
	resp := do[*kmsg.CreateTopicsResponse](b, createRequest(newTopic("twice"), newTopic("a b"), newTopic("good"), newTopic("twice")), 7)
	var got []string
	for _, r := range resp.Topics {
		got = append(got, r.Topic+":"+codeName(r.ErrorCode))
	}
	if want := "twice:INVALID_REQUEST a b:INVALID_TOPIC_EXCEPTION good:OK"; strings.Join(got, " ") != want {
		t.Errorf("answers %v, want %s", got, want)
	}
	if b.topics.byName["good"] == nil || b.topics.byName["twice"] != nil {
		t.Error("the good topic alone must be created")
	}
}

func TestValidateOnlyCreatesNothing(t *testing.T) {
	b := newBroker(t, nil)
	req := createRequest(newTopic("n"), newTopic("t"))
	req.ValidateOnly = true
	resp := do[*kmsg.CreateTopicsResponse](b, req, 7)
	if codeName(resp.Topics[0].ErrorCode) != "OK" || codeName(resp.Topics[1].ErrorCode) != "TOPIC_ALREADY_EXISTS" || b.topics.byName["n"] != nil {
		t.Errorf("answers %+v", resp.Topics)
	}
}

func TestPartitionsOfAllTopicsAreBounded(t *testing.T) {
	b := newBroker(t, func(s *Settings) { s.MaxPartitionsTotal = 10 })
	n := newTopic("n")
	n.NumPartitions = 7 // beside the four that are there
	if got := b.createOutcome(n); got != "POLICY_VIOLATION" {
		t.Errorf("eleven partitions: %s", got)
	}
	n.NumPartitions = 6
	if got := b.createOutcome(n); got != "OK" {
		t.Errorf("ten partitions: %s", got)
	}
}

func TestPartitionsOfOneRequestAreBounded(t *testing.T) {
	b := newBroker(t, func(s *Settings) { s.MaxPartitions = 3 })
	req := createRequest(newTopic("a"), newTopic("b"), newTopic("t"), newTopic("c"), newTopic("d"))
	var got []string
	for _, r := range do[*kmsg.CreateTopicsResponse](b, req, 7).Topics {
		got = append(got, codeName(r.ErrorCode))
	}
	if want := "OK OK TOPIC_ALREADY_EXISTS OK POLICY_VIOLATION"; strings.Join(got, " ") != want {
		t.Errorf("answers %v, want %s", got, want)
	}
}

func TestLoweredMinInsyncReplicasIsLogged(t *testing.T) {
	b := newBroker(t, func(s *Settings) { s.RedisReplicas = 1 })
	b.createOutcome(newTopic("two", "min.insync.replicas", "2"))
	if strings.Contains(b.lines.String(), "min.insync.replicas") {
		t.Errorf("logged although Redis has a replica: %s", b.lines)
	}
	b.createOutcome(newTopic("three", "min.insync.replicas", "3"))
	if !strings.Contains(b.lines.String(), "topic=three set=3 counts=2") {
		t.Errorf("not logged: %s", b.lines)
	}
}
