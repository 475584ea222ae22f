package api

import (
	"strings"
	"testing"

	"github.com/google/uuid"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/korvet-io/korvet/internal/metadata"
	"github.com/korvet-io/korvet/internal/partition"
)

func TestDeleteTopicsAnswersAsKafka(t *testing.T) {
	b := newBroker(t, nil)
	id := b.topics.byName["t"].ID
	name := func(n string) kmsg.DeleteTopicsRequestTopic { return kmsg.DeleteTopicsRequestTopic{Topic: &n} }
	both := name("t")
	both.TopicID = id
	for _, c := range []struct {
		what   string
		topics []kmsg.DeleteTopicsRequestTopic
		want   string
	}{
		{"unknown name", []kmsg.DeleteTopicsRequestTopic{name("none")}, "UNKNOWN_TOPIC_OR_PARTITION"},
		{"invalid name", []kmsg.DeleteTopicsRequestTopic{name("a/b")}, "UNKNOWN_TOPIC_OR_PARTITION"},
		{"unknown id", []kmsg.DeleteTopicsRequestTopic{{TopicID: uuid.Max}}, "UNKNOWN_TOPIC_ID"},
		{"neither", []kmsg.DeleteTopicsRequestTopic{{}, {}}, "INVALID_REQUEST INVALID_REQUEST"},
		{"both", []kmsg.DeleteTopicsRequestTopic{both}, "INVALID_REQUEST"},
		{"a name twice", []kmsg.DeleteTopicsRequestTopic{name("t"), name("t")}, "INVALID_REQUEST"},
		{"an id twice", []kmsg.DeleteTopicsRequestTopic{{TopicID: id}, {TopicID: id}}, "INVALID_REQUEST"},
		{"by name, then by its id", []kmsg.DeleteTopicsRequestTopic{name("t3"), {TopicID: b.topics.byName["t3"].ID}}, "INVALID_REQUEST"},
		{"an unknown name twice", []kmsg.DeleteTopicsRequestTopic{name("none"), name("none")}, "INVALID_REQUEST"},
		{"by name", []kmsg.DeleteTopicsRequestTopic{name("t3")}, "OK"},
		{"by id", []kmsg.DeleteTopicsRequestTopic{{TopicID: id}}, "OK"},
	} {
		req := kmsg.NewPtrDeleteTopicsRequest()
		req.Topics = c.topics
		var got []string
		for _, r := range do[*kmsg.DeleteTopicsResponse](b, req, 6).Topics {
			got = append(got, codeName(r.ErrorCode))
		}
		if strings.Join(got, " ") != c.want {
			t.Errorf("%s: %v, want %s", c.what, got, c.want)
		}
	}
	if len(b.topics.All()) != 0 {
		t.Errorf("%d topics are left", len(b.topics.All()))
	}
}

func TestDeleteTopicsByNameInEveryVersion(t *testing.T) {
	for version := int16(0); version <= 5; version++ {
		b := newBroker(t, nil)
		req := kmsg.NewPtrDeleteTopicsRequest()
		req.TopicNames = []string{"t", "none"}
		resp := do[*kmsg.DeleteTopicsResponse](b, req, version)
		if len(resp.Topics) != 2 || codeName(resp.Topics[0].ErrorCode) != "OK" || codeName(resp.Topics[1].ErrorCode) != "UNKNOWN_TOPIC_OR_PARTITION" {
			t.Errorf("v%d: %+v", version, resp.Topics)
		}
	}
}

func TestCreatePartitionsAnswersAsKafka(t *testing.T) {
	assigned := func(replicas ...[]int32) []kmsg.CreatePartitionsRequestTopicAssignment {
		list := []kmsg.CreatePartitionsRequestTopicAssignment{}
		for _, r := range replicas {
			list = append(list, kmsg.CreatePartitionsRequestTopicAssignment{Replicas: r})
		}
		return list
	}
	for _, c := range []struct {
		what       string
		topic      string
		count      int32
		assignment []kmsg.CreatePartitionsRequestTopicAssignment
		want       string
	}{
		{"more", "t3", 5, nil, "OK"},
		{"the same number", "t3", 3, nil, "INVALID_PARTITIONS"},
		{"fewer", "t3", 2, nil, "INVALID_PARTITIONS"},
		{"none", "t3", 0, nil, "INVALID_PARTITIONS"},
		{"-1", "t3", -1, nil, "INVALID_PARTITIONS"},
		{"a billion", "t3", 1_000_000_000, nil, "POLICY_VIOLATION"},
		{"unknown topic", "none", 5, nil, "UNKNOWN_TOPIC_OR_PARTITION"},
		{"assigned", "t3", 5, assigned([]int32{1}, []int32{1}), "OK"},
		{"assignment too short", "t3", 5, assigned([]int32{1}), "INVALID_REPLICA_ASSIGNMENT"},
		{"empty assignment", "t3", 5, assigned(), "INVALID_REPLICA_ASSIGNMENT"},
		{"assigned to an unknown broker", "t3", 4, assigned([]int32{99}), "INVALID_REPLICA_ASSIGNMENT"},
	} {
		for version := int16(0); version <= 3; version++ {
			b := newBroker(t, nil)
			req := kmsg.NewPtrCreatePartitionsRequest()
			req.Topics = []kmsg.CreatePartitionsRequestTopic{{Topic: c.topic, Count: c.count, Assignment: c.assignment}}
			r := do[*kmsg.CreatePartitionsResponse](b, req, version).Topics[0]
			if got := codeName(r.ErrorCode); got != c.want {
				t.Errorf("%s, v%d: %s, want %s", c.what, version, got, c.want)
			}
			want := int32(3)
			if c.want == "OK" {
				want = c.count
			}
			if got := b.topics.byName["t3"].Partitions; got != want {
				t.Errorf("%s, v%d: %d partitions afterwards, want %d", c.what, version, got, want)
			}
		}
	}
}

func TestCreatePartitionsOfATopicNamedTwiceOrOnlyValidatedChangesNothing(t *testing.T) {
	b := newBroker(t, nil)
	req := kmsg.NewPtrCreatePartitionsRequest()
	req.Topics = []kmsg.CreatePartitionsRequestTopic{{Topic: "t3", Count: 5}, {Topic: "t3", Count: 6}}
	if got := do[*kmsg.CreatePartitionsResponse](b, req, 3).Topics; len(got) != 1 || codeName(got[0].ErrorCode) != "INVALID_REQUEST" {
		t.Errorf("named twice: %+v", got)
	}
	req.Topics, req.ValidateOnly = req.Topics[:1], true
	if got := do[*kmsg.CreatePartitionsResponse](b, req, 3).Topics; codeName(got[0].ErrorCode) != "OK" {
		t.Errorf("validate only: %+v", got)
	}
	if n := b.topics.byName["t3"].Partitions; n != 3 {
		t.Errorf("%d partitions afterwards", n)
	}
}

func TestDescribeClusterAnswersAsKafka(t *testing.T) {
	b := newBroker(t, nil)
	for _, c := range []struct {
		endpoint int8
		version  int16
		want     string
	}{
		{1, 0, "OK"}, {1, 1, "OK"}, {1, 2, "OK"}, {2, 1, "MISMATCHED_ENDPOINT_TYPE"}, {3, 2, "UNSUPPORTED_ENDPOINT_TYPE"},
	} {
		req := kmsg.NewPtrDescribeClusterRequest()
		req.EndpointType, req.IncludeClusterAuthorizedOperations = c.endpoint, true
		resp := do[*kmsg.DescribeClusterResponse](b, req, c.version)
		if got := codeName(resp.ErrorCode); got != c.want {
			t.Errorf("%+v: %s", c, got)
		}
		if c.want == "OK" && (resp.ClusterID != b.cluster.ID() || resp.ControllerID != 1 || len(resp.Brokers) != 1 || resp.ClusterAuthorizedOperations != allClusterOperations) {
			t.Errorf("%+v: %+v", c, resp)
		}
	}
}

func TestDescribeTopicPartitionsPages(t *testing.T) {
	b := newBroker(t, nil)
	var got []string
	req := kmsg.NewPtrDescribeTopicPartitionsRequest()
	req.Topics = []kmsg.DescribeTopicPartitionsRequestTopic{{Topic: "t3"}, {Topic: "none"}, {Topic: "t"}, {Topic: "t3"}, {Topic: "a b"}}
	req.ResponsePartitionLimit = 2
	for pages := 1; ; pages++ {
		resp := do[*kmsg.DescribeTopicPartitionsResponse](b, req, 0)
		for _, topic := range resp.Topics {
			line := *topic.Topic + ":" + codeName(topic.ErrorCode)
			for _, p := range topic.Partitions {
				line += string(rune('0' + p.Partition))
			}
			got = append(got, line)
		}
		if resp.NextCursor == nil {
			break
		}
		got = append(got, "|")
		req.Cursor = &kmsg.DescribeTopicPartitionsRequestCursor{Topic: resp.NextCursor.Topic, Partition: resp.NextCursor.Partition}
		if pages > 9 {
			t.Fatal("the pages do not end")
		}
	}
	if want := "a b:INVALID_TOPIC_EXCEPTION none:UNKNOWN_TOPIC_OR_PARTITION t:OK0 t3:OK0 | t3:OK12"; strings.Join(got, " ") != want {
		t.Errorf("pages %v, want %s", got, want)
	}
}

func TestDescribeTopicPartitionsOfAllTopicsWithLimitOne(t *testing.T) {
	b := newBroker(t, nil)
	req := kmsg.NewPtrDescribeTopicPartitionsRequest()
	req.ResponsePartitionLimit = 1
	req.Cursor = &kmsg.DescribeTopicPartitionsRequestCursor{Topic: "t3"}
	resp := do[*kmsg.DescribeTopicPartitionsResponse](b, req, 0)
	if len(resp.Topics) != 1 || len(resp.Topics[0].Partitions) != 1 || resp.NextCursor == nil || resp.NextCursor.Topic != "t3" || resp.NextCursor.Partition != 1 {
		t.Errorf("answer %+v, cursor %+v", resp.Topics, resp.NextCursor)
	}
	req.Cursor.Partition = -1
	if got := do[*kmsg.DescribeTopicPartitionsResponse](b, req, 0).Topics[0]; codeName(got.ErrorCode) != "INVALID_REQUEST" {
		t.Errorf("cursor at partition -1: %+v", got)
	}
	req.Cursor.Partition = 99
	if got := do[*kmsg.DescribeTopicPartitionsResponse](b, req, 0); len(got.Topics[0].Partitions) != 0 || got.NextCursor != nil {
		t.Errorf("cursor past the end: %+v", got)
	}
}

func TestDescribeLogDirsMeasuresThePartitionsLedHere(t *testing.T) {
	b := newBroker(t, nil)
	for p := range int32(3) {
		b.logs.log(partition.Ref{Topic: "t3", ID: b.topics.byName["t3"].ID, Partition: p}).ends = []int64{int64(p) + 1}
	}
	for version := int16(0); version <= 5; version++ {
		all := do[*kmsg.DescribeLogDirsResponse](b, kmsg.NewPtrDescribeLogDirsRequest(), version)
		if len(all.Dirs) != 1 || all.Dirs[0].ErrorCode != 0 || len(all.Dirs[0].Topics) != 2 || version >= 4 && all.Dirs[0].TotalBytes != -1 {
			t.Fatalf("v%d, all: %+v", version, all)
		}
		if p := all.Dirs[0].Topics[1].Partitions; len(p) != 3 || p[2].Partition != 2 || p[2].Size != 300 || p[2].OffsetLag != 0 || p[2].IsFuture {
			t.Errorf("v%d: partitions %+v", version, p)
		}
	}
	some := kmsg.NewPtrDescribeLogDirsRequest()
	some.Topics = []kmsg.DescribeLogDirsRequestTopic{{Topic: "t3", Partitions: []int32{1, 1, 7, -1}}, {Topic: "none", Partitions: []int32{0}}}
	if got := do[*kmsg.DescribeLogDirsResponse](b, some, 5).Dirs[0].Topics; len(got) != 1 || len(got[0].Partitions) != 1 || got[0].Partitions[0].Size != 200 {
		t.Errorf("some: %+v", got)
	}
	b.logs.fail[0] = partition.ErrStorage
	if got := do[*kmsg.DescribeLogDirsResponse](b, kmsg.NewPtrDescribeLogDirsRequest(), 5).Dirs[0]; codeName(got.ErrorCode) != "KAFKA_STORAGE_ERROR" {
		t.Errorf("storage fails: %+v", got)
	}
	b.logs.fail[0] = partition.ErrUnknownPartition
	if got := do[*kmsg.DescribeLogDirsResponse](b, kmsg.NewPtrDescribeLogDirsRequest(), 5).Dirs[0]; got.ErrorCode != 0 || len(got.Topics) != 1 || len(got.Topics[0].Partitions) != 2 {
		t.Errorf("deleted meanwhile: %+v", got)
	}
	b.logs.fail = map[int32]error{}
	b.cluster.nodes = []metadata.Node{{ID: 7}, {ID: 8}, {ID: 9}}
	if got := do[*kmsg.DescribeLogDirsResponse](b, kmsg.NewPtrDescribeLogDirsRequest(), 5).Dirs[0]; len(got.Topics) == 2 && len(got.Topics[1].Partitions) == 3 {
		t.Error("partitions of other brokers are measured")
	}
}
