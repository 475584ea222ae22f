package conformance

import "github.com/twmb/franz-go/pkg/kmsg"

// groupSweeps are the APIs of groups.
var groupSweeps = map[kmsg.Key]sweep{
	kmsg.OffsetCommit: {
		good: func(c *conn, v int16, t topic) kmsg.Request { return commitTo(v, c.newGroup(), t, 1) },
		bad: func(c *conn, v int16) kmsg.Request {
			req := commitTo(v, c.newStable().group, c.newTopic(), 1)
			req.MemberID, req.Generation = "nobody", 1
			return req
		},
		want: "UNKNOWN_MEMBER_ID",
	},
	kmsg.OffsetFetch: {
		good: func(c *conn, v int16, t topic) kmsg.Request { return fetchOffsets(v, c.newGroup(), t) },
	},
	kmsg.FindCoordinator: {
		good: func(_ *conn, v int16, _ topic) kmsg.Request { return findCoordinator(v, groupCoordinator, "g") },
		bad: func(_ *conn, v int16) kmsg.Request {
			if v < 1 {
				return nil // groups only
			}
			return findCoordinator(v, 9, "g")
		},
		want: "INVALID_REQUEST",
	},
	kmsg.JoinGroup: {
		good: func(c *conn, v int16, _ topic) kmsg.Request {
			req := joinAs(c.newGroup(), "")
			switch {
			case v >= 5: // static members are not asked to join again with the id that they are given
				req.InstanceID = kmsg.StringPtr("i")
			case v == 4:
				req.MemberID = c.newMember(req.Group, nil).id
			}
			return req
		},
		bad:  func(c *conn, _ int16) kmsg.Request { return joinAs(c.newGroup(), "nobody") },
		want: "UNKNOWN_MEMBER_ID",
	},
	kmsg.Heartbeat: {
		good: func(c *conn, _ int16, _ topic) kmsg.Request { return c.newStable().heartbeatRequest() },
		bad: func(c *conn, _ int16) kmsg.Request {
			return (&member{conn: c, group: c.newGroup(), id: "nobody"}).heartbeatRequest()
		},
		want: "UNKNOWN_MEMBER_ID",
	},
	kmsg.LeaveGroup: {
		good: func(c *conn, v int16, _ topic) kmsg.Request {
			m := c.newStable()
			return leaveGroup(v, m.group, kmsg.LeaveGroupRequestMember{MemberID: m.id})
		},
		bad: func(c *conn, v int16) kmsg.Request {
			return leaveGroup(v, c.newGroup(), kmsg.LeaveGroupRequestMember{MemberID: "nobody"})
		},
		want: "UNKNOWN_MEMBER_ID",
	},
	kmsg.SyncGroup: {
		good: func(c *conn, _ int16, _ topic) kmsg.Request { return c.newStable().syncRequest() },
		bad: func(c *conn, _ int16) kmsg.Request {
			return (&member{conn: c, group: c.newGroup(), id: "nobody"}).syncRequest()
		},
		want: "UNKNOWN_MEMBER_ID",
	},
	kmsg.DescribeGroups: {
		good: func(c *conn, v int16, _ topic) kmsg.Request { return describeGroups(v, c.newStable().group) },
		bad: func(c *conn, v int16) kmsg.Request {
			if v < 6 {
				return nil // a group that is not there is Dead
			}
			return describeGroups(v, c.newGroup())
		},
		want: "GROUP_ID_NOT_FOUND",
	},
	kmsg.ListGroups: {
		good: func(c *conn, v int16, _ topic) kmsg.Request {
			c.listGroups(kmsg.NewPtrListGroupsRequest())
			return kmsg.NewPtrListGroupsRequest()
		},
	},
	kmsg.DeleteGroups: {
		good: func(c *conn, v int16, _ topic) kmsg.Request { return deleteGroups(v, c.newCommitted()) },
		bad:  func(c *conn, v int16) kmsg.Request { return deleteGroups(v, c.newGroup()) },
		want: "GROUP_ID_NOT_FOUND",
	},
	kmsg.OffsetDelete: {
		good: func(c *conn, _ int16, t topic) kmsg.Request { return deleteOffsets(c.newCommitted(), t) },
		bad:  func(c *conn, _ int16) kmsg.Request { return deleteOffsets(c.newGroup(), c.newTopic()) },
		want: "GROUP_ID_NOT_FOUND",
	},
	kmsg.ConsumerGroupHeartbeat: {
		good: func(c *conn, _ int16, t topic) kmsg.Request { return c.consumerOf(c.newGroup(), t).joinRequest() },
		bad: func(c *conn, _ int16) kmsg.Request {
			req := c.consumerOf(c.newGroup(), topic{}).beatRequest()
			req.MemberEpoch = 5
			return req
		},
		want: "GROUP_ID_NOT_FOUND",
	},
	kmsg.ConsumerGroupDescribe: {
		good: func(c *conn, v int16, _ topic) kmsg.Request { return consumerGroupDescribe(v, c.newConsumer().group) },
		bad:  func(c *conn, v int16) kmsg.Request { return consumerGroupDescribe(v, c.newGroup()) },
		want: "GROUP_ID_NOT_FOUND",
	},
}
