package group

import (
	"slices"
	"time"
)

// roster is the members of a classic group and what is counted of them.
type roster struct {
	list     []*classicMember // in the order of joining
	byID     map[string]*classicMember
	static   map[string]*classicMember // by instance id
	names    map[string]int            // how many members have a protocol
	joining  int                       // members whose JoinGroup waits
	unsynced int                       // members that did not sync in this generation
}

func newRoster() roster {
	return roster{
		byID:   map[string]*classicMember{},
		static: map[string]*classicMember{},
		names:  map[string]int{},
	}
}

func (r *roster) add(m *classicMember) {
	r.list = append(r.list, m)
	r.byID[m.id] = m
	if m.instance != "" {
		r.static[m.instance] = m
	}
	r.count(m.protocols, 1)
}

// drop removes members. Nothing of theirs may wait.
func (r *roster) drop(ms []*classicMember) {
	for _, m := range ms {
		delete(r.byID, m.id)
		if m.instance != "" {
			delete(r.static, m.instance)
		}
		r.count(m.protocols, -1)
		r.setUnsynced(m, false)
	}
	r.list = slices.DeleteFunc(r.list, func(m *classicMember) bool { return r.byID[m.id] != m })
}

// rename gives a member another id.
func (r *roster) rename(m *classicMember, id string) {
	delete(r.byID, m.id)
	m.id = id
	r.byID[id] = m
}

func (r *roster) setProtocols(m *classicMember, ps []Protocol) {
	r.count(m.protocols, -1)
	m.protocols = ps
	r.count(ps, 1)
}

func (r *roster) count(ps []Protocol, by int) {
	for _, p := range ps {
		if r.names[p.Name] += by; r.names[p.Name] == 0 {
			delete(r.names, p.Name)
		}
	}
}

func (r *roster) setUnsynced(m *classicMember, v bool) {
	if m.unsynced == v {
		return
	}
	m.unsynced = v
	if v {
		r.unsynced++
	} else {
		r.unsynced--
	}
}

// supports tells whether all members have one of the protocols.
func (r *roster) supports(ps []Protocol) bool {
	return slices.ContainsFunc(ps, func(p Protocol) bool { return r.names[p.Name] == len(r.list) })
}

// choose returns the protocol most members like best among those that all have; of equals, what the oldest member likes.
func (r *roster) choose() string {
	votes := map[string]int{}
	for _, m := range r.list {
		votes[r.vote(m)]++
	}
	best := ""
	for _, m := range r.list {
		if v := r.vote(m); votes[v] > votes[best] {
			best = v
		}
	}
	return best
}

// vote is the first of m's protocols that all have.
func (r *roster) vote(m *classicMember) string {
	for _, p := range m.protocols {
		if r.names[p.Name] == len(r.list) {
			return p.Name
		}
	}
	return ""
}

// rebalanceTimeout is the longest of the members'.
func (r *roster) rebalanceTimeout() time.Duration {
	longest := leastRebalance
	for _, m := range r.list {
		longest = max(longest, m.rebalance)
	}
	return longest
}
