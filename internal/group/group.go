package group

import (
	"time"
)

// Group is one consumer group. Not safe for concurrent use.
type Group struct {
	name string
	set  *Settings
	m    machine
}

// machine is a group under one of the two protocols. A group changes its protocol by getting another machine.
type machine interface {
	kind() Type
	join(now time.Time, req JoinRequest, to Ticket, out *Effects)
	sync(now time.Time, req SyncRequest, to Ticket, out *Effects)
	heartbeat(now time.Time, m MemberRef) error
	leave(now time.Time, members []LeavingMember, out *Effects) []LeftMember
	consumerHeartbeat(now time.Time, img Image, req HeartbeatRequest, to Ticket, out *Effects)
	tick(now time.Time, img Image, out *Effects)
	deadline() time.Time
	renew(now time.Time)
	checkCommit(now time.Time, m MemberRef, memberEpochs bool) error
	checkFetch(m MemberRef) error
	describe() Description
	summary() Description // describe without members, cheap
	subscribed(topic string) bool
	size() int
	abandon(out *Effects)
}

// New returns a group that nobody is in and nothing is stored of.
func New(name string, s *Settings, now time.Time) *Group {
	g := &Group{name: name, set: s}
	g.m = newClassic(g, now)
	return g
}

// Restore returns a group as it was stored: stable members, whose sessions begin anew.
func Restore(name string, s *Settings, st Stored, now time.Time) (*Group, error) {
	g := &Group{name: name, set: s}
	m, err := decode(g, st, now)
	if err != nil {
		return nil, err
	}
	g.m = m
	return g, nil
}

// Use puts other settings in force, from the next event on. They must not be changed afterwards.
func (g *Group) Use(s *Settings) { g.set = s }

// Join takes a JoinGroup. Its answer comes when the rebalance that it is part of has all members or its time is over.
func (g *Group) Join(now time.Time, req JoinRequest, to Ticket, out *Effects) {
	g.m.join(now, req, to, out)
}

// Sync takes a SyncGroup. Its answer comes with the leader's assignment.
func (g *Group) Sync(now time.Time, req SyncRequest, to Ticket, out *Effects) {
	g.m.sync(now, req, to, out)
}

// Heartbeat takes a Heartbeat of the classic protocol.
func (g *Group) Heartbeat(now time.Time, m MemberRef) error { return g.m.heartbeat(now, m) }

// Leave removes members and returns the outcome for each.
func (g *Group) Leave(now time.Time, members []LeavingMember, out *Effects) []LeftMember {
	return g.m.leave(now, members, out)
}

// ConsumerHeartbeat takes a ConsumerGroupHeartbeat (KIP-848).
func (g *Group) ConsumerHeartbeat(now time.Time, img Image, req HeartbeatRequest, to Ticket, out *Effects) {
	g.m.consumerHeartbeat(now, img, req, to, out)
}

// Tick lets time pass: members whose session is over leave, rebalances that waited long enough go on.
func (g *Group) Tick(now time.Time, img Image, out *Effects) { g.m.tick(now, img, out) }

// Deadline is when Tick has something to do; zero: never, unless something else happens first.
func (g *Group) Deadline() time.Time { return g.m.deadline() }

// Renew has the sessions of all members begin anew, as after Restore: their requests could not be answered until now.
func (g *Group) Renew(now time.Time) { g.m.renew(now) }

// CheckCommit tells whether m may commit offsets now, and counts as a sign of life of it. memberEpochs tells that the
// request can carry member epochs.
func (g *Group) CheckCommit(now time.Time, m MemberRef, memberEpochs bool) error {
	return g.m.checkCommit(now, m, memberEpochs)
}

// CheckFetch tells whether m may fetch offsets (KIP-848: with its member epoch).
func (g *Group) CheckFetch(m MemberRef) error { return g.m.checkFetch(m) }

// Describe shows the group and its members.
func (g *Group) Describe() Description { return g.m.describe() }

// Summary shows the group without its members. It is cheap.
func (g *Group) Summary() Description { return g.m.summary() }

// Subscribed tells whether members are subscribed to a topic.
func (g *Group) Subscribed(topic string) bool { return g.m.subscribed(topic) }

// Type is the protocol of the group.
func (g *Group) Type() Type { return g.m.kind() }

// Size is the number of members.
func (g *Group) Size() int { return g.m.size() }

// Abandon answers all open tickets with ErrCoordinatorUnavailable, for a group that is given up here.
func (g *Group) Abandon(out *Effects) { g.m.abandon(out) }
