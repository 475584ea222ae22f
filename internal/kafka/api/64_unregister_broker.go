package api

import (
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// UnregisterBroker (key 64), version 0 (KIP-631). Brokers are registered as long as they live, and leave by themselves.

func (a *API) unregisterBroker(_ *call, req *kmsg.UnregisterBrokerRequest) kmsg.Response {
	resp := kmsg.NewPtrUnregisterBrokerResponse()
	err := refuse(kerr.BrokerIDNotRegistered, "Broker ID %d is not currently registered", req.BrokerID)
	if a.isLive(req.BrokerID) {
		err = notSupported("A live broker cannot be unregistered: stop it, and it leaves the cluster.")
	}
	resp.ErrorCode, resp.ErrorMessage = errorCode(err), errorMessage(err)
	return resp
}
