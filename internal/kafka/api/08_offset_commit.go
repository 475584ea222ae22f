package api

import (
	"context"
	"fmt"
	"math"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/korvet-io/korvet/internal/coordinator"
	"github.com/korvet-io/korvet/internal/group"
	"github.com/korvet-io/korvet/internal/metadata"
)

// OffsetCommit (key 8), versions 2 to 10.
//
// v2 to v4 may say how long the offsets are kept (KIP-211 made that the broker's setting); v6 leader epochs (KIP-320); v7
// static members (KIP-345); v9 member epochs (KIP-848); v10 topic ids (KIP-848). What is committed for partitions that
// exist is stored together; the others get their own error, as in Kafka.

// commitCall is one OffsetCommit on its way.
type commitCall struct {
	api    *API
	call   *call
	resp   *kmsg.OffsetCommitResponse
	commit coordinator.CommitRequest
	now    int64 // ms
	keepMs int64 // how long the client wants the offsets kept; -1: as the broker has it
	// The partitions that the group decides on, and those of them whose metadata is too large.
	asked, oversized []*kmsg.OffsetCommitResponseTopicPartition
}

func (a *API) offsetCommit(c *call, req *kmsg.OffsetCommitRequest, answer func(kmsg.Response)) {
	o := &commitCall{api: a, call: c, resp: kmsg.NewPtrOffsetCommitResponse(), now: a.now().UnixMilli(), keepMs: req.RetentionTimeMillis}
	o.commit.Member = group.MemberRef{MemberID: req.MemberID, InstanceID: text(req.InstanceID), Generation: req.Generation}
	o.commit.MemberEpochs = c.version() >= 9
	o.expect(req)
	o.resp.Topics = make([]kmsg.OffsetCommitResponseTopic, len(req.Topics))
	for i := range req.Topics {
		o.topic(&req.Topics[i], &o.resp.Topics[i])
	}
	if len(o.asked) == 0 {
		answer(o.resp)
		return
	}
	a.offsets.Commit(req.Group, o.commit, func(err error) {
		o.finish(err)
		answer(o.resp)
	})
}

// expect makes room for all partitions of a request.
func (o *commitCall) expect(req *kmsg.OffsetCommitRequest) {
	n := 0
	for i := range req.Topics {
		n += len(req.Topics[i].Partitions)
	}
	o.asked = make([]*kmsg.OffsetCommitResponseTopicPartition, 0, n)
	o.commit.Offsets = make([]coordinator.Offset, 0, n)
}

// topic takes one topic's offsets.
func (o *commitCall) topic(in *kmsg.OffsetCommitRequestTopic, out *kmsg.OffsetCommitResponseTopic) {
	out.Topic, out.TopicID = in.Topic, in.TopicID
	out.Partitions = make([]kmsg.OffsetCommitResponseTopicPartition, len(in.Partitions))
	t, err := o.api.namedTopic(o.call.ctx, o.call.version() >= 10, in.Topic, in.TopicID)
	for i := range in.Partitions {
		p := &in.Partitions[i]
		to := &out.Partitions[i]
		to.Partition = p.Partition
		switch {
		case err != nil:
			o.api.groupFailed(o.call, "offset_commit", err)
			to.ErrorCode = groupErrorCode(err)
		case p.Partition < 0 || p.Partition >= t.Partitions:
			to.ErrorCode = kerr.UnknownTopicOrPartition.Code
		default:
			o.partition(t, p, to)
		}
	}
}

func (o *commitCall) partition(t *metadata.Topic, in *kmsg.OffsetCommitRequestTopicPartition, out *kmsg.OffsetCommitResponseTopicPartition) {
	o.asked = append(o.asked, out)
	said := text(in.Metadata)
	if longerThan(said, o.api.settings.OffsetMetadataMax) {
		o.oversized = append(o.oversized, out)
		return
	}
	offset := coordinator.Offset{
		TopicPartition: coordinator.TopicPartition{Topic: t.Name, Partition: in.Partition},
		TopicID:        t.ID,
		Offset:         in.Offset,
		LeaderEpoch:    in.LeaderEpoch,
		Metadata:       said,
		CommitMs:       o.now,
	}
	if o.call.version() < 6 {
		offset.LeaderEpoch = -1
	}
	if o.keepMs >= 0 {
		offset.ExpireMs = o.now + min(o.keepMs, math.MaxInt64-o.now)
	}
	o.commit.Offsets = append(o.commit.Offsets, offset)
}

// finish tells the outcome to every partition that was asked for. An error of the group is all of theirs.
func (o *commitCall) finish(err error) {
	if err != nil {
		o.api.groupFailed(o.call, "offset_commit", err)
	}
	code := groupErrorCode(err)
	for _, p := range o.asked {
		p.ErrorCode = code
	}
	if err == nil {
		for _, p := range o.oversized {
			p.ErrorCode = kerr.OffsetMetadataTooLarge.Code
		}
	}
}

// longerThan tells whether s has more than n characters, counted in UTF-16 as Kafka does.
func longerThan(s string, n int) bool {
	if len(s) <= n {
		return false
	}
	for _, r := range s {
		if n--; r > 0xffff {
			n--
		}
		if n < 0 {
			return true
		}
	}
	return false
}

// namedTopic finds the topic that a request names by name or by id.
func (a *API) namedTopic(ctx context.Context, byID bool, name string, id [16]byte) (*metadata.Topic, error) {
	if byID {
		t, err := a.topics.TopicByID(ctx, id)
		if err != nil {
			return nil, fmt.Errorf("find topic id %x: %w", id, err)
		}
		return t, nil
	}
	t, err := a.topics.Topic(ctx, name)
	if err != nil {
		return nil, fmt.Errorf("find topic %q: %w", name, err)
	}
	return t, nil
}
