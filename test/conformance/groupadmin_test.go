package conformance

import (
	"fmt"
	"strings"

	"github.com/twmb/franz-go/pkg/kmsg"
)

func groupAdminRows() []row {
	return []row{
		{name: "DescribeGroups of an unknown group in v5", do: describedGroup(5, (*conn).newGroup), want: "OK Dead type '' protocol ''"},
		{name: "DescribeGroups of an unknown group in v6", do: describedGroup(6, (*conn).newGroup), want: "GROUP_ID_NOT_FOUND Dead type '' protocol '' with a message"},
		{name: "DescribeGroups before SyncGroup", do: describedGroup(5, func(c *conn) string { return c.newJoined().group }), want: "OK CompletingRebalance type 'consumer' protocol '', member metadata 0 assignment ''"},
		{name: "DescribeGroups", do: describedGroup(5, func(c *conn) string { return c.newStable().group }), want: "OK Stable type 'consumer' protocol 'range', member metadata 22 assignment 'mine'"},
		{name: "DescribeGroups v6", do: describedGroup(6, func(c *conn) string { return c.newStable().group }), want: "OK Stable type 'consumer' protocol 'range', member metadata 22 assignment 'mine'"},
		{name: "DescribeGroups, only offsets", do: describedGroup(5, (*conn).newCommitted), want: "OK Empty type '' protocol ''"},
		{name: "DescribeGroups after the last member left", do: describedGroup(5, emptied), want: "OK Empty type 'consumer' protocol ''"},
		{name: "DescribeGroups, client id and host", do: describedClient, want: "conformance from /127.0.0.1"},
		{name: "DescribeGroups, authorized operations", do: describedOperations, want: "3400, not asked -2147483648, unknown group -2147483648"},
		{name: "DescribeGroups, empty group id", do: func(c *conn) string { return c.describeGroup(5, c.coordinated("")).State }, want: "Dead"},
		{name: "ListGroups", do: listedGroup(nil, nil), want: "consumer Stable classic"},
		{name: "ListGroups, state filter in other case", do: listedGroup([]string{"sTABLE"}, nil), want: "consumer Stable classic"},
		{name: "ListGroups, other state", do: listedGroup([]string{"Empty"}, nil), want: "not listed"},
		{name: "ListGroups, unknown state", do: listedGroup([]string{"Odd"}, nil), want: "not listed"},
		{name: "ListGroups, type filter in other case", do: listedGroup(nil, []string{"cLASSIC"}), want: "consumer Stable classic"},
		{name: "ListGroups, other type", do: listedGroup(nil, []string{"consumer"}), want: "not listed"},
		{name: "ListGroups, unknown type", do: listedGroup(nil, []string{"odd"}), want: "not listed"},
		{name: "DeleteGroups, unknown id", do: deletedGroup(2, (*conn).newGroup), want: "GROUP_ID_NOT_FOUND"},
		{name: "DeleteGroups, empty id", do: deletedGroup(2, func(c *conn) string { return c.coordinated("") }), want: "GROUP_ID_NOT_FOUND"},
		{name: "DeleteGroups, with a member", do: deletedGroup(2, func(c *conn) string { return c.newStable().group }), want: "NON_EMPTY_GROUP"},
		{name: "DeleteGroups v3, with a member", do: deletedGroup(3, func(c *conn) string { return c.newStable().group }), want: "NON_EMPTY_GROUP"},
		{name: "DeleteGroups, only offsets", do: deletedGroup(2, (*conn).newCommitted), want: "OK"},
		{name: "DeleteGroups after the last member left", do: deletedGroup(2, emptied), want: "OK"},
		{name: "DeleteGroups takes the offsets along", do: deletedWithOffsets, want: "OK, -1, Dead"},
		{name: "DeleteGroups, an id twice", do: deletedGroupTwice, want: "1 answers"},
	}
}

// newCommitted makes a group of which there is nothing but an offset.
func (c *conn) newCommitted() string {
	c.t.Helper()
	g := c.newGroup()
	if got := c.committed(commitTo(8, g, c.newTopic(), 1)); got != "OK" {
		c.t.Fatalf("commit: %s", got)
	}
	return g
}

// emptied makes a group whose only member has left.
func emptied(c *conn) string {
	m := c.newStable()
	m.expect(m.leaves(), "OK OK")
	return m.group
}

func describedGroup(version int16, of func(*conn) string) func(*conn) string {
	return func(c *conn) string {
		g := c.describeGroup(version, of(c))
		s := fmt.Sprintf("%s %s type '%s' protocol '%s'", code(g.ErrorCode), g.State, g.ProtocolType, g.Protocol)
		for _, m := range g.Members {
			s += fmt.Sprintf(", member metadata %d assignment '%s'", len(m.ProtocolMetadata), m.MemberAssignment)
		}
		if g.ErrorMessage != nil {
			s += " with a message"
		}
		return s
	}
}

func describedClient(c *conn) string {
	m := c.describeGroup(5, c.newStable().group).Members[0]
	return m.ClientID + " from " + m.ClientHost
}

func describedOperations(c *conn) string {
	g := c.newStable().group
	operations := func(asked bool, id string) int32 {
		req := describeGroups(5, id)
		req.IncludeAuthorizedOperations = asked
		return ask[*kmsg.DescribeGroupsResponse](c, req).Groups[0].AuthorizedOperations
	}
	return fmt.Sprintf("%d, not asked %d, unknown group %d", operations(true, g), operations(false, g), operations(false, newName()))
}

func listedGroup(states, types []string) func(*conn) string {
	return func(c *conn) string {
		g := c.newStable().group
		req := kmsg.NewPtrListGroupsRequest()
		req.Version, req.StatesFilter, req.TypesFilter = 5, states, types
		for _, l := range c.listGroups(req) {
			if l.Group == g {
				return strings.Join([]string{l.ProtocolType, l.GroupState, l.GroupType}, " ")
			}
		}
		return "not listed"
	}
}

// listGroups waits until all groups are loaded.
func (c *conn) listGroups(req *kmsg.ListGroupsRequest) []kmsg.ListGroupsResponseGroup {
	c.t.Helper()
	var r *kmsg.ListGroupsResponse
	c.eventually("groups are loaded", func() bool {
		r = ask[*kmsg.ListGroupsResponse](c, req)
		return code(r.ErrorCode) != "COORDINATOR_LOAD_IN_PROGRESS"
	})
	if r.ErrorCode != 0 {
		c.t.Fatalf("list groups: %s", code(r.ErrorCode))
	}
	return r.Groups
}

func deleteGroups(version int16, ids ...string) *kmsg.DeleteGroupsRequest {
	req := kmsg.NewPtrDeleteGroupsRequest()
	req.Version, req.Groups = version, ids
	return req
}

func deletedGroup(version int16, of func(*conn) string) func(*conn) string {
	return func(c *conn) string {
		return code(ask[*kmsg.DeleteGroupsResponse](c, deleteGroups(version, of(c))).Groups[0].ErrorCode)
	}
}

func deletedWithOffsets(c *conn) string {
	g, t := c.newGroup(), c.newTopic()
	c.committed(commitTo(8, g, t, 1))
	s := code(ask[*kmsg.DeleteGroupsResponse](c, deleteGroups(2, g)).Groups[0].ErrorCode)
	return fmt.Sprintf("%s, %d, %s", s, c.committedOffset(g, t), c.describeGroup(5, g).State)
}

func deletedGroupTwice(c *conn) string {
	g := c.newCommitted()
	return fmt.Sprintf("%d answers", len(ask[*kmsg.DeleteGroupsResponse](c, deleteGroups(2, g, g)).Groups))
}
