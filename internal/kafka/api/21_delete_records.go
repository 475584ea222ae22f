package api

import (
	"fmt"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/korvet-io/korvet/internal/partition"
)

// DeleteRecords (key 21), versions 0 to 2 (KIP-107). The log start moves exactly to the offset asked for. The request's
// timeout is for replicas, which there are none of.

// toHighWatermark is the offset that stands for the high watermark.
const toHighWatermark = -1

func (a *API) deleteRecords(c *call, req *kmsg.DeleteRecordsRequest) kmsg.Response {
	resp := kmsg.NewPtrDeleteRecordsResponse()
	resp.Topics = make([]kmsg.DeleteRecordsResponseTopic, len(req.Topics))
	var work []func()
	for i := range req.Topics {
		t, out := &req.Topics[i], &resp.Topics[i]
		out.Topic = t.Topic
		out.Partitions = make([]kmsg.DeleteRecordsResponseTopicPartition, len(t.Partitions))
		view, err := a.topicByName(c.ctx, t.Topic)
		if err == nil && view.Compact && !view.Delete {
			err = refuse(kerr.PolicyViolation, "topic %q is compacted only", t.Topic)
		}
		for j := range t.Partitions {
			in, to := &t.Partitions[j], &out.Partitions[j]
			work = append(work, func() { *to = a.deleteBefore(c, view, in.Partition, in.Offset, err) })
		}
	}
	inParallel(work)
	return resp
}

func (a *API) deleteBefore(c *call, view *topicView, index int32, offset int64, err error) kmsg.DeleteRecordsResponseTopicPartition {
	out := kmsg.NewDeleteRecordsResponseTopicPartition()
	out.Partition, out.LowWatermark = index, -1
	switch {
	case err != nil:
	case !view.has(index):
		err = fmt.Errorf("partition %d of %d: %w", index, view.Partitions, partition.ErrUnknownPartition)
	case offset < toHighWatermark:
		err = fmt.Errorf("offset %d: %w", offset, partition.ErrOffsetOutOfRange)
	default:
		out.LowWatermark, err = a.logs.DeleteBefore(c.ctx, view.ref(index), offset)
	}
	if err != nil {
		a.failed(c, "delete_records", err)
		out.LowWatermark, out.ErrorCode = -1, errorCode(err)
	}
	return out
}
