package group

import (
	"maps"
	"slices"
)

// unsaved is what changed since the group was last given away to be stored.
type unsaved struct {
	group   bool
	members map[string]*consumerMember
	removed map[string]bool // by member id
}

func (u *unsaved) nothing() bool { return !u.group && len(u.members) == 0 && len(u.removed) == 0 }

func (u *unsaved) member(m *consumerMember) {
	if u.members == nil {
		u.members = make(map[string]*consumerMember)
	}
	u.members[m.id] = m
	delete(u.removed, m.id)
}

func (u *unsaved) gone(m *consumerMember) { u.goneID(m.id) }

func (u *unsaved) goneID(id string) {
	if u.removed == nil {
		u.removed = make(map[string]bool)
	}
	u.removed[id] = true
	delete(u.members, id)
}

// save hands over what changed.
func (c *consumerGroup) save(out *Effects) {
	ch := &Changes{
		Generation: c.epoch,
		Group: encode(consumerLine{
			Type: Consumer, SinceMs: c.since.UnixMilli(), Epoch: c.epoch, AssignmentEpoch: c.assignmentEpoch,
			Assignor: c.assignor, TopicsHash: c.topicsHash,
		}),
		Members: make(map[string][]byte, len(c.unsaved.members)),
		Gone:    slices.Sorted(maps.Keys(c.unsaved.removed)),
	}
	for id, m := range c.unsaved.members {
		ch.Members[id] = m.encode()
	}
	c.unsaved = unsaved{}
	out.save(ch)
}
