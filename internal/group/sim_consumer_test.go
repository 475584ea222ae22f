package group

import (
	"errors"
	"fmt"
	"testing"
	"time"
)

// simTopics are topics of simPartitions partitions in all.
func simTopics() *testImage { return &testImage{topics: topicsOf(simPartitions-2, 2)} }

// consumerWorld makes a world one of the consumer protocol too, once.
func consumerWorld(w *simWorld) {
	if w.img != nil {
		return
	}
	w.img = simTopics()
	w.set.ConsumerSession, w.set.ConsumerHeartbeat = 10*time.Second, 3*time.Second
	w.set.ConsumerMaxSize = simMaxSize
	w.set.Assignors = []string{UniformAssignor, RangeAssignor}
	w.set.Migration = Bidirectional
	if w.chance(2) {
		w.set.AssignmentInterval = time.Second
	}
}

// changeTopics has the second topic created, deleted or created anew; if topics are to stay there is just another view of them.
func (w *simWorld) changeTopics() {
	img := w.img.(*testImage)
	if img.stays {
		w.img = &testImage{topics: img.topics, version: img.version + 1, stays: true}
		return
	}
	t := Topic{Name: "t001", ID: topicID(10 + int(img.version)), Partitions: 2}
	if _, there := img.Topic(t.Name); there && w.chance(2) {
		w.img = img.without(t.Name)
	} else {
		w.img = img.with(t)
	}
	w.logf("topics are %v", w.img.All())
}

// healTopics brings the second topic back.
func (w *simWorld) healTopics() {
	if _, there := w.img.Topic("t001"); !there {
		w.changeTopics()
	}
}

// reader is a client that believes it has partitions.
type reader interface {
	simMember
	memberID() string
	believes() partitionSet
	// lapsed points to whether it was put out of the group since it was told what to read. Its partitions are
	// others' then, and it will learn so.
	lapsed() *bool
}

// checkReaders looks that no partition is read by two of the group's members.
func (w *simWorld) checkReaders() {
	owners := map[topicPartition]reader{}
	for _, m := range w.members {
		r := m.(reader)
		if !w.isMember(r.memberID()) {
			*r.lapsed() = true
		}
		if !r.alive() || *r.lapsed() {
			continue
		}
		r.believes().each(func(tp topicPartition) bool {
			if other := owners[tp]; other != nil {
				w.failf("%v-%d is read by %v and %v", tp.topic, tp.partition, other, r)
			}
			owners[tp] = r
			return true
		})
	}
}

func (w *simWorld) isMember(id string) bool {
	switch g := w.g.m.(type) {
	case *consumerGroup:
		return g.members[id] != nil
	case *classicGroup:
		return g.byID[id] != nil
	}
	return false
}

// partitionNumbers numbers partitions through all topics that there are; others are 255.
func partitionNumbers(w *simWorld, s partitionSet) []byte {
	var list []byte
	s.each(func(tp topicPartition) bool {
		t, there := w.img.ByID(tp.topic)
		switch {
		case !there:
			list = append(list, 255)
		case t.Name == "t000":
			list = append(list, byte(tp.partition))
		default:
			list = append(list, byte(tp.partition)+simPartitions-2)
		}
		return true
	})
	return list
}

// simConsumer is a client of the consumer protocol.
type simConsumer struct {
	w              *simWorld
	name, instance string
	rebalance      time.Duration
	regexp         bool
	assignor       string

	dead       bool
	id         string
	epoch      int32
	held       partitionSet // what it reads
	desired    partitionSet // what it should
	told       bool         // the coordinator has acknowledged what it reads
	full       bool         // the next heartbeat says all: the answer to the last was lost
	waits      bool
	sent       Ticket
	patience   time.Time
	due        time.Time
	silent     time.Time
	superseded bool
	out        bool
	tooLarge   bool // the group was, when the heartbeat was sent
}

func newSimConsumer(w *simWorld) *simConsumer {
	consumerWorld(w)
	m := &simConsumer{
		w: w, name: fmt.Sprint("consumer", len(w.members)), rebalance: w.between(5*time.Second, 30*time.Second), regexp: w.chance(2),
	}
	m.id = m.name + "-" + w.set.NewID()
	if w.chance(3) {
		m.instance = "instance" + m.name
	}
	return m
}

func (m *simConsumer) String() string         { return fmt.Sprintf("%s(%s e%d)", m.name, m.instance, m.epoch) }
func (m *simConsumer) alive() bool            { return !m.dead }
func (m *simConsumer) memberID() string       { return m.id }
func (m *simConsumer) believes() partitionSet { return m.held }
func (m *simConsumer) lapsed() *bool          { return &m.out }
func (m *simConsumer) holds() (int32, []byte) { return m.epoch, partitionNumbers(m.w, m.held) }

func (m *simConsumer) act(w *simWorld) {
	w.checkReaders()
	if w.calm {
		w.healTopics()
	}
	if m.dead || w.now.Before(m.silent) && !w.calm {
		return
	}
	if w.chance(5) {
		m.commit(w)
	}
	if m.waits && w.now.After(m.patience) {
		m.waits, m.full = false, true
	}
	if !m.waits && (w.calm || w.chance(3)) && !m.held.equal(m.desired) {
		m.held, m.told, m.due = m.desired, false, w.now
	}
	if !m.waits && !w.now.Before(m.due) {
		m.beat(w)
	}
}

// commit commits, which must not be granted to one whose place another has.
func (m *simConsumer) commit(w *simWorld) {
	err := w.g.CheckCommit(w.now, MemberRef{MemberID: m.id, InstanceID: m.instance, Generation: m.epoch}, true)
	if err == nil && m.epoch > 0 && w.checks.fenced[m.id] {
		w.failf("%v committed although it is fenced", m)
	}
}

func (m *simConsumer) beat(w *simWorld) {
	req := HeartbeatRequest{MemberID: m.id, Epoch: m.epoch, InstanceID: m.instance, Rebalance: -time.Millisecond, Client: Client{ID: m.name}}
	if m.assignor != "" {
		req.Assignor = &m.assignor
	}
	if m.epoch == 0 || m.full || w.chance(10) {
		m.sayAll(&req)
	}
	if req.Topics != nil || !m.told || w.chance(4) {
		owned := append([]TopicPartitions{}, m.held...)
		req.Owned = &owned
	}
	m.send(w, req)
}

// sayAll has a heartbeat say what the member is subscribed to, in one of two ways that come to the same.
func (m *simConsumer) sayAll(req *HeartbeatRequest) {
	topics, re := []string{"t001", "t000"}, ""
	if m.regexp {
		topics, re = nil, "t00[01]"
	}
	req.Topics, req.Regexp, req.Rebalance = &topics, &re, m.rebalance
}

func (m *simConsumer) send(w *simWorld, req HeartbeatRequest) {
	m.tooLarge = w.g.Size() > simMaxSize
	m.waits, m.sent, m.patience = true, w.ticket(m), w.now.Add(4*time.Second)
	w.logf("%v heartbeat #%d, has %v", m, m.sent, partitionNumbers(w, m.held))
	var out Effects
	w.g.ConsumerHeartbeat(w.now, w.img, req, m.sent, &out)
	w.apply(&out)
}

func (m *simConsumer) answer(w *simWorld, to Ticket, a any) {
	resp := a.(HeartbeatResponse)
	if to != m.sent || m.dead || !m.waits {
		return
	}
	m.waits = false
	w.logf("%v #%d: %v epoch %d, %v", m, to, resp.Err, resp.Epoch, resp.Assignment)
	if resp.Err != nil {
		m.fail(w, resp.Err)
		return
	}
	if m.epoch == 0 {
		w.named(m.instance, m.id)
	}
	m.full, m.told, m.epoch, m.due = false, true, resp.Epoch, w.now.Add(resp.Interval)
	if resp.Assignment != nil {
		m.desired, m.out = *resp.Assignment, false
		m.held = m.held.union(m.desired)
	}
}

func (m *simConsumer) fail(w *simWorld, err error) {
	m.due = w.now.Add(time.Second)
	switch {
	case errors.Is(err, ErrCoordinatorUnavailable):
		m.full = true
	case errors.Is(err, ErrFencedInstance):
		if !m.superseded {
			w.failf("%v is fenced, but nobody took its place", m)
		}
		m.die()
	case errors.Is(err, ErrFencedMemberEpoch), errors.Is(err, ErrUnknownMember), errors.Is(err, ErrNotFound):
		m.held, m.desired, m.epoch = nil, nil, 0
	case errors.Is(err, ErrUnreleasedInstance), errors.Is(err, ErrGroupFull), errors.Is(err, ErrUnsupportedMigration) && m.tooLarge:
		m.due = w.now.Add(3 * time.Second)
	default:
		w.failf("%v: %v", m, err)
	}
}

func (m *simConsumer) die() { m.dead, m.held, m.desired = true, nil, nil }

func (m *simConsumer) leave(w *simWorld) { m.leaveWith(w, leaveEpoch) }

func (m *simConsumer) leaveWith(w *simWorld, epoch int32) {
	if m.dead {
		return
	}
	w.logf("%v leaves (%d)", m, epoch)
	m.die()
	m.send(w, HeartbeatRequest{MemberID: m.id, InstanceID: m.instance, Epoch: epoch, Rebalance: -time.Millisecond})
}

func (m *simConsumer) disturb(w *simWorld) {
	if m.dead {
		return
	}
	switch w.rng.IntN(9) {
	case 0:
		w.logf("%v crashes", m)
		m.die()
	case 1:
		m.silent = w.now.Add(w.between(0, 20*time.Second))
		w.logf("%v is silent until %v", m, m.silent.Sub(epoch))
	case 2:
		m.leave(w)
	case 3:
		m.regexp, m.full = !m.regexp, true
	case 4:
		m.assignor = w.set.Assignors[w.rng.IntN(2)]
	case 5:
		w.changeTopics()
	case 6:
		m.replace(w)
	case 7:
		m.waits, m.full = false, true // the answer is lost
	case 8:
		m.epoch = max(0, m.epoch-int32(w.rng.IntN(3))) // it forgot, and what it reads with it
		m.held, m.desired, m.full = nil, nil, true
	}
}

// replace starts another process of a static member, which says that it will be back, or does not.
func (m *simConsumer) replace(w *simWorld) {
	if m.instance == "" || w.living() >= simMaxSize {
		return
	}
	if w.chance(3) {
		m.die()
	} else {
		m.leaveWith(w, staticLeaveEpoch)
	}
	next := newSimConsumer(w)
	next.instance = m.instance
	w.logf("%v replaces %v", next, m)
	w.members = append(w.members, next)
}

func TestConsumerGroupsKeepTheirPromisesInASimulation(t *testing.T) {
	simulate(t, func(w *simWorld) simMember { return newSimConsumer(w) })
}
