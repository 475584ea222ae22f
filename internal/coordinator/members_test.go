package coordinator

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/korvet-io/korvet/internal/group"
	"github.com/korvet-io/korvet/internal/redistest"
)

// join, sync, beat and leave are one request each, answered or not.
func join(c *Coordinator, name, member string) <-chan group.JoinResponse {
	answer := make(chan group.JoinResponse, 1)
	c.Join(name, group.JoinRequest{
		MemberID: member, Client: group.Client{ID: "c", Host: "/127.0.0.1"}, Session: 10 * time.Second, Rebalance: 20 * time.Second,
		Type: "consumer", Protocols: []group.Protocol{{Name: "range", Metadata: []byte{0, 0, 0, 0, 0, 0, 0xff, 0xff, 0xff, 0xff}}},
	}, func(r group.JoinResponse) { answer <- r })
	return answer
}

func syncGroup(c *Coordinator, name string, m group.MemberRef, assignments map[string][]byte) <-chan group.SyncResponse {
	answer := make(chan group.SyncResponse, 1)
	c.Sync(name, group.SyncRequest{MemberRef: m, Assignments: assignments}, func(r group.SyncResponse) { answer <- r })
	return answer
}

// rebalancing waits until a join has begun a rebalance: it asks the store for room first.
func rebalancing(t *testing.T, c *Coordinator, name string) {
	t.Helper()
	redistest.Eventually(t, "a rebalance to begin", func() bool {
		d, err := c.Describe(context.Background(), name)
		return err == nil && d.State == group.PreparingRebalance
	})
}

func beat(c *Coordinator, name string, m group.MemberRef) error {
	_, err := await(context.Background(), func(done func(struct{}, error)) {
		c.Heartbeat(name, m, func(err error) { done(struct{}{}, err) })
	})
	return err
}

// stableMember brings a group with one member to Stable.
func stableMember(t *testing.T, c *Coordinator, name string) group.MemberRef {
	t.Helper()
	joined := <-join(c, name, "")
	if joined.Err != nil {
		t.Fatal(joined.Err)
	}
	m := group.MemberRef{MemberID: joined.MemberID, Generation: joined.Generation}
	synced := <-syncGroup(c, name, m, map[string][]byte{m.MemberID: {1, 2, 3}})
	if synced.Err != nil || string(synced.Assignment) != "\x01\x02\x03" {
		t.Fatalf("sync: %+v", synced)
	}
	return m
}

func TestMembersGoOnAfterARestartOfTheBroker(t *testing.T) {
	w := newWorld(t, 1)
	m := stableMember(t, w.now(), "g")
	if err := commit(w.now(), "g", m, offset(0, 7)); err != nil {
		t.Fatal(err)
	}
	w.all = append(w.all, w.start(0)) // the old one was killed: it is not closed
	c := w.all[1]
	if err := beat(c, "g", m); err != nil {
		t.Errorf("heartbeat: %v", err)
	}
	if err := commit(c, "g", m, offset(0, 8)); err != nil {
		t.Errorf("commit: %v", err)
	}
	if d, err := c.Describe(context.Background(), "g"); err != nil || d.State != group.Stable || d.Epoch != m.Generation || len(d.Members) != 1 {
		t.Errorf("after the restart: %+v, %v", d, err)
	}
	if err := commit(w.all[0], "g", m, offset(0, 9)); !errors.Is(err, group.ErrNotCoordinator) {
		t.Errorf("the broker that was replaced commits: %v", err)
	}
	if got, err := committed(c, "g", 0); got != 8 || err != nil {
		t.Errorf("committed %d, %v", got, err)
	}
}

func TestACoordinatorThatWasReplacedCompletesNoRebalance(t *testing.T) {
	w := newWorld(t, 1)
	old := w.now()
	m := stableMember(t, old, "g")
	w.all = append(w.all, w.start(0))
	if err := beat(w.all[1], "g", m); err != nil { // it claims the group
		t.Fatal(err)
	}
	again := <-join(old, "g", m.MemberID) // the leader has all join again
	if again.Err != nil {
		t.Fatal(again.Err)
	}
	late := group.MemberRef{MemberID: m.MemberID, Generation: again.Generation}
	if r := <-syncGroup(old, "g", late, map[string][]byte{m.MemberID: {9}}); !errors.Is(r.Err, group.ErrNotCoordinator) || r.Assignment != nil {
		t.Errorf("the old coordinator's sync: %+v", r)
	}
	if err := commit(w.all[1], "g", late, offset(0, 1)); !errors.Is(err, group.ErrIllegalGeneration) {
		t.Errorf("a commit of a generation that was never stored: %v", err)
	}
	if err := beat(w.all[1], "g", m); err != nil {
		t.Errorf("heartbeat: %v", err)
	}
}

func TestASyncIsAnsweredOnlyWhenItIsStored(t *testing.T) {
	w := newWorld(t, 1)
	c := w.now()
	joined := <-join(c, "g", "")
	m := group.MemberRef{MemberID: joined.MemberID, Generation: joined.Generation}
	saving, goOn := make(chan struct{}), make(chan struct{})
	w.store.fault = func(call, _ string) string {
		if call == "save" {
			close(saving)
			<-goOn
			return "done" // and the answer is lost
		}
		return ""
	}
	answer := syncGroup(c, "g", m, map[string][]byte{m.MemberID: {1}})
	<-saving
	select {
	case r := <-answer:
		t.Fatalf("answered before it was stored: %+v", r)
	default:
	}
	close(goOn)
	if r := <-answer; !errors.Is(r.Err, group.ErrCoordinatorUnavailable) || r.Assignment != nil {
		t.Errorf("%+v", r)
	}
	w.store.mu.Lock()
	w.store.fault = nil
	w.store.mu.Unlock()
	if r := <-syncGroup(c, "g", m, nil); r.Err != nil || string(r.Assignment) != "\x01" {
		t.Errorf("what was stored after all: %+v", r)
	}
}

func TestMembersThatWaitAreAnsweredWhenTheBrokerStops(t *testing.T) {
	w := newWorld(t, 1)
	c := w.now()
	m := stableMember(t, c, "g")
	waiting := join(c, "g", "") // waits for m to join again
	rebalancing(t, c, "g")
	select {
	case r := <-waiting:
		t.Fatalf("answered at once: %+v", r)
	default:
	}
	c.Close(context.Background())
	if r := <-waiting; !errors.Is(r.Err, group.ErrNotCoordinator) {
		t.Errorf("%+v", r)
	}
	if err := beat(c, "g", m); !errors.Is(err, group.ErrNotCoordinator) {
		t.Errorf("heartbeat after the end: %v", err)
	}
	if r := <-join(c, "other", ""); !errors.Is(r.Err, group.ErrNotCoordinator) {
		t.Errorf("join after the end: %+v", r)
	}
}

func TestSilentMembersGoWithoutAnyRequest(t *testing.T) {
	w := newWorld(t, 1)
	c := w.now()
	stableMember(t, c, "g")
	w.clock.forward(time.Minute)
	for _, l := range c.all() {
		l.tick() // as its timer does
	}
	c.wg.Wait()
	if d, err := c.Describe(context.Background(), "g"); err != nil || d.State != group.Empty {
		t.Errorf("%+v, %v", d, err)
	}
	w.all = append(w.all, w.start(0))
	if d, err := w.all[1].Describe(context.Background(), "g"); err != nil || d.State != group.Empty {
		t.Errorf("after a restart: %+v, %v", d, err)
	}
}

func TestLeavingIsStoredBeforeItIsAnswered(t *testing.T) {
	w := newWorld(t, 1)
	c := w.now()
	m := stableMember(t, c, "g")
	left, err := await(context.Background(), func(done func([]group.LeftMember, error)) {
		c.Leave("g", []group.LeavingMember{{MemberID: m.MemberID}, {MemberID: "nobody"}}, done)
	})
	if err != nil || len(left) != 2 || left[0].Err != nil || !errors.Is(left[1].Err, group.ErrUnknownMember) {
		t.Fatalf("%+v, %v", left, err)
	}
	w.all = append(w.all, w.start(0))
	if err := beat(w.all[1], "g", m); !errors.Is(err, group.ErrUnknownMember) {
		t.Errorf("heartbeat of a member that left: %v", err)
	}
}
