package api

import (
	"cmp"
	"errors"
	"slices"

	"github.com/google/uuid"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/korvet-io/korvet/internal/coordinator"
	"github.com/korvet-io/korvet/internal/group"
	"github.com/korvet-io/korvet/internal/metadata"
)

// OffsetFetch (key 9), versions 1 to 10.
//
// v2 errors of the whole group and null for all topics; v5 leader epochs (KIP-320); v7 require_stable (KIP-447), which has
// nothing to wait for without transactions; v8 several groups (KIP-709); v9 member epochs (KIP-848); v10 topic ids. What was
// committed for an earlier life of a topic is not handed out.

func (a *API) offsetFetch(c *call, req *kmsg.OffsetFetchRequest) kmsg.Response {
	resp := kmsg.NewPtrOffsetFetchResponse()
	if c.version() < 8 {
		a.offsetFetchOne(c, req, resp)
		return resp
	}
	resp.Groups = make([]kmsg.OffsetFetchResponseGroup, len(req.Groups))
	seen := make(map[string]bool, len(req.Groups))
	var work []func()
	for i := range req.Groups {
		in, out := &req.Groups[i], &resp.Groups[i]
		if seen[in.Group] { // its answer may be many times its size
			out.Group, out.ErrorCode = in.Group, kerr.InvalidRequest.Code
			continue
		}
		seen[in.Group] = true
		work = append(work, func() { *out = a.fetchOffsets(c, in) })
	}
	if len(work) > 0 {
		inParallel(work)
	}
	return resp
}

// offsetFetchOne serves the versions that name one group.
func (a *API) offsetFetchOne(c *call, req *kmsg.OffsetFetchRequest, resp *kmsg.OffsetFetchResponse) {
	in := kmsg.NewOffsetFetchRequestGroup()
	in.Group = req.Group
	if req.Topics != nil {
		in.Topics = make([]kmsg.OffsetFetchRequestGroupTopic, len(req.Topics))
		for i := range req.Topics {
			in.Topics[i].Topic, in.Topics[i].Partitions = req.Topics[i].Topic, req.Topics[i].Partitions
		}
	}
	got := a.fetchOffsets(c, &in)
	resp.ErrorCode = got.ErrorCode
	if got.ErrorCode != 0 && c.version() < 2 {
		got.Topics = noOffsets(in.Topics, got.ErrorCode)
	}
	resp.Topics = make([]kmsg.OffsetFetchResponseTopic, len(got.Topics))
	for i := range got.Topics {
		t := kmsg.NewOffsetFetchResponseTopic()
		t.Topic = got.Topics[i].Topic
		for _, p := range got.Topics[i].Partitions {
			t.Partitions = append(t.Partitions, kmsg.OffsetFetchResponseTopicPartition(p))
		}
		resp.Topics[i] = t
	}
}

// fetchOffsets answers for one group.
func (a *API) fetchOffsets(c *call, in *kmsg.OffsetFetchRequestGroup) kmsg.OffsetFetchResponseGroup {
	out := kmsg.NewOffsetFetchResponseGroup()
	out.Group = in.Group
	member := group.MemberRef{MemberID: text(in.MemberID), Generation: in.MemberEpoch}
	var err error
	if in.Topics == nil {
		out.Topics, err = a.fetchAllOffsets(c, in.Group, member)
	} else {
		out.Topics, err = a.fetchSomeOffsets(c, in, member)
	}
	if err != nil {
		a.groupFailed(c, "offset_fetch", err)
		out.Topics, out.ErrorCode = nil, groupErrorCode(err)
	}
	return out
}

// fetchSomeOffsets answers for the partitions that are named: in their order, and -1 for those without an offset.
func (a *API) fetchSomeOffsets(c *call, in *kmsg.OffsetFetchRequestGroup, member group.MemberRef) ([]kmsg.OffsetFetchResponseGroupTopic, error) {
	asked := coordinator.CommittedRequest{Member: member, Partitions: []coordinator.TopicPartition{}}
	topics := make([]*metadata.Topic, len(in.Topics))
	out := noOffsets(in.Topics, 0)
	for i := range in.Topics {
		t, err := a.namedTopic(c.ctx, c.version() >= 10, in.Topics[i].Topic, in.Topics[i].TopicID)
		switch {
		case errors.Is(err, metadata.ErrUnknownTopicID):
			failOffsets(&out[i], kerr.UnknownTopicID.Code)
		case errors.Is(err, metadata.ErrUnknownTopic): // nothing can be committed for it
		case err != nil:
			return nil, err
		default:
			topics[i] = t
			for _, p := range in.Topics[i].Partitions {
				asked.Partitions = append(asked.Partitions, coordinator.TopicPartition{Topic: t.Name, Partition: p})
			}
		}
	}
	found, err := a.offsets.Committed(c.ctx, in.Group, asked)
	if err != nil {
		return nil, err
	}
	byPartition := make(map[coordinator.TopicPartition]*coordinator.Offset, len(found))
	for i := range found {
		byPartition[found[i].TopicPartition] = &found[i]
	}
	for i, t := range topics {
		if t == nil {
			continue
		}
		for j := range out[i].Partitions {
			p := &out[i].Partitions[j]
			if o := byPartition[coordinator.TopicPartition{Topic: t.Name, Partition: p.Partition}]; o != nil && o.TopicID == t.ID {
				*p = fetchedOffset(o)
			}
		}
	}
	return out, nil
}

// fetchAllOffsets answers with all offsets of a group whose topics are the ones that they were committed for.
func (a *API) fetchAllOffsets(c *call, name string, member group.MemberRef) ([]kmsg.OffsetFetchResponseGroupTopic, error) {
	found, err := a.offsets.Committed(c.ctx, name, coordinator.CommittedRequest{Member: member})
	if err != nil {
		return nil, err
	}
	found = slices.Clone(found)
	slices.SortFunc(found, func(a, b coordinator.Offset) int {
		return cmp.Or(cmp.Compare(a.Topic, b.Topic), cmp.Compare(a.Partition, b.Partition))
	})
	var out []kmsg.OffsetFetchResponseGroupTopic
	for i := 0; i < len(found); {
		topic := found[i].Topic
		t, err := a.topics.Topic(c.ctx, topic)
		if err != nil && !errors.Is(err, metadata.ErrUnknownTopic) {
			return nil, err
		}
		id := uuid.Nil
		if t != nil {
			id = t.ID
		}
		r := kmsg.NewOffsetFetchResponseGroupTopic()
		r.Topic, r.TopicID = topic, id
		for ; i < len(found) && found[i].Topic == topic; i++ {
			if t != nil && found[i].TopicID == id {
				r.Partitions = append(r.Partitions, fetchedOffset(&found[i]))
			}
		}
		if len(r.Partitions) > 0 {
			out = append(out, r)
		}
	}
	return out, nil
}

func fetchedOffset(o *coordinator.Offset) kmsg.OffsetFetchResponseGroupTopicPartition {
	p := kmsg.NewOffsetFetchResponseGroupTopicPartition()
	p.Partition, p.Offset, p.LeaderEpoch, p.Metadata = o.Partition, o.Offset, o.LeaderEpoch, &o.Metadata
	return p
}

// noOffsets answers for partitions without an offset.
func noOffsets(topics []kmsg.OffsetFetchRequestGroupTopic, code int16) []kmsg.OffsetFetchResponseGroupTopic {
	none := ""
	out := make([]kmsg.OffsetFetchResponseGroupTopic, len(topics))
	for i := range topics {
		out[i].Topic, out[i].TopicID = topics[i].Topic, topics[i].TopicID
		out[i].Partitions = make([]kmsg.OffsetFetchResponseGroupTopicPartition, len(topics[i].Partitions))
		for j, p := range topics[i].Partitions {
			out[i].Partitions[j] = kmsg.OffsetFetchResponseGroupTopicPartition{Partition: p, Offset: -1, LeaderEpoch: -1, Metadata: &none, ErrorCode: code}
		}
	}
	return out
}

func failOffsets(t *kmsg.OffsetFetchResponseGroupTopic, code int16) {
	for i := range t.Partitions {
		t.Partitions[i].ErrorCode = code
	}
}
