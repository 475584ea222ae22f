package api

import (
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// DescribeDelegationToken (key 41), versions 1 to 3: answered as Kafka does on a listener without SASL.

func (a *API) describeDelegationToken(_ *call, _ *kmsg.DescribeDelegationTokenRequest) kmsg.Response {
	resp := kmsg.NewPtrDescribeDelegationTokenResponse()
	resp.ErrorCode = kerr.DelegationTokenRequestNotAllowed.Code
	return resp
}
