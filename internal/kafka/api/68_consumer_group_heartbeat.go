package api

import (
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/korvet-io/korvet/internal/group"
)

// ConsumerGroupHeartbeat (key 68), versions 0 and 1 (KIP-848). v0 members may let the broker make their id; v1 members bring
// it (KIP-1082) and may subscribe by a regular expression. A null or -1 means: as before.

// The member epochs that stand for what a member does.
const (
	joiningEpoch       = 0
	leavingEpoch       = -1
	leavingStaticEpoch = -2
)

func (a *API) consumerGroupHeartbeat(c *call, req *kmsg.ConsumerGroupHeartbeatRequest, answer func(kmsg.Response)) {
	done := func(r group.HeartbeatResponse) { answer(a.consumerBeaten(c, r)) }
	err := checkConsumerHeartbeat(c.version(), req)
	if err == nil {
		err = a.checkMemberSize(subscriptionSize(req))
	}
	if err != nil {
		done(group.HeartbeatResponse{Err: err})
		return
	}
	a.groups.ConsumerHeartbeat(req.Group, consumerHeartbeatRequest(c, req), done)
}

// checkConsumerHeartbeat refuses what is wrong whatever the group is.
func checkConsumerHeartbeat(version int16, req *kmsg.ConsumerGroupHeartbeatRequest) error {
	switch epoch := req.MemberEpoch; {
	case req.MemberID == "" && (version >= 1 || epoch > 0 || epoch == leavingEpoch):
		return refuse(kerr.InvalidRequest, "MemberId can't be empty.")
	case req.Group == "":
		return refuse(kerr.InvalidRequest, "GroupId can't be empty.")
	case isEmpty(req.InstanceID):
		return refuse(kerr.InvalidRequest, "InstanceId can't be empty.")
	case isEmpty(req.RackID):
		return refuse(kerr.InvalidRequest, "RackId can't be empty.")
	case epoch < leavingStaticEpoch:
		return refuse(kerr.InvalidRequest, "MemberEpoch %d is invalid.", epoch)
	case epoch == leavingStaticEpoch && req.InstanceID == nil:
		return refuse(kerr.InvalidRequest, "InstanceId can't be null.")
	case epoch == joiningEpoch:
		return checkConsumerJoin(req)
	}
	return nil
}

func checkConsumerJoin(req *kmsg.ConsumerGroupHeartbeatRequest) error {
	switch {
	case req.RebalanceTimeoutMillis == -1:
		return refuse(kerr.InvalidRequest, "RebalanceTimeoutMs must be provided in first request.")
	case req.Topics == nil || len(req.Topics) > 0:
		return refuse(kerr.InvalidRequest, "TopicPartitions must be empty when (re-)joining.")
	case req.SubscribedTopicNames == nil && req.SubscribedTopicRegex == nil:
		return refuse(kerr.InvalidRequest, "Either SubscribedTopicNames or SubscribedTopicRegex must be non-null when (re-)joining.")
	}
	return nil
}

func isEmpty(s *string) bool { return s != nil && *s == "" }

// topicCost is what a name in a subscription takes beside its bytes.
const topicCost = 16

// subscriptionSize is what is kept of a member's subscription, in bytes.
func subscriptionSize(req *kmsg.ConsumerGroupHeartbeatRequest) int {
	size := len(text(req.SubscribedTopicRegex))
	for _, name := range req.SubscribedTopicNames {
		size += topicCost + len(name)
	}
	return size
}

func consumerHeartbeatRequest(c *call, req *kmsg.ConsumerGroupHeartbeatRequest) group.HeartbeatRequest {
	beat := group.HeartbeatRequest{
		MemberID:     req.MemberID,
		Epoch:        req.MemberEpoch,
		InstanceID:   text(req.InstanceID),
		Rack:         req.RackID,
		Rebalance:    time.Duration(req.RebalanceTimeoutMillis) * time.Millisecond,
		Regexp:       req.SubscribedTopicRegex,
		Assignor:     req.ServerAssignor,
		Client:       clientOf(c),
		MintMemberID: c.version() == 0,
	}
	if req.SubscribedTopicNames != nil {
		beat.Topics = &req.SubscribedTopicNames
	}
	if req.Topics != nil {
		owned := make([]group.TopicPartitions, len(req.Topics))
		for i := range req.Topics {
			owned[i] = group.TopicPartitions{Topic: req.Topics[i].TopicID, Partitions: req.Topics[i].Partitions}
		}
		beat.Owned = &owned
	}
	return beat
}

func (a *API) consumerBeaten(c *call, r group.HeartbeatResponse) kmsg.Response {
	resp := kmsg.NewPtrConsumerGroupHeartbeatResponse()
	if r.Err != nil {
		a.groupFailed(c, "consumer_group_heartbeat", r.Err)
		resp.ErrorCode, resp.ErrorMessage = groupErrorCode(r.Err), errorMessage(r.Err)
		return resp
	}
	resp.MemberID, resp.MemberEpoch = given(r.MemberID), r.Epoch
	resp.HeartbeatIntervalMillis = int32(r.Interval.Milliseconds())
	if r.Assignment != nil {
		assigned := kmsg.NewConsumerGroupHeartbeatResponseAssignment()
		for _, t := range *r.Assignment {
			assigned.Topics = append(assigned.Topics, kmsg.ConsumerGroupHeartbeatResponseAssignmentTopic{TopicID: t.Topic, Partitions: t.Partitions})
		}
		resp.Assignment = &assigned
	}
	return resp
}
