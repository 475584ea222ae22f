package api

import "github.com/twmb/franz-go/pkg/kmsg"

// CreateAcls (key 30), versions 1 to 3. There is no access control in this version: answered as Kafka does without an
// authorizer.

func (a *API) createACLs(_ *call, req *kmsg.CreateACLsRequest) kmsg.Response {
	resp := kmsg.NewPtrCreateACLsResponse()
	for range req.Creations {
		resp.Results = append(resp.Results, kmsg.CreateACLsResponseResult{ErrorCode: errorCode(errNoAuthorizer), ErrorMessage: errorMessage(errNoAuthorizer)})
	}
	return resp
}
