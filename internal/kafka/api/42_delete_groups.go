package api

import "github.com/twmb/franz-go/pkg/kmsg"

// DeleteGroups (key 42), versions 0 to 3 (KIP-229): groups without members, with their offsets. v3 messages (KIP-1043).

func (a *API) deleteGroups(c *call, req *kmsg.DeleteGroupsRequest) kmsg.Response {
	resp := kmsg.NewPtrDeleteGroupsResponse()
	names := distinct(req.Groups)
	resp.Groups = make([]kmsg.DeleteGroupsResponseGroup, len(names))
	eachInParallel(names, func(i int, name string) {
		r := kmsg.NewDeleteGroupsResponseGroup()
		r.Group = name
		if err := a.groupAdmin.Delete(c.ctx, name); err != nil {
			a.groupFailed(c, "delete_groups", err)
			r.ErrorCode, r.ErrorMessage = groupErrorCode(err), errorMessage(err)
		} else {
			c.log().Info("deleted a group", "group", name)
		}
		resp.Groups[i] = r
	})
	return resp
}
