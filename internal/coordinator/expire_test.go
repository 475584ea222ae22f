package coordinator

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/korvet-io/korvet/internal/group"
	"github.com/korvet-io/korvet/internal/metadata"
)

// expire lets the retention be looked at and waits until what it queued is stored.
func expire(w *world) {
	w.now().Expire()
	w.now().wg.Wait()
}

func TestOffsetsOfSimpleConsumersExpireFromTheirCommit(t *testing.T) {
	w := newWorld(t, 1)
	c := w.now()
	must(t, commit(c, "g", nobody, offset(0, 1), offset(1, 1)))
	w.clock.forward(40 * time.Minute)
	must(t, commit(c, "g", nobody, offset(1, 2))) // kept alive
	w.clock.forward(30 * time.Minute)
	expire(w)
	if got, _ := committed(c, "g", 0); got != -1 {
		t.Errorf("partition 0: %d after its retention", got)
	}
	if got, _ := committed(c, "g", 1); got != 2 {
		t.Errorf("partition 1: %d, want 2", got)
	}
	w.clock.forward(31 * time.Minute)
	expire(w)
	if _, err := c.Describe(context.Background(), "g"); !errors.Is(err, group.ErrNotFound) {
		t.Errorf("the group without offsets and members: %v", err)
	}
	if len(w.store.groups) != 0 {
		t.Error("it is still stored")
	}
}

func TestOffsetsOfMembersExpireFromTheGroupsEnd(t *testing.T) {
	w := newWorld(t, 1)
	c := w.now()
	m := stableMember(t, c, "g") // subscribed to nothing: its topics are none
	must(t, commit(c, "g", m, offset(0, 1)))
	for range 12 { // it lives on for two hours
		w.clock.forward(9 * time.Second)
		must(t, beat(c, "g", m))
	}
	c.Leave("g", []group.LeavingMember{{MemberID: m.MemberID}}, func([]group.LeftMember, error) {})
	c.wg.Wait()
	w.clock.forward(59 * time.Minute)
	expire(w)
	if got, _ := committed(c, "g", 0); got != 1 {
		t.Errorf("%d within the retention after the end", got)
	}
	w.clock.forward(2 * time.Minute)
	expire(w)
	if got, _ := committed(c, "g", 0); got != -1 {
		t.Errorf("%d after it", got)
	}
}

func TestRetentionOfAnEmptyGroupRunsOnOverARestart(t *testing.T) {
	w := newWorld(t, 1)
	m := stableMember(t, w.now(), "g")
	must(t, commit(w.now(), "g", m, offset(0, 1)))
	w.now().Leave("g", []group.LeavingMember{{MemberID: m.MemberID}}, func([]group.LeftMember, error) {})
	w.now().wg.Wait()
	w.clock.forward(59 * time.Minute)
	w.all[0].Close(context.Background())
	w.all[0] = w.start(0)
	w.all[0].catchUp(context.Background())
	w.clock.forward(2 * time.Minute)
	expire(w)
	if got, _ := committed(w.now(), "g", 0); got != -1 {
		t.Errorf("%d after the retention", got)
	}
}

func TestAnOffsetWithItsOwnRetentionFollowsThat(t *testing.T) {
	w := newWorld(t, 1)
	o := offset(0, 1)
	o.ExpireMs = w.clock.Now().Add(time.Second).UnixMilli()
	must(t, commit(w.now(), "g", nobody, o))
	expire(w)
	if got, _ := committed(w.now(), "g", 0); got != 1 {
		t.Errorf("%d before its time", got)
	}
	w.clock.forward(time.Second)
	expire(w)
	if got, _ := committed(w.now(), "g", 0); got != -1 {
		t.Errorf("%d after its time", got)
	}
}

func TestOffsetsOfTopicsThatAreGoneGo(t *testing.T) {
	w := newWorld(t, 1)
	must(t, commit(w.now(), "g", nobody, offset(0, 1)))
	w.setTopics(&metadata.Topic{Name: "t", ID: uuid.MustParse("01900000-0000-7000-8000-000000000002"), Partitions: 8})
	expire(w)
	if got, _ := committed(w.now(), "g", 0); got != -1 {
		t.Errorf("%d of an earlier life of the topic", got)
	}
}

func TestGroupsAreListedOnceAllAreLoaded(t *testing.T) {
	w := newWorld(t, 1)
	for _, name := range []string{"b", "a", "c"} {
		must(t, commit(w.now(), name, nobody, offset(0, 1)))
	}
	w.all[0].Close(context.Background())
	w.all[0] = w.start(0)
	if _, err := w.now().List(context.Background()); !errors.Is(err, group.ErrLoading) {
		t.Errorf("before: %v", err)
	}
	w.now().catchUp(context.Background())
	list, err := w.now().List(context.Background())
	if err != nil || len(list) != 3 || list[0].ID != "a" || list[2].ID != "c" {
		t.Errorf("%+v, %v", list, err)
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
