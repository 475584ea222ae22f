package api

import (
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/korvet-io/korvet/internal/group"
)

// Heartbeat (key 12), versions 0 to 4. v3 static members (KIP-345).

func (a *API) heartbeat(c *call, req *kmsg.HeartbeatRequest, answer func(kmsg.Response)) {
	done := func(err error) {
		resp := kmsg.NewPtrHeartbeatResponse()
		if err != nil {
			a.groupFailed(c, "heartbeat", err)
			resp.ErrorCode = groupErrorCode(err)
		}
		answer(resp)
	}
	if err := checkGroupID(req.Group); err != nil {
		done(err)
		return
	}
	a.groups.Heartbeat(req.Group, group.MemberRef{MemberID: req.MemberID, InstanceID: text(req.InstanceID), Generation: req.Generation}, done)
}
