package api

import (
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// RenewDelegationToken (key 39), versions 1 to 2: answered as Kafka does on a listener without SASL.

func (a *API) renewDelegationToken(_ *call, _ *kmsg.RenewDelegationTokenRequest) kmsg.Response {
	resp := kmsg.NewPtrRenewDelegationTokenResponse()
	resp.ErrorCode, resp.ExpiryTimestamp = kerr.DelegationTokenRequestNotAllowed.Code, -1
	return resp
}
