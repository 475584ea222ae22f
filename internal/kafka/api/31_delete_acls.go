package api

import "github.com/twmb/franz-go/pkg/kmsg"

// DeleteAcls (key 31), versions 1 to 3. There is no access control in this version: answered as Kafka does without an
// authorizer.

func (a *API) deleteACLs(_ *call, req *kmsg.DeleteACLsRequest) kmsg.Response {
	resp := kmsg.NewPtrDeleteACLsResponse()
	for range req.Filters {
		resp.Results = append(resp.Results, kmsg.DeleteACLsResponseResult{ErrorCode: errorCode(errNoAuthorizer), ErrorMessage: errorMessage(errNoAuthorizer)})
	}
	return resp
}
