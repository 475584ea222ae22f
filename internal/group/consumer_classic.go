package group

import (
	"slices"
	"time"
	"unicode/utf8"
)

// join takes a JoinGroup. A group that has, or keeps, no members of the consumer protocol becomes a classic one if it may.
// In another one a member of the classic protocol is answered at once: its generation is its member epoch.
func (c *consumerGroup) join(now time.Time, req JoinRequest, to Ticket, out *Effects) {
	if c.becomesClassic(now, &req, out) {
		c.g.m.join(now, req, to, out)
		return
	}
	resp, err := c.joinClassic(now, &req)
	if err != nil {
		resp = JoinResponse{Err: err, Generation: -1, MemberID: resp.MemberID}
	}
	c.settle(now, out)
	out.Joins = append(out.Joins, JoinAnswer{to, resp})
}

// joinClassic takes a member of the classic protocol in, or one step further. With an error the response has a member
// id at most.
func (c *consumerGroup) joinClassic(now time.Time, req *JoinRequest) (JoinResponse, error) {
	refused := JoinResponse{MemberID: req.MemberID}
	if err := c.checkJoin(req); err != nil {
		return refused, err
	}
	if req.MemberID == "" && req.InstanceID == "" && req.RequireMemberID {
		return JoinResponse{MemberID: c.g.set.NewID()}, ErrMemberIDRequired
	}
	sub, err := parseSubscription(req.Protocols[0].Metadata)
	if err != nil {
		return refused, ErrInconsistentProtocol
	}
	owned := sub.owned(c.img)
	m, err := c.joining(req, owned)
	if err != nil {
		return refused, err
	}
	changed, subscription := m.updateClassic(req, &sub)
	if changed {
		c.memberChanged(m, subscription)
	}
	c.makeTargets(now)
	c.reconcile(now, m, &owned, subscription)
	m.joinEnd, m.rebalanceEnd = time.Time{}, time.Time{}
	c.setTimer(&m.sessionEnd, now.Add(req.Session))
	c.setTimer(&m.syncEnd, now.Add(req.Rebalance))
	return JoinResponse{
		Generation:   m.epoch,
		ProtocolType: consumerType,
		Protocol:     req.Protocols[0].Name,
		MemberID:     m.id,
	}, nil
}

// checkJoin tells whether a JoinGroup can be one to this group. Until the topics are known none can.
func (c *consumerGroup) checkJoin(req *JoinRequest) error {
	known := c.members[req.MemberID] != nil || c.static[req.InstanceID] != nil
	switch {
	case c.img == nil:
		return ErrLoading
	case !utf8.ValidString(req.InstanceID):
		return ErrInvalidRequest
	case req.Session < c.g.set.MinSession || req.Session > c.g.set.MaxSession:
		return ErrInvalidSession
	case !known && len(c.members) >= c.g.set.ConsumerMaxSize:
		return ErrGroupFull
	case req.Type != consumerType || !slices.ContainsFunc(req.Protocols, c.allSpeak):
		return ErrInconsistentProtocol
	}
	return nil
}

// allSpeak tells whether all members of the classic protocol have one of its protocols.
func (c *consumerGroup) allSpeak(p Protocol) bool {
	for _, m := range c.members {
		if m.classic != nil && !slices.ContainsFunc(m.classic.protocols, func(q Protocol) bool { return q.Name == p.Name }) {
			return false
		}
	}
	return true
}

// joining returns the member that a JoinGroup is of, new if need be. A new one that says it has partitions was in the group
// before: what of them nobody else has it keeps until it is told otherwise.
func (c *consumerGroup) joining(req *JoinRequest, owned []TopicPartitions) (*consumerMember, error) {
	id := req.MemberID
	if id == "" {
		id = c.g.set.NewID()
	}
	holder := c.static[req.InstanceID]
	switch {
	case req.InstanceID == "" && c.members[id] != nil:
		return c.members[id], nil
	case req.InstanceID == "":
	case holder != nil && req.MemberID == "":
		return c.replace(holder, id), nil
	case req.MemberID != "":
		return c.named(MemberRef{MemberID: id, InstanceID: req.InstanceID})
	}
	m := &consumerMember{id: id, instance: req.InstanceID}
	c.add(m)
	if len(owned) > 0 {
		m.epoch = c.assignmentEpoch
		c.take(m, existing(owned, c.img))
	}
	return m, nil
}

// updateClassic takes over what a JoinGroup says of the member, and tells what of it changed.
func (m *consumerMember) updateClassic(req *JoinRequest, sub *clientSubscription) (changed, subscribed bool) {
	changed = set(&m.client, req.Client)
	changed = set(&m.rebalance, req.Rebalance) || changed
	changed = set(&m.assignor, "") || changed
	if sub.rack != "" {
		changed = set(&m.rack, sub.rack) || changed
	}
	if m.classic == nil || m.classic.session != req.Session || !slices.EqualFunc(m.classic.protocols, req.Protocols, equalProtocols) {
		m.classic = &classicPart{session: req.Session, protocols: ownProtocols(req.Protocols)}
		changed = true
	}
	subscribed = set(&m.regexp, "")
	subscribed = m.setTopics(sub.topics) || subscribed
	return changed || subscribed, subscribed
}

func equalProtocols(a, b Protocol) bool {
	return a.Name == b.Name && string(a.Metadata) == string(b.Metadata)
}

// sync takes a SyncGroup: the member's part of the assignment, as clients encode it.
func (c *consumerGroup) sync(now time.Time, req SyncRequest, to Ticket, out *Effects) {
	resp, err := c.syncClassic(now, &req)
	if err != nil {
		resp = SyncResponse{Err: err}
	}
	out.Syncs = append(out.Syncs, SyncAnswer{to, resp})
}

func (c *consumerGroup) syncClassic(now time.Time, req *SyncRequest) (SyncResponse, error) {
	m, err := c.classicMember(req.MemberRef)
	switch {
	case err != nil:
		return SyncResponse{}, err
	case req.HasProtocol && (req.Type != consumerType || req.Protocol != m.classic.protocols[0].Name):
		return SyncResponse{}, ErrInconsistentProtocol
	case c.img == nil:
		return SyncResponse{}, ErrLoading
	case m.state != memberUnrevoked && c.behind(now, m):
		c.expectJoin(now, m)
		return SyncResponse{}, ErrRebalanceInProgress
	}
	m.syncEnd = time.Time{}
	c.setTimer(&m.sessionEnd, now.Add(m.classic.session))
	return SyncResponse{
		Type:       req.Type,
		Protocol:   req.Protocol,
		Assignment: encodeAssignment(m.assigned, c.img, m.classic.protocols[0].Metadata),
	}, nil
}

// heartbeat takes a Heartbeat. Its member must join again if there are newer targets, if it has partitions to give up
// or if those it waits for are free.
func (c *consumerGroup) heartbeat(now time.Time, ref MemberRef) error {
	m, err := c.classicMember(ref)
	if err != nil {
		return err
	}
	c.setTimer(&m.sessionEnd, now.Add(m.classic.session))
	if c.behind(now, m) || m.state == memberUnrevoked || m.state == memberUnreleased && !c.awaits(m) {
		c.expectJoin(now, m)
		return ErrRebalanceInProgress
	}
	return nil
}

// classicMember finds a member of the classic protocol in its generation.
func (c *consumerGroup) classicMember(ref MemberRef) (*consumerMember, error) {
	m, err := c.named(ref)
	switch {
	case err != nil:
		return nil, err
	case m.classic == nil:
		return nil, ErrUnknownMember
	case m.epoch != ref.Generation:
		return nil, ErrIllegalGeneration
	}
	return m, nil
}

// behind tells whether there are targets of an epoch after the member's, or may be made now.
func (c *consumerGroup) behind(now time.Time, m *consumerMember) bool {
	return m.epoch < c.assignmentEpoch || m.epoch < c.epoch && c.untilTargets(now) <= 0
}

// expectJoin gives a member its rebalance timeout to join again.
func (c *consumerGroup) expectJoin(now time.Time, m *consumerMember) {
	if m.joinEnd.IsZero() {
		c.setTimer(&m.joinEnd, now.Add(m.rebalance))
	}
}
