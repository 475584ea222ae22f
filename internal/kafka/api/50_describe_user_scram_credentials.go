package api

import (
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// DescribeUserScramCredentials (key 50), version 0 (KIP-554). Clients cannot log in in this version: no user has
// credentials. Null asks for all users.

func (a *API) describeUserSCRAMCredentials(_ *call, req *kmsg.DescribeUserSCRAMCredentialsRequest) kmsg.Response {
	resp := kmsg.NewPtrDescribeUserSCRAMCredentialsResponse()
	twice := repeated(req.Users, func(u *kmsg.DescribeUserSCRAMCredentialsRequestUser) string { return u.Name })
	answered := map[string]bool{}
	for _, u := range req.Users {
		if answered[u.Name] {
			continue
		}
		answered[u.Name] = true
		err := refuse(kerr.ResourceNotFound, "Attempt to describe a user credential that does not exist: %s", u.Name)
		if twice[u.Name] {
			err = refuse(kerr.DuplicateResource, "Cannot describe SCRAM credentials for the same user twice in a single request: %s", u.Name)
		}
		resp.Results = append(resp.Results, kmsg.DescribeUserSCRAMCredentialsResponseResult{
			User: u.Name, ErrorCode: errorCode(err), ErrorMessage: errorMessage(err),
		})
	}
	return resp
}
