package group

import (
	"bytes"
	"slices"
	"time"
)

// classicMember is a member of a classic group.
type classicMember struct {
	id, instance       string
	client             Client
	session, rebalance time.Duration
	protocols          []Protocol // in the order of preference, each name once
	assignment         []byte

	expires  time.Time // end of the session, which does not run while a request of the member waits
	isNew    bool      // never was in a generation
	joining  parked
	syncing  parked
	unsynced bool // did not ask for the assignment of the generation yet
}

// parked is a request that waits for its answer.
type parked struct {
	waits bool
	to    Ticket
}

// waits tells that the member is alive because a request of it is not answered yet. For one that is new that proves
// nothing: see newMemberTimeout.
func (m *classicMember) waits() bool { return !m.isNew && (m.joining.waits || m.syncing.waits) }

// matches tells whether the member has these protocols already.
func (m *classicMember) matches(ps []Protocol) bool {
	return slices.EqualFunc(m.protocols, ps, func(a, b Protocol) bool {
		return a.Name == b.Name && bytes.Equal(a.Metadata, b.Metadata)
	})
}

// metadata is the member's for a protocol; nil if it does not have it.
func (m *classicMember) metadata(protocol string) []byte {
	for _, p := range m.protocols {
		if p.Name == protocol {
			return p.Metadata
		}
	}
	return nil
}

// ownProtocols copies protocols that came with a request: its buffer will be used again. Of several with one name the
// first counts.
func ownProtocols(ps []Protocol) []Protocol {
	own := make([]Protocol, 0, len(ps))
	seen := make(map[string]bool, len(ps))
	for _, p := range ps {
		if !seen[p.Name] {
			seen[p.Name] = true
			own = append(own, Protocol{Name: p.Name, Metadata: bytes.Clone(p.Metadata)})
		}
	}
	return own
}

// pendingIDs are member ids that were given out but not joined with yet, and when they are forgotten (KIP-394).
type pendingIDs map[string]time.Time

// maxPending bounds them: a client that only asks for ids must not fill the memory.
const maxPending = 10_000

// add remembers an id. If there are too many, the one that would be forgotten first is forgotten now.
func (p pendingIDs) add(id string, until time.Time) {
	if len(p) >= maxPending {
		delete(p, p.first())
	}
	p[id] = until
}

func (p pendingIDs) has(id string) bool {
	_, ok := p[id]
	return ok
}

// first is the id that is forgotten first.
func (p pendingIDs) first() string {
	var first string
	var at time.Time
	for id, t := range p {
		if at.IsZero() || t.Before(at) || t.Equal(at) && id < first {
			first, at = id, t
		}
	}
	return first
}

// expire forgets ids whose time is over.
func (p pendingIDs) expire(now time.Time) {
	for id, t := range p {
		if !t.After(now) {
			delete(p, id)
		}
	}
}
