package api

import (
	"io"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// GetTelemetrySubscriptions (key 71), version 0 (KIP-714). Served and not advertised, as in a Kafka without a plugin that
// takes clients' metrics: whoever asks learns that none are wanted.

const (
	telemetryInterval = 300_000 // ms
	telemetryMaxBytes = 1 << 20
)

func (a *API) getTelemetrySubscriptions(c *call, req *kmsg.GetTelemetrySubscriptionsRequest) kmsg.Response {
	resp := kmsg.NewPtrGetTelemetrySubscriptionsResponse()
	resp.ClientInstanceID = req.ClientInstanceID
	if resp.ClientInstanceID == ([16]byte{}) {
		if _, err := io.ReadFull(a.random, resp.ClientInstanceID[:]); err != nil {
			a.failed(c, "get_telemetry_subscriptions", err)
			resp.ErrorCode = errorCode(err)
			return resp
		}
	}
	resp.SubscriptionID = noSubscription
	resp.AcceptedCompressionTypes = []int8{4, 3, 1, 2} // zstd, lz4, gzip, snappy: Kafka's order of preference
	resp.PushIntervalMillis, resp.TelemetryMaxBytes, resp.DeltaTemporality = telemetryInterval, telemetryMaxBytes, true
	return resp
}

// noSubscription is the id of the subscription to nothing.
const noSubscription = 0
