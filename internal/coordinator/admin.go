package coordinator

import (
	"cmp"
	"context"
	"slices"

	"github.com/korvet-io/korvet/internal/group"
)

// Coordinator is the id of the live broker that coordinates a group.
func (c *Coordinator) Coordinator(name string) (int32, error) {
	id, ok := c.Cluster.Coordinator(name)
	if !ok {
		return -1, group.ErrCoordinatorUnavailable
	}
	return id, nil
}

// Describe shows one group: group.ErrNotFound if there is nothing of it.
func (c *Coordinator) Describe(ctx context.Context, name string) (group.Description, error) {
	return await(ctx, func(done func(group.Description, error)) {
		c.with(name, func(l *cell, err error) {
			switch {
			case err != nil:
				done(group.Description{}, err)
			case !l.exists():
				done(group.Description{}, group.ErrNotFound)
			default:
				done(l.group.Describe(), nil)
			}
		})
	})
}

// List shows the groups that this broker coordinates, in the order of their names: group.ErrLoading until all are known.
func (c *Coordinator) List(context.Context) ([]group.Description, error) {
	if !c.listed() {
		return nil, group.ErrLoading
	}
	var list []group.Description
	for _, l := range c.all() {
		if c.mine(l.name) != nil {
			continue
		}
		l.mu.Lock()
		if l.state == loaded && l.exists() {
			list = append(list, l.group.Summary())
		}
		l.mu.Unlock()
	}
	slices.SortFunc(list, func(a, b group.Description) int { return cmp.Compare(a.ID, b.ID) })
	return list, nil
}

// Delete removes a group and its offsets: group.ErrNotFound, group.ErrNonEmpty.
func (c *Coordinator) Delete(ctx context.Context, name string) error {
	_, err := await(ctx, func(done func(struct{}, error)) {
		c.with(name, func(l *cell, err error) {
			switch {
			case err != nil:
			case !l.exists():
				err = group.ErrNotFound
			case l.group.Size() > 0:
				err = group.ErrNonEmpty
			default:
				l.remove(func(err error) { done(struct{}{}, err) })
				return
			}
			done(struct{}{}, err)
		})
	})
	return err
}

// remove removes the group from Redis and then from here. Requests that come meanwhile get to the next cell.
func (l *cell) remove(done func(error)) {
	l.state = deleting
	l.disarm()
	l.push(&op{remove: true, done: func(l *cell, err error) {
		if err == nil {
			waiting := l.waiting
			l.waiting = nil
			l.abandon(group.ErrCoordinatorUnavailable)
			for _, f := range waiting {
				l.after(func() { l.c.with(l.name, f) })
			}
		}
		l.after(func() { done(err) })
	}})
}

// Known calls f for each group that this broker coordinates, in the order of their names, with its offsets as last stored.
func (c *Coordinator) Known(f func(name string, s group.State, members int, offsets []Offset)) {
	cells := c.all()
	slices.SortFunc(cells, func(a, b *cell) int { return cmp.Compare(a.name, b.name) })
	for _, l := range cells {
		l.mu.Lock()
		if l.state != loaded || !l.exists() {
			l.mu.Unlock()
			continue
		}
		s, members, offsets := l.group.Summary().State, l.group.Size(), l.committed(nil)
		l.mu.Unlock()
		f(l.name, s, members, offsets)
	}
}
