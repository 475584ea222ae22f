package api

import (
	"bytes"
	"fmt"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/korvet-io/korvet/internal/group"
)

// SyncGroup (key 14), versions 0 to 5. v3 static members (KIP-345); v5 protocol type and name, which it must name (KIP-559).

func (a *API) syncGroup(c *call, req *kmsg.SyncGroupRequest, answer func(kmsg.Response)) {
	done := orDraining(c, group.SyncResponse{Err: group.ErrCoordinatorUnavailable},
		func(r group.SyncResponse) { answer(a.synced(c, r)) })
	err := checkGroupID(req.Group)
	if err == nil && c.version() >= 5 && (req.ProtocolType == nil || req.Protocol == nil) {
		err = fmt.Errorf("protocol type or name is null: %w", group.ErrInconsistentProtocol)
	}
	if err != nil {
		done(group.SyncResponse{Err: err})
		return
	}
	sync := group.SyncRequest{
		MemberRef:   group.MemberRef{MemberID: req.MemberID, InstanceID: text(req.InstanceID), Generation: req.Generation},
		Type:        text(req.ProtocolType),
		Protocol:    text(req.Protocol),
		HasProtocol: c.version() >= 5,
		Assignments: make(map[string][]byte, len(req.GroupAssignment)),
	}
	for i := range req.GroupAssignment {
		sync.Assignments[req.GroupAssignment[i].MemberID] = bytes.Clone(req.GroupAssignment[i].MemberAssignment)
	}
	a.groups.Sync(req.Group, sync, done)
}

func (a *API) synced(c *call, r group.SyncResponse) kmsg.Response {
	resp := kmsg.NewPtrSyncGroupResponse()
	if r.Err != nil {
		a.groupFailed(c, "sync_group", r.Err)
		resp.ErrorCode = groupErrorCode(r.Err)
		return resp
	}
	resp.ProtocolType, resp.Protocol, resp.MemberAssignment = given(r.Type), given(r.Protocol), r.Assignment
	return resp
}
