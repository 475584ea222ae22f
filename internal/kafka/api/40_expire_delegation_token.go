package api

import (
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// ExpireDelegationToken (key 40), versions 1 to 2: answered as Kafka does on a listener without SASL.

func (a *API) expireDelegationToken(_ *call, _ *kmsg.ExpireDelegationTokenRequest) kmsg.Response {
	resp := kmsg.NewPtrExpireDelegationTokenResponse()
	resp.ErrorCode, resp.ExpiryTimestamp = kerr.DelegationTokenRequestNotAllowed.Code, -1
	return resp
}
