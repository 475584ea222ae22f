package api

import (
	"context"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/korvet-io/korvet/internal/metadata"
	"github.com/korvet-io/korvet/internal/partition"
)

// DescribeProducers (key 61), version 0 (KIP-664): the idempotent producers that the leader of a partition remembers. None
// is in a transaction.

// maxProducerPartitions bounds the partitions of one request: each may remember thousands of producers.
const maxProducerPartitions = 100

func (a *API) describeProducers(c *call, req *kmsg.DescribeProducersRequest) kmsg.Response {
	resp := kmsg.NewPtrDescribeProducersResponse()
	asked := 0
	for _, t := range req.Topics {
		topic := kmsg.DescribeProducersResponseTopic{Topic: t.Topic}
		for _, p := range t.Partitions {
			out := kmsg.DescribeProducersResponseTopicPartition{Partition: p}
			var list []partition.ProducerState
			err := refuse(kerr.InvalidRequest, "More than %d partitions in one request.", maxProducerPartitions)
			if asked++; asked <= maxProducerPartitions {
				list, err = a.producersOf(c.ctx, t.Topic, p)
			}
			out.ErrorCode, out.ErrorMessage = errorCode(err), errorMessage(err)
			for _, s := range list {
				out.ActiveProducers = append(out.ActiveProducers, kmsg.DescribeProducersResponseTopicPartitionActiveProducer{
					ProducerID: s.ID, ProducerEpoch: int32(s.Epoch), LastSequence: s.LastSequence, LastTimestamp: s.LastMs,
					CoordinatorEpoch: -1, CurrentTxnStartOffset: -1,
				})
			}
			topic.Partitions = append(topic.Partitions, out)
		}
		resp.Topics = append(resp.Topics, topic)
	}
	return resp
}

func (a *API) producersOf(ctx context.Context, topic string, p int32) ([]partition.ProducerState, error) {
	view, err := a.existingPartition(ctx, topic, p)
	if err != nil {
		return nil, err
	}
	if id, ok := metadata.Leader(a.cluster.Nodes(), view.ID, p); !ok || id != a.cluster.Self().ID {
		return nil, kerr.NotLeaderForPartition
	}
	return a.logs.Producers(ctx, view.ref(p))
}
