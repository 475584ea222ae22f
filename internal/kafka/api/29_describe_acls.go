package api

import (
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// DescribeAcls (key 29), versions 1 to 3. There is no access control in this version: answered as Kafka does without an
// authorizer.

// errNoAuthorizer is Kafka's answer without one.
var errNoAuthorizer = refuse(kerr.SecurityDisabled, "No Authorizer is configured on the broker")

func (a *API) describeACLs(_ *call, _ *kmsg.DescribeACLsRequest) kmsg.Response {
	resp := kmsg.NewPtrDescribeACLsResponse()
	resp.ErrorCode, resp.ErrorMessage = errorCode(errNoAuthorizer), errorMessage(errNoAuthorizer)
	return resp
}
