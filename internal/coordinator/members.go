package coordinator

import (
	"context"
	"errors"
	"time"

	"github.com/korvet-io/korvet/internal/group"
)

// Join takes a JoinGroup. done is called once: when the rebalance is complete, or given up. While the store takes nothing it
// is refused at once: a rebalance would begin that cannot end.
func (c *Coordinator) Join(name string, req group.JoinRequest, done func(group.JoinResponse)) {
	refuse := func(err error) {
		done(group.JoinResponse{Err: err, Generation: -1, MemberID: req.MemberID})
	}
	if name == "" {
		refuse(group.ErrInvalidGroupID)
		return
	}
	if err := c.mine(name); err != nil {
		c.drop(name, err)
		refuse(err)
		return
	}
	go func() {
		if err := c.room(name); err != nil {
			refuse(err)
			return
		}
		c.with(name, func(l *cell, err error) {
			if err != nil {
				refuse(err)
				return
			}
			var out group.Effects
			l.group.Join(c.Now(), req, l.ticket(done), &out)
			l.effects(&out)
		})
	}()
}

// roomWait is how long a join waits to hear whether the store takes anything. One that does not answer is no reason to refuse:
// rebalances go on meanwhile.
const roomWait = time.Second

// room returns an error while the store says that it takes nothing.
func (c *Coordinator) room(name string) error {
	ctx, cancel := context.WithTimeout(c.work, roomWait)
	defer cancel()
	err := c.Store.Room(ctx, name)
	if err != nil && !errors.Is(err, ErrRefused) {
		return nil
	}
	c.Observer.Stored(err)
	if err == nil {
		return nil
	}
	c.Log.Debug("refusing a join: the store takes nothing", "group", name, "error", err)
	return coordinatorError(err)
}

// Sync takes a SyncGroup. done is called once: when the assignment is stored.
func (c *Coordinator) Sync(name string, req group.SyncRequest, done func(group.SyncResponse)) {
	c.with(name, func(l *cell, err error) {
		if err != nil {
			done(group.SyncResponse{Err: err})
			return
		}
		var out group.Effects
		l.group.Sync(c.Now(), req, l.ticket(done), &out)
		l.effects(&out)
	})
}

// Heartbeat takes a Heartbeat of the classic protocol.
func (c *Coordinator) Heartbeat(name string, m group.MemberRef, done func(error)) {
	if name == "" {
		done(group.ErrInvalidGroupID)
		return
	}
	c.with(name, func(l *cell, err error) {
		if err == nil {
			err = l.group.Heartbeat(c.Now(), m)
		}
		tell(l, err, done)
	})
}

// Leave removes members. done is called once, when that is stored.
func (c *Coordinator) Leave(name string, members []group.LeavingMember, done func([]group.LeftMember, error)) {
	if name == "" {
		done(nil, group.ErrInvalidGroupID)
		return
	}
	c.with(name, func(l *cell, err error) {
		if err != nil {
			done(nil, err)
			return
		}
		var out group.Effects
		left := l.group.Leave(c.Now(), members, &out)
		save := out.Save
		l.effects(&out)
		if save == nil {
			l.after(func() { done(left, nil) })
			return
		}
		l.push(&op{done: func(l *cell, err error) { l.after(func() { done(left, err) }) }})
	})
}

// ConsumerHeartbeat takes a ConsumerGroupHeartbeat (KIP-848). done is called once: when what it changed is stored.
func (c *Coordinator) ConsumerHeartbeat(name string, req group.HeartbeatRequest, done func(group.HeartbeatResponse)) {
	if name == "" {
		done(group.HeartbeatResponse{Err: group.ErrInvalidRequest})
		return
	}
	c.with(name, func(l *cell, err error) {
		if err != nil {
			done(group.HeartbeatResponse{Err: err})
			return
		}
		if c.Own != nil {
			l.group.Use(c.Own(name, &c.set.Group))
		}
		var out group.Effects
		l.group.ConsumerHeartbeat(c.Now(), c.Cluster.Image(), req, l.ticket(done), &out)
		l.effects(&out)
	})
}

// tell calls done, when the group's lock is free if there is a group.
func tell(l *cell, err error, done func(error)) {
	if l == nil {
		done(err)
		return
	}
	l.after(func() { done(err) })
}
