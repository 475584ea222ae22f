package group

import (
	"fmt"
	"math/rand/v2"
	"os"
	"strings"
	"testing"
	"time"
)

// The simulation: clients of a group come, go, crash, fall silent and change their minds; the coordinator dies before,
// while and after it stores; time passes. After each step the promises of sim_check_test.go are looked at. Then the clients
// that are left behave, and the group has to become stable.

const (
	simPartitions = 6
	simMaxSize    = 8
	simStep       = 500 * time.Millisecond
	// simHeal is how long a group may take to become stable: a rebalance that members do not join, one that they do not
	// sync, and their sessions, all of them at their longest.
	simHeal = 3 * time.Minute
)

// simMember is a client in the simulation, of either protocol.
type simMember interface {
	// act lets the client do what is due now.
	act(w *simWorld)
	// disturb has something happen to it, or makes it do something that clients that just consume do not do.
	disturb(w *simWorld)
	// answer gives it the answer to a ticket: a JoinResponse, a SyncResponse or a HeartbeatResponse.
	answer(w *simWorld, to Ticket, a any)
	// alive tells whether it still takes part, or will again without being told to.
	alive() bool
	// holds are the partitions it reads, and the generation they are of.
	holds() (generation int32, partitions []byte)
	// leave has it leave the group in order.
	leave(w *simWorld)
	String() string
}

// simWorld is one group, its clients, and the coordinator around it.
type simWorld struct {
	rng     *rand.Rand
	set     Settings
	g       *Group
	img     Image
	now     time.Time
	members []simMember
	spawn   func(w *simWorld) simMember

	last  Ticket
	ids   int
	open  map[Ticket]simMember // tickets whose answers were not given
	queue []simOp              // what is not stored yet, in order
	st    Stored
	calm  bool // saves are stored at once, and nothing bad happens

	checks simChecks
	trace  []string
	failed string
}

// simOp is a save and the answers that wait for it.
type simOp struct {
	save *Changes
	out  Effects
}

func newSimWorld(seed uint64, spawn func(*simWorld) simMember) *simWorld {
	w := &simWorld{
		rng: rand.New(rand.NewPCG(seed, 1)), now: epoch, spawn: spawn, open: map[Ticket]simMember{}, checks: newSimChecks(),
	}
	w.set = Settings{
		MinSession: 6 * time.Second, MaxSession: 30 * time.Minute, MaxSize: simMaxSize,
		NewID: func() string { w.ids++; return fmt.Sprint("id", w.ids) },
	}
	if w.chance(2) {
		w.set.InitialDelay = 3 * time.Second
	}
	w.g = New("g", &w.set, w.now)
	return w
}

// chance is true once in n times.
func (w *simWorld) chance(n int) bool { return w.rng.IntN(n) == 0 }

func (w *simWorld) between(a, b time.Duration) time.Duration {
	return a + time.Duration(w.rng.Int64N(int64(b-a)))
}

func (w *simWorld) logf(format string, args ...any) {
	if len(w.trace) > 400 {
		w.trace = w.trace[200:]
	}
	w.trace = append(w.trace, fmt.Sprintf("%7.1fs %s", w.now.Sub(epoch).Seconds(), fmt.Sprintf(format, args...)))
}

// failf tells of a broken promise. The first one counts.
func (w *simWorld) failf(format string, args ...any) {
	if w.failed == "" {
		w.failed = fmt.Sprintf(format, args...)
		w.logf("FAILED: %s", w.failed)
	}
}

func (w *simWorld) ticket(m simMember) Ticket {
	w.last++
	w.open[w.last] = m
	return w.last
}

// apply takes the effects of an event: they wait for what is to be stored before.
func (w *simWorld) apply(out *Effects) {
	w.queue = append(w.queue, simOp{save: out.Save, out: *out})
	if w.calm {
		w.store(len(w.queue))
	}
}

// store stores the first n of what waits and gives the answers.
func (w *simWorld) store(n int) {
	ops := w.queue[:n]
	w.queue = w.queue[n:]
	for _, op := range ops {
		w.keep(op)
		w.give(&op.out)
	}
}

func (w *simWorld) keep(op simOp) {
	if op.save != nil {
		w.st = storeChanges(w.st, op.save)
	}
}

// give gives clients their answers. They may act on them, which can lead to further answers.
func (w *simWorld) give(out *Effects) {
	for _, a := range out.Joins {
		w.deliver(a.To, a.JoinResponse)
	}
	for _, a := range out.Syncs {
		w.deliver(a.To, a.SyncResponse)
	}
	for _, a := range out.Heartbeats {
		w.deliver(a.To, a.HeartbeatResponse)
	}
}

func (w *simWorld) deliver(to Ticket, a any) {
	m := w.open[to]
	if m == nil {
		w.failf("ticket %d was answered twice, or never given", to)
		return
	}
	delete(w.open, to)
	m.answer(w, to, a)
}

// die ends the coordinator, with some of what waits stored, and starts another one. No client gets what was not stored, nor
// all of what was.
func (w *simWorld) die() {
	stored := w.rng.IntN(len(w.queue) + 1)
	w.logf("the coordinator dies with %d of %d stored", stored, len(w.queue))
	var lost Effects
	for i, op := range w.queue {
		if i < stored {
			w.keep(op)
		}
		lost.Joins = append(lost.Joins, op.out.Joins...)
		lost.Syncs = append(lost.Syncs, op.out.Syncs...)
		lost.Heartbeats = append(lost.Heartbeats, op.out.Heartbeats...)
	}
	w.queue = nil
	w.g.Abandon(&lost)
	g, err := Restore("g", &w.set, w.st, w.now)
	if err != nil {
		w.failf("restore: %v", err)
		return
	}
	w.g = g
	for i := range lost.Joins {
		lost.Joins[i].JoinResponse = JoinResponse{Err: ErrCoordinatorUnavailable}
	}
	for i := range lost.Syncs {
		lost.Syncs[i].SyncResponse = SyncResponse{Err: ErrCoordinatorUnavailable}
	}
	for i := range lost.Heartbeats {
		lost.Heartbeats[i].HeartbeatResponse = HeartbeatResponse{Err: ErrCoordinatorUnavailable}
	}
	open := len(w.open)
	if n := len(lost.Joins) + len(lost.Syncs) + len(lost.Heartbeats); n != open {
		w.failf("%d tickets were open, %d were answered in the end", open, n)
	}
	w.give(&lost)
}

// step lets some time pass and the clients act.
func (w *simWorld) step(d time.Duration) {
	w.now = w.now.Add(d)
	if at := w.g.Deadline(); !at.IsZero() && !at.After(w.now) {
		var out Effects
		w.g.Tick(w.now, w.img, &out)
		w.apply(&out)
	}
	for _, m := range w.members {
		m.act(w)
		w.check()
	}
	if len(w.queue) > 0 && w.chance(2) {
		w.store(1 + w.rng.IntN(len(w.queue)))
	}
	w.check()
}

// misfortune has something happen that is not part of consuming in peace.
func (w *simWorld) misfortune() {
	switch n := w.rng.IntN(20); {
	case n == 0:
		w.die()
	case n < 4 && w.living() < simMaxSize:
		m := w.spawn(w)
		w.logf("%v starts", m)
		w.members = append(w.members, m)
	case n < 10 && len(w.members) > 0:
		w.members[w.rng.IntN(len(w.members))].disturb(w)
	}
	w.check()
}

func (w *simWorld) living() int {
	n := 0
	for _, m := range w.members {
		if m.alive() {
			n++
		}
	}
	return n
}

// run goes through a simulation and returns what promise was broken, if one was.
func (w *simWorld) run(steps int) string {
	for range steps {
		w.misfortune()
		w.step(w.between(0, 2*time.Second))
		if w.failed != "" {
			return w.failed
		}
	}
	w.calm = true
	w.logf("all is well from now on")
	w.store(len(w.queue))
	w.until(w.unhealed)
	for _, m := range w.members {
		m.leave(w)
	}
	w.store(len(w.queue))
	w.until(w.unfinished)
	return w.failed
}

// until lets time pass until nothing is missing any more, for as long as simHeal.
func (w *simWorld) until(missing func() string) {
	for end := w.now.Add(simHeal); w.failed == ""; w.step(simStep) {
		what := missing()
		if what == "" {
			return
		}
		if w.now.After(end) {
			w.failf("%s", what)
		}
	}
}

func simulate(t *testing.T, spawn func(*simWorld) simMember) {
	t.Helper()
	seeds, steps := 300, 150
	if os.Getenv("KORVET_TEST_LONG") != "" {
		seeds, steps = 5_000, 300
	}
	for seed := range uint64(seeds) {
		w := newSimWorld(seed, spawn)
		if broken := w.run(steps); broken != "" {
			t.Fatalf("seed %d: %s\n%s", seed, broken, strings.Join(w.trace, "\n"))
		}
	}
}

func TestClassicGroupsKeepTheirPromisesInASimulation(t *testing.T) {
	simulate(t, func(w *simWorld) simMember { return newSimClassic(w) })
}
