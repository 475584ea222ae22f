package api

import (
	"context"
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/korvet-io/korvet/internal/coordinator"
	"github.com/korvet-io/korvet/internal/group"
	"github.com/korvet-io/korvet/internal/metadata"
)

func commitOf(topic string, partition int32, metadata string) *kmsg.OffsetCommitRequest {
	req := kmsg.NewPtrOffsetCommitRequest()
	req.Group, req.MemberID, req.Generation = "g", "m", 3
	p := kmsg.NewOffsetCommitRequestTopicPartition()
	p.Partition, p.Offset, p.LeaderEpoch, p.Metadata = partition, 42, 5, &metadata
	req.Topics = []kmsg.OffsetCommitRequestTopic{{Topic: topic, Partitions: []kmsg.OffsetCommitRequestTopicPartition{p}}}
	return req
}

// fetchOffsetsOf asks for partitions of one topic, of all topics without any.
func fetchOffsetsOf(topic *metadata.Topic, partitions ...int32) *kmsg.OffsetFetchRequest {
	req := kmsg.NewPtrOffsetFetchRequest()
	req.Group = "g"
	in := kmsg.NewOffsetFetchRequestGroup()
	in.Group = "g"
	if topic != nil {
		req.Topics = []kmsg.OffsetFetchRequestTopic{{Topic: topic.Name, Partitions: partitions}}
		in.Topics = []kmsg.OffsetFetchRequestGroupTopic{{Topic: topic.Name, TopicID: topic.ID, Partitions: partitions}}
	}
	req.Groups = []kmsg.OffsetFetchRequestGroup{in}
	return req
}

func (b *broker) topic(name string) *metadata.Topic {
	b.t.Helper()
	t, err := b.topics.Topic(context.Background(), name)
	if err != nil {
		b.t.Fatal(err)
	}
	return t
}

func TestOffsetCommitTellsTheGroupAllOfTheRequest(t *testing.T) {
	for version := int16(2); version <= 10; version++ {
		b := newBroker(t, nil)
		req := commitOf("t3", 1, "said")
		req.Topics[0].TopicID = b.topic("t3").ID
		req.InstanceID, req.RetentionTimeMillis = kmsg.StringPtr("i"), 1000
		got := do[*kmsg.OffsetCommitResponse](b, req, version)
		if p := got.Topics[0].Partitions[0]; p.ErrorCode != 0 || p.Partition != 1 {
			t.Errorf("version %d: %+v", version, got)
		}
		want := coordinator.Offset{
			TopicPartition: coordinator.TopicPartition{Topic: "t3", Partition: 1}, TopicID: b.topic("t3").ID,
			Offset: 42, LeaderEpoch: -1, Metadata: "said", CommitMs: b.now.Load(),
		}
		member := group.MemberRef{MemberID: "m", Generation: 3}
		if version <= 4 {
			want.ExpireMs = b.now.Load() + 1000
		}
		if version >= 6 {
			want.LeaderEpoch = 5
		}
		if version >= 7 {
			member.InstanceID = "i"
		}
		asked := b.groups.asked.(coordinator.CommitRequest)
		if asked.Member != member || asked.MemberEpochs != (version >= 9) || len(asked.Offsets) != 1 || asked.Offsets[0] != want {
			t.Errorf("version %d:\n got %+v\nwant %+v", version, asked, want)
		}
	}
}

func TestOffsetCommitErrorsAreEachPartitionsOwn(t *testing.T) {
	b := newBroker(t, nil)
	req := commitOf("t3", 1, "")
	req.Topics[0].Partitions = append(req.Topics[0].Partitions, kmsg.OffsetCommitRequestTopicPartition{Partition: 3}, kmsg.OffsetCommitRequestTopicPartition{Partition: -1})
	req.Topics[0].Partitions = append(req.Topics[0].Partitions, commitOf("t3", 2, strings.Repeat("x", 4097)).Topics[0].Partitions...)
	req.Topics = append(req.Topics, commitOf("none", 0, "").Topics...)
	got := do[*kmsg.OffsetCommitResponse](b, req, 8)
	var codes []string
	for _, topic := range got.Topics {
		for _, p := range topic.Partitions {
			codes = append(codes, codeName(p.ErrorCode))
		}
	}
	want := "OK UNKNOWN_TOPIC_OR_PARTITION UNKNOWN_TOPIC_OR_PARTITION OFFSET_METADATA_TOO_LARGE UNKNOWN_TOPIC_OR_PARTITION"
	if strings.Join(codes, " ") != want {
		t.Errorf("got %v", codes)
	}
	if n := len(b.groups.committed["g"]); n != 1 {
		t.Errorf("%d offsets were committed", n)
	}
	b.groups.err = group.ErrIllegalGeneration
	got = do[*kmsg.OffsetCommitResponse](b, req, 8)
	if p := got.Topics[0].Partitions; codeName(p[0].ErrorCode) != "ILLEGAL_GENERATION" || codeName(p[3].ErrorCode) != "ILLEGAL_GENERATION" || codeName(p[1].ErrorCode) != "UNKNOWN_TOPIC_OR_PARTITION" {
		t.Errorf("got %+v", got)
	}
}

func TestOffsetCommitByUnknownId(t *testing.T) {
	b := newBroker(t, nil)
	req := commitOf("", 0, "")
	req.Topics[0].TopicID = [16]byte{1}
	if got := do[*kmsg.OffsetCommitResponse](b, req, 10); codeName(got.Topics[0].Partitions[0].ErrorCode) != "UNKNOWN_TOPIC_ID" || got.Topics[0].TopicID != [16]byte{1} {
		t.Errorf("got %+v", got)
	}
}

func TestOffsetCommitMetadata(t *testing.T) {
	for name, c := range map[string]struct {
		said string
		want string
	}{
		"largest":                      {strings.Repeat("x", 4096), "OK"},
		"one more":                     {strings.Repeat("x", 4097), "OFFSET_METADATA_TOO_LARGE"},
		"largest of two-byte letters":  {strings.Repeat("ü", 4096), "OK"},
		"largest outside of the plane": {strings.Repeat("😀", 2048), "OK"},
		"one more of those":            {strings.Repeat("😀", 2048) + "x", "OFFSET_METADATA_TOO_LARGE"},
	} {
		b := newBroker(t, nil)
		if got := codeName(do[*kmsg.OffsetCommitResponse](b, commitOf("t", 0, c.said), 8).Topics[0].Partitions[0].ErrorCode); got != c.want {
			t.Errorf("%s: %s", name, got)
		}
	}
	b := newBroker(t, nil)
	req := commitOf("t", 0, "")
	req.Topics[0].Partitions[0].Metadata = nil
	do[*kmsg.OffsetCommitResponse](b, req, 8)
	got := do[*kmsg.OffsetFetchResponse](b, fetchOffsetsOf(b.topic("t"), 0), 8).Groups[0].Topics[0].Partitions[0]
	if got.Metadata == nil || *got.Metadata != "" || got.Offset != 42 {
		t.Errorf("null metadata: %+v", got)
	}
}

func TestCommittedOffsetsAreFetchedInEveryVersion(t *testing.T) {
	b := newBroker(t, nil)
	do[*kmsg.OffsetCommitResponse](b, commitOf("t3", 1, "said"), 8)
	topic := b.topic("t3")
	for version := int16(1); version <= 10; version++ {
		got := do[*kmsg.OffsetFetchResponse](b, fetchOffsetsOf(topic, 0, 1), version)
		var parts []kmsg.OffsetFetchResponseGroupTopicPartition
		if version < 8 {
			for _, p := range got.Topics[0].Partitions {
				parts = append(parts, kmsg.OffsetFetchResponseGroupTopicPartition(p))
			}
		} else {
			parts = got.Groups[0].Topics[0].Partitions
		}
		if len(parts) != 2 || parts[0].Offset != -1 || text(parts[0].Metadata) != "" || parts[0].ErrorCode != 0 || parts[1].Offset != 42 || text(parts[1].Metadata) != "said" {
			t.Errorf("version %d: %+v", version, got)
		}
		if version >= 5 && (parts[0].LeaderEpoch != -1 || parts[1].LeaderEpoch != 5) {
			t.Errorf("version %d: %+v", version, got)
		}
	}
}

func TestAllCommittedOffsets(t *testing.T) {
	b := newBroker(t, nil)
	for _, partition := range []int32{2, 0, 1} {
		do[*kmsg.OffsetCommitResponse](b, commitOf("t3", partition, ""), 8)
	}
	do[*kmsg.OffsetCommitResponse](b, commitOf("t", 0, ""), 8)
	for version := int16(2); version <= 10; version++ {
		got := do[*kmsg.OffsetFetchResponse](b, fetchOffsetsOf(nil), version)
		var list []string
		for _, topic := range got.Topics {
			list = append(list, topic.Topic)
			if n := len(topic.Partitions); n != map[string]int{"t": 1, "t3": 3}[topic.Topic] {
				t.Errorf("version %d: %d partitions", version, n)
			}
		}
		for _, g := range got.Groups {
			for _, topic := range g.Topics {
				list = append(list, topic.Topic)
				if version == 10 && topic.TopicID == [16]byte{} {
					t.Error("no topic id")
				}
			}
		}
		if version < 10 && strings.Join(list, " ") != "t t3" || len(list) != 2 {
			t.Errorf("version %d: %v", version, list)
		}
	}
}

func TestOffsetsOfAnEarlierLifeOfATopicAreNotHandedOut(t *testing.T) {
	b := newBroker(t, nil)
	do[*kmsg.OffsetCommitResponse](b, commitOf("t", 0, ""), 8)
	if err := b.topics.Delete(context.Background(), b.topic("t")); err != nil {
		t.Fatal(err)
	}
	if got := do[*kmsg.OffsetFetchResponse](b, fetchOffsetsOf(nil), 8); len(got.Groups[0].Topics) != 0 {
		t.Errorf("deleted: %+v", got)
	}
	again := b.create("t", 1, nil)
	if got := do[*kmsg.OffsetFetchResponse](b, fetchOffsetsOf(again, 0), 8).Groups[0].Topics[0].Partitions[0]; got.Offset != -1 {
		t.Errorf("created again: %+v", got)
	}
	if got := do[*kmsg.OffsetFetchResponse](b, fetchOffsetsOf(nil), 8); len(got.Groups[0].Topics) != 0 {
		t.Errorf("created again, all: %+v", got)
	}
}

func TestOffsetFetchErrors(t *testing.T) {
	b := newBroker(t, nil)
	topic := b.topic("t")
	b.groups.err = group.ErrNotCoordinator
	if got := do[*kmsg.OffsetFetchResponse](b, fetchOffsetsOf(topic, 0), 1); codeName(got.Topics[0].Partitions[0].ErrorCode) != "NOT_COORDINATOR" || got.Topics[0].Partitions[0].Offset != -1 {
		t.Errorf("version 1: %+v", got)
	}
	if got := do[*kmsg.OffsetFetchResponse](b, fetchOffsetsOf(topic, 0), 7); codeName(got.ErrorCode) != "NOT_COORDINATOR" {
		t.Errorf("version 7: %+v", got)
	}
	if got := do[*kmsg.OffsetFetchResponse](b, fetchOffsetsOf(topic, 0), 8); codeName(got.Groups[0].ErrorCode) != "NOT_COORDINATOR" || len(got.Groups[0].Topics) != 0 {
		t.Errorf("version 8: %+v", got)
	}
	b.groups.err = nil
	unknown := &metadata.Topic{Name: "none", ID: [16]byte{1}}
	if got := do[*kmsg.OffsetFetchResponse](b, fetchOffsetsOf(unknown, 0), 10).Groups[0].Topics[0].Partitions[0]; codeName(got.ErrorCode) != "UNKNOWN_TOPIC_ID" {
		t.Errorf("unknown id: %+v", got)
	}
	if got := do[*kmsg.OffsetFetchResponse](b, fetchOffsetsOf(unknown, 0), 9).Groups[0].Topics[0].Partitions[0]; got.ErrorCode != 0 || got.Offset != -1 {
		t.Errorf("unknown name: %+v", got)
	}
	b.api.topics = awayTopics{b.topics}
	if got := do[*kmsg.OffsetFetchResponse](b, fetchOffsetsOf(unknown, 0), 9).Groups[0]; codeName(got.ErrorCode) != "COORDINATOR_NOT_AVAILABLE" {
		t.Errorf("topics cannot be read: %+v", got)
	}
}

func TestSeveralGroupsInOneOffsetFetch(t *testing.T) {
	b := newBroker(t, nil)
	do[*kmsg.OffsetCommitResponse](b, commitOf("t", 0, ""), 8)
	req := fetchOffsetsOf(b.topic("t"), 0)
	req.Groups = append(req.Groups, req.Groups[0], req.Groups[0])
	req.Groups[1].Group = "other"
	got := do[*kmsg.OffsetFetchResponse](b, req, 9).Groups
	if len(got) != 3 || got[0].Topics[0].Partitions[0].Offset != 42 || got[1].Group != "other" || got[1].Topics[0].Partitions[0].Offset != -1 || codeName(got[2].ErrorCode) != "INVALID_REQUEST" {
		t.Errorf("got %+v", got)
	}
}

func TestOffsetDelete(t *testing.T) {
	b := newBroker(t, nil)
	req := kmsg.NewPtrOffsetDeleteRequest()
	req.Group = "g"
	req.Topics = []kmsg.OffsetDeleteRequestTopic{
		{Topic: "none", Partitions: []kmsg.OffsetDeleteRequestTopicPartition{{}}},
		{Topic: "t3", Partitions: []kmsg.OffsetDeleteRequestTopicPartition{{Partition: 0}, {Partition: 7}, {Partition: 2}}},
	}
	b.groups.results = []error{nil, group.ErrSubscribed}
	got := do[*kmsg.OffsetDeleteResponse](b, req, 0)
	var codes []string
	for _, topic := range got.Topics {
		for _, p := range topic.Partitions {
			codes = append(codes, codeName(p.ErrorCode))
		}
	}
	if want := "UNKNOWN_TOPIC_OR_PARTITION OK UNKNOWN_TOPIC_OR_PARTITION GROUP_SUBSCRIBED_TO_TOPIC"; strings.Join(codes, " ") != want {
		t.Errorf("got %v", codes)
	}
	if len(b.groups.deleted) != 2 {
		t.Errorf("deleted %v", b.groups.deleted)
	}
	b.groups.err = group.ErrNonEmpty
	if got := do[*kmsg.OffsetDeleteResponse](b, req, 0); codeName(got.ErrorCode) != "NON_EMPTY_GROUP" || len(got.Topics) != 0 {
		t.Errorf("got %+v", got)
	}
	req.Group = ""
	if got := do[*kmsg.OffsetDeleteResponse](b, req, 0); codeName(got.ErrorCode) != "INVALID_GROUP_ID" {
		t.Errorf("got %+v", got)
	}
}
