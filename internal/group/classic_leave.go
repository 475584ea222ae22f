package group

import (
	"time"
)

// leave removes members. One rebalance follows for all of them.
func (c *classicGroup) leave(now time.Time, leaving []LeavingMember, out *Effects) []LeftMember {
	left := make([]LeftMember, 0, len(leaving))
	before := len(c.list)
	for _, l := range leaving {
		err := c.leaveOne(l, out)
		left = append(left, LeftMember{MemberID: l.MemberID, InstanceID: l.InstanceID, Err: err})
	}
	switch {
	case len(c.list) < before:
		c.rebalance(now, out)
	case c.state == PreparingRebalance: // it may have waited for an id that was given back
		c.tryCompleteJoin(now, out)
	}
	return left
}

// leaveOne removes a member. Without a member id it is an administrator who removes an instance, whatever its id.
func (c *classicGroup) leaveOne(l LeavingMember, out *Effects) error {
	if c.pending.has(l.MemberID) {
		delete(c.pending, l.MemberID)
		return nil
	}
	id := l.MemberID
	if m := c.static[l.InstanceID]; id == "" && m != nil {
		id = m.id
	}
	m, err := c.find(id, l.InstanceID)
	if err != nil {
		return err
	}
	c.remove([]*classicMember{m}, out)
	return nil
}
