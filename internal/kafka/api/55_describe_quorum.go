package api

import "github.com/twmb/franz-go/pkg/kmsg"

// DescribeQuorum (key 55), versions 0 to 2 (KIP-595). The metadata are in Redis: there is no quorum to describe.

var errNoQuorum = notSupported("There is no metadata quorum: Redis holds the cluster's metadata.")

func (a *API) describeQuorum(_ *call, _ *kmsg.DescribeQuorumRequest) kmsg.Response {
	resp := kmsg.NewPtrDescribeQuorumResponse()
	resp.ErrorCode, resp.ErrorMessage = errorCode(errNoQuorum), errorMessage(errNoQuorum)
	return resp
}
