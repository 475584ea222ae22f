package api

import (
	"context"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/korvet-io/korvet/internal/metadata"
)

// AlterPartitionReassignments (key 45), versions 0 to 1 (KIP-455). Brokers agree on a partition's place by themselves and
// copies are Redis's business: only what is the case already is accepted, and what Kafka refuses is refused as there.

func (a *API) alterPartitionReassignments(c *call, req *kmsg.AlterPartitionAssignmentsRequest) kmsg.Response {
	resp := kmsg.NewPtrAlterPartitionAssignmentsResponse()
	resp.AllowReplicationFactorChange = req.AllowReplicationFactorChange
	for _, t := range req.Topics {
		topic := kmsg.AlterPartitionAssignmentsResponseTopic{Topic: t.Topic}
		for _, p := range t.Partitions {
			err := a.reassign(c.ctx, t.Topic, p.Partition, p.Replicas)
			topic.Partitions = append(topic.Partitions, kmsg.AlterPartitionAssignmentsResponseTopicPartition{
				Partition: p.Partition, ErrorCode: errorCode(err), ErrorMessage: errorMessage(err),
			})
		}
		resp.Topics = append(resp.Topics, topic)
	}
	return resp
}

// reassign checks one partition's wish. Null replicas cancel a move.
func (a *API) reassign(ctx context.Context, topic string, p int32, replicas []int32) error {
	view, err := a.existingPartition(ctx, topic, p)
	if err != nil {
		return err
	}
	if replicas == nil {
		return kerr.NoReassignmentInProgress
	}
	if err := a.checkAssignment(replicas); err != nil {
		return err
	}
	if leader, ok := metadata.Leader(a.cluster.Nodes(), view.ID, p); ok && len(replicas) == 1 && replicas[0] == leader {
		return nil
	}
	return notSupported("Partitions cannot be moved: the brokers agree on each one's place by themselves, and Redis has its copies.")
}

// notSupported is Kafka's own error for what a cluster of this kind does not have.
func notSupported(text string) error { return refuse(kerr.UnsupportedVersion, "%s", text) }
