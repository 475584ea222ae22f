package group

import (
	"maps"
	"slices"
	"time"
)

// classicSeed is what a classic group is made from when a consumer group changes back to the classic protocol.
type classicSeed struct {
	Generation int32
	// Members are those of the classic protocol, each with its id, instance, client, timeouts, protocols and assignment.
	// The first one leads. There is at least one, and a protocol that all have.
	Members []*classicMember
	// Stored are the ids of the members of which anything is stored.
	Stored []string
}

// newClassicFrom returns a stable group of these members, and stores it. The caller follows it with rebalance if the
// assignments are not, or no more, what the members should have.
func newClassicFrom(g *Group, now time.Time, seed classicSeed, out *Effects) *classicGroup {
	c := newClassic(g, now)
	c.unheard = false
	c.generation = seed.Generation
	c.protocolType = consumerType
	for _, m := range seed.Members {
		c.readmit(m, now)
	}
	c.leader = c.list[0].id
	c.protocol = c.choose()
	c.topics = c.subscriptions()
	c.enter(Stable, now)
	for _, id := range seed.Stored {
		c.saved.members[id] = nil
	}
	c.saveAll(out)
	return c
}

// storedIDs are the ids of the members of which anything is stored: what a group that is made from this one has to
// remove if it does not go on with them.
func (c *classicGroup) storedIDs() []string {
	return slices.Sorted(maps.Keys(c.saved.members))
}
