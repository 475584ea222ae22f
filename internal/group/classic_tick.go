package group

import (
	"time"
)

// tick lets time pass.
func (c *classicGroup) tick(now time.Time, _ Image, out *Effects) {
	c.pending.expire(now)
	c.expireSessions(now, out)
	if c.state == PreparingRebalance {
		c.tryCompleteJoin(now, out)
	}
	if c.state == PreparingRebalance && !c.joinEnds.After(now) {
		c.endOfJoin(now, out)
	}
	if !c.syncEnds.IsZero() && !c.syncEnds.After(now) {
		c.endOfSync(now, out)
	}
	c.rearm()
}

// expireSessions removes the members that nothing was heard of for their session timeout.
func (c *classicGroup) expireSessions(now time.Time, out *Effects) {
	var silent []*classicMember
	for _, m := range c.list {
		if !m.waits() && !m.expires.After(now) {
			silent = append(silent, m)
		}
	}
	if len(silent) > 0 {
		c.remove(silent, out)
		c.rebalance(now, out)
	}
}

// renew has the sessions of all members begin anew.
func (c *classicGroup) renew(now time.Time) {
	for _, m := range c.list {
		c.alive(m, now)
	}
}

// endOfSync removes the members that joined the generation and did not ask for their assignment: they hold partitions, or
// would, that nobody reads.
func (c *classicGroup) endOfSync(now time.Time, out *Effects) {
	c.syncEnds = time.Time{}
	var late []*classicMember
	for _, m := range c.list {
		if m.unsynced {
			late = append(late, m)
		}
	}
	if len(late) > 0 {
		c.remove(late, out)
		c.rebalance(now, out)
	}
}

// rearm finds the first deadline.
func (c *classicGroup) rearm() {
	c.next = time.Time{}
	for _, t := range c.pending {
		c.arm(t)
	}
	for _, m := range c.list {
		if !m.waits() {
			c.arm(m.expires)
		}
	}
	if c.state == PreparingRebalance {
		c.arm(c.joinEnds)
	}
	if c.unsynced > 0 && !c.syncEnds.IsZero() {
		c.arm(c.syncEnds)
	}
}
