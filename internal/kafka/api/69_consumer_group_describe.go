package api

import (
	"fmt"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/korvet-io/korvet/internal/group"
)

// ConsumerGroupDescribe (key 69), versions 0 and 1, for groups of the consumer protocol (KIP-848). v1 tells which members
// still speak the classic one (KIP-1099). Topics that were deleted are left out of assignments, whose topics have names. A
// group that is named twice is answered once.

// The member types.
const (
	classicMember  = 0
	consumerMember = 1
)

func (a *API) consumerGroupDescribe(c *call, req *kmsg.ConsumerGroupDescribeRequest) kmsg.Response {
	resp := kmsg.NewPtrConsumerGroupDescribeResponse()
	names := distinct(req.Groups)
	resp.Groups = make([]kmsg.ConsumerGroupDescribeResponseGroup, len(names))
	eachInParallel(names, func(i int, name string) {
		resp.Groups[i] = a.describeConsumerGroup(c, name)
		if req.IncludeAuthorizedOperations && resp.Groups[i].ErrorCode == 0 {
			resp.Groups[i].AuthorizedOperations = allGroupOperations
		}
	})
	return resp
}

func (a *API) describeConsumerGroup(c *call, name string) kmsg.ConsumerGroupDescribeResponseGroup {
	r := kmsg.NewConsumerGroupDescribeResponseGroup()
	r.Group = name
	d, err := a.groupAdmin.Describe(c.ctx, name)
	if err == nil && d.Type != group.Consumer {
		err = fmt.Errorf("group %q is not a consumer group: %w", name, group.ErrNotFound)
	}
	if err != nil {
		a.groupFailed(c, "consumer_group_describe", err)
		r.ErrorCode, r.ErrorMessage = groupErrorCode(err), errorMessage(err)
		return r
	}
	r.State, r.Epoch, r.AssignmentEpoch, r.AssignorName = string(d.State), d.Epoch, d.AssignmentEpoch, d.Protocol
	r.Members = make([]kmsg.ConsumerGroupDescribeResponseGroupMember, len(d.Members))
	for i := range d.Members {
		r.Members[i] = a.describeConsumer(c, &d.Members[i])
	}
	return r
}

func (a *API) describeConsumer(c *call, m *group.MemberDescription) kmsg.ConsumerGroupDescribeResponseGroupMember {
	r := kmsg.NewConsumerGroupDescribeResponseGroupMember()
	r.MemberID, r.InstanceID, r.RackID, r.MemberEpoch = m.MemberID, given(m.InstanceID), given(m.Rack), m.Epoch
	r.ClientID, r.ClientHost = m.Client.ID, m.Client.Host
	r.SubscribedTopics, r.SubscribedTopicRegex = m.Topics, given(m.Regexp)
	r.Assignment, r.TargetAssignment = a.assignment(c, m.Assigned), a.assignment(c, m.Target)
	r.MemberType = consumerMember
	if m.Classic {
		r.MemberType = classicMember
	}
	return r
}

// assignment names the topics of an assignment.
func (a *API) assignment(c *call, list []group.TopicPartitions) kmsg.Assignment {
	r := kmsg.NewAssignment()
	for _, p := range list {
		t, err := a.topics.TopicByID(c.ctx, p.Topic)
		if err != nil {
			continue // it is gone, or cannot be named now
		}
		r.TopicPartitions = append(r.TopicPartitions, kmsg.AssignmentTopicPartition{TopicID: t.ID, Topic: t.Name, Partitions: p.Partitions})
	}
	return r
}
