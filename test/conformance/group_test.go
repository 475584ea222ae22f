package conformance

import (
	"fmt"
	"strings"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// newGroup returns the id of a group that was not used before, once its coordinator answers for it.
func (c *conn) newGroup() string {
	c.t.Helper()
	return c.coordinated("g-" + newName())
}

// coordinated waits until the coordinator of a group id has loaded it.
func (c *conn) coordinated(id string) string {
	c.t.Helper()
	c.awaitCoordinator(groupCoordinator)
	c.eventually("group is loaded", func() bool { return c.describeGroup(5, id).ErrorCode == 0 })
	return id
}

func (c *conn) describeGroup(version int16, id string) kmsg.DescribeGroupsResponseGroup {
	c.t.Helper()
	return ask[*kmsg.DescribeGroupsResponse](c, describeGroups(version, id)).Groups[0]
}

func describeGroups(version int16, ids ...string) *kmsg.DescribeGroupsRequest {
	req := kmsg.NewPtrDescribeGroupsRequest()
	req.Version, req.Groups = version, ids
	return req
}

// awaitState waits until a group is in a state.
func (c *conn) awaitState(id, state string) string {
	c.t.Helper()
	c.eventually("group is "+state, func() bool { return c.describeGroup(5, id).State == state })
	return state
}

// joinAs is how a member joins: a JoinGroup v9 of a consumer with the assignor range.
func joinAs(group, memberID string) *kmsg.JoinGroupRequest {
	req := kmsg.NewPtrJoinGroupRequest()
	req.Version, req.Group, req.MemberID = 9, group, memberID
	req.SessionTimeoutMillis, req.RebalanceTimeoutMillis = 30_000, 30_000
	req.ProtocolType = "consumer"
	req.Protocols = []kmsg.JoinGroupRequestProtocol{{Name: "range", Metadata: subscription("some-topic")}}
	return req
}

// subscription is a consumer's metadata: the topics that it wants.
func subscription(topics ...string) []byte {
	m := kmsg.NewConsumerMemberMetadata()
	m.Topics = topics
	return m.AppendTo(nil)
}

// member is a member of a classic group, on a connection of its own.
type member struct {
	*conn
	group      string
	id         string
	instance   *string
	generation int32
	change     func(*kmsg.JoinGroupRequest)
}

// newMember gets a member id, and does not join yet.
func (c *conn) newMember(group string, change func(*kmsg.JoinGroupRequest)) *member {
	c.t.Helper()
	m := &member{conn: c.another(), group: group, change: change}
	m.id = ask[*kmsg.JoinGroupResponse](m.conn, m.joinRequest()).MemberID
	return m
}

func (m *member) joinRequest() *kmsg.JoinGroupRequest {
	req := joinAs(m.group, m.id)
	req.InstanceID = m.instance
	if m.change != nil {
		m.change(req)
	}
	return req
}

// startJoin sends a JoinGroup; the function that it returns reads the answer.
func (m *member) startJoin() func() *kmsg.JoinGroupResponse {
	req := m.joinRequest()
	id := m.send(req)
	return func() *kmsg.JoinGroupResponse {
		m.t.Helper()
		resp, err := m.receive(req, id)
		if err != nil {
			m.t.Fatalf("JoinGroup: %v", err)
		}
		r := resp.(*kmsg.JoinGroupResponse)
		if r.ErrorCode == 0 {
			m.id, m.generation = r.MemberID, r.Generation
		}
		return r
	}
}

func (m *member) join() *kmsg.JoinGroupResponse {
	m.t.Helper()
	return m.startJoin()()
}

// syncRequest makes a SyncGroup with assignments as member id, assignment, member id ...
func (m *member) syncRequest(assignments ...string) *kmsg.SyncGroupRequest {
	req := kmsg.NewPtrSyncGroupRequest()
	req.Version, req.Group, req.MemberID, req.InstanceID, req.Generation = 5, m.group, m.id, m.instance, m.generation
	req.ProtocolType, req.Protocol = kmsg.StringPtr("consumer"), kmsg.StringPtr("range")
	for i := 0; i < len(assignments); i += 2 {
		req.GroupAssignment = append(req.GroupAssignment, kmsg.SyncGroupRequestGroupAssignment{MemberID: assignments[i], MemberAssignment: []byte(assignments[i+1])})
	}
	return req
}

// startSync sends a SyncGroup; the function that it returns reads the answer.
func (m *member) startSync(assignments ...string) func() string {
	req := m.syncRequest(assignments...)
	id := m.send(req)
	return func() string {
		resp, err := m.receive(req, id)
		if err != nil {
			return outcome(err)
		}
		return describeSynced(resp.(*kmsg.SyncGroupResponse))
	}
}

func (m *member) sync(assignments ...string) string { return m.startSync(assignments...)() }

func describeSynced(r *kmsg.SyncGroupResponse) string {
	if r.ErrorCode != 0 {
		return code(r.ErrorCode)
	}
	return fmt.Sprintf("OK %q", r.MemberAssignment)
}

// describeJoined tells a JoinGroup's answer, without the ids.
func describeJoined(r *kmsg.JoinGroupResponse) string {
	if r.ErrorCode != 0 {
		return code(r.ErrorCode)
	}
	s := fmt.Sprintf("OK generation %d", r.Generation)
	if r.LeaderID == r.MemberID {
		s += " leader"
	}
	if r.SkipAssignment {
		s += " skips"
	}
	return fmt.Sprintf("%s members %d", s, len(r.Members))
}

func (m *member) heartbeatRequest() *kmsg.HeartbeatRequest {
	req := kmsg.NewPtrHeartbeatRequest()
	req.Version, req.Group, req.MemberID, req.InstanceID, req.Generation = 4, m.group, m.id, m.instance, m.generation
	return req
}

func (m *member) heartbeat() string {
	m.t.Helper()
	return code(ask[*kmsg.HeartbeatResponse](m.conn, m.heartbeatRequest()).ErrorCode)
}

// beat sends heartbeats until the answer is another than before.
func (m *member) beatUntil(want string) string {
	m.t.Helper()
	m.eventually("heartbeat answered "+want, func() bool { return m.heartbeat() == want })
	return want
}

func leaveGroup(version int16, group string, members ...kmsg.LeaveGroupRequestMember) *kmsg.LeaveGroupRequest {
	req := kmsg.NewPtrLeaveGroupRequest()
	req.Version, req.Group, req.Members = version, group, members
	if len(members) > 0 {
		req.MemberID = members[0].MemberID
	}
	return req
}

func (c *conn) leave(req *kmsg.LeaveGroupRequest) string {
	c.t.Helper()
	r := ask[*kmsg.LeaveGroupResponse](c, req)
	s := []string{code(r.ErrorCode)}
	for _, m := range r.Members {
		s = append(s, code(m.ErrorCode))
	}
	return strings.Join(s, " ")
}

func (m *member) leaves() string {
	m.t.Helper()
	return m.leave(leaveGroup(5, m.group, kmsg.LeaveGroupRequestMember{MemberID: m.id, InstanceID: m.instance}))
}

// newStable makes a group of one member that has its assignment.
func (c *conn) newStable(change ...func(*kmsg.JoinGroupRequest)) *member {
	c.t.Helper()
	m := c.newJoined(change...)
	m.expect(m.sync(m.id, "mine"), `OK "mine"`)
	return m
}

// newJoined makes a group of one member that waits for its assignment.
func (c *conn) newJoined(change ...func(*kmsg.JoinGroupRequest)) *member {
	c.t.Helper()
	var all func(*kmsg.JoinGroupRequest)
	if len(change) > 0 {
		all = change[0]
	}
	m := c.newMember(c.newGroup(), all)
	m.expect(code(m.join().ErrorCode), "OK")
	return m
}

func (m *member) expect(got, want string) {
	m.t.Helper()
	if got != want {
		m.t.Fatalf("got %s, want %s", got, want)
	}
}

// second joins a group beside its leader, and tells both answers.
func (m *member) second(change func(*kmsg.JoinGroupRequest)) (other *member, first, second *kmsg.JoinGroupResponse) {
	m.t.Helper()
	other = m.newMember(m.group, change)
	joined := other.startJoin()
	m.beatUntil("REBALANCE_IN_PROGRESS")
	first = m.join()
	return other, first, joined()
}
