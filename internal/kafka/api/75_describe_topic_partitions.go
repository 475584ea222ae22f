package api

import (
	"slices"
	"sort"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/korvet-io/korvet/internal/metadata"
)

// DescribeTopicPartitions (key 75), version 0 (KIP-966): the partitions of topics in the order of their names, in pages.

// maxDescribedPartitions bounds the partitions of one answer (max.request.partition.size.limit).
const maxDescribedPartitions = 2000

func (a *API) describeTopicPartitions(c *call, req *kmsg.DescribeTopicPartitionsRequest) kmsg.Response {
	resp := kmsg.NewPtrDescribeTopicPartitionsResponse()
	if req.Cursor != nil && req.Cursor.Partition < 0 {
		for _, name := range a.describedNames(req) {
			resp.Topics = append(resp.Topics, describedTopicFailed(name, refuse(kerr.InvalidRequest, "cursor partition must be valid")))
		}
		return resp
	}
	room := int(max(1, min(req.ResponsePartitionLimit, maxDescribedPartitions)))
	nodes := a.cluster.Nodes()
	for _, name := range a.describedNames(req) {
		from := int32(0)
		if req.Cursor != nil && name == req.Cursor.Topic {
			from = req.Cursor.Partition
		}
		if room == 0 {
			resp.NextCursor = nextCursor(name, from)
			return resp
		}
		t, err := a.existingTopic(c.ctx, name)
		if err != nil {
			resp.Topics = append(resp.Topics, describedTopicFailed(name, err))
			continue
		}
		end := min(int(t.Partitions), int(from)+room)
		resp.Topics = append(resp.Topics, a.describePartitions(t, int(from), end, nodes))
		room -= max(0, end-int(from))
		if end < int(t.Partitions) {
			resp.NextCursor = nextCursor(name, int32(end))
			return resp
		}
	}
	return resp
}

// describedNames lists the topics asked for from the cursor on, by name, each once. None asked for are all.
func (a *API) describedNames(req *kmsg.DescribeTopicPartitionsRequest) []string {
	var names []string
	for i := range req.Topics {
		names = append(names, req.Topics[i].Topic)
	}
	if len(req.Topics) == 0 {
		for _, t := range a.topics.All() {
			names = append(names, t.Name)
		}
	}
	slices.Sort(names)
	names = slices.Compact(names)
	if req.Cursor != nil {
		names = names[sort.SearchStrings(names, req.Cursor.Topic):]
	}
	return names
}

func (a *API) describePartitions(t *metadata.Topic, from, end int, nodes []metadata.Node) kmsg.DescribeTopicPartitionsResponseTopic {
	r := kmsg.NewDescribeTopicPartitionsResponseTopic()
	r.Topic, r.TopicID, r.IsInternal, r.AuthorizedOperations = &t.Name, t.ID, t.Internal(), allTopicOperations
	for i := from; i < end; i++ {
		p := kmsg.NewDescribeTopicPartitionsResponseTopicPartition()
		p.Partition = int32(i)
		p.LeaderID, p.LeaderEpoch, p.ErrorCode = a.leader(t, p.Partition, nodes)
		if p.ErrorCode == 0 {
			p.Replicas = []int32{p.LeaderID}
			p.ISR = p.Replicas
		}
		p.EligibleLeaderReplicas, p.LastKnownELR = []int32{}, []int32{}
		r.Partitions = append(r.Partitions, p)
	}
	return r
}

func describedTopicFailed(name string, err error) kmsg.DescribeTopicPartitionsResponseTopic {
	r := kmsg.NewDescribeTopicPartitionsResponseTopic()
	r.Topic, r.ErrorCode = &name, errorCode(err)
	return r
}

func nextCursor(topic string, partition int32) *kmsg.DescribeTopicPartitionsResponseNextCursor {
	c := kmsg.NewDescribeTopicPartitionsResponseNextCursor()
	c.Topic, c.Partition = topic, partition
	return &c
}
