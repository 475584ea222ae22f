package group

import (
	"time"
)

// rebalance has all members join again, or goes on with that if it is under way.
func (c *classicGroup) rebalance(now time.Time, out *Effects) {
	if c.state == PreparingRebalance {
		c.tryCompleteJoin(now, out)
		return
	}
	if c.state == CompletingRebalance {
		c.cancelAssignment(now, out)
	}
	c.endSync()
	c.initial = c.state == Empty
	c.enter(PreparingRebalance, now)
	if c.initial {
		c.beginInitial(now, out)
		return
	}
	c.waitForJoins(now, c.rebalanceTimeout())
	c.tryCompleteJoin(now, out)
}

// cancelAssignment has those who wait for the assignment of this generation join the next.
func (c *classicGroup) cancelAssignment(now time.Time, out *Effects) {
	for _, m := range c.list {
		m.assignment = nil
		if m.syncing.waits {
			c.alive(m, now)
			c.answerSync(m, SyncResponse{Err: ErrRebalanceInProgress}, out)
		}
	}
}

// endSync stops waiting for members to sync.
func (c *classicGroup) endSync() {
	c.syncEnds = time.Time{}
	if c.unsynced == 0 {
		return
	}
	for _, m := range c.list {
		c.setUnsynced(m, false)
	}
}

// beginInitial gives the members of a group that starts the time to come before anything is assigned (KIP-134).
func (c *classicGroup) beginInitial(now time.Time, out *Effects) {
	delay := c.g.set.InitialDelay
	c.grown = false
	c.initialEnds = now.Add(max(delay, c.rebalanceTimeout()))
	c.waitForJoins(now, delay)
	if delay <= 0 {
		c.completeJoin(now, out)
	}
}

func (c *classicGroup) waitForJoins(now time.Time, d time.Duration) {
	c.joinEnds = now.Add(d)
	c.arm(c.joinEnds)
}

// tryCompleteJoin ends PreparingRebalance if nobody is waited for.
func (c *classicGroup) tryCompleteJoin(now time.Time, out *Effects) {
	all := c.joining == len(c.list) && len(c.pending) == 0
	if len(c.list) == 0 || all && !c.initial {
		c.completeJoin(now, out)
	}
}

// endOfJoin is for when joinEnds has come.
func (c *classicGroup) endOfJoin(now time.Time, out *Effects) {
	if c.initial && c.grown && now.Before(c.initialEnds) {
		c.grown = false
		c.waitForJoins(now, min(c.g.set.InitialDelay, c.initialEnds.Sub(now)))
		return
	}
	c.completeJoin(now, out)
}

// completeJoin begins the next generation with those who joined, and the static members: these have until the end of
// their session, or of the time to sync, to be back (KIP-345).
func (c *classicGroup) completeJoin(now time.Time, out *Effects) {
	var late []*classicMember
	for _, m := range c.list {
		if !m.joining.waits && m.instance == "" {
			late = append(late, m)
		}
	}
	c.remove(late, out)
	if len(c.list) > 0 && !c.electLeader() {
		c.waitForJoins(now, c.rebalanceTimeout())
		return
	}
	c.initial = false
	c.generation++
	if len(c.list) == 0 {
		c.becomeEmpty(now, out)
		return
	}
	c.beginGeneration(now, out)
}

// electLeader sees that the leader is one of those who joined. false: nobody did.
func (c *classicGroup) electLeader() bool {
	if m := c.byID[c.leader]; m != nil && m.joining.waits {
		return true
	}
	for _, m := range c.list {
		if m.joining.waits {
			c.leader = m.id
			return true
		}
	}
	return false
}

// beginGeneration tells the members of the new generation. All must ask for their assignments within the rebalance timeout.
func (c *classicGroup) beginGeneration(now time.Time, out *Effects) {
	c.protocol = c.choose()
	c.topics = c.subscriptions()
	c.enter(CompletingRebalance, now)
	for _, m := range c.list {
		c.setUnsynced(m, true)
		if m.joining.waits {
			m.isNew = false
			c.alive(m, now)
			c.answerJoin(m, c.joined(m, c.membersFor(m)), out)
		}
	}
	c.syncEnds = now.Add(c.rebalanceTimeout())
	c.arm(c.syncEnds)
}

func (c *classicGroup) becomeEmpty(now time.Time, out *Effects) {
	c.protocol, c.leader = "", ""
	c.topics = c.subscriptions()
	c.enter(Empty, now)
	c.saveAll(out)
}

// remove removes members. Their clients, if they are still there, join as new ones.
func (c *classicGroup) remove(ms []*classicMember, out *Effects) {
	if len(ms) == 0 {
		return
	}
	for _, m := range ms {
		c.answerJoin(m, JoinResponse{Err: ErrUnknownMember, Generation: -1}, out)
		c.answerSync(m, SyncResponse{Err: ErrUnknownMember}, out)
	}
	c.drop(ms)
	if c.byID[c.leader] == nil {
		c.leader = ""
		if len(c.list) > 0 {
			c.leader = c.list[0].id
		}
	}
}
