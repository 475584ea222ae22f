package coordinator

import (
	"context"
	"errors"
	"testing"

	"github.com/korvet-io/korvet/internal/group"
)

func TestAJoinThatTheStoreCannotTakeIsRefusedAndDisturbsNobody(t *testing.T) {
	w := newWorld(t, 1)
	c := w.now()
	m := stableMember(t, c, "g")
	w.store.fault = func(call, _ string) string {
		if call == "room" || call == "save" {
			return "refused"
		}
		return ""
	}
	for _, name := range []string{"g", "new"} {
		if r := <-join(c, name, ""); !errors.Is(r.Err, group.ErrCoordinatorUnavailable) || r.Generation != -1 {
			t.Errorf("join of %s: %+v", name, r)
		}
	}
	if err := beat(c, "g", m); err != nil {
		t.Errorf("the member that is there: %v", err)
	}
	if d, err := c.Describe(context.Background(), "g"); err != nil || d.State != group.Stable || d.Epoch != m.Generation || len(d.Members) != 1 {
		t.Errorf("%+v, %v", d, err)
	}
	w.store.mu.Lock()
	w.store.fault = nil
	w.store.mu.Unlock()
	stableMember(t, c, "new")
	if r := <-join(c, "g", m.MemberID); r.Err != nil {
		t.Errorf("join when there is room: %v", r.Err)
	}
}

func TestAStoreThatDoesNotAnswerKeepsNobodyFromJoining(t *testing.T) {
	w := newWorld(t, 1)
	w.store.fault = func(call, _ string) string {
		if call == "room" {
			return "lost"
		}
		return ""
	}
	stableMember(t, w.now(), "g")
}
