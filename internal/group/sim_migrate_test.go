package group

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// simMigrant is a client of the classic protocol whose metadata and assignments are those of real consumers, so that its
// group can change to the consumer protocol and back. It is cooperative: it reads on while it joins, and joins once more
// when it was to give partitions up. An eager one gives all up before it joins.
type simMigrant struct {
	w              *simWorld
	name, instance string
	eager          bool
	session        time.Duration
	rebalance      time.Duration

	phase      simPhase
	id         string
	generation int32
	leads      bool
	others     []JoinMember
	held       partitionSet
	sent       Ticket
	patience   time.Time
	due        time.Time
	silent     time.Time
	superseded bool
	out        bool
}

func newSimMigrant(w *simWorld, eager bool) *simMigrant {
	consumerWorld(w)
	m := &simMigrant{
		w: w, name: fmt.Sprint("classic", len(w.members)), eager: eager, generation: -1,
		session: w.between(6*time.Second, 20*time.Second), rebalance: w.between(5*time.Second, 30*time.Second),
	}
	if w.chance(3) {
		m.instance = "instance" + m.name
	}
	return m
}

func (m *simMigrant) String() string {
	return fmt.Sprintf("%s(%s %s g%d)", m.name, m.instance, m.id, m.generation)
}
func (m *simMigrant) alive() bool            { return m.phase != simDead }
func (m *simMigrant) memberID() string       { return m.id }
func (m *simMigrant) believes() partitionSet { return m.held }
func (m *simMigrant) lapsed() *bool          { return &m.out }
func (m *simMigrant) holds() (int32, []byte) { return m.generation, partitionNumbers(m.w, m.held) }

func (m *simMigrant) ref() MemberRef {
	return MemberRef{MemberID: m.id, InstanceID: m.instance, Generation: m.generation}
}

func (m *simMigrant) act(w *simWorld) {
	w.checkReaders()
	if w.calm {
		w.healTopics()
	}
	if m.phase == simDead || w.now.Before(m.silent) && !w.calm {
		return
	}
	switch m.phase {
	case simOut:
		if !w.now.Before(m.due) {
			m.join(w)
		}
	case simJoined:
		m.sync(w)
	case simJoining, simSyncing:
		if w.now.After(m.patience) {
			m.join(w)
		}
	case simReading:
		m.read(w)
	}
}

func (m *simMigrant) read(w *simWorld) {
	if w.chance(4) {
		err := w.g.CheckCommit(w.now, m.ref(), true)
		if err == nil && w.checks.fenced[m.id] {
			w.failf("%v committed although it is fenced", m)
		}
	}
	if w.now.Before(m.due) {
		return
	}
	m.due = w.now.Add(3 * time.Second)
	m.failed(w, "Heartbeat", w.g.Heartbeat(w.now, m.ref()))
}

// metadata is the member's subscription with what it reads.
func (m *simMigrant) metadata() []byte {
	meta := kmsg.NewConsumerMemberMetadata()
	meta.Version, meta.Topics = 1, []string{"t000", "t001"}
	for _, t := range m.held {
		if topic, there := m.w.img.ByID(t.Topic); there {
			meta.OwnedPartitions = append(meta.OwnedPartitions, kmsg.ConsumerMemberMetadataOwnedPartition{Topic: topic.Name, Partitions: t.Partitions})
		}
	}
	return meta.AppendTo(nil)
}

func (m *simMigrant) join(w *simWorld) {
	if m.eager {
		m.held = nil
	}
	if m.id == "" && m.instance != "" {
		m.supersede(w)
	}
	req := JoinRequest{
		MemberID: m.id, InstanceID: m.instance, Client: Client{ID: m.name}, Session: m.session, Rebalance: m.rebalance,
		Type: consumerType, Protocols: []Protocol{{Name: "sim", Metadata: m.metadata()}}, RequireMemberID: true,
	}
	m.phase = simJoining
	m.await(w)
	w.logf("%v JoinGroup #%d, has %v", m, m.sent, partitionNumbers(w, m.held))
	var out Effects
	w.g.Join(w.now, req, m.sent, &out)
	w.apply(&out)
}

func (m *simMigrant) await(w *simWorld) {
	m.sent, m.patience = w.ticket(m), w.now.Add(40*time.Second)
}

// supersede tells the other processes of the instance, of either protocol, that they may be fenced from now on.
func (m *simMigrant) supersede(w *simWorld) {
	for _, other := range w.members {
		switch o := other.(type) {
		case *simMigrant:
			o.superseded = o.superseded || o != m && o.instance == m.instance
		case *simConsumer:
			o.superseded = o.superseded || o.instance == m.instance
		}
	}
}

func (m *simMigrant) sync(w *simWorld) {
	req := SyncRequest{MemberRef: m.ref(), HasProtocol: true, Type: consumerType, Protocol: "sim"}
	if m.leads {
		req.Assignments = m.assignments(w)
	}
	m.phase = simSyncing
	m.await(w)
	w.logf("%v SyncGroup #%d", m, m.sent)
	var out Effects
	w.g.Sync(w.now, req, m.sent, &out)
	w.apply(&out)
}

// assignments is what the leader assigns: evenly, and nothing that another member has still.
func (m *simMigrant) assignments(w *simWorld) map[string][]byte {
	slices.SortFunc(m.others, func(a, b JoinMember) int { return strings.Compare(a.MemberID, b.MemberID) })
	topics := w.img.All()
	subs := make([]subscriber, len(m.others))
	owners := map[topicPartition]int{}
	for i, o := range m.others {
		meta, err := parseSubscription(o.Metadata)
		if err != nil {
			w.failf("%v got metadata %v: %v", m, o, err)
		}
		subs[i] = subscriber{id: o.MemberID, current: setOf(meta.owned(w.img))}
		for t := range topics {
			subs[i].topics = append(subs[i].topics, t)
		}
		subs[i].current.each(func(tp topicPartition) bool { owners[tp] = i; return true })
	}
	assignments := map[string][]byte{}
	for i, set := range assignUniform(subs, topics) {
		set = set.filter(func(tp topicPartition) bool {
			owner, owned := owners[tp]
			return !owned || owner == i
		})
		assignments[subs[i].id] = encodeAssignment(set, w.img, m.others[i].Metadata)
	}
	return assignments
}

func (m *simMigrant) answer(w *simWorld, to Ticket, a any) {
	if to != m.sent || m.phase == simDead {
		return
	}
	switch a := a.(type) {
	case JoinResponse:
		m.joined(w, a)
	case SyncResponse:
		m.synced(w, a)
	}
}

func (m *simMigrant) joined(w *simWorld, a JoinResponse) {
	w.logf("%v joined: %v %q generation %d leader %q", m, a.Err, a.MemberID, a.Generation, a.Leader)
	if errors.Is(a.Err, ErrMemberIDRequired) {
		m.id, m.phase = a.MemberID, simOut
		return
	}
	if m.failed(w, "JoinGroup", a.Err) {
		return
	}
	w.named(m.instance, a.MemberID)
	m.id, m.generation, m.others, m.phase = a.MemberID, a.Generation, a.Members, simJoined
	m.leads = a.Leader == m.id
}

func (m *simMigrant) synced(w *simWorld, a SyncResponse) {
	if m.failed(w, "SyncGroup", a.Err) {
		return
	}
	assigned, _, err := parseAssignment(a.Assignment, w.img)
	if err != nil {
		w.failf("%v got an assignment: %v", m, err)
		return
	}
	w.logf("%v synced: %v", m, partitionNumbers(w, assigned))
	lost := m.held.minus(assigned)
	m.held, m.out = assigned, false
	m.phase, m.due = simReading, w.now.Add(3*time.Second)
	if len(lost) > 0 {
		m.phase = simOut
	}
}

func (m *simMigrant) failed(w *simWorld, what string, err error) bool {
	switch {
	case err == nil:
		return false
	case errors.Is(err, ErrFencedInstance):
		if !m.superseded {
			w.failf("%v is fenced in %s, but nobody took its place", m, what)
		}
		m.phase, m.held = simDead, nil
	case errors.Is(err, ErrUnknownMember):
		m.id, m.generation, m.phase, m.held = "", -1, simOut, nil
	case errors.Is(err, ErrIllegalGeneration):
		m.generation, m.phase, m.held = -1, simOut, nil
	case errors.Is(err, ErrCoordinatorUnavailable) && m.phase == simReading:
	case errors.Is(err, ErrRebalanceInProgress), errors.Is(err, ErrCoordinatorUnavailable), errors.Is(err, ErrLoading):
		m.phase = simOut
	case errors.Is(err, ErrGroupFull):
		m.id, m.phase, m.due = "", simOut, w.now.Add(5*time.Second)
	default:
		w.failf("%v: %s: %v", m, what, err)
	}
	return true
}

func (m *simMigrant) leave(w *simWorld) {
	if m.phase == simDead {
		return
	}
	w.logf("%v leaves", m)
	m.phase, m.held = simDead, nil
	var out Effects
	w.g.Leave(w.now, []LeavingMember{{MemberID: m.id, InstanceID: m.instance}}, &out)
	w.apply(&out)
}

func (m *simMigrant) disturb(w *simWorld) {
	if m.phase == simDead {
		return
	}
	switch w.rng.IntN(5) {
	case 0:
		w.logf("%v crashes", m)
		m.phase, m.held = simDead, nil
	case 1:
		m.silent = w.now.Add(w.between(0, 2*m.session))
		w.logf("%v is silent until %v", m, m.silent.Sub(epoch))
	case 2:
		m.leave(w)
	case 3:
		m.join(w)
	case 4:
		m.replace(w)
	}
}

// replace starts another process of a static member, of either protocol.
func (m *simMigrant) replace(w *simWorld) {
	if m.instance == "" || w.living() >= simMaxSize {
		return
	}
	m.phase, m.held = simDead, nil
	var next simMember
	if w.chance(2) {
		c := newSimConsumer(w)
		c.instance, next = m.instance, c
	} else {
		c := newSimMigrant(w, m.eager)
		c.instance, next = m.instance, c
	}
	w.logf("%v replaces %v", next, m)
	w.members = append(w.members, next)
}

func TestGroupsThatMigrateKeepTheirPromisesInASimulation(t *testing.T) {
	for name, eager := range map[string]bool{"cooperative": false, "eager": true} {
		t.Run(name, func(t *testing.T) {
			changes := 0
			simulate(t, func(w *simWorld) simMember {
				consumerWorld(w)
				w.img.(*testImage).stays = true // the classic protocol has names only: a new topic is taken for the old one
				if w.g.Type() == Consumer {
					changes++
				}
				if w.chance(2) {
					return newSimConsumer(w)
				}
				return newSimMigrant(w, eager)
			})
			if changes == 0 {
				t.Error("no group changed its protocol")
			}
		})
	}
}
