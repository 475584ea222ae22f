package coordinator

import (
	"context"
	"slices"
	"sync"
)

// roll tells whether the cells are all the groups that this broker coordinates. They are not at the start, when other
// brokers come or go, and when a group was given up because the store failed.
type roll struct {
	mu      sync.Mutex
	missed  int     // how often groups may have been missed
	seen    int     // missed as it was when all groups were looked at last
	brokers []int32 // those alive then
	skip    int     // of the next looks: while the store fails they become rarer
	pause   int     // how many are skipped after the next failure
}

// maxSkip is how many looks are skipped at most: a minute's.
const maxSkip = 120

// miss notes that groups may have been missed.
func (r *roll) miss() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.missed++
}

// complete tells whether none were, with these brokers alive.
func (r *roll) complete(brokers []int32) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !slices.Equal(r.brokers, brokers) {
		r.brokers = brokers
		r.missed++
	}
	return r.seen == r.missed
}

// begin tells whether it is time to look, and returns what end is to be told.
func (r *roll) begin() (missed int, due bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.skip > 0 {
		r.skip--
		return 0, false
	}
	return r.missed, true
}

// end notes that the groups were looked at, if err is nil. What fails again and again for a minute is left out: one group
// that cannot be read must not keep the others from being listed.
func (r *roll) end(missed, failed int, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if err == nil && (failed == 0 || r.pause >= maxSkip) {
		r.seen = missed
	}
	if err == nil && failed == 0 {
		r.skip, r.pause = 0, 0
		return
	}
	r.skip, r.pause = r.pause, min(2*r.pause+1, maxSkip)
}

// listed tells whether the cells are all groups.
func (c *Coordinator) listed() bool { return c.roll.complete(c.Cluster.Brokers()) }

// catchUp loads the groups that may have been missed.
func (c *Coordinator) catchUp(ctx context.Context) {
	if c.listed() {
		return
	}
	missed, due := c.roll.begin()
	if !due {
		return
	}
	failed, err := c.loadNames(ctx)
	c.roll.end(missed, failed, err)
}

// loadNames looks at each group that may be this broker's, and tells how many cannot be loaded.
func (c *Coordinator) loadNames(ctx context.Context) (failed int, err error) {
	names, err := c.Store.Names(ctx)
	if err != nil {
		c.Log.Warn("cannot list the groups", "error", err)
		return 0, err
	}
	slots := make(chan struct{}, max(c.set.LoadParallel, 1))
	failures := make(chan error, len(names))
	for _, name := range names {
		if c.mine(name) != nil {
			continue
		}
		select {
		case slots <- struct{}{}:
		case <-ctx.Done():
			return 0, ctx.Err()
		}
		c.with(name, func(l *cell, err error) {
			if err != nil {
				failures <- err
			} else if l.blank() { // a name, and maybe a claim, of which nothing came
				l.remove(func(error) {})
			}
			<-slots
		})
	}
	for range cap(slots) { // the last of them are through
		select {
		case slots <- struct{}{}:
		case <-ctx.Done():
			return 0, ctx.Err()
		}
	}
	return len(failures), nil
}
