package coordinator

import (
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/korvet-io/korvet/internal/group"
)

// state is what a cell does.
type state int

const (
	unloaded state = iota
	loading        // requests wait
	loaded
	deleting // requests wait, for the next cell
	gone     // given up: c.cells has another one, or none
	closed   // the coordinator is closing: what is queued is still stored
)

// cell is one group here: its machine, its offsets, and what waits to be stored of it.
type cell struct {
	c    *Coordinator
	name string

	mu      sync.Mutex
	state   state
	waiting []access     // while loading or deleting
	calls   []func()     // to be called when the lock is free
	group   *group.Group // while loaded, deleting or closed
	offsets map[TopicPartition]Offset
	tickets map[group.Ticket]any // what a ticket's answer is given to
	last    group.Ticket

	claimed bool // token is the newest claim's
	token   Token
	queue   []*op
	writing bool      // a goroutine is storing the queue
	began   time.Time // when it began with what it is storing
	saves   int       // saves that are not stored yet: answers wait for them
	held    bool      // time was to pass meanwhile
	overdue int       // commits that were answered before their outcome was known

	timer *time.Timer
	armed time.Time // when timer fires; zero: not at all

	shown map[TopicPartition]mirrored // what is to be shown in native groups
	seen  group.State                 // after the event before
}

func newCell(c *Coordinator, name string) *cell {
	return &cell{c: c, name: name, tickets: map[group.Ticket]any{}}
}

// enter calls f with the cell locked, once it is loaded. false: the cell was given up.
func (l *cell) enter(f access) bool {
	l.mu.Lock()
	switch l.state {
	case gone:
		l.mu.Unlock()
		return false
	case closed:
		l.mu.Unlock()
		f(nil, group.ErrNotCoordinator)
		return true
	case unloaded:
		l.state = loading
		l.waiting = append(l.waiting, f)
		l.c.wg.Add(1)
		go l.load()
	case loading, deleting:
		l.waiting = append(l.waiting, f)
	case loaded:
		f(l, nil)
		l.settle()
	}
	l.unlock()
	return true
}

// after has f called when the lock is free.
func (l *cell) after(f func()) { l.calls = append(l.calls, f) }

// unlock frees the lock and makes the calls that wait for that.
func (l *cell) unlock() {
	calls := l.calls
	l.calls = nil
	l.mu.Unlock()
	for _, f := range calls {
		f()
	}
}

// giveUp answers everything that waits with an error and forgets the cell.
func (l *cell) giveUp(err error) {
	l.mu.Lock()
	l.abandon(err)
	l.unlock()
}

// abandon is giveUp with the lock held.
func (l *cell) abandon(err error) {
	if l.state == gone {
		return
	}
	l.state = gone
	l.disarm()
	for _, f := range l.waiting {
		l.after(func() { f(nil, err) })
	}
	for _, o := range l.queue {
		o.done(l, err)
	}
	l.waiting, l.queue = nil, nil
	if l.group != nil {
		var out group.Effects
		l.group.Abandon(&out)
		refuseAll(&out, err)
		l.answer(&out)
	}
	l.c.remove(l)
}

// refuseAll has answers say err instead of what they said: it was not stored.
func refuseAll(out *group.Effects, err error) {
	for i := range out.Joins {
		out.Joins[i].JoinResponse = group.JoinResponse{Err: err, Generation: -1, MemberID: out.Joins[i].MemberID}
	}
	for i := range out.Syncs {
		out.Syncs[i].SyncResponse = group.SyncResponse{Err: err}
	}
	for i := range out.Heartbeats {
		out.Heartbeats[i].HeartbeatResponse = group.HeartbeatResponse{Err: err, MemberID: out.Heartbeats[i].MemberID}
	}
}

// close ends the cell in order: what is queued is still stored, nothing new is taken.
func (l *cell) close() {
	l.mu.Lock()
	defer l.unlock()
	if l.state != loaded || len(l.queue) == 0 && !l.writing {
		l.abandon(group.ErrNotCoordinator)
		return
	}
	l.state = closed
	l.disarm()
	var out group.Effects
	l.group.Abandon(&out)
	refuseAll(&out, group.ErrNotCoordinator)
	l.answer(&out)
}

// coordinatorError is what clients are told of a Store's error.
func coordinatorError(err error) error {
	if errors.Is(err, ErrStale) {
		return group.ErrNotCoordinator
	}
	return fmt.Errorf("%w: %w", group.ErrCoordinatorUnavailable, err)
}

// settle does what follows each event: rebalances are counted, the timer is set for the machine's next deadline, and a
// group of which there is nothing to keep is forgotten.
func (l *cell) settle() {
	if l.state != loaded {
		return
	}
	l.count(l.group.Summary().State)
	if l.blank() {
		l.state = gone
		l.disarm()
		l.c.remove(l)
		return
	}
	if !l.held {
		l.arm(l.group.Deadline())
	}
}

// goOn lets time pass again once all saves are stored.
func (l *cell) goOn() {
	if l.held && l.saves == 0 {
		l.held = false
		l.group.Renew(l.c.Now())
	}
}

// count counts rebalances by the states that a group goes through.
func (l *cell) count(now group.State) {
	before := l.seen
	l.seen = now
	switch {
	case now == before || before == "":
	case now == group.PreparingRebalance, now == group.Assigning, now == group.Reconciling && before == group.Stable:
		l.c.Observer.Rebalanced("started")
	case now == group.Stable && before != group.Empty:
		l.c.Observer.Rebalanced("completed")
	}
}

// blank tells that the group is as if it had never been: clients that ask for groups that are not there cost no memory.
func (l *cell) blank() bool {
	return !l.claimed && !l.writing && len(l.queue) == 0 && len(l.offsets) == 0 && len(l.tickets) == 0 &&
		l.group.Size() == 0 && l.group.Deadline().IsZero()
}

// arm makes sure that the timer fires no later than at. It may fire earlier: then it is armed again.
func (l *cell) arm(at time.Time) {
	if at.IsZero() || !l.armed.IsZero() && !at.Before(l.armed) {
		return
	}
	l.armed = at
	wait := max(at.Sub(l.c.Now()), time.Millisecond)
	if l.timer == nil {
		l.timer = time.AfterFunc(wait, l.tick)
		return
	}
	l.timer.Reset(wait)
}

func (l *cell) disarm() {
	if l.timer != nil {
		l.timer.Stop()
	}
	l.armed = time.Time{}
}

// slowSave is how long a save takes at least when it keeps members from saying that they live: all sessions are longer.
const slowSave = time.Second

// tick lets time pass for the machine. It stands still while members are not answered because the store takes its time.
func (l *cell) tick() {
	l.mu.Lock()
	l.armed = time.Time{}
	now := l.c.Now()
	switch {
	case l.state != loaded:
	case l.saves > 0 && now.Sub(l.began) >= slowSave:
		l.held = true
	default:
		if at := l.group.Deadline(); !at.IsZero() && !at.After(now) {
			var out group.Effects
			l.group.Tick(now, l.c.Cluster.Image(), &out)
			l.effects(&out)
		}
		l.settle()
	}
	l.unlock()
}
