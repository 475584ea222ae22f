package group

import (
	"fmt"
	"maps"
	"slices"
)

// simChecks is what clients were told, to compare with what they are told later. It stays true over the coordinator's death.
type simChecks struct {
	generation int32             // the newest that a client has partitions of
	owners     map[string]string // by generation and partition: who was told to read it
	fenced     map[string]bool   // member ids of instances that have a newer one
	current    map[string]string // member id by instance
}

func newSimChecks() simChecks {
	return simChecks{owners: map[string]string{}, fenced: map[string]bool{}, current: map[string]string{}}
}

// named is for a client that was told its member id.
func (w *simWorld) named(instance, id string) {
	if instance == "" {
		return
	}
	c := &w.checks
	if old := c.current[instance]; old != "" && old != id {
		c.fenced[old] = true
	}
	c.current[instance] = id
}

// assigned is for a client (an instance, or a member) that was told its partitions in a generation.
func (w *simWorld) assigned(who string, generation int32, partitions []byte) {
	c := &w.checks
	if generation < c.generation {
		w.failf("%s has partitions of generation %d after those of %d", who, generation, c.generation)
	}
	c.generation = generation
	for _, p := range partitions {
		key := fmt.Sprint(generation, "/", p)
		if other, ok := c.owners[key]; ok && other != who {
			w.failf("partition %d is %s's and %s's in generation %d", p, other, who, generation)
		}
		c.owners[key] = who
	}
}

// commit asks to commit, and looks whether that may be granted.
func (w *simWorld) commit(r MemberRef) error {
	err := w.g.CheckCommit(w.now, r, true)
	if err != nil {
		return err
	}
	if r.Generation < w.checks.generation {
		w.failf("%s committed for generation %d although %d has partitions", r.MemberID, r.Generation, w.checks.generation)
	}
	if w.checks.fenced[r.MemberID] {
		w.failf("%s committed although it is fenced", r.MemberID)
	}
	return nil
}

// check looks at what must always be so.
func (w *simWorld) check() {
	waiting := len(w.open)
	for _, op := range w.queue {
		waiting -= len(op.out.Joins) + len(op.out.Syncs) + len(op.out.Heartbeats)
	}
	c, ok := w.g.m.(*classicGroup)
	if !ok {
		if waiting != 0 {
			w.failf("%d tickets wait in a group that answers at once", waiting)
		}
		return
	}
	if n := parkedIn(c); n != waiting {
		w.failf("%d tickets wait, the group has %d of them", waiting, n)
	}
	w.checkClassic(c)
}

// parkedIn counts the requests that wait in a group.
func parkedIn(c *classicGroup) int {
	n := 0
	for _, m := range c.list {
		if m.joining.waits {
			n++
		}
		if m.syncing.waits {
			n++
		}
	}
	return n
}

// checkClassic looks at what a classic group keeps.
func (w *simWorld) checkClassic(c *classicGroup) {
	joining, unsynced, names := 0, 0, map[string]int{}
	for _, m := range c.list {
		if m.joining.waits {
			joining++
		}
		if m.unsynced {
			unsynced++
		}
		for _, p := range m.protocols {
			names[p.Name]++
		}
		if c.byID[m.id] != m || m.instance != "" && c.static[m.instance] != m {
			w.failf("%s is not found by its id", m.id)
		}
	}
	if joining != c.joining || unsynced != c.unsynced || !maps.Equal(names, c.names) || len(c.byID) != len(c.list) {
		w.failf("counted wrongly: %d joining of %d, %d unsynced of %d, %v of %v", c.joining, joining, c.unsynced, unsynced, c.names, names)
	}
	if (c.state == Empty) != (len(c.list) == 0) || (c.leader == "") != (len(c.list) == 0) {
		w.failf("%s with %d members and leader %q", c.state, len(c.list), c.leader)
	}
	if len(c.list) > 2*simMaxSize || len(c.static) > len(c.list) || len(c.saved.members) > 2*simMaxSize {
		w.failf("%d members", len(c.list))
	}
	exact := *c
	exact.rearm()
	if !exact.next.IsZero() && (c.next.IsZero() || c.next.After(exact.next)) {
		w.failf("the deadline is %v, not %v", c.next, exact.next)
	}
}

// unhealed says what is missing in a group whose clients all behave: all that are left read, and everything is read.
func (w *simWorld) unhealed() string {
	d := w.g.Describe()
	if len(d.Members) != w.living() {
		return fmt.Sprintf("%d clients live, but the group has %d members", w.living(), len(d.Members))
	}
	if len(d.Members) == 0 {
		return ""
	}
	if d.State != Stable {
		return fmt.Sprintf("the group is %s", d.State)
	}
	var all []byte
	for _, m := range w.members {
		if !m.alive() {
			continue
		}
		generation, ps := m.holds()
		if d.Type == Classic && generation != d.Epoch {
			return fmt.Sprintf("%v is in generation %d of %d", m, generation, d.Epoch)
		}
		all = append(all, ps...)
	}
	slices.Sort(all)
	if string(all) != string(partitionBytes(simPartitions)) {
		return fmt.Sprintf("partitions %v are read", all)
	}
	return ""
}

// partitionBytes are the numbers of n partitions.
func partitionBytes(n int) []byte {
	ps := make([]byte, n)
	for i := range ps {
		ps[i] = byte(i)
	}
	return ps
}

// unfinished says what is left of a group that everybody left.
func (w *simWorld) unfinished() string {
	switch s := w.g.Describe().State; {
	case s != Empty || len(w.open) > 0:
		return fmt.Sprintf("all left, but the group is %s with %d open tickets", s, len(w.open))
	case len(w.st.Members) != 0:
		return fmt.Sprintf("all left, but %d members are stored", len(w.st.Members))
	case !w.g.Deadline().IsZero():
		return fmt.Sprintf("all left, but something is due at %v", w.g.Deadline())
	}
	return ""
}
