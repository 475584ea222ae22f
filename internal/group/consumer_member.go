package group

import (
	"slices"
	"time"
)

// The member epochs that are none (KIP-848).
const (
	joinEpoch        int32 = 0
	leaveEpoch       int32 = -1
	staticLeaveEpoch int32 = -2
)

// memberState is how far a member is on the way to its target.
type memberState int8

const (
	memberStable     memberState = iota // has all of its target of its epoch
	memberUnrevoked                     // has still to give up partitions; keeps its epoch until it did
	memberUnreleased                    // waits for partitions that others have still
)

// consumerMember is a member of a consumer group.
type consumerMember struct {
	id, instance string
	client       Client
	rack         string
	rebalance    time.Duration // how long it may take to give up partitions
	topics       []string      // subscribed by name: in order, each once
	regexp       string        // subscribed by regular expression; empty: none
	assignor     string        // the one it prefers; empty: any
	classic      *classicPart  // nil: speaks the consumer protocol

	epoch, previousEpoch int32
	state                memberState
	target               partitionSet
	assigned             partitionSet // what it may consume
	revoking             partitionSet // what it may still have and must give up

	// The times when it is put out of the group; zero: it is not.
	sessionEnd   time.Time // for being silent
	rebalanceEnd time.Time // for not giving up partitions
	joinEnd      time.Time // classic: for not joining again
	syncEnd      time.Time // classic: for not fetching its assignment
}

// classicPart is what only members of the classic protocol have.
type classicPart struct {
	session   time.Duration
	protocols []Protocol
}

func (m *consumerMember) reconciledTo(epoch int32) bool {
	return m.state == memberStable && m.epoch == epoch
}

// setEpoch moves the member to an epoch. The one before stays good for a member that missed the answer.
func (m *consumerMember) setEpoch(epoch int32) {
	if epoch != m.epoch {
		m.previousEpoch, m.epoch = m.epoch, epoch
	}
}

func (m *consumerMember) stopTimers() {
	m.sessionEnd, m.rebalanceEnd, m.joinEnd, m.syncEnd = time.Time{}, time.Time{}, time.Time{}, time.Time{}
}

// deadline is the earliest of its times; zero: it has none.
func (m *consumerMember) deadline() time.Time {
	var first time.Time
	for _, t := range [...]time.Time{m.sessionEnd, m.rebalanceEnd, m.joinEnd, m.syncEnd} {
		first = earlier(first, t)
	}
	return first
}

// earlier is the earlier of two times of which either may be zero, which is never.
func earlier(a, b time.Time) time.Time {
	if a.IsZero() || !b.IsZero() && b.Before(a) {
		return b
	}
	return a
}

// checkEpoch tells whether a heartbeat with that epoch, and maybe the partitions that the member says it has, is of the
// member as it is here. The epoch before is good if the answer with the present one may have been lost.
func (m *consumerMember) checkEpoch(epoch int32, owned *[]TopicPartitions) error {
	if epoch == joinEpoch || epoch == m.epoch {
		return nil
	}
	if epoch == m.previousEpoch && epoch < m.epoch && owned != nil && m.hasAll(*owned) {
		return nil
	}
	return ErrFencedMemberEpoch
}

// hasAll tells whether the member is assigned all of what it says it has.
func (m *consumerMember) hasAll(owned []TopicPartitions) bool {
	return !anyOf(owned, func(tp topicPartition) bool { return !m.assigned.has(tp) })
}

// anyOf tells whether f is true for any of some partitions in any order.
func anyOf(tps []TopicPartitions, f func(topicPartition) bool) bool {
	return !partitionSet(tps).each(func(tp topicPartition) bool { return !f(tp) })
}

// update takes over what a heartbeat says of the member, and tells what of it changed.
func (m *consumerMember) update(req *HeartbeatRequest) (changed, subscription bool) {
	changed = set(&m.client, req.Client)
	if req.Rack != nil {
		changed = set(&m.rack, *req.Rack) || changed
	}
	if req.Rebalance >= 0 {
		changed = set(&m.rebalance, req.Rebalance) || changed
	}
	if req.Assignor != nil {
		changed = set(&m.assignor, *req.Assignor) || changed
	}
	if m.classic != nil {
		m.classic = nil
		m.joinEnd, m.syncEnd = time.Time{}, time.Time{}
		changed = true
	}
	if req.Regexp != nil {
		subscription = set(&m.regexp, *req.Regexp)
	}
	if req.Topics != nil {
		subscription = m.setTopics(*req.Topics) || subscription
	}
	return changed || subscription, subscription
}

// set sets a field and tells whether it changed.
func set[T comparable](field *T, v T) bool {
	changed := *field != v
	*field = v
	return changed
}

// setTopics sets the topics that the member is subscribed to by name and tells whether they changed.
func (m *consumerMember) setTopics(names []string) bool {
	if slices.Equal(m.topics, names) {
		return false
	}
	names = slices.Clone(names)
	slices.Sort(names)
	names = slices.Compact(names)
	if slices.Equal(m.topics, names) {
		return false
	}
	m.topics = names
	return true
}
