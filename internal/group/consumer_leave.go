package group

import (
	"cmp"
	"slices"
	"time"
)

// heartbeatLeave takes a heartbeat of a member that leaves, for good or, if static, for a while.
func (c *consumerGroup) heartbeatLeave(now time.Time, req *HeartbeatRequest, out *Effects) HeartbeatResponse {
	m, err := c.named(MemberRef{MemberID: req.MemberID, InstanceID: req.InstanceID})
	if err != nil {
		return HeartbeatResponse{Err: err}
	}
	if req.Epoch == staticLeaveEpoch && req.InstanceID != "" {
		c.pause(m)
		c.settle(now, out)
	} else {
		c.remove(now, []*consumerMember{m}, out)
	}
	return HeartbeatResponse{MemberID: m.id, Epoch: req.Epoch}
}

// pause keeps a static member's partitions for it until its session is over. What it had to give up it has given up.
func (c *consumerGroup) pause(m *consumerMember) {
	m.epoch = staticLeaveEpoch
	m.rebalanceEnd = time.Time{}
	c.own(m, m.assigned, nil)
	c.unsaved.member(m)
}

// named finds a member by what a request says of it.
func (c *consumerGroup) named(ref MemberRef) (*consumerMember, error) {
	m := c.members[ref.MemberID]
	if ref.InstanceID != "" {
		holder := c.static[ref.InstanceID]
		if holder != nil && holder != m {
			return nil, ErrFencedInstance
		}
		m = holder
	}
	if m == nil {
		return nil, ErrUnknownMember
	}
	return m, nil
}

// remove puts members out of the group, for what reason ever, and settles it. If only members of the classic protocol
// are left the group may become a classic one: it is not to be used any more then.
func (c *consumerGroup) remove(now time.Time, gone []*consumerMember, out *Effects) {
	if c.mayDowngrade(gone) {
		c.downgrade(now, gone, out)
		return
	}
	for _, m := range gone {
		c.drop(m)
	}
	c.forgetRegexps()
	c.bump()
	c.settle(now, out)
}

// setTimer sets one of a member's times.
func (c *consumerGroup) setTimer(timer *time.Time, t time.Time) {
	*timer = t
	c.due = earlier(c.due, t)
}

func (c *consumerGroup) deadline() time.Time { return c.due }

// renew gives all members all the time again that they have for whatever they are to do.
func (c *consumerGroup) renew(now time.Time) {
	for _, m := range c.members {
		session := c.g.set.ConsumerSession
		if m.classic != nil {
			session = m.classic.session
		}
		c.setTimer(&m.sessionEnd, now.Add(session))
		for _, timer := range []*time.Time{&m.rebalanceEnd, &m.joinEnd, &m.syncEnd} {
			if !timer.IsZero() {
				c.setTimer(timer, now.Add(m.rebalance))
			}
		}
	}
}

// tick puts out the members whose time is over, and looks at the topics. A group that could not become a classic one when
// its last member of the consumer protocol went does so now, if it may.
func (c *consumerGroup) tick(now time.Time, img Image, out *Effects) {
	if len(c.members) == 0 {
		c.due = time.Time{}
		return
	}
	c.see(img)
	var late []*consumerMember
	if !c.due.IsZero() && !now.Before(c.due) {
		late = c.expired(now)
	}
	if len(late) > 0 || c.mayDowngrade(nil) {
		c.remove(now, late, out)
		return
	}
	c.settle(now, out)
}

// expired returns the members whose time is over, in the order of their ids, and finds the next deadline of the others.
func (c *consumerGroup) expired(now time.Time) []*consumerMember {
	var late []*consumerMember
	c.due = time.Time{}
	for _, m := range c.members {
		d := m.deadline()
		if !d.IsZero() && !now.Before(d) {
			late = append(late, m)
		} else {
			c.due = earlier(c.due, d)
		}
	}
	slices.SortFunc(late, func(a, b *consumerMember) int { return cmp.Compare(a.id, b.id) })
	return late
}

// leave takes a LeaveGroup: of members of the classic protocol, and of administrators, who name an instance only.
func (c *consumerGroup) leave(now time.Time, members []LeavingMember, out *Effects) []LeftMember {
	left := make([]LeftMember, 0, len(members))
	var gone []*consumerMember
	for _, l := range members {
		m, err := c.leaving(l)
		if err == nil && !slices.Contains(gone, m) {
			gone = append(gone, m)
		}
		left = append(left, LeftMember{MemberID: l.MemberID, InstanceID: l.InstanceID, Err: err})
	}
	if len(gone) > 0 {
		c.remove(now, gone, out)
	}
	return left
}

func (c *consumerGroup) leaving(l LeavingMember) (*consumerMember, error) {
	if l.MemberID == "" && l.InstanceID != "" {
		if m := c.static[l.InstanceID]; m != nil {
			return m, nil
		}
		return nil, ErrUnknownMember
	}
	return c.named(MemberRef{MemberID: l.MemberID, InstanceID: l.InstanceID})
}
