package groups

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"
)

const (
	session = 5 * time.Minute // no member is to be lost between two loads
	retry   = 20 * time.Millisecond
)

// Topic is what members subscribe to.
type Topic struct {
	Name       string
	Partitions int32
}

// member is a member of a group of the classic protocol, with the assignor range.
type member struct {
	*conn
	group      string
	topic      Topic
	id         string
	generation int32
}

func newMember(ctx context.Context, address, group string, topic Topic) (*member, error) {
	c, err := dial(ctx, address)
	if err != nil {
		return nil, err
	}
	return &member{conn: c, group: group, topic: topic}, nil
}

// joinAndSync has the member take part in rebalances until one is complete for it.
func (m *member) joinAndSync(ctx context.Context) error {
	for {
		joined, err := m.join(ctx)
		if err != nil {
			return err
		}
		err = m.sync(joined)
		if errors.Is(err, kerr.RebalanceInProgress) {
			continue
		}
		return err
	}
}

// join returns when the member is in a generation. A member without an id is given one first (KIP-394).
func (m *member) join(ctx context.Context) (*kmsg.JoinGroupResponse, error) {
	for {
		resp, err := ask[*kmsg.JoinGroupResponse](m.conn, m.joinRequest())
		if err == nil {
			err = refusal("join group", resp.ErrorCode)
		}
		switch {
		case err == nil:
			m.id, m.generation = resp.MemberID, resp.Generation
			return resp, nil
		case errors.Is(err, kerr.MemberIDRequired):
			m.id = resp.MemberID
		case !notYet(err) || !pause(ctx, retry):
			return nil, err
		}
	}
}

func (m *member) joinRequest() *kmsg.JoinGroupRequest {
	subscription := kmsg.NewConsumerMemberMetadata()
	subscription.Topics = []string{m.topic.Name}
	req := kmsg.NewPtrJoinGroupRequest()
	req.Version, req.Group, req.MemberID = 9, m.group, m.id
	req.SessionTimeoutMillis, req.RebalanceTimeoutMillis = int32(session.Milliseconds()), int32(session.Milliseconds())
	req.ProtocolType = "consumer"
	req.Protocols = []kmsg.JoinGroupRequestProtocol{{Name: "range", Metadata: subscription.AppendTo(nil)}}
	return req
}

// sync gets the member's assignment. The leader makes all of them.
func (m *member) sync(joined *kmsg.JoinGroupResponse) error {
	req := kmsg.NewPtrSyncGroupRequest()
	req.Version, req.Group, req.MemberID, req.Generation = 5, m.group, m.id, m.generation
	req.ProtocolType, req.Protocol = joined.ProtocolType, joined.Protocol
	if joined.LeaderID == m.id {
		req.GroupAssignment = assign(joined.Members, m.topic)
	}
	resp, err := ask[*kmsg.SyncGroupResponse](m.conn, req)
	if err != nil {
		return err
	}
	return refusal("sync group", resp.ErrorCode)
}

// assign shares the topic's partitions out.
func assign(members []kmsg.JoinGroupResponseMember, topic Topic) []kmsg.SyncGroupRequestGroupAssignment {
	all := make([]kmsg.SyncGroupRequestGroupAssignment, len(members))
	for i := range members {
		part := kmsg.NewConsumerMemberAssignmentTopic()
		part.Topic = topic.Name
		for p := int32(i); p < topic.Partitions; p += int32(len(members)) {
			part.Partitions = append(part.Partitions, p)
		}
		assignment := kmsg.NewConsumerMemberAssignment()
		assignment.Topics = []kmsg.ConsumerMemberAssignmentTopic{part}
		all[i] = kmsg.SyncGroupRequestGroupAssignment{MemberID: members[i].MemberID, MemberAssignment: assignment.AppendTo(nil)}
	}
	return all
}

func (m *member) heartbeatRequest() *kmsg.HeartbeatRequest {
	req := kmsg.NewPtrHeartbeatRequest()
	req.Version, req.Group, req.MemberID, req.Generation = 4, m.group, m.id, m.generation
	return req
}

// heartbeat tells whether the member may stay as it is.
func (m *member) heartbeat() error {
	resp, err := ask[*kmsg.HeartbeatResponse](m.conn, m.heartbeatRequest())
	if err != nil {
		return err
	}
	return refusal("heartbeat", resp.ErrorCode)
}

// awaitCoordinator waits until groups have a coordinator that answers: a new Kafka makes a topic for them first.
func awaitCoordinator(ctx context.Context, address, group string) error {
	c, err := dial(ctx, address)
	if err != nil {
		return err
	}
	defer c.close()
	for {
		req := kmsg.NewPtrFindCoordinatorRequest()
		req.Version, req.CoordinatorKeys = 4, []string{group}
		resp, err := ask[*kmsg.FindCoordinatorResponse](c, req)
		if err != nil {
			return err
		}
		if len(resp.Coordinators) != 1 {
			return fmt.Errorf("find coordinator: %d answers", len(resp.Coordinators))
		}
		err = refusal("find coordinator", resp.Coordinators[0].ErrorCode)
		if err == nil || !notYet(err) || !pause(ctx, retry) {
			return err
		}
	}
}

// pause waits. false: ctx ended.
func pause(ctx context.Context, d time.Duration) bool {
	select {
	case <-ctx.Done():
		return false
	case <-time.After(d):
		return true
	}
}
