package clients_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
)

// settledTicks is how many records in a row of each partition one member must have read alone before the group counts as settled.
const settledTicks = 5

// crowd watches the members of one group.
type crowd struct {
	dir  string // for what the members write to standard error
	feed *feed

	mu      sync.Mutex
	members []*member // all that ever were
	present []*member // those that should be alive
	changed chan struct{}
	tally   map[position]int // how often each record was read by anybody
	last    map[position]*member
	killed  []*member // in the middle of what they did
}

// newCrowd returns an empty group on the feed's topic. Its members end with the test.
func newCrowd(t *testing.T, f *feed) *crowd {
	t.Helper()
	c := &crowd{dir: t.TempDir(), feed: f, changed: make(chan struct{}), tally: map[position]int{}, last: map[position]*member{}}
	t.Cleanup(func() {
		for _, m := range c.everybody() {
			m.kill9()
		}
	})
	return c
}

func (c *crowd) everybody() []*member {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Clone(c.members)
}

func (c *crowd) add(m *member) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.members, c.present = append(c.members, m), append(c.present, m)
}

// leave makes an end of the member no failure.
func (c *crowd) leave(m *member) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.present = slices.DeleteFunc(c.present, func(p *member) bool { return p == m })
}

// note changes what is known about a member and wakes those who wait.
func (c *crowd) note(m *member, change func() error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	before := len(m.read)
	if err := change(); err != nil && m.failure == nil {
		m.failure = err
	}
	for _, at := range m.read[before:] {
		c.tally[at]++
		c.last[at] = m
	}
	close(c.changed)
	c.changed = make(chan struct{})
}

// await waits until the condition, which is called with c.mu held, returns nil. Its last error tells what was missing in time. A member that fails or ends
// unasked ends the wait.
func (c *crowd) await(ctx context.Context, condition func() error) error {
	for {
		c.mu.Lock()
		err, changed := condition(), c.changed
		failure := c.failure()
		c.mu.Unlock()
		if err == nil {
			return nil
		}
		if failure != nil {
			return failure
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return fmt.Errorf("%w (%w)%s", err, ctx.Err(), c.describe())
		}
	}
}

// failure is what has befallen a member that should be alive.
func (c *crowd) failure() error {
	for _, m := range c.present {
		if m.failure != nil {
			return fmt.Errorf("member %s: %w; %s", m.name, m.failure, m.complaints())
		}
		select {
		case <-m.ended:
			return fmt.Errorf("member %s ended; %s", m.name, m.complaints())
		default:
		}
	}
	return nil
}

// describe tells what each member has seen, for an error.
func (c *crowd) describe() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	var b strings.Builder
	for _, m := range c.members {
		fmt.Fprintf(&b, "\n  %s: highest offsets %v, changes %v, present %t, %s", m.name, m.highest, m.changes, slices.Contains(c.present, m), m.complaints())
	}
	fmt.Fprintf(&b, "\n  produced: %v", c.feed.ends())
	return b.String()
}

// settle waits until the members present share the partitions evenly and each partition's newest records are read by one member alone: twice, because in
// the first moment of the new order a member may still read what it is about to give up.
func (c *crowd) settle(ctx context.Context) error {
	if err := c.awaitShares(ctx); err != nil {
		return err
	}
	return c.awaitShares(ctx)
}

func (c *crowd) awaitShares(ctx context.Context) error {
	floor := c.feed.ends()
	return c.await(ctx, func() error {
		owned := map[*member]int{}
		for p, end := range floor {
			owner, err := c.owner(int32(p), end)
			if err != nil {
				return err
			}
			owned[owner]++
		}
		for _, m := range c.present {
			if low := len(floor) / len(c.present); owned[m] < low || owned[m] > (len(floor)+len(c.present)-1)/len(c.present) {
				return fmt.Errorf("member %s reads %d of %d partitions, there are %d members", m.name, owned[m], len(floor), len(c.present))
			}
		}
		return nil
	})
}

// owner is the member present that alone has read the newest records of the partition, of which some were produced after the offset.
func (c *crowd) owner(partition int32, after int64) (*member, error) {
	newest := int64(-1)
	for _, m := range c.members {
		if h, any := m.highest[partition]; any {
			newest = max(newest, h)
		}
	}
	if newest < after {
		return nil, fmt.Errorf("nobody reads partition %d after offset %d", partition, newest)
	}
	owner := c.last[position{partition, newest}]
	if !slices.Contains(c.present, owner) {
		return nil, fmt.Errorf("nobody present reads partition %d", partition)
	}
	for o := max(0, newest-settledTicks+1); o <= newest; o++ {
		if at := (position{partition, o}); c.tally[at] != 1 || c.last[at] != owner {
			return nil, fmt.Errorf("record %d of partition %d was read %d times, by %s last", o, partition, c.tally[at], owner.name)
		}
	}
	return owner, nil
}

// ownership is who reads what in a settled group.
func (c *crowd) ownership() (map[int32]string, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	owners := map[int32]string{}
	for p := range c.feed.partitions {
		m, err := c.owner(p, 0)
		if err != nil {
			return nil, err
		}
		owners[p] = m.name
	}
	return owners, nil
}

// checkNothingLost looks for records that nobody has read before the newest that somebody has, but for the one that a killed member may
// have had in hand: the next after what it printed.
func (c *crowd) checkNothingLost() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	mayMiss := slices.DeleteFunc(slices.Clone(c.killed), func(m *member) bool { return !m.stores })
	var errs []error
	for p := range c.feed.partitions {
		newest := int64(-1)
		for _, m := range c.members {
			if h, any := m.highest[p]; any {
				newest = max(newest, h)
			}
		}
		for o := range newest {
			if c.tally[position{p, o}] > 0 {
				continue
			}
			if i := slices.IndexFunc(mayMiss, func(m *member) bool { h, any := m.highest[p]; return any && h+1 == o }); i >= 0 {
				mayMiss = slices.Delete(mayMiss, i, i+1)
				continue
			}
			errs = append(errs, fmt.Errorf("record %d of partition %d was read by nobody, %d was", o, p, newest))
			break
		}
	}
	return errors.Join(errs...)
}

// reads are how often the records of the group's topic were read, for exact counts.
func (c *crowd) reads() map[position]int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return maps.Clone(c.tally)
}

// changesOf are what the member has been told so far about its partitions.
func (c *crowd) changesOf(m *member) []assignmentChange {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Clone(m.changes)
}
