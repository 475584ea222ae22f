package api

import (
	"fmt"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/korvet-io/korvet/internal/partition"
)

// OffsetForLeaderEpoch (key 23), versions 2 to 4 (KIP-320): where the records of a leader epoch end, so that a consumer
// finds out whether its log was truncated.

func (a *API) offsetForLeaderEpoch(c *call, req *kmsg.OffsetForLeaderEpochRequest) kmsg.Response {
	resp := kmsg.NewPtrOffsetForLeaderEpochResponse()
	resp.Topics = make([]kmsg.OffsetForLeaderEpochResponseTopic, len(req.Topics))
	var work []func()
	for i := range req.Topics {
		t, out := &req.Topics[i], &resp.Topics[i]
		out.Topic = t.Topic
		out.Partitions = make([]kmsg.OffsetForLeaderEpochResponseTopicPartition, len(t.Partitions))
		view, err := a.topicByName(c.ctx, t.Topic)
		for j := range t.Partitions {
			in, to := &t.Partitions[j], &out.Partitions[j]
			work = append(work, func() { *to = a.endOfEpoch(c, view, in, err) })
		}
	}
	inParallel(work)
	return resp
}

func (a *API) endOfEpoch(c *call, view *topicView, in *kmsg.OffsetForLeaderEpochRequestTopicPartition, err error) kmsg.OffsetForLeaderEpochResponseTopicPartition {
	out := kmsg.NewOffsetForLeaderEpochResponseTopicPartition()
	out.Partition, out.LeaderEpoch, out.EndOffset = in.Partition, -1, -1
	if err == nil {
		out.LeaderEpoch, out.EndOffset, err = a.findEndOfEpoch(c, view, in)
	}
	if err != nil {
		a.failed(c, "offset_for_leader_epoch", err)
		out.ErrorCode, out.LeaderEpoch, out.EndOffset = errorCode(err), -1, -1
	}
	return out
}

func (a *API) findEndOfEpoch(c *call, view *topicView, in *kmsg.OffsetForLeaderEpochRequestTopicPartition) (int32, int64, error) {
	if !view.has(in.Partition) {
		return -1, -1, fmt.Errorf("partition %d of %d: %w", in.Partition, view.Partitions, partition.ErrUnknownPartition)
	}
	ref := view.ref(in.Partition)
	bounds, err := a.logs.Bounds(c.ctx, ref)
	if err != nil {
		return -1, -1, fmt.Errorf("find bounds: %w", err)
	}
	if err := checkLeaderEpoch(in.CurrentLeaderEpoch, bounds.LeaderEpoch); err != nil {
		return -1, -1, err
	}
	if in.LeaderEpoch < 0 || in.LeaderEpoch > bounds.LeaderEpoch {
		return -1, -1, nil
	}
	epoch, end, err := a.logs.EndOfEpoch(c.ctx, ref, in.LeaderEpoch)
	switch {
	case err != nil:
		return -1, -1, fmt.Errorf("find end of epoch %d: %w", in.LeaderEpoch, err)
	case epoch < 0:
		return -1, -1, nil
	}
	return epoch, end, nil
}
