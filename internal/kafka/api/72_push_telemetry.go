package api

import (
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// PushTelemetry (key 72), version 0 (KIP-714). Served and not advertised: nobody was asked for metrics.

func (a *API) pushTelemetry(_ *call, req *kmsg.PushTelemetryRequest) kmsg.Response {
	resp := kmsg.NewPtrPushTelemetryResponse()
	switch {
	case req.ClientInstanceID == ([16]byte{}):
		resp.ErrorCode = kerr.InvalidRequest.Code
	case len(req.Metrics) > telemetryMaxBytes:
		resp.ErrorCode = kerr.TelemetryTooLarge.Code
	default:
		resp.ErrorCode = kerr.UnknownSubscriptionID.Code
	}
	return resp
}
