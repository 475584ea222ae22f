package coordinator

import (
	"context"
	"errors"
	"testing"

	"github.com/korvet-io/korvet/internal/group"
	"github.com/korvet-io/korvet/internal/redistest"
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

// What waits for room when its group is deleted joins the next group of that name.
func TestAJoinInFrontOfADeletionBelongsToTheNextGroup(t *testing.T) {
	w := newWorld(t, 1)
	c := w.now()
	if err := commit(c, "g", nobody, offset(0, 1)); err != nil {
		t.Fatal(err)
	}
	slow := &slowStore{Store: w.store, name: "g", call: "room", waiting: make(chan struct{}, 2), letGo: make(chan struct{})}
	c.Store = slow
	joined := join(c, "g", "")
	<-slow.waiting
	deleted := make(chan error, 1)
	go func() { deleted <- c.Delete(context.Background(), "g") }()
	l := c.cell("g")
	redistest.Eventually(t, "the deletion to be queued", func() bool {
		l.mu.Lock()
		defer l.mu.Unlock()
		return l.state == deleting
	})
	close(slow.letGo)
	if err := <-deleted; err != nil {
		t.Errorf("delete: %v", err)
	}
	if r := <-joined; r.Err != nil {
		t.Errorf("join: %v", r.Err)
	}
	if d, err := c.Describe(context.Background(), "g"); err != nil || len(d.Members) != 1 {
		t.Errorf("%+v, %v", d, err)
	}
	if got, err := committed(c, "g", 0); got != -1 || err != nil {
		t.Errorf("an offset of the group that was deleted: %d, %v", got, err)
	}
}
