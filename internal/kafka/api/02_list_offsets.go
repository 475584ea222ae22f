package api

import (
	"context"
	"fmt"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/korvet-io/korvet/internal/partition"
)

// ListOffsets (key 2), versions 1 to 11.
//
// v4 leader epochs (KIP-320); v7 the largest timestamp (KIP-734); v8 the earliest local offset (KIP-405); v9 the latest
// tiered one (KIP-1005); v10 a timeout for reads of remote storage (KIP-1075), which before is the broker's; v11 the
// earliest offset that is not tiered yet (KIP-1023). Isolation levels read the same: there are no transactions.

// The timestamps that stand for a place.
const (
	latestTimestamp          = -1
	earliestTimestamp        = -2
	maxTimestamp             = -3 // v7
	earliestLocalTimestamp   = -4 // v8
	latestTieredTimestamp    = -5 // v9
	earliestPendingTimestamp = -6 // v11
)

func (a *API) listOffsets(c *call, req *kmsg.ListOffsetsRequest) kmsg.Response {
	resp := kmsg.NewPtrListOffsetsResponse()
	resp.Topics = make([]kmsg.ListOffsetsResponseTopic, len(req.Topics))
	repeated := repeatedPartitions(req)
	c, cancel := bounded(c, req)
	defer cancel()
	var work []func()
	for i := range req.Topics {
		t := &req.Topics[i]
		view, terr := a.topicByName(c.ctx, t.Topic)
		out := &resp.Topics[i]
		out.Topic = t.Topic
		out.Partitions = make([]kmsg.ListOffsetsResponseTopicPartition, len(t.Partitions))
		for j := range t.Partitions {
			in, to := &t.Partitions[j], &out.Partitions[j]
			err := terr
			if repeated[placeOf(t.Topic, in.Partition)] > 1 {
				err = refuse(kerr.InvalidRequest, "partition %d comes twice", in.Partition)
			}
			work = append(work, func() { *to = a.listOffset(c, view, in, err) })
		}
	}
	inParallel(work)
	return resp
}

// bounded is a call that the request's own timeout bounds, if it has one: without, searches of the remote tier have the broker's.
func bounded(c *call, req *kmsg.ListOffsetsRequest) (*call, context.CancelFunc) {
	if c.version() < 10 || req.TimeoutMillis <= 0 {
		return c, func() {}
	}
	b := *c
	var cancel context.CancelFunc
	b.ctx, cancel = context.WithTimeout(c.ctx, time.Duration(req.TimeoutMillis)*time.Millisecond)
	return &b, cancel
}

// place names a partition within one request.
type place struct {
	topic     string
	partition int32
}

func placeOf(topic string, partition int32) place { return place{topic, partition} }

// repeatedPartitions counts how often each partition comes.
func repeatedPartitions(req *kmsg.ListOffsetsRequest) map[place]int {
	count := make(map[place]int)
	for i := range req.Topics {
		for j := range req.Topics[i].Partitions {
			count[placeOf(req.Topics[i].Topic, req.Topics[i].Partitions[j].Partition)]++
		}
	}
	return count
}

// listOffset answers for one partition.
func (a *API) listOffset(c *call, view *topicView, in *kmsg.ListOffsetsRequestTopicPartition, err error) kmsg.ListOffsetsResponseTopicPartition {
	out := kmsg.NewListOffsetsResponseTopicPartition()
	out.Partition = in.Partition
	var found partition.TimeOffset
	if err == nil {
		found, err = a.findOffset(c.ctx, c.version(), view, in)
	}
	if err != nil {
		a.failed(c, "list_offsets", err)
		out.ErrorCode = errorCode(err)
		return out
	}
	out.Offset, out.Timestamp, out.LeaderEpoch = found.Offset, found.Timestamp, found.LeaderEpoch
	return out
}

// findOffset finds the place that the request's timestamp stands for. Offset -1: there is none.
func (a *API) findOffset(ctx context.Context, version int16, view *topicView, in *kmsg.ListOffsetsRequestTopicPartition) (partition.TimeOffset, error) {
	none := partition.TimeOffset{Offset: -1, Timestamp: -1, LeaderEpoch: -1}
	if !view.has(in.Partition) {
		return none, fmt.Errorf("partition %d of %d: %w", in.Partition, view.Partitions, partition.ErrUnknownPartition)
	}
	if in.Timestamp < 0 && !placeServed(in.Timestamp, version) {
		return none, refuse(kerr.UnsupportedVersion, "timestamp %d in version %d", in.Timestamp, version)
	}
	ref := view.ref(in.Partition)
	bounds, err := a.logs.Bounds(ctx, ref)
	if err != nil {
		return none, fmt.Errorf("find bounds: %w", err)
	}
	if err := checkLeaderEpoch(in.CurrentLeaderEpoch, bounds.LeaderEpoch); err != nil {
		return none, err
	}
	var found partition.TimeOffset
	switch in.Timestamp {
	case latestTimestamp:
		return partition.TimeOffset{Offset: bounds.HighWatermark, Timestamp: -1, LeaderEpoch: bounds.LeaderEpoch}, nil
	case earliestTimestamp:
		return partition.TimeOffset{Offset: bounds.LogStart, Timestamp: -1, LeaderEpoch: bounds.StartEpoch}, nil
	case earliestLocalTimestamp:
		return partition.TimeOffset{Offset: bounds.LocalStart, Timestamp: -1, LeaderEpoch: bounds.LocalEpoch}, nil
	case latestTieredTimestamp:
		if bounds.TieredEnd == 0 {
			return none, nil
		}
		return partition.TimeOffset{Offset: bounds.TieredEnd - 1, Timestamp: -1, LeaderEpoch: bounds.TieredEpoch}, nil
	case earliestPendingTimestamp:
		if bounds.TieredEnd == 0 && !view.RemoteStorage {
			return none, nil
		}
		pending := max(bounds.TieredEnd, bounds.LogStart)
		if pending >= bounds.HighWatermark { // nothing waits
			return none, nil
		}
		return partition.TimeOffset{Offset: pending, Timestamp: -1, LeaderEpoch: bounds.PendingEpoch}, nil
	case maxTimestamp:
		found, err = a.logs.MaxTimestamp(ctx, ref)
	default:
		found, err = a.logs.OffsetForTime(ctx, ref, in.Timestamp)
	}
	if err != nil {
		return none, fmt.Errorf("find offset of timestamp %d: %w", in.Timestamp, err)
	}
	if found.Offset < 0 {
		return none, nil
	}
	return found, nil
}

// placeServed tells whether the version knows the place that a negative timestamp stands for.
func placeServed(timestamp int64, version int16) bool {
	switch timestamp {
	case latestTimestamp, earliestTimestamp:
		return true
	case maxTimestamp:
		return version >= 7
	case earliestLocalTimestamp:
		return version >= 8
	case latestTieredTimestamp:
		return version >= 9
	case earliestPendingTimestamp:
		return version >= 11
	}
	return false
}
