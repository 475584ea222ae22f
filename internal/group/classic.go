package group

import (
	"time"
)

const (
	consumerType = "consumer" // the protocol type of groups of consumers

	// newMemberTimeout is how long a member that never was in a generation may wait for its first one. Its client cannot
	// tell that it is alive meanwhile: without a limit a client that gives up and joins anew leaves a member each time.
	// (Kafka has the same five minutes.)
	newMemberTimeout = 5 * time.Minute

	// leastRebalance is how long the phases of a rebalance take their time for, whatever clients ask: with a rebalance
	// timeout of 0 ms nobody could ever join in time.
	leastRebalance = time.Second
)

// classicGroup is a group under the classic protocol: clients join, one of them assigns, all get their part.
//
//	Empty -> PreparingRebalance: the first member joins
//	PreparingRebalance -> CompletingRebalance: all members joined again, or the rebalance timeout is over
//	CompletingRebalance -> Stable: the leader sent the assignment
//	Stable, CompletingRebalance -> PreparingRebalance: members come, go or change
//	PreparingRebalance -> Empty: no members are left
//
// The state is Empty if and only if there are no members. The generation rises when PreparingRebalance ends.
type classicGroup struct {
	roster
	g       *Group
	pending pendingIDs

	state      State
	since      time.Time
	unheard    bool // nothing was ever asked of this group: for clients it does not exist
	generation int32

	protocolType string // empty: of offsets only
	protocol     string // what the members of the generation agreed upon
	leader       string // member id
	topics       topicSet

	initial     bool      // the rebalance is the first after Empty
	initialEnds time.Time // when it is not extended any more
	grown       bool      // members came since it was last extended
	joinEnds    time.Time // when PreparingRebalance ends without the members that did not join
	syncEnds    time.Time // when members that did not sync are removed; zero: no more in this generation

	next  time.Time // no later than the first of all deadlines; zero: there is none
	saved savedGroup
}

// newClassic returns a group that nobody is in.
func newClassic(g *Group, now time.Time) *classicGroup {
	return &classicGroup{
		g: g, roster: newRoster(), pending: pendingIDs{}, state: Empty, since: now, unheard: true,
		saved: newSavedGroup(),
	}
}

func (c *classicGroup) kind() Type { return Classic }

func (c *classicGroup) size() int { return len(c.list) }

// deadline may be too early, never too late: signs of life only move the deadlines away. Tick finds the exact one.
func (c *classicGroup) deadline() time.Time { return c.next }

// arm has Tick called at t at the latest.
func (c *classicGroup) arm(t time.Time) {
	if c.next.IsZero() || t.Before(c.next) {
		c.next = t
	}
}

func (c *classicGroup) enter(s State, now time.Time) {
	c.state = s
	c.since = now
}

// alive counts something that m's client sent as a sign of life.
func (c *classicGroup) alive(m *classicMember, now time.Time) {
	m.expires = now.Add(m.session)
	if m.isNew {
		m.expires = now.Add(newMemberTimeout)
	}
	c.arm(m.expires)
}

// find returns the member that a request names. A static member must name its current member id: an older one is that of
// an instance that was replaced.
func (c *classicGroup) find(id, instance string) (*classicMember, error) {
	if instance != "" {
		m := c.static[instance]
		if m == nil {
			return nil, ErrUnknownMember
		}
		if m.id != id {
			return nil, ErrFencedInstance
		}
		return m, nil
	}
	if m := c.byID[id]; m != nil {
		return m, nil
	}
	return nil, ErrUnknownMember
}

// findCurrent is find for requests that must be of the group's generation.
func (c *classicGroup) findCurrent(r MemberRef) (*classicMember, error) {
	m, err := c.find(r.MemberID, r.InstanceID)
	if err != nil {
		return nil, err
	}
	if r.Generation != c.generation {
		return nil, ErrIllegalGeneration
	}
	return m, nil
}

// heartbeat tells a member whether it is still in the current generation.
func (c *classicGroup) heartbeat(now time.Time, r MemberRef) error {
	if c.g.name == "" {
		return ErrInvalidGroupID
	}
	m, err := c.findCurrent(r)
	if err != nil {
		return err
	}
	c.alive(m, now)
	if c.state == PreparingRebalance {
		return ErrRebalanceInProgress
	}
	return nil
}

// checkCommit lets members of the current generation commit, and clients without a group only while there are no members.
// Between JoinGroup and SyncGroup nobody has partitions to commit for; while members join again those of the ending
// generation still have.
func (c *classicGroup) checkCommit(now time.Time, r MemberRef, memberEpochs bool) error {
	if c.state == Empty && r.Generation < 0 {
		c.unheard = false
		return nil
	}
	if c.unheard {
		if memberEpochs {
			return ErrNotFound
		}
		return ErrIllegalGeneration
	}
	if r.Generation < 0 && r.MemberID == "" && r.InstanceID == "" {
		return ErrUnknownMember
	}
	m, err := c.findCurrent(r)
	if err != nil {
		return err
	}
	c.alive(m, now)
	if c.state == CompletingRebalance {
		return ErrRebalanceInProgress
	}
	return nil
}

// checkFetch lets anyone read: requests of the classic protocol do not say whose they are.
func (c *classicGroup) checkFetch(MemberRef) error { return nil }

// consumerHeartbeat is of a member of the consumer protocol: the group changes to it, if it may.
func (c *classicGroup) consumerHeartbeat(now time.Time, img Image, req HeartbeatRequest, to Ticket, out *Effects) {
	c.g.upgrade(now, img, c, req, to, out)
}
