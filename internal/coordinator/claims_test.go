package coordinator

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/korvet-io/korvet/internal/group"
	"github.com/korvet-io/korvet/internal/redistest"
)

// failing has every call of one kind end in one way.
func failing(call, how string) func(string, string) string {
	return func(what, _ string) string {
		if what == call {
			return how
		}
		return ""
	}
}

func (s *memStore) setFault(f func(call, name string) string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.fault = f
}

// The first commit of a group claims it and may be lost then. Who reads the group next is not sent on to another broker,
// which would never end: there is none.
func TestAGroupThatWasClaimedAndNothingMoreHasNoOffsets(t *testing.T) {
	w := newWorld(t, 1)
	w.store.setFault(failing("commit", "lost"))
	if err := commit(w.now(), "g", nobody, offset(0, 1)); !errors.Is(err, group.ErrCoordinatorUnavailable) {
		t.Fatalf("a commit whose outcome is not known: %v", err)
	}
	w.store.setFault(nil)
	if got, err := committed(w.now(), "g", 0); got != -1 || err != nil {
		t.Errorf("committed %d, %v", got, err)
	}
	must(t, commit(w.now(), "g", nobody, offset(0, 2)))
	if got, err := committed(w.now(), "g", 0); got != 2 || err != nil {
		t.Errorf("committed %d, %v", got, err)
	}
}

// As when the last offset was deleted and the broker stopped before it looked for groups of which nothing is left.
func TestGroupsOfWhichOnlyTheClaimIsLeftAreRemovedAtTheStart(t *testing.T) {
	redis := redistest.Start(t)
	s := storeOf(t, redis)
	claimed(t, s, "nothing")
	token, _ := claimed(t, s, "offsets")
	mustStore(t, s.Commit(t.Context(), "offsets", token, []Offset{someOffset(0, 1)}, nil))
	w := newWorld(t, 1)
	w.now().Store = s
	w.now().catchUp(t.Context())
	w.now().wg.Wait()
	if names, err := s.Names(t.Context()); err != nil || len(names) != 1 || names[0] != "offsets" {
		t.Errorf("names %q, %v, want that of the group with offsets", names, err)
	}
	left := redis.Do("EXISTS", s.commitsKey("nothing"), s.groupKey("nothing"))
	if n, err := left.AsInt64(); n != 0 || err != nil {
		t.Errorf("%d keys are left, %v", n, err)
	}
}

func TestSessionsBeginWhenAGroupIsLoadedHoweverLongThatTook(t *testing.T) {
	w := newWorld(t, 1)
	m := stableMember(t, w.now(), "g")
	w.all[0] = w.start(0)
	w.store.setFault(func(call, _ string) string {
		if call == "claim" {
			w.clock.forward(time.Minute)
		}
		return ""
	})
	if err := beat(w.now(), "g", m); err != nil {
		t.Errorf("heartbeat: %v", err)
	}
}

func TestAQuestionThatIsNotAnsweredLeavesTheGroupAsItIs(t *testing.T) {
	w := newWorld(t, 1)
	c := w.now()
	m := stableMember(t, c, "g")
	waiting := join(c, "g", "")
	rebalancing(t, c, "g")
	w.store.setFault(failing("holds", "lost"))
	if _, err := committed(c, "g", 0); !errors.Is(err, group.ErrCoordinatorUnavailable) {
		t.Errorf("committed: %v", err)
	}
	if err := beat(c, "g", m); !errors.Is(err, group.ErrRebalanceInProgress) {
		t.Errorf("heartbeat: %v, want the rebalance to go on", err)
	}
	select {
	case r := <-waiting:
		t.Errorf("the newcomer, who waits for the rebalance: %+v", r)
	default:
	}
}

// What waits for a group that is being loaded and is behind its deletion gets to its next life, as it does later on.
func TestRequestsBehindADeletionGetToTheNextLife(t *testing.T) {
	w := newWorld(t, 1)
	must(t, commit(w.now(), "g", nobody, offset(0, 5)))
	w.all[0].Close(context.Background())
	w.all[0] = w.start(0)
	c := w.now()
	slow := &slowStore{Store: w.store, name: "g", call: "exists", waiting: make(chan struct{}, 2), letGo: make(chan struct{})}
	c.Store = slow
	c.Heartbeat("g", nobody, func(error) {})
	<-slow.waiting
	deleted, again := make(chan error, 1), make(chan error, 1)
	c.with("g", func(l *cell, err error) { l.remove(func(err error) { deleted <- err }) })
	c.Commit("g", CommitRequest{Member: nobody, Offsets: []Offset{offset(1, 1)}}, func(err error) { again <- err })
	close(slow.letGo)
	if err := <-deleted; err != nil {
		t.Errorf("delete: %v", err)
	}
	if err := <-again; err != nil {
		t.Errorf("commit: %v", err)
	}
	if got, err := committed(c, "g", 0); got != -1 || err != nil {
		t.Errorf("committed before the deletion: %d, %v", got, err)
	}
	if got, err := committed(c, "g", 1); got != 1 || err != nil {
		t.Errorf("committed after the deletion: %d, %v", got, err)
	}
}

func TestMembersThatCannotBeReadCostTheGroupNoOffsets(t *testing.T) {
	w := newWorld(t, 1)
	m := stableMember(t, w.now(), "g")
	must(t, commit(w.now(), "g", m, offset(0, 5)))
	w.store.mu.Lock()
	w.store.groups["g"].members["broken"] = []byte("{")
	w.store.mu.Unlock()
	w.all[0] = w.start(0)
	if got, err := committed(w.now(), "g", 0); got != 5 || err != nil {
		t.Errorf("committed %d, %v", got, err)
	}
	if err := beat(w.now(), "g", m); !errors.Is(err, group.ErrUnknownMember) {
		t.Errorf("heartbeat: %v, want the member to join again", err)
	}
	next := stableMember(t, w.now(), "g")
	if next.Generation <= m.Generation {
		t.Errorf("generation %d after %d", next.Generation, m.Generation)
	}
	w.all[0] = w.start(0)
	if err := beat(w.now(), "g", next); err != nil {
		t.Errorf("heartbeat after another restart: %v", err)
	}
}
