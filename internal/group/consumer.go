package group

import (
	"maps"
	"slices"
	"time"
)

// consumerGroup is a group under the consumer protocol (KIP-848).
//
// Its epoch rises with every change of members, subscriptions, the assignor or the topics. For an epoch the assignor makes a
// target for each member; assignmentEpoch is the epoch of the targets there are. Each member is brought to its target
// by its own heartbeats: first it gives up what it must, and what others have still not given up it gets when they have.
//
// Members of the classic protocol may be in it too (consumer_classic.go): their generation is the member epoch, and they
// are told to join again where others just get another assignment.
type consumerGroup struct {
	g *Group

	epoch           int32
	assignmentEpoch int32
	assignor        string    // of the targets
	topicsHash      uint64    // of the subscribed topics that the targets were made for
	assignedAt      time.Time // when the targets were made; zero: by an earlier life of the broker

	members map[string]*consumerMember
	static  map[string]*consumerMember // by instance id
	owners  map[topicPartition]*consumerMember
	regexps map[string]*topicRegexp // those of members

	// img is the last view of the topics that was seen; nil: none since the group was restored or empty.
	img Image
	// due is not later than any member's next deadline; zero: there is none. It may be earlier, as most heartbeats put
	// off just the deadline that it is of.
	due time.Time

	state State
	since time.Time

	unsaved unsaved
}

// newConsumer returns a group of the consumer protocol without members.
func newConsumer(g *Group, now time.Time) *consumerGroup {
	return &consumerGroup{
		g:       g,
		members: make(map[string]*consumerMember),
		static:  make(map[string]*consumerMember),
		owners:  make(map[topicPartition]*consumerMember),
		regexps: make(map[string]*topicRegexp),
		state:   Empty,
		since:   now,
	}
}

func (c *consumerGroup) kind() Type { return Consumer }

func (c *consumerGroup) size() int { return len(c.members) }

// abandon has nothing to answer: no request of the consumer protocol waits.
func (c *consumerGroup) abandon(*Effects) {}

// bump raises the group's epoch. A new group begins with 2, as Kafka's: a member that joins has epoch 0 before its first
// assignment, and 1 stays free for one that must wait for it.
func (c *consumerGroup) bump() {
	c.epoch = max(c.epoch+1, 2)
	c.unsaved.group = true
}

// add takes a member in.
func (c *consumerGroup) add(m *consumerMember) {
	c.members[m.id] = m
	if m.instance != "" {
		c.static[m.instance] = m
	}
	c.unsaved.member(m)
}

// drop takes a member out, with what it owns. The caller raises the epoch.
func (c *consumerGroup) drop(m *consumerMember) {
	c.own(m, nil, nil)
	delete(c.members, m.id)
	if m.instance != "" && c.static[m.instance] == m {
		delete(c.static, m.instance)
	}
	c.unsaved.gone(m)
}

// replace gives a static member another member id; all else of it, its partitions above all, stays. It has to get to the
// group's epoch from 0.
func (c *consumerGroup) replace(old *consumerMember, id string) *consumerMember {
	m := *old
	m.id, m.epoch, m.previousEpoch = id, 0, 0
	m.stopTimers()
	m.assigned, m.revoking = nil, nil
	assigned, revoking := old.assigned, old.revoking
	c.drop(old)
	c.add(&m)
	c.own(&m, assigned, revoking)
	return &m
}

// own sets what a member has and what it has still to give up.
func (c *consumerGroup) own(m *consumerMember, assigned, revoking partitionSet) {
	release := func(tp topicPartition) bool {
		if c.owners[tp] == m {
			delete(c.owners, tp)
		}
		return true
	}
	take := func(tp topicPartition) bool {
		c.owners[tp] = m
		return true
	}
	m.assigned.each(release)
	m.revoking.each(release)
	assigned.each(take)
	revoking.each(take)
	m.assigned, m.revoking = assigned, revoking
}

// settle brings the state up to date and hands over what is to be stored. Every event that changes something ends with it.
func (c *consumerGroup) settle(now time.Time, out *Effects) {
	if c.unsaved.nothing() {
		return
	}
	if state := c.currentState(); state != c.state {
		c.state, c.since = state, now
		c.unsaved.group = true
	}
	if c.state == Empty {
		c.img, c.due = nil, time.Time{}
	}
	c.save(out)
}

func (c *consumerGroup) currentState() State {
	switch {
	case len(c.members) == 0:
		return Empty
	case c.epoch > c.assignmentEpoch:
		return Assigning
	}
	for _, m := range c.members {
		if !m.reconciledTo(c.assignmentEpoch) {
			return Reconciling
		}
	}
	return Stable
}

// sorted lists the members in the order of their ids.
func (c *consumerGroup) sorted() []*consumerMember {
	list := make([]*consumerMember, 0, len(c.members))
	for _, id := range slices.Sorted(maps.Keys(c.members)) {
		list = append(list, c.members[id])
	}
	return list
}
