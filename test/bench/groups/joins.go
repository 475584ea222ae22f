package groups

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
)

// heartbeatEvery is the default of clients of the classic protocol.
const heartbeatEvery = 3 * time.Second

// Joined is how many members came into one group.
type Joined struct {
	Took        time.Duration // until the last member had its part in a group of all
	Generations int           // that any member was given; of the consumer protocol: the group's epoch
	Heartbeats  int64         // of the consumer protocol: all that were needed until then
}

// JoinAtOnce has many members of the classic protocol join an empty group at the same time.
func JoinAtOnce(ctx context.Context, address, group string, topic Topic, members int) (Joined, error) {
	if err := awaitCoordinator(ctx, address, group); err != nil {
		return Joined{}, err
	}
	all := make([]*member, members)
	for i := range all {
		m, err := newMember(ctx, address, group, topic)
		if err != nil {
			return Joined{}, err
		}
		defer m.close()
		all[i] = m
	}
	b := &burst{want: members, generations: map[int32]int{}}
	b.ctx, b.end = context.WithCancelCause(ctx)
	defer b.end(nil)
	began := time.Now()
	var running sync.WaitGroup
	for _, m := range all {
		running.Go(func() {
			if err := b.live(m); err != nil {
				b.end(err)
			}
		})
	}
	<-b.ctx.Done()
	for _, m := range all {
		m.close() // some still wait for an answer, if this ended early
	}
	running.Wait()
	if err := context.Cause(b.ctx); !errors.Is(err, errComplete) {
		return Joined{}, fmt.Errorf("%d members join one group: %w", members, err)
	}
	return Joined{Took: b.at.Sub(began), Generations: len(b.generations)}, leaveTogether(ctx, address, all)
}

// leaveTogether removes the members of a group.
func leaveTogether(ctx context.Context, address string, all []*member) error {
	c, err := dial(ctx, address)
	if err != nil {
		return err
	}
	defer c.close()
	ids := make([]string, len(all))
	for i, m := range all {
		ids[i] = m.id
	}
	return leave(ctx, c, all[0].group, ids...)
}

// errComplete ends a burst of which everybody is in one generation.
var errComplete = errors.New("all members are in one generation")

// burst is members that join one group at once.
type burst struct {
	ctx  context.Context
	end  context.CancelCauseFunc
	want int

	mu          sync.Mutex
	generations map[int32]int // how many members have their part in each
	at          time.Time     // when one had all
}

// live is a member's life until all are in.
func (b *burst) live(m *member) error {
	for {
		if err := m.joinAndSync(b.ctx); err != nil {
			return err
		}
		b.synced(m.generation)
		var err error
		for err == nil {
			if !pause(b.ctx, heartbeatEvery) {
				return nil
			}
			err = m.heartbeat()
		}
		if !errors.Is(err, kerr.RebalanceInProgress) {
			return err
		}
	}
}

func (b *burst) synced(generation int32) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.generations[generation]++; b.generations[generation] == b.want {
		b.at = time.Now()
		b.end(errComplete)
	}
}
