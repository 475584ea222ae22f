package group

import (
	"bytes"
	"time"
)

// sync takes a SyncGroup: the leader's brings the assignment, the others wait for it.
func (c *classicGroup) sync(now time.Time, req SyncRequest, to Ticket, out *Effects) {
	m, err := c.checkSync(&req)
	if err != nil {
		refuseSync(to, err, out)
		return
	}
	c.alive(m, now)
	switch c.state {
	case PreparingRebalance:
		refuseSync(to, ErrRebalanceInProgress, out)
	case CompletingRebalance:
		c.setUnsynced(m, false)
		c.parkSync(m, to, out)
		if m.id == c.leader {
			c.assign(now, req.Assignments, out)
		}
	default:
		c.setUnsynced(m, false)
		out.Syncs = append(out.Syncs, SyncAnswer{To: to, SyncResponse: c.synced(m)})
	}
}

func (c *classicGroup) checkSync(req *SyncRequest) (*classicMember, error) {
	if c.g.name == "" {
		return nil, ErrInvalidGroupID
	}
	if req.HasProtocol && (req.Type == "" || req.Protocol == "") {
		return nil, ErrInconsistentProtocol
	}
	m, err := c.findCurrent(req.MemberRef)
	if err != nil {
		return nil, err
	}
	if req.HasProtocol && (req.Type != c.protocolType || req.Protocol != c.protocol) {
		return nil, ErrInconsistentProtocol
	}
	return m, nil
}

// assign completes the rebalance. Members that the leader left out have no partitions.
func (c *classicGroup) assign(now time.Time, assignments map[string][]byte, out *Effects) {
	c.enter(Stable, now)
	for _, m := range c.list {
		m.assignment = bytes.Clone(assignments[m.id])
	}
	c.saveAll(out)
	for _, m := range c.list {
		if m.syncing.waits {
			c.alive(m, now)
			c.answerSync(m, c.synced(m), out)
		}
	}
}
