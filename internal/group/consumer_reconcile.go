package group

import (
	"slices"
	"time"

	"github.com/google/uuid"
)

// reconcile takes a member as far to its target as it can go now. owned is what it says it has; nil: it does not say.
// subscription tells that its subscription changed just now.
//
// A partition is given to a member only if no other has it or is yet to give it up. So there is never more than one
// that may consume it, provided that a member says it has a partition as long as it may consume it.
func (c *consumerGroup) reconcile(now time.Time, m *consumerMember, owned *[]TopicPartitions, subscription bool) {
	if !subscription && m.reconciledTo(c.assignmentEpoch) {
		return
	}
	before := *m
	switch {
	case m.state == memberUnrevoked && hasAny(owned, m.revoking),
		m.state == memberStable && m.epoch == c.assignmentEpoch:
		if subscription {
			c.strip(m, owned)
		}
	default:
		c.advance(m, owned)
	}
	if before.epoch == m.epoch && before.state == m.state && before.assigned.equal(m.assigned) && before.revoking.equal(m.revoking) {
		return
	}
	c.unsaved.member(m)
	if m.classic != nil {
		return // has a time to join again instead
	}
	if m.state == memberUnrevoked {
		c.setTimer(&m.rebalanceEnd, now.Add(m.rebalance))
	} else {
		m.rebalanceEnd = time.Time{}
	}
}

// hasAny tells whether a member may still have any of some partitions. One that does not say what it has may.
func hasAny(owned *[]TopicPartitions, of partitionSet) bool {
	return owned == nil || anyOf(*owned, of.has)
}

// advance takes a member that has nothing more to give up of its last step to the next.
func (c *consumerGroup) advance(m *consumerMember, owned *[]TopicPartitions) {
	target := m.target.topics(func(id uuid.UUID) bool { return c.subscribes(m, id) })
	keep := m.assigned.intersect(target)
	revoke := m.assigned.minus(keep)
	if len(revoke) > 0 && hasAny(owned, revoke) {
		c.own(m, keep, revoke)
		m.state = memberUnrevoked
		return
	}
	missing := target.minus(keep)
	free := missing.filter(func(tp topicPartition) bool {
		owner := c.owners[tp]
		return owner == nil || owner == m
	})
	m.state = memberStable
	if !free.equal(missing) {
		m.state = memberUnreleased
	}
	c.own(m, keep.union(free), nil)
	m.setEpoch(c.assignmentEpoch)
}

// strip takes from a member, in its epoch, what it is not subscribed to any more.
func (c *consumerGroup) strip(m *consumerMember, owned *[]TopicPartitions) {
	keep := m.assigned.topics(func(id uuid.UUID) bool { return c.subscribes(m, id) })
	if len(keep) == len(m.assigned) {
		return
	}
	revoke := m.revoking.union(m.assigned.minus(keep))
	if hasAny(owned, revoke) {
		c.own(m, keep, revoke)
		m.state = memberUnrevoked
		return
	}
	c.own(m, keep, m.revoking)
}

// subscribes tells whether a topic exists and the member is subscribed to it.
func (c *consumerGroup) subscribes(m *consumerMember, id uuid.UUID) bool {
	t, exists := c.img.ByID(id)
	if !exists {
		return false
	}
	for _, names := range [][]string{m.topics, c.matched(m.regexp)} {
		if _, found := slices.BinarySearch(names, t.Name); found {
			return true
		}
	}
	return false
}

// awaits tells whether partitions that the member waits for are still another's.
func (c *consumerGroup) awaits(m *consumerMember) bool {
	return !m.target.each(func(tp topicPartition) bool {
		owner := c.owners[tp]
		return owner == nil || owner == m
	})
}
