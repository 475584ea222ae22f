package members

import (
	"context"
	"time"

	"github.com/korvet-io/korvet/test/faults/checker"
	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// far is beyond all offsets that members commit, so that it is seen where one of these was accepted.
const far = int64(1) << 40

// haunt commits as nobody may: with the id of a member and its first generation, with an id that was never given, and as
// somebody without a group.
func (g *Group) haunt(ctx context.Context) {
	client, err := kgo.NewClient(patient(g.cfg.Brokers)...)
	if err != nil {
		g.note(err.Error())
		return
	}
	defer client.Close()
	topic := g.topicID(ctx)
	settled := g.members[0].membership()
	ghosts := []checker.Membership{
		{Who: "old generation", MemberID: settled.MemberID, Generation: 1},
		{Who: "stranger", MemberID: "stranger", Generation: settled.Generation},
		{Who: "no member", Generation: -1},
	}
	for i := 0; ctx.Err() == nil; i++ {
		ghost := ghosts[i%len(ghosts)]
		c := checker.Commit{Who: ghost.Who, Partition: int32(i % g.cfg.Partitions), Offset: far + int64(i), Sent: g.tick(), Stale: true}
		if code, err := g.commitAs(ctx, client, topic, ghost, c); err == nil && code == 0 {
			c.Outcome, c.Heard = checker.Acked, g.tick()
		}
		g.mu.Lock()
		g.run.Commits = append(g.run.Commits, c)
		g.mu.Unlock()
		select {
		case <-ctx.Done():
		case <-time.After(poll):
		}
	}
}

// commitAs sends one commit, which the client does not send again when it was refused.
func (g *Group) commitAs(ctx context.Context, client *kgo.Client, topic kadm.TopicID, as checker.Membership, c checker.Commit) (int16, error) {
	req := kmsg.NewPtrOffsetCommitRequest()
	req.Group, req.MemberID, req.Generation = g.cfg.Group, as.MemberID, as.Generation
	partition := kmsg.NewOffsetCommitRequestTopicPartition()
	partition.Partition, partition.Offset = c.Partition, c.Offset
	one := kmsg.NewOffsetCommitRequestTopic()
	one.Topic, one.TopicID, one.Partitions = g.cfg.Topic, topic, append(one.Partitions, partition)
	req.Topics = append(req.Topics, one)
	resp, err := req.RequestWith(ctx, client)
	if err != nil {
		return 0, err
	}
	for _, t := range resp.Topics {
		for _, p := range t.Partitions {
			return p.ErrorCode, nil
		}
	}
	return kerr.UnknownServerError.Code, nil
}

// topicID asks for the topic's id until it is told or ctx ends.
func (g *Group) topicID(ctx context.Context) kadm.TopicID {
	for ctx.Err() == nil {
		if topics, err := g.admin.ListTopics(ctx, g.cfg.Topic); err == nil && topics[g.cfg.Topic].Err == nil {
			return topics[g.cfg.Topic].ID
		}
	}
	return kadm.TopicID{}
}
