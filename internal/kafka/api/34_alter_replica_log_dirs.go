package api

import (
	"context"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/korvet-io/korvet/internal/metadata"
)

// AlterReplicaLogDirs (key 34), versions 1 to 2 (KIP-113). A broker has one directory, Redis: a move to it is done already,
// any other one does not exist.

func (a *API) alterReplicaLogDirs(c *call, req *kmsg.AlterReplicaLogDirsRequest) kmsg.Response {
	resp := kmsg.NewPtrAlterReplicaLogDirsResponse()
	for _, d := range req.Dirs {
		for _, t := range d.Topics {
			topic := kmsg.AlterReplicaLogDirsResponseTopic{Topic: t.Topic}
			for _, p := range t.Partitions {
				err := a.moveToDir(c.ctx, d.Dir, t.Topic, p)
				topic.Partitions = append(topic.Partitions, kmsg.AlterReplicaLogDirsResponseTopicPartition{Partition: p, ErrorCode: errorCode(err)})
			}
			resp.Topics = append(resp.Topics, topic)
		}
	}
	return resp
}

func (a *API) moveToDir(ctx context.Context, dir, topic string, p int32) error {
	if dir != logDir {
		return kerr.LogDirNotFound
	}
	view, err := a.existingPartition(ctx, topic, p)
	if err != nil {
		return err
	}
	if id, ok := metadata.Leader(a.cluster.Nodes(), view.ID, p); !ok || id != a.cluster.Self().ID {
		return kerr.ReplicaNotAvailable
	}
	return nil
}
