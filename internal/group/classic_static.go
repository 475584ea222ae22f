package group

import (
	"time"
)

// replace lets a new process of a static member take the member's place (KIP-345): it gets a new member id, and whoever
// still uses the old one is fenced. In a stable group the others need not notice.
func (c *classicGroup) replace(now time.Time, m *classicMember, req *JoinRequest, to Ticket, out *Effects) {
	old, ledBefore := m.id, c.leader
	c.answerJoin(m, JoinResponse{Err: ErrFencedInstance, Generation: -1, MemberID: old}, out)
	c.answerSync(m, SyncResponse{Err: ErrFencedInstance}, out)
	c.rename(m, c.newID(req))
	if c.leader == old {
		c.leader = m.id
	}
	c.update(m, req)
	m.client = validClient(req.Client)
	c.setUnsynced(m, false)
	c.alive(m, now)
	c.saveInstance(m, out)
	if c.state == Stable && c.choose() == c.protocol {
		c.topics = c.subscriptions()
		out.Joins = append(out.Joins, JoinAnswer{To: to, JoinResponse: c.rejoined(m, ledBefore, req.SkipAssignment)})
		return
	}
	c.parkJoin(m, to, out)
	c.rebalance(now, out)
}

// rejoined tells a static member that it is back in the current generation. A leader must not assign again, as the others
// would not learn of it: it is told so (KIP-814), or, if its version has no word for it, that somebody else leads.
func (c *classicGroup) rejoined(m *classicMember, ledBefore string, skip bool) JoinResponse {
	r := c.joined(m, nil)
	if skip {
		r.Members = c.membersFor(m)
		r.SkipAssignment = m.id == c.leader
	} else {
		r.Leader = ledBefore
	}
	return r
}
