package group

import (
	"strings"
	"time"
	"unicode/utf8"
)

const (
	// maxProtocolBytes bounds what a group keeps of one member. It is what fits into Kafka's own record of a whole group.
	maxProtocolBytes = 1 << 20
	// maxIDPrefix bounds the client's part of a member id, which is given out before anything is known of the client.
	maxIDPrefix = 255
)

// join takes a JoinGroup.
func (c *classicGroup) join(now time.Time, req JoinRequest, to Ticket, out *Effects) {
	if err := c.checkJoin(&req); err != nil {
		refuseJoin(to, req.MemberID, err, out)
		return
	}
	if !c.hasRoom(&req) {
		c.turnAway(now, req.MemberID, out)
		refuseJoin(to, req.MemberID, ErrGroupFull, out)
		return
	}
	if !c.fits(&req) {
		refuseJoin(to, req.MemberID, ErrInconsistentProtocol, out)
		return
	}
	req.Protocols = ownProtocols(req.Protocols)
	switch {
	case req.MemberID != "" && req.InstanceID == "" && c.pending.has(req.MemberID):
		delete(c.pending, req.MemberID)
		c.welcome(now, req.MemberID, &req, to, out)
	case req.MemberID != "":
		c.rejoin(now, &req, to, out)
	case req.InstanceID != "" && c.static[req.InstanceID] != nil:
		c.replace(now, c.static[req.InstanceID], &req, to, out)
	case req.InstanceID == "" && req.RequireMemberID:
		c.offerID(now, &req, to, out)
	default:
		c.welcome(now, c.newID(&req), &req, to, out)
	}
}

// checkJoin looks at what a JoinGroup says for itself.
func (c *classicGroup) checkJoin(req *JoinRequest) error {
	switch {
	case c.g.name == "":
		return ErrInvalidGroupID
	case req.Session < c.g.set.MinSession || req.Session > c.g.set.MaxSession:
		return ErrInvalidSession
	case c.unheard && req.MemberID != "":
		return ErrUnknownMember
	case !utf8.ValidString(req.InstanceID) || !utf8.ValidString(req.Type):
		return ErrInvalidRequest
	}
	size := 0
	for _, p := range req.Protocols {
		size += len(p.Name) + len(p.Metadata)
		if size > maxProtocolBytes || !utf8.ValidString(p.Name) {
			return ErrInvalidRequest
		}
	}
	return nil
}

// hasRoom tells whether a client may join although there is a largest size. While members join again only those that did
// count: the last ones have to go if the limit was lowered. A static member that comes back takes its own place.
func (c *classicGroup) hasRoom(req *JoinRequest) bool {
	if req.MemberID == "" && req.InstanceID != "" && c.static[req.InstanceID] != nil {
		return true
	}
	m := c.byID[req.MemberID]
	switch c.state {
	case Empty:
		return true
	case PreparingRebalance:
		return m != nil && m.joining.waits || c.joining < c.g.set.MaxSize
	default:
		return m != nil || len(c.list) < c.g.set.MaxSize
	}
}

// turnAway forgets a member, or an id, for which there is no room.
func (c *classicGroup) turnAway(now time.Time, id string, out *Effects) {
	delete(c.pending, id)
	if m := c.byID[id]; m != nil {
		c.remove([]*classicMember{m}, out)
	}
	if c.state == PreparingRebalance {
		c.tryCompleteJoin(now, out)
	}
}

// fits tells whether the protocols go together with those of the members.
func (c *classicGroup) fits(req *JoinRequest) bool {
	if c.state == Empty {
		return req.Type != "" && len(req.Protocols) > 0
	}
	return req.Type == c.protocolType && c.supports(req.Protocols)
}

// newID makes a member id in Kafka's form: who it is, for those who look at the group, and a random part.
func (c *classicGroup) newID(req *JoinRequest) string {
	who := req.InstanceID
	if who == "" {
		who = req.Client.ID
	}
	if len(who) > maxIDPrefix {
		who = who[:maxIDPrefix]
	}
	return strings.ToValidUTF8(who, "") + "-" + c.g.set.NewID()
}

// offerID has a client join again with a member id, so that one that joins and never reads its answer does not leave a
// member behind each time (KIP-394).
func (c *classicGroup) offerID(now time.Time, req *JoinRequest, to Ticket, out *Effects) {
	c.unheard = false
	id := c.newID(req)
	until := now.Add(req.Session)
	c.pending.add(id, until)
	c.arm(until)
	refuseJoin(to, id, ErrMemberIDRequired, out)
}

// welcome adds a new member.
func (c *classicGroup) welcome(now time.Time, id string, req *JoinRequest, to Ticket, out *Effects) {
	c.unheard = false
	m := &classicMember{
		id: id, instance: req.InstanceID, client: validClient(req.Client), isNew: true,
		session: req.Session, rebalance: req.Rebalance, protocols: req.Protocols,
	}
	if len(c.list) == 0 {
		c.protocolType = req.Type
	}
	if c.leader == "" {
		c.leader = id
	}
	c.add(m)
	c.saveInstance(m, out)
	c.parkJoin(m, to, out)
	c.alive(m, now)
	if c.state == PreparingRebalance && c.initial {
		c.grown = true
	}
	c.rebalance(now, out)
}

// rejoin is of a client that says it is a member. Members may come back to read the current generation's outcome once
// more; the leader does so to have partitions assigned anew, for reasons its metadata need not show.
func (c *classicGroup) rejoin(now time.Time, req *JoinRequest, to Ticket, out *Effects) {
	m, err := c.find(req.MemberID, req.InstanceID)
	if err != nil {
		refuseJoin(to, req.MemberID, err, out)
		return
	}
	c.alive(m, now)
	again := c.state == CompletingRebalance || c.state == Stable && m.id != c.leader
	if again && m.matches(req.Protocols) {
		out.Joins = append(out.Joins, JoinAnswer{To: to, JoinResponse: c.joined(m, c.membersFor(m))})
		return
	}
	c.update(m, req)
	c.parkJoin(m, to, out)
	c.rebalance(now, out)
}

func (c *classicGroup) update(m *classicMember, req *JoinRequest) {
	c.setProtocols(m, req.Protocols)
	m.session, m.rebalance = req.Session, req.Rebalance
}

// validClient makes what a client says of itself fit to be stored as text.
func validClient(cl Client) Client {
	return Client{ID: strings.ToValidUTF8(cl.ID, "\uFFFD"), Host: cl.Host}
}
