package conformance

import (
	"strings"

	"github.com/twmb/franz-go/pkg/kmsg"
)

func staticRows() []row {
	return []row{
		{name: "first JoinGroup with an instance id", do: staticJoins, want: "OK generation 1 leader members 1"},
		{name: "JoinGroup without member id, instance id known", do: staticComesBack, want: "OK generation 1 leader skips members 1, another member id, the assignment again"},
		{name: "a follower comes back", do: staticFollowerComesBack, want: "OK generation 2 members 0, OK"},
		{name: "comes back with a protocol that the group has not", do: staticChanges(func(r *kmsg.JoinGroupRequest) { r.Protocols[0].Name = "other" }), want: "INCONSISTENT_GROUP_PROTOCOL"},
		{name: "comes back with another subscription", do: staticChanges(func(r *kmsg.JoinGroupRequest) { r.Protocols[0].Metadata = subscription("other") }), want: "OK generation 1 leader skips members 1"},
		{name: "old member id: JoinGroup", do: staticFenced(func(old *member) string { return describeJoined(old.join()) }), want: "FENCED_INSTANCE_ID"},
		{name: "old member id: SyncGroup", do: staticFenced(func(old *member) string { return old.sync() }), want: "FENCED_INSTANCE_ID"},
		{name: "old member id: Heartbeat", do: staticFenced(func(old *member) string { return old.heartbeat() }), want: "FENCED_INSTANCE_ID"},
		{name: "old member id: OffsetCommit", do: staticFenced(func(old *member) string { return old.commits(old.newTopic()) }), want: "FENCED_INSTANCE_ID"},
		{name: "old member id: LeaveGroup", do: staticFenced(func(old *member) string { return old.leaves() }), want: "OK FENCED_INSTANCE_ID"},
		{name: "old member id without instance id: Heartbeat", do: staticFenced(func(old *member) string { old.instance = nil; return old.heartbeat() }), want: "UNKNOWN_MEMBER_ID"},
		{name: "old member id without instance id: JoinGroup", do: staticFenced(func(old *member) string { old.instance = nil; return describeJoined(old.join()) }), want: "UNKNOWN_MEMBER_ID"},
		{name: "unknown instance id: Heartbeat", do: staticStranger(func(m *member) string { return m.heartbeat() }), want: "UNKNOWN_MEMBER_ID"},
		{name: "unknown instance id: JoinGroup", do: staticStranger(func(m *member) string { return describeJoined(m.join()) }), want: "UNKNOWN_MEMBER_ID"},
		{name: "LeaveGroup by instance id, member id empty", do: staticLeaves, want: "OK OK, Empty"},
		{name: "LeaveGroup by an unknown instance id", do: staticStrangerLeaves, want: "OK UNKNOWN_MEMBER_ID"},
		{name: "DescribeGroups tells the instance id", do: staticDescribed, want: "i"},
	}
}

// newStatic makes a stable group of one static member.
func (c *conn) newStatic() *member {
	c.t.Helper()
	m := &member{conn: c.another(), group: c.newGroup(), instance: kmsg.StringPtr("i")}
	m.expect(code(m.join().ErrorCode), "OK")
	m.expect(m.sync(m.id, "mine"), `OK "mine"`)
	return m
}

// back is a static member as it comes back after a restart.
func (m *member) back() *member {
	return &member{conn: m.another(), group: m.group, instance: m.instance, change: m.change}
}

func staticJoins(c *conn) string {
	m := &member{conn: c.another(), group: c.newGroup(), instance: kmsg.StringPtr("i")}
	return describeJoined(m.join())
}

func staticComesBack(c *conn) string {
	m := c.newStatic()
	again := m.back()
	s := describeJoined(again.join())
	if again.id != m.id {
		s += ", another member id"
	}
	if again.sync() == `OK "mine"` {
		s += ", the assignment again"
	}
	return s
}

func staticFollowerComesBack(c *conn) string {
	m := c.newStatic()
	other := &member{conn: c.another(), group: m.group, instance: kmsg.StringPtr("j")}
	joined := other.startJoin()
	m.beatUntil("REBALANCE_IN_PROGRESS")
	m.join()
	joined()
	synced := other.startSync()
	m.expect(m.sync(m.id, "1", other.id, "2"), `OK "1"`)
	synced()
	return describeJoined(other.back().join()) + ", " + m.heartbeat()
}

func staticChanges(change func(*kmsg.JoinGroupRequest)) func(*conn) string {
	return func(c *conn) string {
		again := c.newStatic().back()
		again.change = change
		return describeJoined(again.join())
	}
}

// staticFenced does something as the member that another has taken the place of.
func staticFenced(do func(old *member) string) func(*conn) string {
	return func(c *conn) string {
		m := c.newStatic()
		m.back().join()
		return do(m)
	}
}

// staticStranger does something with an instance id that the group does not know.
func staticStranger(do func(m *member) string) func(*conn) string {
	return func(c *conn) string {
		m := c.newStatic()
		m.instance = kmsg.StringPtr("stranger")
		return do(m)
	}
}

func staticLeaves(c *conn) string {
	m := c.newStatic()
	return c.leave(leaveGroup(5, m.group, kmsg.LeaveGroupRequestMember{InstanceID: m.instance})) + ", " + c.awaitState(m.group, "Empty")
}

func staticStrangerLeaves(c *conn) string {
	return c.leave(leaveGroup(5, c.newStatic().group, kmsg.LeaveGroupRequestMember{InstanceID: kmsg.StringPtr("stranger")}))
}

func staticDescribed(c *conn) string {
	var ids []string
	for _, m := range c.describeGroup(5, c.newStatic().group).Members {
		ids = append(ids, text(m.InstanceID))
	}
	return strings.Join(ids, " ")
}
