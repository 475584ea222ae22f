package api

import (
	"context"
	"slices"
	"strings"
	"testing"

	"github.com/google/uuid"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/korvet-io/korvet/internal/topicconfig"
)

func metadataOf(names ...string) *kmsg.MetadataRequest {
	req := kmsg.NewPtrMetadataRequest()
	req.Topics = []kmsg.MetadataRequestTopic{}
	for _, n := range names {
		t := kmsg.NewMetadataRequestTopic()
		t.Topic = &n
		req.Topics = append(req.Topics, t)
	}
	return req
}

// outcomes lists topics as name:ERROR.
func outcomes(topics []kmsg.MetadataResponseTopic) string {
	var list []string
	for _, t := range topics {
		name := "null"
		if t.Topic != nil {
			name = *t.Topic
		}
		list = append(list, name+":"+codeName(t.ErrorCode))
	}
	return strings.Join(list, " ")
}

func TestMetadataTellsAllTopicsOrNoneInEveryVersion(t *testing.T) {
	b := newBroker(t, nil)
	for version := int16(0); version <= 13; version++ {
		all := kmsg.NewPtrMetadataRequest()
		none := metadataOf()
		want := ""
		if version == 0 {
			all, want = none, "t:OK t3:OK"
		}
		if got := outcomes(do[*kmsg.MetadataResponse](b, all, version).Topics); got != "t:OK t3:OK" {
			t.Errorf("v%d, all topics: %s", version, got)
		}
		resp := do[*kmsg.MetadataResponse](b, none, version)
		if got := outcomes(resp.Topics); got != want {
			t.Errorf("v%d, empty list: %q, want %q", version, got, want)
		}
		if len(resp.Brokers) != 1 || resp.Brokers[0].Host != "one" || resp.Brokers[0].Port != 9092 || version >= 1 && resp.ControllerID != 1 {
			t.Errorf("v%d: brokers %+v, controller %d", version, resp.Brokers, resp.ControllerID)
		}
		if version >= 2 && *resp.ClusterID != b.cluster.ID() {
			t.Errorf("v%d: cluster %q", version, *resp.ClusterID)
		}
	}
}

func TestMetadataReadsAnyNegativeLengthAsNull(t *testing.T) {
	b := newBroker(t, nil)
	for _, body := range []string{"\xff\xff\xff\xff", "\xff\xff\xff\xfe"} {
		req := kmsg.NewPtrMetadataRequest()
		req.SetVersion(1)
		resp := b.decode(req, b.await(b.start(3, 1, []byte(body)))).(*kmsg.MetadataResponse)
		if len(resp.Topics) != 2 {
			t.Errorf("length %x: %d topics, want 2", body, len(resp.Topics))
		}
	}
}

func TestMetadataDescribesPartitions(t *testing.T) {
	b := newBroker(t, nil)
	b.cluster.epoch = 5
	got := do[*kmsg.MetadataResponse](b, metadataOf("t3"), 13).Topics[0]
	if len(got.Partitions) != 3 || got.IsInternal || got.AuthorizedOperations != -2147483648 || got.TopicID == [16]byte{} {
		t.Fatalf("topic %+v", got)
	}
	for i, p := range got.Partitions {
		if p.Partition != int32(i) || p.Leader != 1 || p.LeaderEpoch != 5 || !slices.Equal(p.Replicas, []int32{1}) || !slices.Equal(p.ISR, []int32{1}) || p.ErrorCode != 0 {
			t.Errorf("partition %d: %+v", i, p)
		}
	}
}

func TestMetadataTellsEachTopicsOutcome(t *testing.T) {
	for _, c := range []struct{ name, want string }{
		{"none", "none:UNKNOWN_TOPIC_OR_PARTITION"},
		{"", ":INVALID_TOPIC_EXCEPTION"},
		{"a/b", "a/b:INVALID_TOPIC_EXCEPTION"},
		{"t", "t:OK"},
	} {
		b := newBroker(t, nil)
		if got := outcomes(do[*kmsg.MetadataResponse](b, metadataOf(c.name, c.name), 12).Topics); got != c.want {
			t.Errorf("%q named twice: %s, want %s", c.name, got, c.want)
		}
	}
}

func TestMetadataFindsTopicsByID(t *testing.T) {
	b := newBroker(t, nil)
	byID := func(id [16]byte, version int16) string {
		req := kmsg.NewPtrMetadataRequest()
		asked := kmsg.NewMetadataRequestTopic()
		asked.TopicID = id
		req.Topics = append(req.Topics, asked)
		return outcomes(do[*kmsg.MetadataResponse](b, req, version).Topics)
	}
	known, err := b.topics.Topic(context.Background(), "t")
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		id      [16]byte
		version int16
		want    string
	}{
		{known.ID, 12, "t:OK"},
		{known.ID, 13, "t:OK"},
		{uuid.Max, 12, "null:UNKNOWN_TOPIC_ID"},
		{[16]byte{}, 12, "null:UNKNOWN_TOPIC_ID"},
		{known.ID, 10, ":INVALID_REQUEST"},
		{known.ID, 11, ":INVALID_REQUEST"},
	} {
		if got := byID(c.id, c.version); got != c.want {
			t.Errorf("id %x in v%d: %s, want %s", c.id, c.version, got, c.want)
		}
	}
}

func TestMetadataTellsAuthorizedOperationsWhenAsked(t *testing.T) {
	b := newBroker(t, nil)
	req := metadataOf("t")
	req.IncludeTopicAuthorizedOperations, req.IncludeClusterAuthorizedOperations = true, true
	resp := do[*kmsg.MetadataResponse](b, req, 9)
	if resp.Topics[0].AuthorizedOperations != 3576 || resp.AuthorizedOperations != allClusterOperations {
		t.Errorf("operations on the topic %d, on the cluster %d", resp.Topics[0].AuthorizedOperations, resp.AuthorizedOperations)
	}
}

func TestTopicsAreCreatedOnDemand(t *testing.T) {
	yes, no, four := true, false, int32(4)
	patterns := []topicconfig.Pattern{{Name: "no.*", AutoCreate: &no}, {Name: "four.*", AutoCreate: &yes, Partitions: &four}}
	for _, c := range []struct {
		name       string
		setting    bool
		allow      bool
		version    int16
		want       string
		partitions int
	}{
		{"new", true, true, 12, "OK", 2},
		{"new", true, false, 12, "UNKNOWN_TOPIC_OR_PARTITION", 0},
		{"new", true, false, 3, "OK", 2}, // before v4 a client cannot say
		{"new", false, true, 12, "UNKNOWN_TOPIC_OR_PARTITION", 0},
		{"no.way", true, true, 12, "UNKNOWN_TOPIC_OR_PARTITION", 0},
		{"four.x", false, true, 12, "OK", 4},
		{"four.x", false, false, 12, "UNKNOWN_TOPIC_OR_PARTITION", 0},
		{"__consumer_offsets", true, true, 12, "UNKNOWN_TOPIC_OR_PARTITION", 0},
		{"__cluster_metadata", true, true, 12, "UNKNOWN_TOPIC_OR_PARTITION", 0},
		{"a b", true, true, 12, "INVALID_TOPIC_EXCEPTION", 0},
	} {
		b := newBroker(t, func(s *Settings) { s.AutoCreate, s.NumPartitions = c.setting, 2 })
		b.api.schema, _ = topicconfig.New(topicconfig.Options{Patterns: patterns})
		req := metadataOf(c.name)
		req.AllowAutoTopicCreation = c.allow
		got := do[*kmsg.MetadataResponse](b, req, c.version).Topics[0]
		if codeName(got.ErrorCode) != c.want || len(got.Partitions) != c.partitions {
			t.Errorf("%+v: %s with %d partitions", c, codeName(got.ErrorCode), len(got.Partitions))
		}
		if _, err := b.topics.Topic(context.Background(), c.name); (err == nil) != (c.want == "OK") {
			t.Errorf("%+v: afterwards %v", c, err)
		}
	}
}

func TestMetadataIsServedFromMemoryWhileTheStoreIsAway(t *testing.T) {
	b := newBroker(t, nil)
	b.api.topics = awayTopics{b.topics}
	if got := outcomes(do[*kmsg.MetadataResponse](b, metadataOf("t", "none"), 12).Topics); got != "t:OK none:LEADER_NOT_AVAILABLE" {
		t.Errorf("topics %s", got)
	}
}

func TestRepeatedNameOfATopicHasANewIDAfterDeletion(t *testing.T) {
	b := newBroker(t, nil)
	before := do[*kmsg.MetadataResponse](b, metadataOf("t"), 12).Topics[0]
	del := kmsg.NewPtrDeleteTopicsRequest()
	del.Topics = []kmsg.DeleteTopicsRequestTopic{{TopicID: before.TopicID}}
	if got := do[*kmsg.DeleteTopicsResponse](b, del, 6).Topics[0]; got.ErrorCode != 0 || *got.Topic != "t" {
		t.Fatalf("delete: %+v", got)
	}
	b.create("t", 1, nil)
	if after := do[*kmsg.MetadataResponse](b, metadataOf("t"), 12).Topics[0]; after.TopicID == before.TopicID {
		t.Error("the new life has the old id")
	}
	req := kmsg.NewPtrMetadataRequest()
	req.Topics = []kmsg.MetadataRequestTopic{{TopicID: before.TopicID}}
	if got := outcomes(do[*kmsg.MetadataResponse](b, req, 12).Topics); got != "null:UNKNOWN_TOPIC_ID" {
		t.Errorf("the old id: %s", got)
	}
}
