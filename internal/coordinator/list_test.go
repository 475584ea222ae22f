package coordinator

import (
	"context"
	"errors"
	"testing"

	"github.com/korvet-io/korvet/internal/group"
)

// names lists the groups of a coordinator.
func names(t *testing.T, c *Coordinator) []string {
	t.Helper()
	list, err := c.List(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	var ids []string
	for i := range list {
		ids = append(ids, list[i].ID)
	}
	return ids
}

func TestAGroupThatWasGivenUpIsListedAgainOnceItIsLoaded(t *testing.T) {
	w := newWorld(t, 1)
	c := w.now()
	must(t, commit(c, "g", nobody, offset(0, 1)))
	c.catchUp(context.Background())
	if got := names(t, c); len(got) != 1 {
		t.Fatalf("groups %q", got)
	}
	w.store.setFault(failing("commit", "lost"))
	_ = commit(c, "g", nobody, offset(0, 2))
	w.store.setFault(nil)
	if list, err := c.List(context.Background()); !errors.Is(err, group.ErrLoading) {
		t.Errorf("groups %v, %v while one is not known", list, err)
	}
	c.catchUp(context.Background())
	if got := names(t, c); len(got) != 1 || got[0] != "g" {
		t.Errorf("groups %q", got)
	}
}

func TestTheGroupsOfABrokerThatDiedAreListedByTheOneThatTakesThemOver(t *testing.T) {
	w := newWorld(t, 2)
	ctx := context.Background()
	for _, c := range w.all {
		c.catchUp(ctx)
	}
	must(t, commit(w.all[0], "g", nobody, offset(0, 1)))
	w.owner.Store(1)
	if list, err := w.all[1].List(ctx); !errors.Is(err, group.ErrLoading) {
		t.Errorf("groups %v, %v before they were looked at", list, err)
	}
	w.all[1].catchUp(ctx)
	if got := names(t, w.all[1]); len(got) != 1 || got[0] != "g" {
		t.Errorf("groups %q", got)
	}
}

// One group that cannot be read, whatever somebody did to it, is left out after a while.
func TestAGroupThatCannotBeReadDoesNotKeepTheOthersFromBeingListed(t *testing.T) {
	w := newWorld(t, 1)
	must(t, commit(w.now(), "bad", nobody, offset(0, 1)))
	must(t, commit(w.now(), "good", nobody, offset(0, 1)))
	w.all[0] = w.start(0)
	w.store.setFault(func(call, name string) string {
		if call == "claim" && name == "bad" {
			return "refused"
		}
		return ""
	})
	c := w.now()
	looks := 0
	for ; !c.listed(); looks++ {
		if looks > 3*maxSkip {
			t.Fatal("the groups are never listed")
		}
		c.catchUp(context.Background())
	}
	if looks < maxSkip {
		t.Errorf("it is left out after %d looks", looks)
	}
	if got := names(t, c); len(got) != 1 || got[0] != "good" {
		t.Errorf("groups %q", got)
	}
}
