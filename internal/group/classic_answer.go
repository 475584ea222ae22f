package group

// refuseJoin answers a JoinGroup with an error.
func refuseJoin(to Ticket, memberID string, err error, out *Effects) {
	r := JoinResponse{Err: err, Generation: -1, MemberID: memberID}
	out.Joins = append(out.Joins, JoinAnswer{To: to, JoinResponse: r})
}

func refuseSync(to Ticket, err error, out *Effects) {
	out.Syncs = append(out.Syncs, SyncAnswer{To: to, SyncResponse: SyncResponse{Err: err}})
}

// joined is what m is told of the current generation.
func (c *classicGroup) joined(m *classicMember, members []JoinMember) JoinResponse {
	return JoinResponse{
		Generation: c.generation, ProtocolType: c.protocolType, Protocol: c.protocol,
		Leader: c.leader, MemberID: m.id, Members: members,
	}
}

// membersFor lists the members if m is the leader: it assigns for them.
func (c *classicGroup) membersFor(m *classicMember) []JoinMember {
	if m.id != c.leader {
		return nil
	}
	ms := make([]JoinMember, 0, len(c.list))
	for _, m := range c.list {
		ms = append(ms, JoinMember{MemberID: m.id, InstanceID: m.instance, Metadata: m.metadata(c.protocol)})
	}
	return ms
}

// synced is what m is told of its assignment.
func (c *classicGroup) synced(m *classicMember) SyncResponse {
	return SyncResponse{Type: c.protocolType, Protocol: c.protocol, Assignment: m.assignment}
}

// parkJoin has a JoinGroup of m wait for the rebalance. One that waited before is of a client that gave it up.
func (c *classicGroup) parkJoin(m *classicMember, to Ticket, out *Effects) {
	c.answerJoin(m, JoinResponse{Err: ErrRebalanceInProgress, Generation: -1, MemberID: m.id}, out)
	m.joining = parked{waits: true, to: to}
	c.joining++
}

func (c *classicGroup) parkSync(m *classicMember, to Ticket, out *Effects) {
	c.answerSync(m, SyncResponse{Err: ErrRebalanceInProgress}, out)
	m.syncing = parked{waits: true, to: to}
}

// answerJoin answers the JoinGroup of m that waits, if there is one.
func (c *classicGroup) answerJoin(m *classicMember, r JoinResponse, out *Effects) {
	if !m.joining.waits {
		return
	}
	out.Joins = append(out.Joins, JoinAnswer{To: m.joining.to, JoinResponse: r})
	m.joining = parked{}
	c.joining--
}

// answerSync answers the SyncGroup of m that waits, if there is one.
func (c *classicGroup) answerSync(m *classicMember, r SyncResponse, out *Effects) {
	if !m.syncing.waits {
		return
	}
	out.Syncs = append(out.Syncs, SyncAnswer{To: m.syncing.to, SyncResponse: r})
	m.syncing = parked{}
}

// release answers whatever waits with an error.
func (c *classicGroup) release(err error, out *Effects) {
	for _, m := range c.list {
		c.answerJoin(m, JoinResponse{Err: err, Generation: -1, MemberID: m.id}, out)
		c.answerSync(m, SyncResponse{Err: err}, out)
	}
}

func (c *classicGroup) abandon(out *Effects) { c.release(ErrCoordinatorUnavailable, out) }
