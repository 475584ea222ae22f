package group

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"time"
)

// savedGroup is what is stored of the group: its last stable generation, or that it is empty.
type savedGroup struct {
	line    classicLine
	members map[string][]byte // the assignments by member id
	static  map[string]string // the member ids by instance id
}

func newSavedGroup() savedGroup {
	return savedGroup{members: map[string][]byte{}, static: map[string]string{}}
}

func (s *savedGroup) add(m *classicMember) {
	s.members[m.id] = m.assignment
	if m.instance != "" {
		s.static[m.instance] = m.id
	}
}

// classicLine is the group's own line in Redis.
type classicLine struct {
	Type         Type   `json:"type"`
	State        State  `json:"state"`
	SinceMs      int64  `json:"since_ms"` // since 1970
	Generation   int32  `json:"generation"`
	ProtocolType string `json:"protocol_type"`
	Protocol     string `json:"protocol,omitempty"`
	Leader       string `json:"leader,omitempty"`
}

// classicMemberLine is a member's.
type classicMemberLine struct {
	InstanceID  string                `json:"instance_id,omitempty"`
	ClientID    string                `json:"client_id"`
	ClientHost  string                `json:"client_host"`
	SessionMs   int64                 `json:"session_ms"`
	RebalanceMs int64                 `json:"rebalance_ms"`
	Protocols   []classicProtocolLine `json:"protocols"`
	Assignment  []byte                `json:"assignment"`
}

type classicProtocolLine struct {
	Name     string `json:"name"`
	Metadata []byte `json:"metadata"`
}

// saveAll stores the group as it is.
func (c *classicGroup) saveAll(out *Effects) {
	before := c.saved.members
	c.saved = newSavedGroup()
	c.saved.line = classicLine{
		Type: Classic, State: c.state, SinceMs: c.since.UnixMilli(), Generation: c.generation,
		ProtocolType: c.protocolType, Protocol: c.protocol, Leader: c.leader,
	}
	ch := &Changes{Generation: c.generation, Group: encode(c.saved.line), Members: make(map[string][]byte, len(c.list))}
	for _, m := range c.list {
		c.saved.add(m)
		ch.Members[m.id] = encodeMember(m, m.assignment)
	}
	for _, id := range slices.Sorted(maps.Keys(before)) {
		if c.byID[id] == nil {
			ch.Gone = append(ch.Gone, id)
		}
	}
	out.save(ch)
}

// saveInstance stores that a static member has another id than in the generation that is stored. A coordinator that finds
// the old one there would fence the new one, for good. If the instance is not in that generation, there is nothing to
// store: who finds it takes the member for a new one.
func (c *classicGroup) saveInstance(m *classicMember, out *Effects) {
	old, ok := c.saved.static[m.instance]
	if !ok {
		return
	}
	assignment := c.saved.members[old]
	delete(c.saved.members, old)
	c.saved.members[m.id] = assignment
	c.saved.static[m.instance] = m.id
	if c.saved.line.Leader == old {
		c.saved.line.Leader = m.id
	}
	out.save(&Changes{
		Generation: c.saved.line.Generation,
		Group:      encode(c.saved.line),
		Members:    map[string][]byte{m.id: encodeMember(m, assignment)},
		Gone:       []string{old},
	})
}

func encodeMember(m *classicMember, assignment []byte) []byte {
	l := classicMemberLine{
		InstanceID: m.instance, ClientID: m.client.ID, ClientHost: m.client.Host,
		SessionMs: m.session.Milliseconds(), RebalanceMs: m.rebalance.Milliseconds(),
		Protocols: make([]classicProtocolLine, 0, len(m.protocols)), Assignment: assignment,
	}
	for _, p := range m.protocols {
		l.Protocols = append(l.Protocols, classicProtocolLine(p))
	}
	return encode(l)
}

// decodeClassic reads a group back. Its sessions begin anew: nobody could be heard while there was no coordinator.
func decodeClassic(g *Group, st Stored, now time.Time) (machine, error) {
	var line classicLine
	if err := json.Unmarshal(st.Group, &line); err != nil {
		return nil, fmt.Errorf("decode classic group: %w", err)
	}
	c := newClassic(g, now)
	c.unheard = false
	c.generation, c.protocolType, c.protocol = line.Generation, line.ProtocolType, line.Protocol
	c.since = time.UnixMilli(line.SinceMs)
	for _, id := range slices.Sorted(maps.Keys(st.Members)) {
		m, err := decodeMember(id, st.Members[id])
		if err != nil {
			return nil, err
		}
		c.readmit(m, now)
	}
	if len(c.list) > 0 {
		c.state = Stable
		c.leader = line.Leader
		if c.byID[c.leader] == nil {
			c.leader = c.list[0].id
		}
	}
	c.topics = c.subscriptions()
	c.saved.line = line
	return c, nil
}

// readmit adds a member that a stored generation has.
func (c *classicGroup) readmit(m *classicMember, now time.Time) {
	c.add(m)
	c.saved.add(m)
	c.alive(m, now)
}

func decodeMember(id string, text []byte) (*classicMember, error) {
	var l classicMemberLine
	if err := json.Unmarshal(text, &l); err != nil {
		return nil, fmt.Errorf("decode member %q: %w", id, err)
	}
	m := &classicMember{
		id: id, instance: l.InstanceID, client: Client{ID: l.ClientID, Host: l.ClientHost},
		session:    time.Duration(l.SessionMs) * time.Millisecond,
		rebalance:  time.Duration(l.RebalanceMs) * time.Millisecond,
		assignment: bytes.Clone(l.Assignment),
	}
	ps := make([]Protocol, 0, len(l.Protocols))
	for _, p := range l.Protocols {
		ps = append(ps, Protocol(p))
	}
	m.protocols = ownProtocols(ps)
	return m, nil
}
