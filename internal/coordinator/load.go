package coordinator

import (
	"fmt"
	"maps"
	"slices"

	"github.com/korvet-io/korvet/internal/group"
)

// load reads the group from Redis, claiming it if it is there, and serves the requests that wait.
func (l *cell) load() {
	defer l.c.wg.Done()
	began := l.c.Now()
	r, err := l.read()
	l.c.Observer.Loaded(l.c.Now().Sub(began), err)
	if err != nil {
		l.c.Log.Warn("cannot load a group", "group", l.name, "error", err)
		l.giveUp(coordinatorError(err))
		return
	}
	l.mu.Lock()
	if l.state == loading {
		l.state = loaded
		l.group, l.offsets, l.token, l.claimed = r.group, r.offsets, r.token, r.claimed
		if r.unreadable != nil {
			l.push(&op{save: r.unreadable, done: func(*cell, error) {}})
		}
		waiting := l.waiting
		l.waiting = nil
		var out group.Effects
		l.group.Tick(l.c.Now(), l.c.Cluster.Image(), &out) // it sees the topics before its members ask
		l.effects(&out)
		for _, f := range waiting {
			l.serve(f)
		}
		l.settle()
	}
	l.unlock()
}

// serve calls f, or has it wait if one before it had the group deleted.
func (l *cell) serve(f access) {
	if l.state == deleting {
		l.waiting = append(l.waiting, f)
		return
	}
	f(l, nil)
}

// reading is what was read of a group.
type reading struct {
	group   *group.Group
	offsets map[TopicPartition]Offset
	claimed bool
	token   Token
	// unreadable are members to be removed, as nobody can read them; nil: there are none.
	unreadable *group.Changes
}

func (l *cell) read() (reading, error) {
	r := reading{offsets: map[TopicPartition]Offset{}}
	there, err := l.c.Store.Exists(l.c.work, l.name)
	if err != nil {
		return r, fmt.Errorf("look for group %q: %w", l.name, err)
	}
	if !there {
		r.group = group.New(l.name, &l.c.set.Group, l.c.Now())
		return r, nil
	}
	token, found, err := l.c.Store.Claim(l.c.work, l.name)
	if err != nil {
		return r, fmt.Errorf("claim group %q: %w", l.name, err)
	}
	// Sessions begin now: while the group was claimed, which Redis may take its time for, nobody could be heard.
	if r.group, err = group.Restore(l.name, &l.c.set.Group, found.Group, l.c.Now()); err != nil {
		// Members can join anew. Their group's offsets must not be lost with them, and somebody must be able to delete it.
		l.c.Log.Error("cannot read the members of a group: they have to join again", "group", l.name, "error", err)
		r.unreadable = &group.Changes{Generation: found.Group.Generation, Gone: slices.Sorted(maps.Keys(found.Group.Members))}
		found.Group = group.Stored{Generation: found.Group.Generation}
		if r.group, err = group.Restore(l.name, &l.c.set.Group, found.Group, l.c.Now()); err != nil {
			return r, fmt.Errorf("restore group %q: %w", l.name, err)
		}
	}
	r.token, r.claimed = token, true
	for _, o := range found.Offsets {
		r.offsets[o.TopicPartition] = o
	}
	return r, nil
}
