package api

import (
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/korvet-io/korvet/internal/coordinator"
)

// OffsetDelete (key 47), version 0 (KIP-496): offsets of topics that no member is subscribed to.

func (a *API) offsetDelete(c *call, req *kmsg.OffsetDeleteRequest) kmsg.Response {
	resp := kmsg.NewPtrOffsetDeleteResponse()
	resp.Topics = make([]kmsg.OffsetDeleteResponseTopic, len(req.Topics))
	var partitions []coordinator.TopicPartition
	var asked []*kmsg.OffsetDeleteResponseTopicPartition
	for i := range req.Topics {
		in, out := &req.Topics[i], &resp.Topics[i]
		out.Topic = in.Topic
		out.Partitions = make([]kmsg.OffsetDeleteResponseTopicPartition, len(in.Partitions))
		t, err := a.namedTopic(c.ctx, false, in.Topic, [16]byte{})
		for j := range in.Partitions {
			p, to := in.Partitions[j].Partition, &out.Partitions[j]
			to.Partition = p
			switch {
			case err != nil:
				a.groupFailed(c, "offset_delete", err)
				to.ErrorCode = groupErrorCode(err)
			case p < 0 || p >= t.Partitions:
				to.ErrorCode = kerr.UnknownTopicOrPartition.Code
			default:
				partitions = append(partitions, coordinator.TopicPartition{Topic: t.Name, Partition: p})
				asked = append(asked, to)
			}
		}
	}
	if err := a.deleteOffsets(c, req.Group, partitions, asked); err != nil {
		a.groupFailed(c, "offset_delete", err)
		resp.Topics, resp.ErrorCode = nil, groupErrorCode(err)
	}
	return resp
}

// deleteOffsets deletes the offsets of the partitions and tells each what came of it.
func (a *API) deleteOffsets(c *call, name string, partitions []coordinator.TopicPartition, asked []*kmsg.OffsetDeleteResponseTopicPartition) error {
	if err := checkGroupID(name); err != nil {
		return err
	}
	if len(partitions) == 0 {
		return nil
	}
	results, err := a.offsets.DeleteOffsets(c.ctx, name, partitions)
	if err != nil {
		return err
	}
	for i, err := range results {
		if err != nil {
			a.groupFailed(c, "offset_delete", err)
			asked[i].ErrorCode = groupErrorCode(err)
		}
	}
	return nil
}
