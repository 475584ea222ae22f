package api

import "github.com/twmb/franz-go/pkg/kmsg"

// RemoveRaftVoter (key 81), version 0 (KIP-853). There is no quorum.

func (a *API) removeRaftVoter(_ *call, _ *kmsg.RemoveRaftVoterRequest) kmsg.Response {
	resp := kmsg.NewPtrRemoveRaftVoterResponse()
	resp.ErrorCode, resp.ErrorMessage = errorCode(errNoQuorum), errorMessage(errNoQuorum)
	return resp
}
