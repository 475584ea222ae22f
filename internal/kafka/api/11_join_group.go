package api

import (
	"bytes"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/korvet-io/korvet/internal/group"
)

// JoinGroup (key 11), versions 0 to 9.
//
// v1 has a rebalance timeout of its own (KIP-62); v4 gives a new member an id to join again with (KIP-394); v5 static
// members (KIP-345); v7 answers the protocol type (KIP-559); v8 the reason (KIP-800); v9 tells a leader that need not assign
// (KIP-814).

func (a *API) joinGroup(c *call, req *kmsg.JoinGroupRequest, answer func(kmsg.Response)) {
	done := orDraining(c, group.JoinResponse{Err: group.ErrCoordinatorUnavailable, MemberID: req.MemberID},
		func(r group.JoinResponse) { answer(a.joined(c, r)) })
	err := checkGroupID(req.Group)
	if err == nil {
		err = a.checkMemberMetadata(req)
	}
	if err != nil {
		done(group.JoinResponse{Err: err, MemberID: req.MemberID})
		return
	}
	a.groups.Join(req.Group, joinRequest(c, req), done)
}

// protocolCost is what a protocol of a member takes beside its name and metadata, in bytes.
const protocolCost = 64

// checkMemberMetadata refuses more than a member may have kept of it.
func (a *API) checkMemberMetadata(req *kmsg.JoinGroupRequest) error {
	size := 0
	for i := range req.Protocols {
		size += protocolCost + len(req.Protocols[i].Name) + len(req.Protocols[i].Metadata)
	}
	return a.checkMemberSize(size)
}

// checkMemberSize refuses a member of which more bytes would be kept than is allowed.
func (a *API) checkMemberSize(size int) error {
	if size > a.settings.MaxMemberMetadataBytes {
		return refuse(kerr.InvalidRequest, "a member's protocols and subscription may have %d bytes, not %d", a.settings.MaxMemberMetadataBytes, size)
	}
	return nil
}

// joinRequest copies what the group keeps.
func joinRequest(c *call, req *kmsg.JoinGroupRequest) group.JoinRequest {
	join := group.JoinRequest{
		MemberID:        req.MemberID,
		InstanceID:      text(req.InstanceID),
		Client:          clientOf(c),
		Session:         time.Duration(req.SessionTimeoutMillis) * time.Millisecond,
		Rebalance:       time.Duration(req.RebalanceTimeoutMillis) * time.Millisecond,
		Type:            req.ProtocolType,
		Protocols:       make([]group.Protocol, len(req.Protocols)),
		Reason:          text(req.Reason),
		RequireMemberID: c.version() >= 4 && req.InstanceID == nil,
		SkipAssignment:  c.version() >= 9,
	}
	if c.version() == 0 {
		join.Rebalance = join.Session
	}
	for i := range req.Protocols {
		join.Protocols[i] = group.Protocol{Name: req.Protocols[i].Name, Metadata: bytes.Clone(req.Protocols[i].Metadata)}
	}
	return join
}

func (a *API) joined(c *call, r group.JoinResponse) kmsg.Response {
	resp := kmsg.NewPtrJoinGroupResponse()
	resp.MemberID = r.MemberID
	if r.Err != nil {
		a.groupFailed(c, "join_group", r.Err)
		resp.ErrorCode, resp.Generation = groupErrorCode(r.Err), -1
		return resp
	}
	resp.Generation, resp.LeaderID, resp.SkipAssignment = r.Generation, r.Leader, r.SkipAssignment
	resp.ProtocolType, resp.Protocol = given(r.ProtocolType), given(r.Protocol)
	resp.Members = make([]kmsg.JoinGroupResponseMember, len(r.Members))
	for i := range r.Members {
		m := &r.Members[i]
		resp.Members[i] = kmsg.JoinGroupResponseMember{MemberID: m.MemberID, InstanceID: given(m.InstanceID), ProtocolMetadata: m.Metadata}
	}
	return resp
}
