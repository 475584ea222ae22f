package api

import (
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// WriteTxnMarkers (key 27), versions 1 to 2: how kafka-transactions aborts a hanging transaction (KIP-664). No partition
// has one.

func (a *API) writeTxnMarkers(c *call, req *kmsg.WriteTxnMarkersRequest) kmsg.Response {
	resp := kmsg.NewPtrWriteTxnMarkersResponse()
	for _, m := range req.Markers {
		marker := kmsg.WriteTxnMarkersResponseMarker{ProducerID: m.ProducerID}
		for _, t := range m.Topics {
			topic := kmsg.WriteTxnMarkersResponseMarkerTopic{Topic: t.Topic}
			for _, p := range t.Partitions {
				_, err := a.existingPartition(c.ctx, t.Topic, p)
				if err == nil {
					err = kerr.InvalidTxnState
				}
				topic.Partitions = append(topic.Partitions, kmsg.WriteTxnMarkersResponseMarkerTopicPartition{Partition: p, ErrorCode: errorCode(err)})
			}
			marker.Topics = append(marker.Topics, topic)
		}
		resp.Markers = append(resp.Markers, marker)
	}
	return resp
}
