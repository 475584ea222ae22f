package api

import (
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// CreateDelegationToken (key 38), versions 1 to 3 (KIP-48). Tokens are for clients that have logged in, which they cannot
// in this version: answered as Kafka does on a listener without SASL.

func (a *API) createDelegationToken(_ *call, _ *kmsg.CreateDelegationTokenRequest) kmsg.Response {
	resp := kmsg.NewPtrCreateDelegationTokenResponse()
	resp.ErrorCode = kerr.DelegationTokenRequestNotAllowed.Code
	resp.PrincipalType, resp.PrincipalName = anonymousType, anonymousName
	resp.TokenRequesterPrincipalType, resp.TokenRequesterPrincipalName = anonymousType, anonymousName
	resp.IssueTimestamp, resp.ExpiryTimestamp, resp.MaxTimestamp = -1, -1, -1
	return resp
}

// The principal of clients that did not log in.
const anonymousType, anonymousName = "User", "ANONYMOUS"
