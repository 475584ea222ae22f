package api

import (
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/korvet-io/korvet/internal/group"
)

// LeaveGroup (key 13), versions 0 to 5. v3 several members and static ones (KIP-345), each with its own error; v5 the reason
// (KIP-800). Before v3 the member's error is the answer's.

func (a *API) leaveGroup(c *call, req *kmsg.LeaveGroupRequest, answer func(kmsg.Response)) {
	done := func(left []group.LeftMember, err error) { answer(a.left(c, req, left, err)) }
	if err := checkGroupID(req.Group); err != nil {
		done(nil, err)
		return
	}
	if c.version() < 3 {
		a.groups.Leave(req.Group, []group.LeavingMember{{MemberID: req.MemberID}}, done)
		return
	}
	members := make([]group.LeavingMember, len(req.Members))
	for i := range req.Members {
		m := &req.Members[i]
		members[i] = group.LeavingMember{MemberID: m.MemberID, InstanceID: text(m.InstanceID), Reason: text(m.Reason)}
	}
	a.groups.Leave(req.Group, members, done)
}

func (a *API) left(c *call, req *kmsg.LeaveGroupRequest, left []group.LeftMember, err error) kmsg.Response {
	resp := kmsg.NewPtrLeaveGroupResponse()
	if err == nil && c.version() < 3 && len(left) > 0 {
		err = left[0].Err
	}
	if err != nil {
		a.groupFailed(c, "leave_group", err)
		resp.ErrorCode = groupErrorCode(err)
		return resp
	}
	if c.version() < 3 {
		return resp
	}
	for i := range left {
		m := kmsg.NewLeaveGroupResponseMember()
		m.MemberID, m.InstanceID, m.ErrorCode = left[i].MemberID, given(left[i].InstanceID), groupErrorCode(left[i].Err)
		if i < len(req.Members) { // the outcomes are in the request's order
			m.MemberID, m.InstanceID = req.Members[i].MemberID, req.Members[i].InstanceID
		}
		if left[i].Err != nil {
			a.groupFailed(c, "leave_group", left[i].Err)
		}
		resp.Members = append(resp.Members, m)
	}
	return resp
}
