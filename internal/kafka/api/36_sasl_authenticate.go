package api

import (
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// SaslAuthenticate (key 36), versions 0 to 2: answered as Kafka does on a listener without SASL.

func (a *API) saslAuthenticate(_ *call, _ *kmsg.SASLAuthenticateRequest) kmsg.Response {
	resp := kmsg.NewPtrSASLAuthenticateResponse()
	err := refuse(kerr.IllegalSaslState, "SaslAuthenticate request received after successful authentication")
	resp.ErrorCode, resp.ErrorMessage = errorCode(err), errorMessage(err)
	return resp
}
