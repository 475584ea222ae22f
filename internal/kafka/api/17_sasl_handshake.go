package api

import (
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// SaslHandshake (key 17), versions 0 to 1. Clients cannot log in in this version: those that try are told so as Kafka does
// on a listener without SASL, instead of being disconnected again and again.

func (a *API) saslHandshake(_ *call, _ *kmsg.SASLHandshakeRequest) kmsg.Response {
	resp := kmsg.NewPtrSASLHandshakeResponse()
	resp.ErrorCode = kerr.IllegalSaslState.Code
	return resp
}
