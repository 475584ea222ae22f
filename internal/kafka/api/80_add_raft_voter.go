package api

import "github.com/twmb/franz-go/pkg/kmsg"

// AddRaftVoter (key 80), versions 0 to 1 (KIP-853). There is no quorum.

func (a *API) addRaftVoter(_ *call, _ *kmsg.AddRaftVoterRequest) kmsg.Response {
	resp := kmsg.NewPtrAddRaftVoterResponse()
	resp.ErrorCode, resp.ErrorMessage = errorCode(errNoQuorum), errorMessage(errNoQuorum)
	return resp
}
