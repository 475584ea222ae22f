package groups

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// Fleet is many groups of one member each.
type Fleet struct {
	members []*member
}

// Gather makes groups of one member each, named prefix and a number, and returns when all are stable.
func Gather(ctx context.Context, address, prefix string, topic Topic, groups int) (*Fleet, error) {
	if err := awaitCoordinator(ctx, address, prefix); err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	f := &Fleet{}
	for i := range groups {
		m, err := newMember(ctx, address, fmt.Sprint(prefix, i), topic)
		if err != nil {
			f.Close()
			return nil, err
		}
		f.members = append(f.members, m)
	}
	defer context.AfterFunc(ctx, f.Close)() // after the first failure nobody waits for answers
	var joining sync.WaitGroup
	for _, m := range f.members {
		joining.Go(func() {
			if err := m.joinAndSync(ctx); err != nil {
				cancel(err)
			}
		})
	}
	joining.Wait()
	if err := context.Cause(ctx); err != nil {
		f.Close()
		return nil, fmt.Errorf("make %d groups: %w", groups, err)
	}
	return f, nil
}

// Leave removes the members, over a connection of its own.
func (f *Fleet) Leave(ctx context.Context, address string) error {
	c, err := dial(ctx, address)
	if err != nil {
		return err
	}
	defer c.close()
	for _, m := range f.members {
		if err := leave(ctx, c, m.group, m.id); err != nil {
			return err
		}
	}
	return nil
}

// leave removes members of one group, once its coordinator knows it.
func leave(ctx context.Context, c *conn, group string, ids ...string) error {
	req := kmsg.NewPtrLeaveGroupRequest()
	req.Version, req.Group = 4, group
	for _, id := range ids {
		req.Members = append(req.Members, kmsg.LeaveGroupRequestMember{MemberID: id})
	}
	for {
		resp, err := ask[*kmsg.LeaveGroupResponse](c, req)
		if err == nil {
			err = refusal("leave group", resp.ErrorCode)
		}
		if err == nil || !notYet(err) || !pause(ctx, retry) {
			return err
		}
	}
}

// Close closes the connections. The members stay until they leave or their sessions end.
func (f *Fleet) Close() {
	for _, m := range f.members {
		m.close()
	}
}

// Heartbeat has every member heartbeat for a while, each at the interval.
func (f *Fleet) Heartbeat(ctx context.Context, every, lasting time.Duration) (Load, error) {
	callers := make([]*caller, len(f.members))
	for i, m := range f.members {
		req, resp := m.heartbeatRequest(), &kmsg.HeartbeatResponse{Version: 4}
		callers[i] = &caller{conn: m.conn, answer: resp,
			request: func() kmsg.Request { return req },
			check:   func() error { return refusal("heartbeat", resp.ErrorCode) },
		}
	}
	return openLoop(ctx, callers, float64(len(callers))/every.Seconds(), lasting)
}

// highestOffset bounds the offsets that are committed, which must exist to be shown in Redis's native groups.
const highestOffset = 100

// Commit has every group commit some partitions again and again, with one commit on its way. rate is how many commits a
// second fall due over all groups; 0: each as soon as the one before is answered.
func (f *Fleet) Commit(ctx context.Context, partitions int, rate float64, lasting time.Duration) (Load, error) {
	callers := make([]*caller, len(f.members))
	for i, m := range f.members {
		callers[i] = m.committer(i*partitions, partitions)
	}
	if rate == 0 {
		return closedLoop(ctx, callers, lasting)
	}
	return openLoop(ctx, callers, rate, lasting)
}

func (m *member) committer(first, partitions int) *caller {
	topic := kmsg.NewOffsetCommitRequestTopic()
	topic.Topic = m.topic.Name
	for i := range min(partitions, int(m.topic.Partitions)) {
		p := kmsg.NewOffsetCommitRequestTopicPartition()
		p.Partition = int32(first+i) % m.topic.Partitions
		topic.Partitions = append(topic.Partitions, p)
	}
	req, resp := kmsg.NewPtrOffsetCommitRequest(), &kmsg.OffsetCommitResponse{Version: 8}
	req.Version, req.Group, req.MemberID, req.Generation = 8, m.group, m.id, m.generation
	req.Topics = []kmsg.OffsetCommitRequestTopic{topic}
	offset := int64(0)
	return &caller{conn: m.conn, answer: resp,
		request: func() kmsg.Request {
			offset = offset%highestOffset + 1
			for i := range topic.Partitions {
				topic.Partitions[i].Offset = offset
			}
			return req
		},
		check: func() error { return committed(resp, len(topic.Partitions)) },
	}
}

func committed(resp *kmsg.OffsetCommitResponse, partitions int) error {
	if len(resp.Topics) != 1 || len(resp.Topics[0].Partitions) != partitions {
		return fmt.Errorf("commit offsets: an answer of %d topics", len(resp.Topics))
	}
	for i := range resp.Topics[0].Partitions {
		if code := resp.Topics[0].Partitions[i].ErrorCode; code != 0 {
			return refusal("commit offsets", code)
		}
	}
	return nil
}
