package conformance

import (
	"fmt"
	"slices"
	"strings"

	"github.com/twmb/franz-go/pkg/kmsg"
)

func consumerGroupRows() []row {
	rows := []row{
		{name: "first heartbeat", do: consumerJoins, want: "OK epoch 2 interval 5000, 0 1 2"},
		{name: "v0 without member id", do: consumerWithoutID(0), want: "OK, an id"},
		{name: "v1 without member id", do: consumerWithoutID(1), want: "INVALID_REQUEST with a message"},
		{name: "unknown group with epoch 5", do: consumerUnknownGroup, want: "GROUP_ID_NOT_FOUND"},
		{name: "unknown member", do: consumerChanged(func(r *kmsg.ConsumerGroupHeartbeatRequest) { r.MemberID = "nobody" }), want: "UNKNOWN_MEMBER_ID"},
		{name: "epoch too new", do: consumerChanged(func(r *kmsg.ConsumerGroupHeartbeatRequest) { r.MemberEpoch += 5 }), want: "FENCED_MEMBER_EPOCH"},
		{name: "epoch too old", do: consumerChanged(func(r *kmsg.ConsumerGroupHeartbeatRequest) { r.MemberEpoch-- }), want: "FENCED_MEMBER_EPOCH"},
		{name: "nothing new", do: consumerChanged(func(*kmsg.ConsumerGroupHeartbeatRequest) {}), want: "OK epoch 2 interval 5000, as before"},
		{name: "again with epoch 0", do: consumerAgain, want: "OK epoch 2 interval 5000, 0 1 2"},
		{name: "epoch -1", do: consumerLeaves, want: "OK epoch -1 interval 0, as before; Empty"},
		{name: "unknown assignor", do: consumerRefused(func(r *kmsg.ConsumerGroupHeartbeatRequest) { r.ServerAssignor = kmsg.StringPtr("odd") }), want: "UNSUPPORTED_ASSIGNOR"},
		{name: "invalid regular expression", do: consumerRefused(func(r *kmsg.ConsumerGroupHeartbeatRequest) { r.SubscribedTopicRegex = kmsg.StringPtr("[") }), want: "INVALID_REGULAR_EXPRESSION"},
		{name: "empty group id", do: consumerRefused(func(r *kmsg.ConsumerGroupHeartbeatRequest) { r.Group = "" }), want: "INVALID_REQUEST"},
		{name: "empty instance id", do: consumerRefused(func(r *kmsg.ConsumerGroupHeartbeatRequest) { r.InstanceID = kmsg.StringPtr("") }), want: "INVALID_REQUEST"},
		{name: "epoch -3", do: consumerRefused(func(r *kmsg.ConsumerGroupHeartbeatRequest) { r.MemberEpoch = -3 }), want: "INVALID_REQUEST"},
		{name: "epoch -2 without instance id", do: consumerRefused(func(r *kmsg.ConsumerGroupHeartbeatRequest) { r.MemberEpoch = -2 }), want: "INVALID_REQUEST"},
		{name: "joins without rebalance timeout", do: consumerRefused(func(r *kmsg.ConsumerGroupHeartbeatRequest) { r.RebalanceTimeoutMillis = -1 }), want: "INVALID_REQUEST"},
		{name: "joins with partitions", do: consumerRefused(func(r *kmsg.ConsumerGroupHeartbeatRequest) {
			r.Topics = []kmsg.ConsumerGroupHeartbeatRequestTopic{{Partitions: []int32{1}}}
		}), want: "INVALID_REQUEST"},
		{name: "joins with null partitions", do: consumerRefused(func(r *kmsg.ConsumerGroupHeartbeatRequest) { r.Topics = nil }), want: "INVALID_REQUEST"},
		{name: "joins without subscription", do: consumerRefused(func(r *kmsg.ConsumerGroupHeartbeatRequest) { r.SubscribedTopicNames = nil }), want: "INVALID_REQUEST"},
		{name: "joins with an empty subscription", do: consumerRefused(func(r *kmsg.ConsumerGroupHeartbeatRequest) { r.SubscribedTopicNames = []string{} }), want: "OK"},
		{name: "a regular expression", do: consumerByExpression, want: "0 1 2"},
		{name: "a second member", do: consumerSecond, want: "3 partitions, none twice"},
		{name: "into an empty classic group", do: consumerInto(emptied), want: "OK, consumer"},
		{name: "into a classic group with a member", do: consumerInto(classicConsumer), want: "OK, consumer"},
		{name: "into a classic group whose assignment cannot be read", do: consumerInto(func(c *conn) string { return c.newStable().group }), want: "GROUP_ID_NOT_FOUND, classic"},
		{name: "JoinGroup v3 into it", do: classicInto, want: "OK"},
		{name: "DescribeGroups v5 of it", do: consumerDescribedAsClassic(5), want: "OK Dead"},
		{name: "DescribeGroups v6 of it", do: consumerDescribedAsClassic(6), want: "GROUP_ID_NOT_FOUND Dead"},
		{name: "ListGroups", do: consumerListed, want: "consumer Stable consumer"},
		{name: "ConsumerGroupDescribe of an unknown group", do: consumerDescribed((*conn).newGroup), want: "GROUP_ID_NOT_FOUND with a message"},
		{name: "ConsumerGroupDescribe of a classic group", do: consumerDescribed(func(c *conn) string { return c.newStable().group }), want: "GROUP_ID_NOT_FOUND with a message"},
		{name: "ConsumerGroupDescribe", do: consumerDescribed(func(c *conn) string { return c.newConsumer().group }), want: "OK Stable epoch 2 assignment 2 by uniform operations 3400, member of epoch 2 type 1 from /127.0.0.1 with 3 of 3 partitions"},
		{name: "OffsetCommit", do: consumerCommits(9, func(*kmsg.OffsetCommitRequest) {}), want: "OK"},
		{name: "OffsetCommit v9, other member epoch", do: consumerCommits(9, func(r *kmsg.OffsetCommitRequest) { r.Generation++ }), want: "STALE_MEMBER_EPOCH"},
		{name: "OffsetCommit v8, other member epoch", do: consumerCommits(8, func(r *kmsg.OffsetCommitRequest) { r.Generation++ }), want: "UNSUPPORTED_VERSION"},
		{name: "OffsetCommit, unknown member", do: consumerCommits(9, func(r *kmsg.OffsetCommitRequest) { r.MemberID = "nobody" }), want: "UNKNOWN_MEMBER_ID"},
		{name: "OffsetCommit, no member", do: consumerCommits(9, func(r *kmsg.OffsetCommitRequest) { r.MemberID, r.Generation = "", -1 }), want: "UNKNOWN_MEMBER_ID"},
		{name: "OffsetFetch", do: consumerFetches(func(*kmsg.OffsetFetchRequestGroup) {}), want: "OK"},
		{name: "OffsetFetch, other member epoch", do: consumerFetches(func(r *kmsg.OffsetFetchRequestGroup) { r.MemberEpoch++ }), want: "STALE_MEMBER_EPOCH"},
		{name: "OffsetFetch, unknown member", do: consumerFetches(func(r *kmsg.OffsetFetchRequestGroup) { r.MemberID = kmsg.StringPtr("nobody") }), want: "UNKNOWN_MEMBER_ID"},
		{name: "OffsetFetch, no member", do: consumerFetches(func(r *kmsg.OffsetFetchRequestGroup) { r.MemberID, r.MemberEpoch = nil, -1 }), want: "OK"},
		{name: "DeleteGroups", do: func(c *conn) string {
			return code(ask[*kmsg.DeleteGroupsResponse](c, deleteGroups(2, c.newConsumer().group)).Groups[0].ErrorCode)
		}, want: "NON_EMPTY_GROUP"},
		{name: "static member comes back", do: consumerStatic, want: "OK -2, OK, the assignment again"},
		{name: "static member's place is taken", do: consumerStaticTaken, want: "UNRELEASED_INSTANCE_ID"},
	}
	return rows
}

// consumer is a member of a group of the consumer protocol.
type consumer struct {
	*conn
	topic    topic
	group    string
	id       string
	instance *string
	epoch    int32
	owned    []int32
}

// newConsumer makes a group of one member, subscribed to a topic of three partitions.
func (c *conn) newConsumer() *consumer {
	c.t.Helper()
	m := c.consumerOf(c.newGroup(), c.newTopicOf(3))
	if got := m.beatAs(m.joinRequest()); got.ErrorCode != 0 {
		c.t.Fatalf("join: %s: %s", code(got.ErrorCode), text(got.ErrorMessage))
	}
	return m
}

// consumerOf makes a member that has not joined yet.
func (c *conn) consumerOf(group string, t topic) *consumer {
	return &consumer{conn: c, topic: t, group: group, id: newName()}
}

func (m *consumer) joinRequest() *kmsg.ConsumerGroupHeartbeatRequest {
	req := kmsg.NewPtrConsumerGroupHeartbeatRequest()
	req.Version, req.Group, req.MemberID, req.InstanceID = 1, m.group, m.id, m.instance
	req.RebalanceTimeoutMillis = 30_000
	req.SubscribedTopicNames = []string{m.topic.name}
	req.Topics = []kmsg.ConsumerGroupHeartbeatRequestTopic{}
	return req
}

// beatRequest is a heartbeat that changes nothing.
func (m *consumer) beatRequest() *kmsg.ConsumerGroupHeartbeatRequest {
	req := kmsg.NewPtrConsumerGroupHeartbeatRequest()
	req.Version, req.Group, req.MemberID, req.InstanceID, req.MemberEpoch = 1, m.group, m.id, m.instance, m.epoch
	return req
}

// beatAs sends a heartbeat and takes over what the answer says.
func (m *consumer) beatAs(req *kmsg.ConsumerGroupHeartbeatRequest) *kmsg.ConsumerGroupHeartbeatResponse {
	m.t.Helper()
	r := ask[*kmsg.ConsumerGroupHeartbeatResponse](m.conn, req)
	if r.ErrorCode == 0 {
		m.epoch = r.MemberEpoch
		if r.Assignment != nil {
			m.owned = partitionsGiven(r)
		}
	}
	return r
}

func partitionsGiven(r *kmsg.ConsumerGroupHeartbeatResponse) []int32 {
	var list []int32
	for _, t := range r.Assignment.Topics {
		list = append(list, t.Partitions...)
	}
	slices.Sort(list)
	return list
}

func describeBeaten(r *kmsg.ConsumerGroupHeartbeatResponse) string {
	if r.ErrorCode != 0 {
		return code(r.ErrorCode)
	}
	s := fmt.Sprintf("OK epoch %d interval %d, ", r.MemberEpoch, r.HeartbeatIntervalMillis)
	if r.Assignment == nil {
		return s + "as before"
	}
	return s + strings.Trim(fmt.Sprint(partitionsGiven(r)), "[]")
}

func consumerJoins(c *conn) string {
	m := c.consumerOf(c.newGroup(), c.newTopicOf(3))
	return describeBeaten(m.beatAs(m.joinRequest()))
}

func consumerWithoutID(version int16) func(*conn) string {
	return func(c *conn) string {
		m := c.consumerOf(c.newGroup(), c.newTopic())
		req := m.joinRequest()
		req.Version, req.MemberID = version, ""
		r := m.beatAs(req)
		switch {
		case r.ErrorMessage != nil:
			return code(r.ErrorCode) + " with a message"
		case r.MemberID != nil && *r.MemberID != "":
			return code(r.ErrorCode) + ", an id"
		}
		return code(r.ErrorCode)
	}
}

func consumerUnknownGroup(c *conn) string {
	m := c.consumerOf(c.newGroup(), c.newTopic())
	m.epoch = 5
	return describeBeaten(m.beatAs(m.beatRequest()))
}

// consumerChanged sends a changed heartbeat of a member.
func consumerChanged(change func(*kmsg.ConsumerGroupHeartbeatRequest)) func(*conn) string {
	return func(c *conn) string {
		m := c.newConsumer()
		req := m.beatRequest()
		change(req)
		return describeBeaten(m.beatAs(req))
	}
}

// consumerRefused joins in a way that is not right.
func consumerRefused(change func(*kmsg.ConsumerGroupHeartbeatRequest)) func(*conn) string {
	return func(c *conn) string {
		m := c.consumerOf(c.newGroup(), c.newTopic())
		req := m.joinRequest()
		change(req)
		return code(m.beatAs(req).ErrorCode)
	}
}

func consumerAgain(c *conn) string {
	m := c.newConsumer()
	return describeBeaten(m.beatAs(m.joinRequest()))
}

func consumerLeaves(c *conn) string {
	m := c.newConsumer()
	m.epoch = -1
	s := describeBeaten(m.beatAs(m.beatRequest()))
	return s + "; " + c.describeConsumerGroup(m.group).State
}

func consumerByExpression(c *conn) string {
	m := c.consumerOf(c.newGroup(), c.newTopicOf(3))
	req := m.joinRequest()
	req.SubscribedTopicNames, req.SubscribedTopicRegex = nil, kmsg.StringPtr(m.topic.name[:len(m.topic.name)-1]+"["+m.topic.name[len(m.topic.name)-1:]+"]")
	m.beatAs(req)
	m.eventually("the topic is found", func() bool { m.beatAs(m.beatRequest()); return len(m.owned) == 3 })
	return strings.Trim(fmt.Sprint(m.owned), "[]")
}

// consumerSecond lets a member hand over some of its partitions to another.
func consumerSecond(c *conn) string {
	m := c.newConsumer()
	other := c.another().consumerOf(m.group, m.topic)
	other.beatAs(other.joinRequest())
	c.eventually("partitions are shared", func() bool {
		for _, one := range []*consumer{m, other} {
			req := one.beatRequest()
			req.Topics = []kmsg.ConsumerGroupHeartbeatRequestTopic{}
			if len(one.owned) > 0 {
				req.Topics = append(req.Topics, kmsg.ConsumerGroupHeartbeatRequestTopic{TopicID: one.topic.id, Partitions: one.owned})
			}
			one.beatAs(req)
		}
		return len(m.owned) > 0 && len(other.owned) > 0 && len(m.owned)+len(other.owned) == 3
	})
	all := append(slices.Clone(m.owned), other.owned...)
	slices.Sort(all)
	if n := len(slices.Compact(all)); n != 3 {
		return fmt.Sprintf("%v and %v", m.owned, other.owned)
	}
	return "3 partitions, none twice"
}

func consumerInto(of func(*conn) string) func(*conn) string {
	return func(c *conn) string {
		m := c.consumerOf(of(c), c.newTopic())
		s := code(m.beatAs(m.joinRequest()).ErrorCode)
		return s + ", " + c.groupType(m.group)
	}
}

// classicConsumer makes a classic group of a consumer with an assignment.
func classicConsumer(c *conn) string {
	m := c.newJoined()
	a := kmsg.NewConsumerMemberAssignment()
	a.Topics = []kmsg.ConsumerMemberAssignmentTopic{{Topic: c.newTopic().name, Partitions: []int32{0}}}
	m.sync(m.id, string(a.AppendTo(nil)))
	return m.group
}

// groupType is a group's type as it is listed.
func (c *conn) groupType(id string) string {
	c.t.Helper()
	req := kmsg.NewPtrListGroupsRequest()
	req.Version = 5
	for _, g := range c.listGroups(req) {
		if g.Group == id {
			return g.GroupType
		}
	}
	return "not listed"
}

func classicInto(c *conn) string {
	m := c.newConsumer()
	req := joinAs(m.group, "")
	req.Version = 3
	req.Protocols[0].Metadata = subscription(m.topic.name)
	return code(ask[*kmsg.JoinGroupResponse](c, req).ErrorCode)
}

func consumerDescribedAsClassic(version int16) func(*conn) string {
	return func(c *conn) string {
		g := c.describeGroup(version, c.newConsumer().group)
		return code(g.ErrorCode) + " " + g.State
	}
}

func consumerListed(c *conn) string {
	m := c.newConsumer()
	req := kmsg.NewPtrListGroupsRequest()
	req.Version, req.TypesFilter = 5, []string{"Consumer"}
	for _, g := range c.listGroups(req) {
		if g.Group == m.group {
			return strings.Join([]string{g.ProtocolType, g.GroupState, g.GroupType}, " ")
		}
	}
	return "not listed"
}

func consumerGroupDescribe(version int16, ids ...string) *kmsg.ConsumerGroupDescribeRequest {
	req := kmsg.NewPtrConsumerGroupDescribeRequest()
	req.Version, req.Groups, req.IncludeAuthorizedOperations = version, ids, true
	return req
}

func (c *conn) describeConsumerGroup(id string) kmsg.ConsumerGroupDescribeResponseGroup {
	c.t.Helper()
	return ask[*kmsg.ConsumerGroupDescribeResponse](c, consumerGroupDescribe(1, id)).Groups[0]
}

func consumerDescribed(of func(*conn) string) func(*conn) string {
	return func(c *conn) string {
		g := c.describeConsumerGroup(of(c))
		if g.ErrorCode != 0 {
			s := code(g.ErrorCode)
			if g.ErrorMessage != nil {
				s += " with a message"
			}
			return s
		}
		s := fmt.Sprintf("OK %s epoch %d assignment %d by %s operations %d", g.State, g.Epoch, g.AssignmentEpoch, g.AssignorName, g.AuthorizedOperations)
		for _, m := range g.Members {
			s += fmt.Sprintf(", member of epoch %d type %d from %s with %d of %d partitions", m.MemberEpoch, m.MemberType, m.ClientHost, assigned(m.Assignment), assigned(m.TargetAssignment))
		}
		return s
	}
}

func assigned(a kmsg.Assignment) (n int) {
	for _, t := range a.TopicPartitions {
		n += len(t.Partitions)
	}
	return n
}

func consumerCommits(version int16, change func(*kmsg.OffsetCommitRequest)) func(*conn) string {
	return func(c *conn) string {
		m := c.newConsumer()
		req := commitTo(version, m.group, m.topic, 7)
		req.MemberID, req.Generation = m.id, m.epoch
		change(req)
		return c.committed(req)
	}
}

func consumerFetches(change func(*kmsg.OffsetFetchRequestGroup)) func(*conn) string {
	return func(c *conn) string {
		m := c.newConsumer()
		req := fetchOffsets(9, m.group, m.topic)
		req.Groups[0].MemberID, req.Groups[0].MemberEpoch = &m.id, m.epoch
		change(&req.Groups[0])
		return code(c.fetchedGroup(req).ErrorCode)
	}
}

// newStaticConsumer makes a group of one static member.
func (c *conn) newStaticConsumer() *consumer {
	c.t.Helper()
	m := c.consumerOf(c.newGroup(), c.newTopicOf(3))
	m.instance = kmsg.StringPtr("i")
	m.beatAs(m.joinRequest())
	return m
}

func consumerStatic(c *conn) string {
	m := c.newStaticConsumer()
	bye := m.beatRequest()
	bye.MemberEpoch = -2
	left := m.beatAs(bye)
	s := fmt.Sprintf("%s %d", code(left.ErrorCode), left.MemberEpoch)
	again := c.another().consumerOf(m.group, m.topic)
	again.instance = m.instance
	s += ", " + code(again.beatAs(again.joinRequest()).ErrorCode)
	if slices.Equal(again.owned, []int32{0, 1, 2}) {
		s += ", the assignment again"
	}
	return s
}

func consumerStaticTaken(c *conn) string {
	m := c.newStaticConsumer()
	other := c.another().consumerOf(m.group, m.topic)
	other.instance = m.instance
	return code(other.beatAs(other.joinRequest()).ErrorCode)
}
