package groups

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/google/uuid"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// lookEvery is how often it is looked whether a group is stable.
const lookEvery = 20 * time.Millisecond

// consumer is a member of a group of the consumer protocol (KIP-848).
type consumer struct {
	*conn
	group string
	topic Topic
	id    string
	epoch int32
}

// ConsumersAtOnce has many members of the consumer protocol join an empty group at the same time. Each heartbeats as real
// clients do: at the interval it is told, and at once when it was given other partitions.
func ConsumersAtOnce(ctx context.Context, address, group string, topic Topic, members int) (Joined, error) {
	if err := awaitCoordinator(ctx, address, group); err != nil {
		return Joined{}, err
	}
	watcher, err := dial(ctx, address)
	if err != nil {
		return Joined{}, err
	}
	defer watcher.close()
	all := make([]*consumer, members)
	for i := range all {
		c, err := dial(ctx, address)
		if err != nil {
			return Joined{}, err
		}
		defer c.close()
		all[i] = &consumer{conn: c, group: group, topic: topic, id: uuid.NewString()}
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var heartbeats atomic.Int64
	began := time.Now()
	var running sync.WaitGroup
	for _, c := range all {
		running.Go(func() {
			if err := c.live(ctx, &heartbeats); err != nil && ctx.Err() == nil {
				cancel(err)
			}
		})
	}
	epoch, err := awaitStable(ctx, watcher, group, topic, members)
	if err != nil && context.Cause(ctx) != nil {
		err = context.Cause(ctx)
	}
	result := Joined{Took: time.Since(began), Generations: int(epoch), Heartbeats: heartbeats.Load()}
	cancel(nil)
	for _, c := range all {
		c.close()
	}
	running.Wait()
	if err != nil {
		return Joined{}, fmt.Errorf("%d consumers join one group: %w", members, err)
	}
	return result, leaveAll(watcher, all)
}

// leaveAll removes the members of a group.
func leaveAll(over *conn, all []*consumer) error {
	for _, c := range all {
		req := kmsg.NewPtrConsumerGroupHeartbeatRequest()
		req.Version, req.Group, req.MemberID, req.MemberEpoch = 1, c.group, c.id, -1
		resp, err := ask[*kmsg.ConsumerGroupHeartbeatResponse](over, req)
		if err == nil {
			err = refusal("leave group", resp.ErrorCode)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// live heartbeats until ctx ends.
func (c *consumer) live(ctx context.Context, count *atomic.Int64) error {
	req := kmsg.NewPtrConsumerGroupHeartbeatRequest()
	req.Version, req.Group, req.MemberID = 1, c.group, c.id
	req.RebalanceTimeoutMillis = int32(session.Milliseconds())
	req.SubscribedTopicNames = []string{c.topic.Name}
	req.Topics = []kmsg.ConsumerGroupHeartbeatRequestTopic{}
	for {
		resp, err := ask[*kmsg.ConsumerGroupHeartbeatResponse](c.conn, req)
		if err == nil {
			err = refusal("consumer group heartbeat", resp.ErrorCode)
		}
		count.Add(1)
		wait := time.Duration(resp.HeartbeatIntervalMillis) * time.Millisecond
		next := kmsg.NewPtrConsumerGroupHeartbeatRequest()
		next.Version, next.Group, next.MemberID = 1, c.group, c.id
		switch {
		case notYet(err) && c.epoch == 0:
			next, wait = req, retry
		case err != nil:
			return err
		default:
			c.epoch = resp.MemberEpoch
			if resp.Assignment != nil { // it has them at once, and says so
				next.Topics, wait = owned(resp.Assignment), 0
			}
			next.MemberEpoch = c.epoch
		}
		req = next
		if !pause(ctx, wait) {
			return nil
		}
	}
}

func owned(a *kmsg.ConsumerGroupHeartbeatResponseAssignment) []kmsg.ConsumerGroupHeartbeatRequestTopic {
	list := make([]kmsg.ConsumerGroupHeartbeatRequestTopic, len(a.Topics))
	for i, t := range a.Topics {
		list[i] = kmsg.ConsumerGroupHeartbeatRequestTopic{TopicID: t.TopicID, Partitions: t.Partitions}
	}
	return list
}

// awaitStable waits until a group has all its members, each with its part of the topic, and returns its epoch.
func awaitStable(ctx context.Context, c *conn, group string, topic Topic, members int) (int32, error) {
	for {
		stable, err := isStable(c, group)
		if err != nil {
			return 0, err
		}
		if stable { // so it is from the first member on: describing all is done only then, as it costs the broker more
			epoch, all, err := described(c, group, topic, members)
			if err != nil || all {
				return epoch, err
			}
		}
		if !pause(ctx, lookEvery) {
			return 0, ctx.Err()
		}
	}
}

func isStable(c *conn, group string) (bool, error) {
	req := kmsg.NewPtrListGroupsRequest()
	req.Version, req.StatesFilter = 4, []string{"Stable"}
	resp, err := ask[*kmsg.ListGroupsResponse](c, req)
	if err == nil {
		err = refusal("list groups", resp.ErrorCode)
	}
	if notYet(err) {
		return false, nil
	}
	for i := range resp.Groups {
		if resp.Groups[i].Group == group {
			return true, err
		}
	}
	return false, err
}

// described tells whether all members are there and have the whole topic at the group's epoch.
func described(c *conn, group string, topic Topic, members int) (epoch int32, all bool, err error) {
	req := kmsg.NewPtrConsumerGroupDescribeRequest()
	req.Groups = []string{group}
	resp, err := ask[*kmsg.ConsumerGroupDescribeResponse](c, req)
	if err != nil {
		return 0, false, err
	}
	if len(resp.Groups) != 1 {
		return 0, false, errors.New("describe consumer group: no answer for it")
	}
	g := &resp.Groups[0]
	if err := refusal("describe consumer group", g.ErrorCode); err != nil {
		return 0, false, err
	}
	partitions, current := 0, 0
	for i := range g.Members {
		if g.Members[i].MemberEpoch == g.Epoch {
			current++
		}
		for _, t := range g.Members[i].Assignment.TopicPartitions {
			partitions += len(t.Partitions)
		}
	}
	return g.Epoch, g.State == "Stable" && current == members && partitions == int(topic.Partitions), nil
}
