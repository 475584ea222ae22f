package api

import (
	"slices"
	"strings"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// ListGroups (key 16), versions 0 to 5: the groups that this broker coordinates. v4 filters by state (KIP-518), v5 by type
// (KIP-848), both in any case; no group has an unknown one.

func (a *API) listGroups(c *call, req *kmsg.ListGroupsRequest) kmsg.Response {
	resp := kmsg.NewPtrListGroupsResponse()
	all, err := a.groupAdmin.List(c.ctx)
	if err != nil {
		a.groupFailed(c, "list_groups", err)
		resp.ErrorCode = groupErrorCode(err)
		return resp
	}
	for i := range all {
		d := &all[i]
		if !passes(req.StatesFilter, string(d.State)) || !passes(req.TypesFilter, string(d.Type)) {
			continue
		}
		resp.Groups = append(resp.Groups, kmsg.ListGroupsResponseGroup{
			Group: d.ID, ProtocolType: d.ProtocolType, GroupState: string(d.State), GroupType: string(d.Type),
		})
	}
	return resp
}

// passes tells whether a filter lets a value through. An empty one lets all.
func passes(filter []string, value string) bool {
	return len(filter) == 0 || slices.ContainsFunc(filter, func(f string) bool { return strings.EqualFold(f, value) })
}
