package group

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"time"
)

// consumerLine is a consumer group's own line as it is stored.
type consumerLine struct {
	Type            Type   `json:"type"`
	SinceMs         int64  `json:"since_ms"` // since 1970
	Epoch           int32  `json:"epoch"`
	AssignmentEpoch int32  `json:"assignment_epoch"`
	Assignor        string `json:"assignor,omitempty"`
	TopicsHash      uint64 `json:"topics_hash,string,omitempty"`
}

// consumerMemberLine is a member's.
type consumerMemberLine struct {
	InstanceID    string           `json:"instance_id,omitempty"`
	ClientID      string           `json:"client_id"`
	ClientHost    string           `json:"client_host"`
	Rack          string           `json:"rack,omitempty"`
	RebalanceMs   int64            `json:"rebalance_ms"`
	Topics        []string         `json:"topics,omitempty"`
	Regexp        string           `json:"regexp,omitempty"`
	Assignor      string           `json:"assignor,omitempty"`
	Classic       *consumerClassic `json:"classic,omitempty"`
	Epoch         int32            `json:"epoch"`
	PreviousEpoch int32            `json:"previous_epoch"`
	State         memberState      `json:"state"`
	Target        partitionLines   `json:"target,omitempty"`
	Assigned      partitionLines   `json:"assigned,omitempty"`
	Revoking      partitionLines   `json:"revoking,omitempty"`
}

type consumerClassic struct {
	SessionMs int64                 `json:"session_ms"`
	Protocols []classicProtocolLine `json:"protocols"`
}

func (m *consumerMember) encode() []byte {
	l := consumerMemberLine{
		InstanceID: m.instance, ClientID: m.client.ID, ClientHost: m.client.Host, Rack: m.rack,
		RebalanceMs: m.rebalance.Milliseconds(), Topics: m.topics, Regexp: m.regexp, Assignor: m.assignor,
		Epoch: m.epoch, PreviousEpoch: m.previousEpoch, State: m.state,
		Target: linesOf(m.target), Assigned: linesOf(m.assigned), Revoking: linesOf(m.revoking),
	}
	if m.classic != nil {
		l.Classic = &consumerClassic{SessionMs: m.classic.session.Milliseconds()}
		for _, p := range m.classic.protocols {
			l.Classic.Protocols = append(l.Classic.Protocols, classicProtocolLine(p))
		}
	}
	return encode(l)
}

// decodeConsumer reads a group back. Its sessions begin anew: nobody could be heard while there was no coordinator.
func decodeConsumer(g *Group, st Stored, now time.Time) (machine, error) {
	var line consumerLine
	if err := json.Unmarshal(st.Group, &line); err != nil {
		return nil, fmt.Errorf("decode consumer group: %w", err)
	}
	c := newConsumer(g, now)
	c.epoch, c.assignmentEpoch = line.Epoch, line.AssignmentEpoch
	c.assignor, c.topicsHash = line.Assignor, line.TopicsHash
	for _, id := range slices.Sorted(maps.Keys(st.Members)) {
		m, assigned, revoking, err := decodeConsumerMember(id, st.Members[id])
		if err != nil {
			return nil, err
		}
		if err := c.knowRegexp(m.regexp); err != nil {
			return nil, fmt.Errorf("decode member %q: %w", id, err)
		}
		c.add(m)
		c.own(m, assigned, revoking)
		c.startTimers(now, m)
	}
	c.unsaved = unsaved{}
	c.state, c.since = c.currentState(), time.UnixMilli(line.SinceMs)
	return c, nil
}

// startTimers gives a member all the time that it may take.
func (c *consumerGroup) startTimers(now time.Time, m *consumerMember) {
	if m.classic != nil {
		c.setTimer(&m.sessionEnd, now.Add(m.classic.session))
		c.due = now // to look at the topics, which requests of the classic protocol come without
		return
	}
	c.setTimer(&m.sessionEnd, now.Add(c.g.set.ConsumerSession))
	if m.state == memberUnrevoked {
		c.setTimer(&m.rebalanceEnd, now.Add(m.rebalance))
	}
}

func decodeConsumerMember(id string, text []byte) (m *consumerMember, assigned, revoking partitionSet, err error) {
	var l consumerMemberLine
	if err := json.Unmarshal(text, &l); err != nil {
		return nil, nil, nil, fmt.Errorf("decode member %q: %w", id, err)
	}
	m = &consumerMember{
		id: id, instance: l.InstanceID, client: Client{ID: l.ClientID, Host: l.ClientHost}, rack: l.Rack,
		rebalance: time.Duration(l.RebalanceMs) * time.Millisecond,
		regexp:    l.Regexp, assignor: l.Assignor,
		epoch: l.Epoch, previousEpoch: l.PreviousEpoch, state: l.State,
	}
	m.setTopics(l.Topics)
	if l.Classic != nil {
		m.classic = &classicPart{session: time.Duration(l.Classic.SessionMs) * time.Millisecond}
		for _, p := range l.Classic.Protocols {
			m.classic.protocols = append(m.classic.protocols, Protocol(p))
		}
		if len(m.classic.protocols) == 0 {
			return nil, nil, nil, fmt.Errorf("decode member %q: no protocols", id)
		}
	}
	sets := make([]partitionSet, 3)
	for i, lines := range []partitionLines{l.Target, l.Assigned, l.Revoking} {
		if sets[i], err = lines.set(); err != nil {
			return nil, nil, nil, fmt.Errorf("decode member %q: %w", id, err)
		}
	}
	m.target = sets[0]
	return m, sets[1], sets[2], nil
}
