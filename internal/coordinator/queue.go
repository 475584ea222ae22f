package coordinator

import (
	"errors"
	"log/slog"
	"maps"
	"slices"

	"github.com/korvet-io/korvet/internal/group"
	"github.com/korvet-io/korvet/internal/metadata"
)

// op is something of a group that is to be stored, or answers that wait for what was queued before.
type op struct {
	set    []Offset         // a commit
	gone   []TopicPartition // offsets to remove
	save   *group.Changes
	remove bool                     // the whole group
	check  bool                     // nothing is stored: only that the claim is still the newest
	done   func(l *cell, err error) // called once, with the lock held
}

func (o *op) commits() bool { return len(o.set) > 0 || len(o.gone) > 0 }
func (o *op) writes() bool  { return o.commits() || o.save != nil || o.remove }

// most offsets that are stored at once; a larger commit goes alone.
const maxBatch = 10_000

// push queues something to be stored.
func (l *cell) push(o *op) {
	if o.save != nil {
		l.saves++
	}
	l.queue = append(l.queue, o)
	if !l.writing {
		l.writing = true
		l.c.wg.Add(1)
		go l.write()
	}
}

// write stores the queue until it is empty.
func (l *cell) write() {
	defer l.c.wg.Done()
	for {
		l.mu.Lock()
		batch := l.take()
		if len(batch) == 0 { // the cell was given up
			l.writing = false
			l.mu.Unlock()
			return
		}
		l.began = l.c.Now()
		claimed, token := l.claimed, l.token
		l.mu.Unlock()
		err := l.store(claimed, token, batch)
		l.mu.Lock()
		l.stored(batch, err)
		if len(l.queue) == 0 {
			l.writing = false
			l.settle()
			l.unlock()
			return
		}
		l.unlock()
	}
}

// take takes what is stored next off the queue: commits that follow each other, saves that do, or one other thing.
func (l *cell) take() []*op {
	n, offsets := 0, 0
	for n < len(l.queue) {
		o := l.queue[n]
		if n > 0 && (!together(l.queue[0], o) || offsets+len(o.set)+len(o.gone) > maxBatch) {
			break
		}
		offsets += len(o.set) + len(o.gone)
		n++
	}
	batch := l.queue[:n:n]
	if l.queue = l.queue[n:]; len(l.queue) == 0 {
		l.queue = nil
	}
	return batch
}

func together(a, b *op) bool {
	switch {
	case a.remove || b.remove:
		return false
	case a.commits():
		return b.commits()
	default: // saves, and answers that wait for them
		return !b.commits()
	}
}

// store stores a batch, claiming the group before if it is new.
func (l *cell) store(claimed bool, token Token, batch []*op) error {
	c := l.c
	if !batch[0].commits() && !batch[0].remove && changesOf(batch) == nil {
		return l.check(claimed, token, batch)
	}
	if !claimed {
		var err error
		if token, err = l.claimNew(); err != nil {
			return err
		}
	}
	began := c.Now()
	switch {
	case batch[0].remove:
		return c.Store.Delete(c.work, l.name, token)
	case batch[0].commits():
		set, gone := offsetsOf(batch)
		err := c.Store.Commit(c.work, l.name, token, set, gone)
		c.Observer.Committed(len(set), c.Now().Sub(began), err)
		return err
	default:
		err := c.Store.Save(c.work, l.name, token, changesOf(batch))
		c.Observer.Saved(c.Now().Sub(began), err)
		return err
	}
}

// check makes sure that the group is this broker's still, if one of the batch asks for that. Of a group that was not there
// nothing may be stored by now; a claim without more is no other broker's work: it is left by one whose next step failed.
func (l *cell) check(claimed bool, token Token, batch []*op) error {
	if !slices.ContainsFunc(batch, func(o *op) bool { return o.check }) {
		return nil
	}
	if claimed {
		return l.c.Store.Holds(l.c.work, l.name, token)
	}
	there, err := l.c.Store.Exists(l.c.work, l.name)
	if err == nil && there {
		err = ErrStale
	}
	return err
}

// claimNew claims a group that nothing was stored of. If something is by now, this cell's picture of it is wrong.
func (l *cell) claimNew() (Token, error) {
	token, found, err := l.c.Store.Claim(l.c.work, l.name)
	if err != nil {
		return 0, err
	}
	if found.Group.Group != nil || len(found.Offsets) > 0 {
		return 0, ErrStale
	}
	l.mu.Lock()
	l.token, l.claimed = token, true
	l.mu.Unlock()
	return token, nil
}

// offsetsOf joins commits: of several for one partition the last counts.
func offsetsOf(batch []*op) (set []Offset, gone []TopicPartition) {
	if len(batch) == 1 {
		return batch[0].set, batch[0].gone
	}
	last := map[TopicPartition]*Offset{} // nil: removed
	for _, o := range batch {
		for i := range o.set {
			last[o.set[i].TopicPartition] = &o.set[i]
		}
		for _, p := range o.gone {
			last[p] = nil
		}
	}
	for p, o := range last {
		if o == nil {
			gone = append(gone, p)
		} else {
			set = append(set, *o)
		}
	}
	return set, gone
}

// changesOf joins saves; nil when there are none.
func changesOf(batch []*op) *group.Changes {
	var all *group.Changes
	for _, o := range batch {
		switch {
		case o.save == nil:
		case all == nil:
			all = o.save
		default:
			all = joined(all, o.save)
		}
	}
	return all
}

func joined(a, b *group.Changes) *group.Changes {
	all := &group.Changes{Generation: b.Generation, Group: a.Group, Members: map[string][]byte{}}
	if b.Group != nil {
		all.Group = b.Group
	}
	maps.Copy(all.Members, a.Members)
	maps.Copy(all.Members, b.Members)
	for _, id := range b.Gone {
		delete(all.Members, id)
		all.Gone = append(all.Gone, id)
	}
	for _, id := range a.Gone {
		if _, again := all.Members[id]; !again {
			all.Gone = append(all.Gone, id)
		}
	}
	return all
}

// stored takes the outcome of a batch.
func (l *cell) stored(batch []*op, err error) {
	keep := err == nil || asBefore(batch, err)
	if err != nil || slices.ContainsFunc(batch, (*op).writes) {
		l.c.Observer.Stored(err)
	}
	if err != nil {
		level := slog.LevelWarn
		if metadata.Refused(err) { // its Observer says so, once for all groups
			level = slog.LevelDebug
		}
		err = coordinatorError(err)
		l.c.Log.Log(l.c.work, level, "cannot store a group", "group", l.name, "loaded_anew", !keep, "error", err)
	}
	for _, o := range batch {
		if o.save != nil {
			l.saves--
		}
		if err == nil {
			l.apply(o)
		}
		o.done(l, err)
	}
	if !keep {
		l.c.roll.miss()
		l.abandon(err)
		return
	}
	l.goOn()
}

// asBefore tells whether the group is for certain as it was before a batch that failed, and this broker's. Else it is given
// up: what is stored of it is not known, or not this broker's to change. So it is after a refused save: what the machine
// made of it must not go on.
func asBefore(batch []*op, err error) bool {
	switch {
	case errors.Is(err, ErrStale):
		return false
	case !slices.ContainsFunc(batch, (*op).writes):
		return true
	default:
		return errors.Is(err, ErrRefused) && !slices.ContainsFunc(batch, func(o *op) bool { return o.save != nil || o.remove })
	}
}

// apply takes over what was stored.
func (l *cell) apply(o *op) {
	for _, off := range o.set {
		l.offsets[off.TopicPartition] = off
		l.show(off, false)
	}
	for _, p := range o.gone {
		if off, ok := l.offsets[p]; ok {
			l.show(off, true)
		}
		delete(l.offsets, p)
	}
	if o.remove {
		for _, off := range l.offsets {
			l.show(off, true)
		}
	}
}

// effects does what the machine asks for.
func (l *cell) effects(out *group.Effects) {
	if out.Save == nil && l.saves == 0 {
		l.answer(out)
		return
	}
	if out.Save == nil && len(out.Joins)+len(out.Syncs)+len(out.Heartbeats) == 0 {
		return
	}
	l.push(&op{save: out.Save, done: func(l *cell, err error) {
		if err != nil {
			refuseAll(out, err)
		}
		l.answer(out)
	}})
}

// answer gives answers to those that wait for them.
func (l *cell) answer(out *group.Effects) {
	for _, a := range out.Joins {
		l.give(a.To, func(to any) { to.(func(group.JoinResponse))(a.JoinResponse) })
	}
	for _, a := range out.Syncs {
		l.give(a.To, func(to any) { to.(func(group.SyncResponse))(a.SyncResponse) })
	}
	for _, a := range out.Heartbeats {
		l.give(a.To, func(to any) { to.(func(group.HeartbeatResponse))(a.HeartbeatResponse) })
	}
}

// give takes a ticket's receiver off and calls it when the lock is free.
func (l *cell) give(t group.Ticket, call func(to any)) {
	if to, ok := l.tickets[t]; ok {
		delete(l.tickets, t)
		l.after(func() { call(to) })
	}
}

// ticket notes who an answer is given to.
func (l *cell) ticket(to any) group.Ticket {
	l.last++
	l.tickets[l.last] = to
	return l.last
}
