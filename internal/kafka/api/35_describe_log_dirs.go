package api

import (
	"context"
	"errors"
	"sync"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/korvet-io/korvet/internal/metadata"
	"github.com/korvet-io/korvet/internal/partition"
)

// DescribeLogDirs (key 35), versions 0 to 5 (KIP-113): the bytes that each partition led by this broker uses in Redis, as
// one directory. v4 asks for the volume's size (KIP-827), which is not known here: -1. Version 0, which Kafka 4 dropped, is
// kept for old clients.

// logDir is the name of the one directory.
const logDir = "redis"

// maxSizeReads bounds the measurements of one request that run at the same time.
const maxSizeReads = 16

func (a *API) describeLogDirs(c *call, req *kmsg.DescribeLogDirsRequest) kmsg.Response {
	resp := kmsg.NewPtrDescribeLogDirsResponse()
	dir := kmsg.NewDescribeLogDirsResponseDir()
	dir.Dir = logDir
	refs := a.localPartitions(c.ctx, req)
	sizes, err := a.sizes(c.ctx, refs)
	if dir.ErrorCode = errorCode(err); err != nil {
		resp.Dirs = append(resp.Dirs, dir)
		return resp
	}
	for i, ref := range refs {
		if sizes[i] < 0 {
			continue
		}
		if n := len(dir.Topics); n == 0 || dir.Topics[n-1].Topic != ref.Topic {
			t := kmsg.NewDescribeLogDirsResponseDirTopic()
			t.Topic = ref.Topic
			dir.Topics = append(dir.Topics, t)
		}
		p := kmsg.NewDescribeLogDirsResponseDirTopicPartition()
		p.Partition, p.Size = ref.Partition, sizes[i]
		t := &dir.Topics[len(dir.Topics)-1]
		t.Partitions = append(t.Partitions, p)
	}
	resp.Dirs = append(resp.Dirs, dir)
	return resp
}

// localPartitions lists the partitions asked for that this broker leads, topic by topic. Null asks for all; what does not
// exist is left out.
func (a *API) localPartitions(ctx context.Context, req *kmsg.DescribeLogDirsRequest) []partition.Ref {
	var refs []partition.Ref
	nodes, self := a.cluster.Nodes(), a.cluster.Self().ID
	add := func(t *metadata.Topic, p int32) {
		if id, ok := metadata.Leader(nodes, t.ID, p); ok && id == self {
			refs = append(refs, partition.Ref{Topic: t.Name, ID: t.ID, Partition: p})
		}
	}
	if req.Topics == nil {
		for _, t := range a.topics.All() {
			for p := range t.Partitions {
				add(t, p)
			}
		}
		return refs
	}
	seen := map[partition.Ref]bool{}
	for i := range req.Topics {
		t, err := a.topics.Topic(ctx, req.Topics[i].Topic)
		if err != nil {
			continue
		}
		for _, p := range req.Topics[i].Partitions {
			ref := partition.Ref{Topic: t.Name, ID: t.ID, Partition: p}
			if p >= 0 && p < t.Partitions && !seen[ref] {
				seen[ref] = true
				add(t, p)
			}
		}
	}
	return refs
}

// sizes measures partitions, several at a time. -1 stands for one that was deleted meanwhile.
func (a *API) sizes(ctx context.Context, refs []partition.Ref) ([]int64, error) {
	sizes, errs := make([]int64, len(refs)), make([]error, len(refs))
	next := make(chan int)
	var wg sync.WaitGroup
	for range min(maxSizeReads, len(refs)) {
		wg.Go(func() {
			for i := range next {
				sizes[i], errs[i] = a.logs.Size(ctx, refs[i])
				if errors.Is(errs[i], partition.ErrUnknownPartition) {
					sizes[i], errs[i] = -1, nil
				}
			}
		})
	}
	for i := range refs {
		next <- i
	}
	close(next)
	wg.Wait()
	return sizes, errors.Join(errs...)
}
