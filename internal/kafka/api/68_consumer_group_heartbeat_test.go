package api

import (
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/korvet-io/korvet/internal/group"
)

func consumerJoinOf(topics ...string) *kmsg.ConsumerGroupHeartbeatRequest {
	req := kmsg.NewPtrConsumerGroupHeartbeatRequest()
	req.Group, req.MemberID, req.RebalanceTimeoutMillis = "g", "m", 60_000
	req.SubscribedTopicNames, req.Topics = topics, []kmsg.ConsumerGroupHeartbeatRequestTopic{}
	return req
}

func TestConsumerHeartbeatTellsTheGroupAllOfTheRequest(t *testing.T) {
	for version := int16(0); version <= 1; version++ {
		b := newBroker(t, nil)
		req := consumerJoinOf("t", "u")
		req.InstanceID, req.RackID, req.ServerAssignor, req.SubscribedTopicRegex = kmsg.StringPtr("i"), kmsg.StringPtr("r"), kmsg.StringPtr("range"), kmsg.StringPtr("t.*")
		do[*kmsg.ConsumerGroupHeartbeatResponse](b, req, version)
		want := group.HeartbeatRequest{
			MemberID: "m", InstanceID: "i", Rack: req.RackID, Rebalance: time.Minute, Topics: &[]string{"t", "u"}, Assignor: req.ServerAssignor,
			Owned: &[]group.TopicPartitions{}, Client: group.Client{ID: "c", Host: "/1.2.3.4"}, MintMemberID: version == 0,
		}
		if version >= 1 {
			want.Regexp = req.SubscribedTopicRegex
		}
		if !reflect.DeepEqual(b.groups.asked, want) {
			t.Errorf("version %d:\n got %+v\nwant %+v", version, b.groups.asked, want)
		}
	}
}

func TestConsumerHeartbeatWithoutChanges(t *testing.T) {
	b := newBroker(t, nil)
	req := kmsg.NewPtrConsumerGroupHeartbeatRequest()
	req.Group, req.MemberID, req.MemberEpoch = "g", "m", 4
	got := do[*kmsg.ConsumerGroupHeartbeatResponse](b, req, 1)
	want := group.HeartbeatRequest{MemberID: "m", Epoch: 4, Rebalance: -time.Millisecond, Client: group.Client{ID: "c", Host: "/1.2.3.4"}}
	if !reflect.DeepEqual(b.groups.asked, want) || got.Assignment != nil {
		t.Errorf("got %+v, asked %+v", got, b.groups.asked)
	}
}

func TestConsumerHeartbeatAnswersTheAssignment(t *testing.T) {
	b := newBroker(t, nil)
	id := uuid.UUID{1}
	b.groups.beaten = group.HeartbeatResponse{MemberID: "m", Epoch: 2, Interval: 5 * time.Second, Assignment: &[]group.TopicPartitions{{Topic: id, Partitions: []int32{0, 2}}}}
	got := do[*kmsg.ConsumerGroupHeartbeatResponse](b, consumerJoinOf("t"), 1)
	if got.ErrorCode != 0 || text(got.MemberID) != "m" || got.MemberEpoch != 2 || got.HeartbeatIntervalMillis != 5000 {
		t.Errorf("got %+v", got)
	}
	if want := []kmsg.ConsumerGroupHeartbeatResponseAssignmentTopic{{TopicID: id, Partitions: []int32{0, 2}}}; !reflect.DeepEqual(got.Assignment.Topics, want) {
		t.Errorf("assigned %+v", got.Assignment)
	}
	b.groups.beaten.Assignment = &[]group.TopicPartitions{}
	if got := do[*kmsg.ConsumerGroupHeartbeatResponse](b, consumerJoinOf("t"), 1); got.Assignment == nil || len(got.Assignment.Topics) != 0 {
		t.Errorf("nothing assigned: %+v", got)
	}
}

func TestConsumerHeartbeatErrors(t *testing.T) {
	type request = kmsg.ConsumerGroupHeartbeatRequest
	for name, c := range map[string]struct {
		version int16
		change  func(*request)
		want    string
	}{
		"no member id in v0":            {0, func(r *request) { r.MemberID = "" }, "OK"},
		"no member id in v1":            {1, func(r *request) { r.MemberID = "" }, "INVALID_REQUEST"},
		"no member id later":            {0, func(r *request) { r.MemberID, r.MemberEpoch = "", 1 }, "INVALID_REQUEST"},
		"no group id":                   {1, func(r *request) { r.Group = "" }, "INVALID_REQUEST"},
		"empty instance id":             {1, func(r *request) { r.InstanceID = kmsg.StringPtr("") }, "INVALID_REQUEST"},
		"empty rack":                    {1, func(r *request) { r.RackID = kmsg.StringPtr("") }, "INVALID_REQUEST"},
		"epoch -3":                      {1, func(r *request) { r.MemberEpoch = -3 }, "INVALID_REQUEST"},
		"epoch -2 of no static member":  {1, func(r *request) { r.MemberEpoch = -2 }, "INVALID_REQUEST"},
		"joins without timeout":         {1, func(r *request) { r.RebalanceTimeoutMillis = -1 }, "INVALID_REQUEST"},
		"joins with null partitions":    {1, func(r *request) { r.Topics = nil }, "INVALID_REQUEST"},
		"joins with partitions":         {1, func(r *request) { r.Topics = make([]kmsg.ConsumerGroupHeartbeatRequestTopic, 1) }, "INVALID_REQUEST"},
		"joins without subscription":    {1, func(r *request) { r.SubscribedTopicNames = nil }, "INVALID_REQUEST"},
		"joins with an expression":      {1, func(r *request) { r.SubscribedTopicNames, r.SubscribedTopicRegex = nil, kmsg.StringPtr("x") }, "OK"},
		"joins with empty subscription": {1, func(r *request) { r.SubscribedTopicNames = []string{} }, "OK"},
		"subscription too large": {1, func(r *request) {
			r.SubscribedTopicNames = []string{strings.Repeat("x", 30_000), strings.Repeat("y", 30_000)}
		}, "INVALID_REQUEST"},
		"leaves": {1, func(r *request) { r.MemberEpoch = -1 }, "OK"},
	} {
		b := newBroker(t, func(s *Settings) { s.MaxMemberMetadataBytes = 50_000 })
		req := consumerJoinOf("t")
		c.change(req)
		got := do[*kmsg.ConsumerGroupHeartbeatResponse](b, req, c.version)
		if codeName(got.ErrorCode) != c.want || (got.ErrorMessage == nil) != (c.want == "OK") {
			t.Errorf("%s: %+v", name, got)
		}
	}
}
