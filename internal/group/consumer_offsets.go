package group

import (
	"slices"
	"time"
)

// checkCommit lets members commit in their present epoch, and anyone while the group is empty. Commits are no sign of life
// in this protocol.
func (c *consumerGroup) checkCommit(_ time.Time, ref MemberRef, memberEpochs bool) error {
	if ref.Generation < 0 && len(c.members) == 0 {
		return nil
	}
	m := c.members[ref.MemberID]
	switch {
	case m == nil:
		return ErrUnknownMember
	case m.classic == nil && !memberEpochs:
		return ErrUnsupportedVersion
	}
	return m.checkOffsetEpoch(ref.Generation)
}

// checkFetch lets members fetch in their present epoch, and those that do not say they are one.
func (c *consumerGroup) checkFetch(ref MemberRef) error {
	if ref.MemberID == "" && ref.Generation < 0 {
		return nil
	}
	m := c.members[ref.MemberID]
	if m == nil {
		return ErrUnknownMember
	}
	return m.checkOffsetEpoch(ref.Generation)
}

func (m *consumerMember) checkOffsetEpoch(epoch int32) error {
	switch {
	case epoch == m.epoch:
		return nil
	case m.classic != nil:
		return ErrIllegalGeneration
	}
	return ErrStaleMemberEpoch
}

// subscribed tells whether a member is subscribed to a topic, by name or by regular expression.
func (c *consumerGroup) subscribed(topic string) bool {
	for _, m := range c.members {
		if _, found := slices.BinarySearch(m.topics, topic); found {
			return true
		}
	}
	for _, r := range c.regexps {
		if r.re.MatchString(topic) {
			return true
		}
	}
	return false
}

// summary shows the group with the assignor that its targets are of, or would be.
func (c *consumerGroup) summary() Description {
	d := Description{
		ID: c.g.name, Type: Consumer, State: c.state, ProtocolType: consumerType, Protocol: c.assignor,
		Epoch: c.epoch, AssignmentEpoch: c.assignmentEpoch, Since: c.since,
	}
	if d.Protocol == "" {
		d.Protocol = c.g.set.Assignors[0]
	}
	return d
}

// describe shows the members too, in the order of their ids.
func (c *consumerGroup) describe() Description {
	d := c.summary()
	d.Members = make([]MemberDescription, 0, len(c.members))
	for _, m := range c.sorted() {
		d.Members = append(d.Members, MemberDescription{
			MemberID: m.id, InstanceID: m.instance, Client: m.client, Rack: m.rack, Epoch: m.epoch,
			Topics: m.topics, Regexp: m.regexp, Assigned: m.assigned, Target: m.target, Classic: m.classic != nil,
		})
	}
	return d
}
