package coordinator

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/korvet-io/korvet/internal/group"
)

// Commit stores all offsets or none. done is called once: with nil when Redis has them, and within CommitTimeout in any
// case, as answers to the member's heartbeats may be behind this one. After that the group takes no further commits until
// the outcome is known: they would only pile up.
func (c *Coordinator) Commit(name string, req CommitRequest, done func(error)) {
	c.with(name, func(l *cell, err error) {
		if err == nil {
			err = l.group.CheckCommit(c.Now(), req.Member, req.MemberEpochs)
		}
		if err == nil && l.overdue > 0 {
			err = group.ErrCoordinatorUnavailable
		}
		if err != nil || len(req.Offsets) == 0 {
			tell(l, err, done)
			return
		}
		now := c.Now().UnixMilli()
		for i := range req.Offsets {
			req.Offsets[i].CommitMs = now
		}
		l.push(&op{set: req.Offsets, done: l.inTime(done)})
	})
}

// errLate is what is told of a commit that the store takes too long for. It may still be stored.
var errLate = fmt.Errorf("%w: not stored within offsets.commit.timeout.ms", group.ErrCoordinatorUnavailable)

// inTime makes a commit's done of one that is called within CommitTimeout.
func (l *cell) inTime(done func(error)) func(*cell, error) {
	if l.c.set.CommitTimeout == 0 {
		return func(l *cell, err error) { tell(l, err, done) }
	}
	stored, late := false, false
	timer := time.AfterFunc(l.c.set.CommitTimeout, func() {
		l.mu.Lock()
		defer l.unlock()
		if !stored {
			late = true
			l.overdue++
			l.after(func() { done(errLate) })
		}
	})
	return func(l *cell, err error) {
		timer.Stop()
		stored = true
		if late {
			l.overdue--
			return
		}
		tell(l, err, done)
	}
}

// Committed returns the offsets of some partitions, or of all, as last stored. Partitions without one are left out. Redis is
// asked whether the group is still this broker's: what another one stored meanwhile must not be missed. That may take no
// longer than a commit.
func (c *Coordinator) Committed(ctx context.Context, name string, req CommittedRequest) ([]Offset, error) {
	if c.set.CommitTimeout > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, c.set.CommitTimeout)
		defer cancel()
	}
	return await(ctx, func(done func([]Offset, error)) {
		c.with(name, func(l *cell, err error) {
			if err == nil {
				err = l.group.CheckFetch(req.Member)
			}
			if err != nil {
				done(nil, err)
				return
			}
			l.push(&op{check: true, done: func(l *cell, err error) {
				if err != nil {
					done(nil, err)
					return
				}
				done(l.committed(req.Partitions), nil)
			}})
		})
	})
}

func (l *cell) committed(partitions []TopicPartition) []Offset {
	if partitions == nil {
		list := make([]Offset, 0, len(l.offsets))
		for _, o := range l.offsets {
			list = append(list, o)
		}
		slices.SortFunc(list, func(a, b Offset) int { return a.compare(b.TopicPartition) })
		return list
	}
	var list []Offset
	for _, p := range partitions {
		if o, ok := l.offsets[p]; ok {
			list = append(list, o)
		}
	}
	return list
}

// DeleteOffsets removes the offsets of partitions whose topics no member is subscribed to. The results are in their order.
func (c *Coordinator) DeleteOffsets(ctx context.Context, name string, partitions []TopicPartition) ([]error, error) {
	if name == "" {
		return nil, group.ErrInvalidGroupID
	}
	return await(ctx, func(done func([]error, error)) {
		c.with(name, func(l *cell, err error) {
			if err == nil {
				err = l.mayDeleteOffsets()
			}
			if err != nil {
				done(nil, err)
				return
			}
			results := make([]error, len(partitions))
			var gone []TopicPartition
			for i, p := range partitions {
				if l.group.Subscribed(p.Topic) {
					results[i] = group.ErrSubscribed
				} else if _, ok := l.offsets[p]; ok {
					gone = append(gone, p)
				}
			}
			if len(gone) == 0 {
				done(results, nil)
				return
			}
			l.push(&op{gone: gone, done: func(l *cell, err error) { done(results, err) }})
		})
	})
}

// mayDeleteOffsets tells whether the group is one whose subscriptions are known.
func (l *cell) mayDeleteOffsets() error {
	if !l.exists() {
		return group.ErrNotFound
	}
	if d := l.group.Summary(); l.group.Size() > 0 && d.Type == group.Classic && d.ProtocolType != consumerProtocol {
		return group.ErrNonEmpty
	}
	return nil
}

// consumerProtocol is the protocol type of consumers.
const consumerProtocol = "consumer"

// exists tells whether there is anything of the group.
func (l *cell) exists() bool {
	return l.claimed || len(l.offsets) > 0 || l.group.Size() > 0
}

// await calls f and waits for the outcome that it gives to done, which must not block.
func await[T any](ctx context.Context, f func(done func(T, error))) (T, error) {
	type outcome struct {
		value T
		err   error
	}
	c := make(chan outcome, 1)
	f(func(v T, err error) { c <- outcome{v, err} })
	select {
	case o := <-c:
		return o.value, o.err
	case <-ctx.Done():
		var none T
		return none, ctx.Err()
	}
}
