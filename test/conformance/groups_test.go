package conformance

import (
	"fmt"
	"strings"

	"github.com/twmb/franz-go/pkg/kmsg"
)

func groupRows() []row {
	rows := []row{
		{name: "JoinGroup without member id in v3", do: joinedAnonymously(3), want: "OK generation 1 leader members 1"},
		{name: "JoinGroup without member id in v4", do: joinedAnonymously(4), want: "MEMBER_ID_REQUIRED, an id that begins with the client's"},
		{name: "JoinGroup without member id in v9", do: joinedAnonymously(9), want: "MEMBER_ID_REQUIRED, an id that begins with the client's"},
		{name: "JoinGroup with the id it was given", do: joined(nil), want: "OK generation 1 leader members 1"},
		{name: "JoinGroup with an unknown member id", do: joinedAs("nobody"), want: "UNKNOWN_MEMBER_ID"},
		{name: "JoinGroup, empty group id", do: joinedChanged(func(r *kmsg.JoinGroupRequest) { r.Group = "" }), want: "INVALID_GROUP_ID"},
		{name: "session timeout 5999", do: joinedChanged(sessions(5999)), want: "INVALID_SESSION_TIMEOUT"},
		{name: "session timeout -1", do: joinedChanged(sessions(-1)), want: "INVALID_SESSION_TIMEOUT"},
		{name: "session timeout 1800001", do: joinedChanged(sessions(1_800_001)), want: "INVALID_SESSION_TIMEOUT"},
		{name: "session timeout 6000", do: joined(sessions(6000)), want: "OK generation 1 leader members 1"},
		{name: "rebalance timeout -1", do: joined(func(r *kmsg.JoinGroupRequest) { r.RebalanceTimeoutMillis = -1 }), want: "OK generation 1 leader members 1"},
		{name: "metadata that is no subscription", do: joined(func(r *kmsg.JoinGroupRequest) { r.Protocols[0].Metadata = []byte("?") }), want: "OK generation 1 leader members 1"},
		{name: "no protocols", do: joinedChanged(func(r *kmsg.JoinGroupRequest) { r.Protocols = nil }), want: "INCONSISTENT_GROUP_PROTOCOL"},
		{name: "empty protocol type", do: joinedChanged(func(r *kmsg.JoinGroupRequest) { r.ProtocolType = "" }), want: "INCONSISTENT_GROUP_PROTOCOL"},
		{name: "other protocol type than the group's", do: joinedSecond(func(r *kmsg.JoinGroupRequest) { r.ProtocolType = "connect" }), want: "INCONSISTENT_GROUP_PROTOCOL"},
		{name: "no protocol in common", do: joinedSecond(func(r *kmsg.JoinGroupRequest) { r.Protocols[0].Name = "other" }), want: "INCONSISTENT_GROUP_PROTOCOL"},
		{name: "protocol that all have wins", do: joinedCommonProtocol, want: "b"},
		{name: "the leader joins again unchanged", do: leaderJoinsAgain, want: "OK generation 2 leader members 1"},
		{name: "a follower joins again unchanged", do: followerJoinsAgain, want: "OK generation 2 members 0"},
		{name: "a second member joins", do: secondJoins, want: "REBALANCE_IN_PROGRESS; OK generation 2 leader members 2; OK generation 2 members 0"},
		{name: "followers sync before and after the leader", do: followersSync, want: `OK "1", OK "2", OK "3"`},
		{name: "SyncGroup again in a stable group", do: syncedAgain, want: `OK "mine"`},
		{name: "SyncGroup of a leader without assignments", do: func(c *conn) string { return c.newJoined().sync() }, want: `OK ""`},
		{name: "SyncGroup, unknown group", do: synced(func(r *kmsg.SyncGroupRequest) { r.Group = newName() }), want: "UNKNOWN_MEMBER_ID"},
		{name: "SyncGroup, empty group id", do: synced(func(r *kmsg.SyncGroupRequest) { r.Group = "" }), want: "INVALID_GROUP_ID"},
		{name: "SyncGroup, unknown member", do: synced(func(r *kmsg.SyncGroupRequest) { r.MemberID = "nobody" }), want: "UNKNOWN_MEMBER_ID"},
		{name: "SyncGroup, other generation", do: synced(func(r *kmsg.SyncGroupRequest) { r.Generation = 9 }), want: "ILLEGAL_GENERATION"},
		{name: "SyncGroup, other protocol name", do: synced(func(r *kmsg.SyncGroupRequest) { r.Protocol = kmsg.StringPtr("other") }), want: "INCONSISTENT_GROUP_PROTOCOL"},
		{name: "SyncGroup, other protocol type", do: synced(func(r *kmsg.SyncGroupRequest) { r.ProtocolType = kmsg.StringPtr("other") }), want: "INCONSISTENT_GROUP_PROTOCOL"},
		{name: "SyncGroup, null protocol name", do: synced(func(r *kmsg.SyncGroupRequest) { r.Protocol = nil }), want: "INCONSISTENT_GROUP_PROTOCOL"},
		{name: "SyncGroup, null protocol type", do: synced(func(r *kmsg.SyncGroupRequest) { r.ProtocolType = nil }), want: "INCONSISTENT_GROUP_PROTOCOL"},
		{name: "SyncGroup v4 tells no protocol", do: synced(func(r *kmsg.SyncGroupRequest) { r.Version = 4 }), want: `OK ""`},
		{name: "Heartbeat", do: func(c *conn) string { return c.newStable().heartbeat() }, want: "OK"},
		{name: "Heartbeat between JoinGroup and SyncGroup", do: func(c *conn) string { return c.newJoined().heartbeat() }, want: "OK"},
		{name: "Heartbeat, unknown group", do: beaten(func(m *member) { m.group = newName() }), want: "UNKNOWN_MEMBER_ID"},
		{name: "Heartbeat, empty group id", do: beaten(func(m *member) { m.group = "" }), want: "INVALID_GROUP_ID"},
		{name: "Heartbeat, unknown member", do: beaten(func(m *member) { m.id = "nobody" }), want: "UNKNOWN_MEMBER_ID"},
		{name: "Heartbeat, other generation", do: beaten(func(m *member) { m.generation = 0 }), want: "ILLEGAL_GENERATION"},
		{name: "LeaveGroup", do: leavesAlone, want: "OK OK, Empty"},
		{name: "LeaveGroup, unknown member", do: left(5, "nobody"), want: "OK UNKNOWN_MEMBER_ID"},
		{name: "LeaveGroup, unknown member in v2", do: left(2, "nobody"), want: "UNKNOWN_MEMBER_ID"},
		{name: "LeaveGroup, unknown group", do: leftUnknownGroup(5), want: "OK UNKNOWN_MEMBER_ID"},
		{name: "LeaveGroup, unknown group in v2", do: leftUnknownGroup(2), want: "UNKNOWN_MEMBER_ID"},
		{name: "LeaveGroup, empty group id", do: leftEmptyGroup, want: "INVALID_GROUP_ID"},
		{name: "LeaveGroup without members", do: leftNobody, want: "OK"},
		{name: "a member leaves, the other goes on", do: leavesAnother, want: "OK OK; REBALANCE_IN_PROGRESS; OK generation 3 leader members 1"},
		{name: "the last member is silent for its session timeout", do: silent, want: "Empty, UNKNOWN_MEMBER_ID"},
		{name: "a member that does not join again in time", do: joinsTooLate, want: "OK generation 2 leader members 1, UNKNOWN_MEMBER_ID"},
		{name: "a leader that never syncs", do: neverSyncs, want: "REBALANCE_IN_PROGRESS, UNKNOWN_MEMBER_ID"},
		{name: "all members vanish while the group rebalances", do: vanish, want: "Empty, OK generation 4 leader members 1"},
	}
	return append(rows, findCoordinatorRows()...)
}

func findCoordinatorRows() []row {
	rows := []row{
		{name: "FindCoordinator, empty group id", do: found(4, groupCoordinator, ""), want: "OK"},
		{name: "FindCoordinator, key type 9", do: found(4, 9, "g"), want: "INVALID_REQUEST"},
		{name: "FindCoordinator, no keys", do: foundNothing, want: "0 coordinators"},
		{name: "FindCoordinator of a transactional id", do: found(4, transactionCoordinator, "tx"), want: "OK", korvet: differs("TRANSACTIONAL_ID_AUTHORIZATION_FAILED", "Transactions")},
		{name: "FindCoordinator of a transactional id in v1", do: found(1, transactionCoordinator, "tx"), want: "OK", korvet: differs("TRANSACTIONAL_ID_AUTHORIZATION_FAILED", "Transactions")},
	}
	for version := int16(0); version <= 6; version++ {
		rows = append(rows, row{name: fmt.Sprintf("FindCoordinator v%d", version), do: found(version, groupCoordinator, "g"), want: "OK"})
	}
	return rows
}

func findCoordinator(version int16, kind int8, key string) *kmsg.FindCoordinatorRequest {
	req := kmsg.NewPtrFindCoordinatorRequest()
	req.Version, req.CoordinatorType, req.CoordinatorKey, req.CoordinatorKeys = version, kind, key, []string{key}
	return req
}

// found tells whether the answer is the broker that was asked, since there is only one.
func found(version int16, kind int8, key string) func(*conn) string {
	return func(c *conn) string {
		if kind == groupCoordinator || kind == transactionCoordinator {
			c.awaitCoordinator(kind)
		}
		r := ask[*kmsg.FindCoordinatorResponse](c, findCoordinator(version, kind, key))
		got := kmsg.FindCoordinatorResponseCoordinator{Key: key, ErrorCode: r.ErrorCode, NodeID: r.NodeID, Host: r.Host, Port: r.Port}
		if version >= 4 {
			got = r.Coordinators[0]
		}
		broker := c.metadata(12).Brokers[0]
		switch {
		case got.ErrorCode != 0 && (got.NodeID != -1 || got.Host != "" || got.Port != -1):
			return code(got.ErrorCode) + " with a broker"
		case got.ErrorCode == 0 && (got.Key != key || got.NodeID != broker.NodeID || got.Host != broker.Host || got.Port != broker.Port):
			return fmt.Sprintf("%+v", got)
		}
		return code(got.ErrorCode)
	}
}

func foundNothing(c *conn) string {
	req := findCoordinator(4, groupCoordinator, "")
	req.CoordinatorKeys = []string{}
	return fmt.Sprintf("%d coordinators", len(ask[*kmsg.FindCoordinatorResponse](c, req).Coordinators))
}

func sessions(ms int32) func(*kmsg.JoinGroupRequest) {
	return func(r *kmsg.JoinGroupRequest) { r.SessionTimeoutMillis = ms }
}

// rebalances limits how long a group waits for members to join again.
func rebalances(ms int32) func(*kmsg.JoinGroupRequest) {
	return func(r *kmsg.JoinGroupRequest) { r.RebalanceTimeoutMillis = ms }
}

func joinedAnonymously(version int16) func(*conn) string {
	return func(c *conn) string {
		req := joinAs(c.newGroup(), "")
		req.Version = version
		r := ask[*kmsg.JoinGroupResponse](c, req)
		s := describeJoined(r)
		if r.ErrorCode != 0 && strings.HasPrefix(r.MemberID, "conformance-") {
			s += ", an id that begins with the client's"
		}
		return s
	}
}

// joinedAs sends one JoinGroup with a member id.
func joinedAs(id string) func(*conn) string {
	return func(c *conn) string {
		return describeJoined(ask[*kmsg.JoinGroupResponse](c, joinAs(c.newGroup(), id)))
	}
}

// joinedChanged sends one JoinGroup v3, which needs no member id.
func joinedChanged(change func(*kmsg.JoinGroupRequest)) func(*conn) string {
	return func(c *conn) string {
		req := joinAs(c.newGroup(), "")
		req.Version = 3
		change(req)
		return describeJoined(ask[*kmsg.JoinGroupResponse](c, req))
	}
}

func joined(change func(*kmsg.JoinGroupRequest)) func(*conn) string {
	return func(c *conn) string { return describeJoined(c.newMember(c.newGroup(), change).join()) }
}

// joinedSecond joins a stable group as another kind of member.
func joinedSecond(change func(*kmsg.JoinGroupRequest)) func(*conn) string {
	return func(c *conn) string {
		m := c.newStable()
		return describeJoined(c.newMember(m.group, change).join())
	}
}

func joinedCommonProtocol(c *conn) string {
	speaks := func(names ...string) func(*kmsg.JoinGroupRequest) {
		return func(r *kmsg.JoinGroupRequest) {
			r.Protocols = nil
			for _, name := range names {
				r.Protocols = append(r.Protocols, kmsg.JoinGroupRequestProtocol{Name: name, Metadata: []byte{}})
			}
		}
	}
	m := c.newMember(c.newGroup(), speaks("a", "b"))
	m.join()
	_, first, second := m.second(speaks("c", "b"))
	if text(first.Protocol) != text(second.Protocol) {
		return text(first.Protocol) + " and " + text(second.Protocol)
	}
	return text(first.Protocol)
}

func leaderJoinsAgain(c *conn) string { return describeJoined(c.newStable().join()) }

func followerJoinsAgain(c *conn) string {
	m := c.newStable()
	other, _, _ := m.second(nil)
	synced := other.startSync()
	m.expect(m.sync(m.id, "1", other.id, "2"), `OK "1"`)
	synced()
	return describeJoined(other.join())
}

func secondJoins(c *conn) string {
	m := c.newStable()
	other := c.newMember(m.group, nil)
	joined := other.startJoin()
	s := m.beatUntil("REBALANCE_IN_PROGRESS")
	first := describeJoined(m.join())
	return strings.Join([]string{s, first, describeJoined(joined())}, "; ")
}

// followersSync has one follower wait for the leader's assignment and one come after it.
func followersSync(c *conn) string {
	m := c.newStable()
	early, late := c.newMember(m.group, nil), c.newMember(m.group, nil)
	joinedEarly, joinedLate := early.startJoin(), late.startJoin()
	m.eventually("three members", func() bool { return len(c.describeGroup(5, m.group).Members) == 3 })
	leader := m.join()
	joinedEarly()
	joinedLate()
	if len(leader.Members) != 3 {
		return fmt.Sprintf("%d members", len(leader.Members))
	}
	synced := early.startSync()
	first := m.sync(m.id, "1", early.id, "2", late.id, "3")
	return strings.Join([]string{first, synced(), late.sync()}, ", ")
}

func syncedAgain(c *conn) string { return c.newStable().sync() }

func synced(change func(*kmsg.SyncGroupRequest)) func(*conn) string {
	return func(c *conn) string {
		m := c.newJoined()
		req := m.syncRequest()
		change(req)
		return describeSynced(ask[*kmsg.SyncGroupResponse](m.conn, req))
	}
}

func beaten(change func(*member)) func(*conn) string {
	return func(c *conn) string {
		m := c.newStable()
		change(m)
		c.coordinated(m.group)
		return m.heartbeat()
	}
}

func leavesAlone(c *conn) string {
	m := c.newStable()
	return m.leaves() + ", " + c.awaitState(m.group, "Empty")
}

func left(version int16, id string) func(*conn) string {
	return func(c *conn) string {
		return c.leave(leaveGroup(version, c.newStable().group, kmsg.LeaveGroupRequestMember{MemberID: id}))
	}
}

func leftUnknownGroup(version int16) func(*conn) string {
	return func(c *conn) string {
		return c.leave(leaveGroup(version, c.newGroup(), kmsg.LeaveGroupRequestMember{MemberID: "nobody"}))
	}
}

func leftEmptyGroup(c *conn) string {
	return c.leave(leaveGroup(5, c.coordinated(""), kmsg.LeaveGroupRequestMember{MemberID: "nobody"}))
}

func leftNobody(c *conn) string { return c.leave(leaveGroup(5, c.newStable().group)) }

func leavesAnother(c *conn) string {
	m := c.newStable()
	other, _, _ := m.second(nil)
	m.expect(m.sync(m.id, "1", other.id, "2"), `OK "1"`)
	s := other.leaves() + "; " + m.beatUntil("REBALANCE_IN_PROGRESS")
	return s + "; " + describeJoined(m.join())
}

func silent(c *conn) string {
	m := c.newStable(sessions(6000))
	return c.awaitState(m.group, "Empty") + ", " + m.heartbeat()
}

func joinsTooLate(c *conn) string {
	m := c.newStable(rebalances(500))
	other := c.newMember(m.group, rebalances(500))
	return describeJoined(other.join()) + ", " + m.heartbeat()
}

func neverSyncs(c *conn) string {
	m := c.newStable(rebalances(1000))
	other, _, _ := m.second(rebalances(1000))
	s := other.sync() // waits for the leader's assignment
	m.beatUntil("UNKNOWN_MEMBER_ID")
	return s + ", UNKNOWN_MEMBER_ID"
}

// vanish has one member wait for another that does not come again, and then never sync. Each way out is a generation.
func vanish(c *conn) string {
	short := func(r *kmsg.JoinGroupRequest) { r.SessionTimeoutMillis, r.RebalanceTimeoutMillis = 6000, 500 }
	m := c.newStable(short)
	other := c.newMember(m.group, short)
	other.join()
	other.nc.Close()
	s := c.awaitState(m.group, "Empty")
	return s + ", " + describeJoined(c.newMember(m.group, nil).join())
}
