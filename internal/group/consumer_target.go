package group

import (
	"maps"
	"slices"
	"time"
)

// see looks at the topics and raises the epoch if those that members are subscribed to are not what the targets were made
// for.
func (c *consumerGroup) see(img Image) {
	if c.img != nil && c.img.Version() == img.Version() {
		return
	}
	c.img = img
	if len(c.members) > 0 && c.epoch == c.assignmentEpoch && c.hashTopics() != c.topicsHash {
		c.bump()
	}
}

// memberChanged raises the epoch if what changed of a member matters for the targets: its subscription, or its vote for
// an assignor.
func (c *consumerGroup) memberChanged(m *consumerMember, subscription bool) {
	c.unsaved.member(m)
	if subscription {
		c.forgetRegexps()
	}
	if subscription || c.epoch == 0 || c.epoch == c.assignmentEpoch && c.preferredAssignor() != c.assignor {
		c.bump()
	}
}

// preferredAssignor is the one that most members prefer, of those that prefer one; among equals the first of the settings,
// which is the one without preferences, too.
func (c *consumerGroup) preferredAssignor() string {
	votes := make(map[string]int)
	for _, m := range c.members {
		if m.assignor != "" {
			votes[m.assignor]++
		}
	}
	best := c.g.set.Assignors[0]
	for _, name := range c.g.set.Assignors {
		if votes[name] > votes[best] {
			best = name
		}
	}
	return best
}

// makeTargets makes the targets for the group's epoch, if they are not made and the time between two assignments
// is over: so members that join in a burst are assigned in few steps.
func (c *consumerGroup) makeTargets(now time.Time) {
	if c.epoch == c.assignmentEpoch || c.untilTargets(now) > 0 {
		return
	}
	c.assignor = c.preferredAssignor()
	members, subscribers, topics := c.subscribers()
	sets := assignorNamed(c.assignor)(subscribers, topics)
	for i, m := range members {
		if !m.target.equal(sets[i]) {
			m.target = sets[i]
			c.unsaved.member(m)
		}
	}
	c.assignmentEpoch, c.assignedAt, c.topicsHash = c.epoch, now, c.hashTopics()
	c.unsaved.group = true
}

// untilTargets is how long new targets must still wait.
func (c *consumerGroup) untilTargets(now time.Time) time.Duration {
	if c.assignedAt.IsZero() {
		return 0
	}
	return c.assignedAt.Add(c.g.set.AssignmentInterval).Sub(now)
}

// interval is when a member is to send its next heartbeat: early if targets wait to be made.
func (c *consumerGroup) interval(now time.Time) time.Duration {
	interval := c.g.set.ConsumerHeartbeat
	if c.epoch > c.assignmentEpoch {
		if wait := c.untilTargets(now).Round(time.Millisecond) + time.Millisecond; wait < interval {
			return wait
		}
	}
	return interval
}

// subscribers are the members as an assignor sees them, in the order of their ids, and the topics that exist of those they
// are subscribed to, in the order of theirs.
func (c *consumerGroup) subscribers() ([]*consumerMember, []subscriber, []Topic) {
	index := make(map[string]int)
	topics := slices.SortedFunc(maps.Values(c.subscribedTopics()), func(a, b Topic) int { return compareIDs(a.ID, b.ID) })
	for i, t := range topics {
		index[t.Name] = i
	}
	members := c.sorted()
	subscribers := make([]subscriber, 0, len(members))
	for _, m := range members {
		subscribers = append(subscribers, subscriber{id: m.id, instance: m.instance, topics: c.topicIndexes(m, index), current: m.target})
	}
	return members, subscribers, topics
}

// topicIndexes lists a member's topics by their index, ascending.
func (c *consumerGroup) topicIndexes(m *consumerMember, index map[string]int) []int {
	list := make([]int, 0, len(m.topics))
	for _, names := range [][]string{m.topics, c.matched(m.regexp)} {
		for _, name := range names {
			if i, exists := index[name]; exists {
				list = append(list, i)
			}
		}
	}
	slices.Sort(list)
	return slices.Compact(list)
}

// subscribedTopics are the existing topics that any member is subscribed to, by name.
func (c *consumerGroup) subscribedTopics() map[string]Topic {
	topics := make(map[string]Topic)
	add := func(names []string) {
		for _, name := range names {
			if _, known := topics[name]; known {
				continue
			}
			if t, exists := c.img.Topic(name); exists {
				topics[name] = t
			}
		}
	}
	for _, m := range c.members {
		add(m.topics)
	}
	for re := range c.regexps {
		add(c.matched(re))
	}
	return topics
}

// hashTopics is a number that tells the subscribed topics' names, ids and partitions from others. 0: there are none.
func (c *consumerGroup) hashTopics() uint64 {
	var sum uint64
	for _, t := range c.subscribedTopics() {
		sum += hashTopic(t)
	}
	return sum
}
