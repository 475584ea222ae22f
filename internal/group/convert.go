package group

import (
	"slices"
	"time"
)

func (m Migration) upgrades() bool   { return m == Bidirectional || m == Upgrade }
func (m Migration) downgrades() bool { return m == Bidirectional || m == Downgrade }

// upgrade is for a heartbeat of the consumer protocol that reaches a classic group. Only one that joins changes the group:
// one without members at any time; one of consumers if the settings allow it, whose members stay in it then and
// are told to join again. If the heartbeat is refused, the group is as it was.
func (g *Group) upgrade(now time.Time, img Image, c *classicGroup, req HeartbeatRequest, to Ticket, out *Effects) {
	next, err := g.upgraded(now, img, c, &req)
	if err != nil {
		answerHeartbeat(out, to, HeartbeatResponse{Err: err})
		return
	}
	for _, m := range c.list {
		c.answerJoin(m, JoinResponse{Err: ErrRebalanceInProgress, Generation: -1}, out)
		c.answerSync(m, SyncResponse{Err: ErrRebalanceInProgress}, out)
	}
	g.m = next
	next.consumerHeartbeat(now, img, req, to, out)
}

// upgraded returns the group that a classic one is to become, if it will take the heartbeat.
func (g *Group) upgraded(now time.Time, img Image, c *classicGroup, req *HeartbeatRequest) (*consumerGroup, error) {
	if err := g.checkHeartbeat(req); err != nil {
		return nil, err
	}
	if req.Epoch != joinEpoch {
		return nil, ErrNotFound
	}
	next := newConsumer(g, now)
	if c.size() > 0 {
		if !g.set.Migration.upgrades() || c.protocolType != consumerType || c.size() > g.set.ConsumerMaxSize {
			return nil, ErrUnsupportedMigration
		}
		if err := next.takeOver(now, img, c); err != nil {
			return nil, err
		}
	}
	for _, id := range c.storedIDs() {
		if next.members[id] == nil {
			next.unsaved.goneID(id)
		}
	}
	if _, err := next.find(req); err != nil {
		return nil, err
	}
	if req.Regexp != nil {
		return next, next.knowRegexp(*req.Regexp)
	}
	return next, nil
}

// takeOver takes in the members of a classic group, with the generation as their epoch and the partitions they have.
func (c *consumerGroup) takeOver(now time.Time, img Image, old *classicGroup) error {
	c.img = img
	c.epoch, c.assignmentEpoch = old.generation, old.generation
	c.assignor = c.g.set.Assignors[0]
	var said []partitionSet
	for _, om := range old.list {
		m, sub, err := memberOf(om, old.protocol)
		if err != nil {
			return ErrUnsupportedMigration
		}
		assigned, custom, err := parseAssignment(om.assignment, img)
		if err != nil || custom { // an assignor's own data would be lost
			return ErrUnsupportedMigration
		}
		m.epoch, m.previousEpoch = old.generation, old.generation
		c.add(m)
		c.take(m, assigned)
		said = append(said, existing(sub.owned(img), img))
		c.setTimer(&m.sessionEnd, now.Add(m.classic.session))
	}
	for i, om := range old.list {
		c.take(c.members[om.id], said[i])
	}
	c.topicsHash = c.hashTopics()
	c.unsaved.group = true
	return nil
}

// take lets a member have partitions that it has from before: those its classic group assigned to it, and those it said
// it had when it joined last, which it may have still if it did not fetch its assignment. What another member has it does
// not get: a client's assignor may have given a partition twice.
func (c *consumerGroup) take(m *consumerMember, partitions partitionSet) {
	free := partitions.filter(func(tp topicPartition) bool { return c.owners[tp] == nil })
	c.own(m, m.assigned.union(free), nil)
	m.target = m.assigned
}

// memberOf makes a member of one of a classic group of consumers, and returns what it said when it joined.
func memberOf(om *classicMember, protocol string) (*consumerMember, *clientSubscription, error) {
	metadata := om.metadata(protocol)
	if metadata == nil {
		metadata = om.protocols[0].Metadata // no generation was made yet; all say the same
	}
	sub, err := parseSubscription(metadata)
	if err != nil {
		return nil, nil, err
	}
	m := &consumerMember{
		id: om.id, instance: om.instance, client: om.client, rack: sub.rack, rebalance: om.rebalance,
		classic: &classicPart{session: om.session, protocols: om.protocols},
	}
	m.setTopics(sub.topics)
	return m, &sub, nil
}

// becomesClassic changes the group to a classic one for a JoinGroup: if it has no members, or if the newcomer takes the place
// of the last one of the consumer protocol and the settings allow it.
func (c *consumerGroup) becomesClassic(now time.Time, req *JoinRequest, out *Effects) bool {
	if len(c.members) > 0 && !c.replacesLast(now, req, out) {
		return false
	}
	if len(c.members) == 0 {
		c.g.m = newClassic(c.g, now)
	}
	return true
}

// replacesLast takes the static member that a JoinGroup is to replace out of the group if no other one of the consumer protocol
// is in it.
func (c *consumerGroup) replacesLast(now time.Time, req *JoinRequest, out *Effects) bool {
	holder := c.static[req.InstanceID]
	if holder == nil || holder.classic != nil || req.MemberID != "" || c.checkJoin(req) != nil {
		return false
	}
	gone := []*consumerMember{holder}
	last := len(c.members) == 1 && c.g.set.Migration.downgrades()
	if !last && !c.mayDowngrade(gone) {
		return false
	}
	c.remove(now, gone, out)
	return true
}

// mayDowngrade tells whether the group may become a classic one when some members are gone: if there are others, all of
// the classic protocol, and not too many.
func (c *consumerGroup) mayDowngrade(gone []*consumerMember) bool {
	left := len(c.members) - len(gone)
	if left <= 0 || left > c.g.set.MaxSize || !c.g.set.Migration.downgrades() || c.img == nil {
		return false
	}
	for _, m := range c.members {
		if m.classic == nil && !slices.Contains(gone, m) {
			return false
		}
	}
	return true
}

// downgrade makes the group a classic one of the members that stay, who join again.
func (c *consumerGroup) downgrade(now time.Time, gone []*consumerMember, out *Effects) {
	seed := classicSeed{Generation: c.epoch}
	for _, m := range c.sorted() {
		seed.Stored = append(seed.Stored, m.id)
		if slices.Contains(gone, m) {
			continue
		}
		seed.Members = append(seed.Members, &classicMember{
			id: m.id, instance: m.instance, client: m.client, session: m.classic.session, rebalance: m.rebalance,
			protocols:  m.classic.protocols,
			assignment: encodeAssignment(m.assigned, c.img, m.classic.protocols[0].Metadata),
		})
	}
	for id := range c.unsaved.removed {
		seed.Stored = append(seed.Stored, id)
	}
	classic := newClassicFrom(c.g, now, seed, out)
	c.g.m = classic
	classic.rebalance(now, out)
}
