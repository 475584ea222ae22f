package group

import (
	"slices"
	"time"
	"unicode/utf8"
)

// consumerHeartbeat takes a ConsumerGroupHeartbeat. It is answered at once.
func (c *consumerGroup) consumerHeartbeat(now time.Time, img Image, req HeartbeatRequest, to Ticket, out *Effects) {
	if err := c.g.checkHeartbeat(&req); err != nil {
		answerHeartbeat(out, to, HeartbeatResponse{Err: err})
		return
	}
	var resp HeartbeatResponse
	if req.Epoch == leaveEpoch || req.Epoch == staticLeaveEpoch {
		resp = c.heartbeatLeave(now, &req, out)
	} else {
		resp = c.beat(now, img, &req)
		c.settle(now, out)
	}
	answerHeartbeat(out, to, resp)
}

func answerHeartbeat(out *Effects, to Ticket, resp HeartbeatResponse) {
	out.Heartbeats = append(out.Heartbeats, HeartbeatAnswer{to, resp})
}

// checkHeartbeat tells whether a heartbeat is one, whatever the group. What is stored as text must be text: a restored
// group would know a static member by another instance id than it says.
func (g *Group) checkHeartbeat(req *HeartbeatRequest) error {
	mayMint := req.MintMemberID && req.Epoch == joinEpoch
	switch {
	case g.name == "",
		req.MemberID == "" && !mayMint,
		req.Rack != nil && *req.Rack == "",
		req.Epoch < staticLeaveEpoch,
		req.Epoch == staticLeaveEpoch && req.InstanceID == "":
		return ErrInvalidRequest
	case req.Epoch == joinEpoch && !fullJoin(req), !utf8.ValidString(req.InstanceID), req.Rack != nil && !utf8.ValidString(*req.Rack):
		return ErrInvalidRequest
	case req.Assignor != nil && !slices.Contains(g.set.Assignors, *req.Assignor):
		return ErrUnsupportedAssignor
	}
	return nil
}

// fullJoin tells whether a joining member says all that it must, and that it has no partitions.
func fullJoin(req *HeartbeatRequest) bool {
	return req.Rebalance >= 0 && (req.Topics != nil || req.Regexp != nil) && req.Owned != nil && len(*req.Owned) == 0
}

// beat is a heartbeat of a member that stays or joins.
func (c *consumerGroup) beat(now time.Time, img Image, req *HeartbeatRequest) HeartbeatResponse {
	m, err := c.find(req)
	if err == nil && req.Regexp != nil {
		err = c.knowRegexp(*req.Regexp)
	}
	if err != nil {
		return HeartbeatResponse{Err: err}
	}
	c.see(img)
	if m == nil {
		m = c.admit(req)
	}
	assigned := m.assigned
	changed, subscription := m.update(req)
	if changed || c.epoch == 0 {
		c.memberChanged(m, subscription)
	}
	c.makeTargets(now)
	c.reconcile(now, m, req.Owned, subscription)
	c.setTimer(&m.sessionEnd, now.Add(c.g.set.ConsumerSession))

	resp := HeartbeatResponse{MemberID: m.id, Epoch: m.epoch, Interval: c.interval(now)}
	if req.Epoch == joinEpoch || fullRequest(req) || !assigned.equal(m.assigned) {
		shown := []TopicPartitions(m.assigned)
		resp.Assignment = &shown
	}
	return resp
}

// admit takes in the member that a heartbeat is the first of. It may take the place of a static one.
func (c *consumerGroup) admit(req *HeartbeatRequest) *consumerMember {
	id := req.MemberID
	if id == "" {
		id = c.g.set.NewID()
	}
	if old := c.static[req.InstanceID]; old != nil {
		return c.replace(old, id)
	}
	m := &consumerMember{id: id, instance: req.InstanceID}
	c.add(m)
	return m
}

// fullRequest tells whether a member says all of itself, as it does when it is not sure what its coordinator knows.
func fullRequest(req *HeartbeatRequest) bool {
	return req.Rebalance >= 0 && (req.Topics != nil || req.Regexp != nil) && req.Owned != nil
}

// find returns the member that sent a heartbeat; nil: one that may join. It changes nothing. A static member that joins
// may do so in a full group if it takes the place of one, and with its own member id at any time.
func (c *consumerGroup) find(req *HeartbeatRequest) (*consumerMember, error) {
	joins := req.Epoch == joinEpoch
	m := c.members[req.MemberID]
	if req.InstanceID != "" {
		holder := c.static[req.InstanceID]
		switch {
		case holder == nil && !joins:
			return nil, ErrUnknownMember
		case holder == nil && m != nil:
			return nil, ErrInvalidRequest // a member that was not static does not become it
		case holder != nil && holder != m && !joins:
			return nil, ErrFencedInstance
		case holder != nil && holder != m:
			return nil, c.mayReplace(holder, m)
		}
	}
	switch {
	case m != nil:
		return m, m.checkEpoch(req.Epoch, req.Owned)
	case !joins:
		return nil, ErrUnknownMember
	case len(c.members) >= c.g.set.ConsumerMaxSize:
		return nil, ErrGroupFull
	}
	return nil, nil
}

// mayReplace tells whether a joining member may take the place of a static one: one that said it would be back, or one of
// the classic protocol, which cannot say so. The newcomer must not be a member already.
func (c *consumerGroup) mayReplace(holder, newcomer *consumerMember) error {
	switch {
	case newcomer != nil:
		return ErrInvalidRequest
	case holder.epoch != staticLeaveEpoch && holder.classic == nil:
		return ErrUnreleasedInstance
	}
	return nil
}
