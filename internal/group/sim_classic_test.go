package group

import (
	"errors"
	"fmt"
	"time"
)

// simPhase is what a client of the classic protocol is about.
type simPhase int

const (
	simOut     simPhase = iota // will send JoinGroup
	simJoining                 // waits for its answer
	simJoined                  // will send SyncGroup
	simSyncing                 // waits for its answer
	simReading                 // has partitions
	simDead                    // for good
)

// simClassic is a client of the classic protocol that does what the Java client does, and sometimes does not.
type simClassic struct {
	name, instance     string
	session, rebalance time.Duration
	old                bool // speaks versions without a member id handshake
	metadata           byte

	phase      simPhase
	id         string
	generation int32
	assign     []JoinMember // as the leader, who assigns
	leads      bool
	partitions []byte
	sent       Ticket    // the request whose answer is waited for
	patience   time.Time // when that is given up
	due        time.Time // of the next heartbeat
	silent     time.Time // nothing is sent before
	superseded bool      // another process has the instance id too
}

func newSimClassic(w *simWorld) *simClassic {
	m := &simClassic{
		name: fmt.Sprint("client", len(w.members)), generation: -1, old: w.chance(4),
		session: w.between(6*time.Second, 20*time.Second), rebalance: w.between(5*time.Second, 30*time.Second),
	}
	if w.chance(3) {
		m.instance = "instance" + m.name
	}
	return m
}

func (m *simClassic) String() string {
	return fmt.Sprintf("%s(%s %s g%d)", m.name, m.instance, m.id, m.generation)
}

func (m *simClassic) alive() bool { return m.phase != simDead }

func (m *simClassic) holds() (int32, []byte) { return m.generation, m.partitions }

func (m *simClassic) ref() MemberRef {
	return MemberRef{MemberID: m.id, InstanceID: m.instance, Generation: m.generation}
}

// who owns what the client is given: a static member keeps it over restarts.
func (m *simClassic) who() string {
	if m.instance != "" {
		return m.instance
	}
	return m.id
}

func (m *simClassic) act(w *simWorld) {
	if m.phase == simDead || w.now.Before(m.silent) && !w.calm {
		return
	}
	switch m.phase {
	case simOut:
		m.join(w)
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

// read has the client heartbeat and commit.
func (m *simClassic) read(w *simWorld) {
	if w.chance(4) && m.failed(w, "OffsetCommit", w.commit(m.ref())) {
		return
	}
	if w.now.Before(m.due) {
		return
	}
	m.due = w.now.Add(3 * time.Second)
	m.failed(w, "Heartbeat", w.g.Heartbeat(w.now, m.ref()))
}

func (m *simClassic) join(w *simWorld) {
	req := JoinRequest{
		MemberID: m.id, InstanceID: m.instance, Client: Client{ID: m.name}, Session: m.session, Rebalance: m.rebalance,
		Type: "consumer", Protocols: []Protocol{{Name: "range", Metadata: append(subscription("t"), m.metadata)}},
		RequireMemberID: !m.old, SkipAssignment: !m.old,
	}
	if m.id == "" && m.instance != "" {
		m.supersede(w)
	}
	m.phase, m.partitions = simJoining, nil
	m.await(w, 40*time.Second)
	w.logf("%v JoinGroup #%d", m, m.sent)
	var out Effects
	w.g.Join(w.now, req, m.sent, &out)
	w.apply(&out)
}

// supersede tells the other processes of the instance that they may be fenced from now on.
func (m *simClassic) supersede(w *simWorld) {
	for _, other := range w.members {
		if o, ok := other.(*simClassic); ok && o != m && o.instance == m.instance {
			o.superseded = true
		}
	}
}

func (m *simClassic) sync(w *simWorld) {
	req := SyncRequest{MemberRef: m.ref(), HasProtocol: true, Type: "consumer", Protocol: "range"}
	if m.leads {
		req.Assignments = map[string][]byte{}
		for p := range simPartitions {
			to := m.assign[p%len(m.assign)].MemberID
			req.Assignments[to] = append(req.Assignments[to], byte(p))
		}
	}
	m.phase = simSyncing
	m.await(w, 40*time.Second)
	w.logf("%v SyncGroup #%d %v", m, m.sent, req.Assignments)
	var out Effects
	w.g.Sync(w.now, req, m.sent, &out)
	w.apply(&out)
}

func (m *simClassic) await(w *simWorld, d time.Duration) {
	m.sent, m.patience = w.ticket(m), w.now.Add(d)
}

func (m *simClassic) answer(w *simWorld, to Ticket, a any) {
	if to != m.sent || m.phase == simDead {
		return // of a request that was given up
	}
	switch a := a.(type) {
	case JoinResponse:
		m.joined(w, a)
	case SyncResponse:
		w.logf("%v synced: %v %v", m, a.Err, a.Assignment)
		if !m.failed(w, "SyncGroup", a.Err) {
			m.phase, m.partitions = simReading, a.Assignment
			w.assigned(m.who(), m.generation, a.Assignment)
		}
	}
}

func (m *simClassic) joined(w *simWorld, a JoinResponse) {
	w.logf("%v joined: %v %q generation %d leader %q", m, a.Err, a.MemberID, a.Generation, a.Leader)
	if errors.Is(a.Err, ErrMemberIDRequired) {
		m.id, m.phase = a.MemberID, simOut
		return
	}
	if m.failed(w, "JoinGroup", a.Err) {
		return
	}
	w.named(m.instance, a.MemberID)
	m.id, m.generation, m.assign, m.phase = a.MemberID, a.Generation, a.Members, simJoined
	m.leads = a.Leader == m.id && !a.SkipAssignment
	if w.calm || w.chance(2) {
		m.sync(w)
	}
}

// failed has the client do what an error asks for.
func (m *simClassic) failed(w *simWorld, what string, err error) bool {
	switch {
	case err == nil:
		return false
	case errors.Is(err, ErrFencedInstance):
		if !m.superseded {
			w.failf("%v is fenced in %s, but nobody took its place", m, what)
		}
		m.phase, m.partitions = simDead, nil
	case errors.Is(err, ErrUnknownMember):
		m.id, m.generation, m.phase, m.partitions = "", -1, simOut, nil
	case errors.Is(err, ErrRebalanceInProgress) && what == "OffsetCommit", errors.Is(err, ErrCoordinatorUnavailable) && m.phase == simReading:
	case errors.Is(err, ErrRebalanceInProgress), errors.Is(err, ErrIllegalGeneration), errors.Is(err, ErrCoordinatorUnavailable):
		m.phase = simOut
	case errors.Is(err, ErrGroupFull):
		m.id, m.phase, m.silent = "", simOut, w.now.Add(5*time.Second)
	default:
		w.failf("%v: %s: %v", m, what, err)
	}
	return true
}

func (m *simClassic) leave(w *simWorld) {
	if m.phase == simDead {
		return
	}
	w.logf("%v leaves", m)
	m.phase, m.partitions = simDead, nil
	var out Effects
	w.g.Leave(w.now, []LeavingMember{{MemberID: m.id, InstanceID: m.instance}}, &out)
	w.apply(&out)
}

func (m *simClassic) disturb(w *simWorld) {
	if m.phase == simDead {
		return
	}
	switch w.rng.IntN(8) {
	case 0:
		w.logf("%v crashes", m)
		m.phase, m.partitions = simDead, nil
	case 1, 2:
		m.silent = w.now.Add(w.between(0, 2*m.session))
		w.logf("%v is silent until %v", m, m.silent.Sub(epoch))
	case 3:
		m.leave(w)
	case 4:
		m.metadata++
		m.join(w)
	case 5:
		m.join(w)
	case 6:
		m.replace(w)
	case 7:
		if r := m.ref(); r.Generation > 0 {
			r.Generation--
			_ = w.commit(r)
		}
	}
}

// replace starts another process of a static member, which may or may not have ended.
func (m *simClassic) replace(w *simWorld) {
	if m.instance == "" || w.living() >= simMaxSize {
		return
	}
	next := newSimClassic(w)
	next.instance = m.instance
	if w.chance(2) {
		m.phase, m.partitions = simDead, nil
	}
	w.logf("%v replaces %v", next, m)
	w.members = append(w.members, next)
}
