package api

import (
	"errors"
	"fmt"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/korvet-io/korvet/internal/group"
)

// DescribeGroups (key 15), versions 0 to 6, for groups of the classic protocol.
//
// v3 authorized operations (KIP-430); v4 static members (KIP-345); v6 answers a group that is not there with an error, the
// older ones with the state Dead (KIP-1043). A group that is named twice is answered once.

func (a *API) describeGroups(c *call, req *kmsg.DescribeGroupsRequest) kmsg.Response {
	resp := kmsg.NewPtrDescribeGroupsResponse()
	names := distinct(req.Groups)
	resp.Groups = make([]kmsg.DescribeGroupsResponseGroup, len(names))
	eachInParallel(names, func(i int, name string) {
		resp.Groups[i] = a.describeGroup(c, name)
		if req.IncludeAuthorizedOperations && resp.Groups[i].ErrorCode == 0 {
			resp.Groups[i].AuthorizedOperations = allGroupOperations
		}
	})
	return resp
}

func (a *API) describeGroup(c *call, name string) kmsg.DescribeGroupsResponseGroup {
	r := kmsg.NewDescribeGroupsResponseGroup()
	r.Group = name
	d, err := a.groupAdmin.Describe(c.ctx, name)
	if err == nil && d.Type != group.Classic {
		err = fmt.Errorf("group %q is not a classic group: %w", name, group.ErrNotFound)
	}
	switch {
	case errors.Is(err, group.ErrNotFound):
		r.State = string(group.Dead)
		if c.version() >= 6 {
			r.ErrorCode, r.ErrorMessage = groupErrorCode(err), errorMessage(err)
		}
		return r
	case err != nil:
		a.groupFailed(c, "describe_groups", err)
		r.ErrorCode, r.ErrorMessage = groupErrorCode(err), errorMessage(err)
		return r
	}
	r.State, r.ProtocolType, r.Protocol = string(d.State), d.ProtocolType, d.Protocol
	r.Members = make([]kmsg.DescribeGroupsResponseGroupMember, len(d.Members))
	for i := range d.Members {
		m := &d.Members[i]
		r.Members[i] = kmsg.DescribeGroupsResponseGroupMember{
			MemberID: m.MemberID, InstanceID: given(m.InstanceID),
			ClientID: m.Client.ID, ClientHost: m.Client.Host,
			ProtocolMetadata: m.Metadata, MemberAssignment: m.Assignment,
		}
	}
	return r
}
