package coordinator

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"github.com/korvet-io/korvet/internal/group"
)

// Settings are a broker's settings that concern the groups that it coordinates.
type Settings struct {
	Group         group.Settings
	Retention     time.Duration // offsets.retention.minutes: of offsets that no member uses any more
	CheckInterval time.Duration // offsets.retention.check.interval.ms
	CommitTimeout time.Duration // offsets.commit.timeout.ms: how long a commit waits for the store; 0: as long as it takes
	MirrorEvery   time.Duration // how often commits are shown in native stream groups; 0: never
	LoadParallel  int           // groups that are loaded at once when the broker starts
}

// Cluster tells which groups are this broker's and which topics there are. Its methods answer from memory, are safe for
// concurrent use and do not block.
type Cluster interface {
	// Coordinator is the live broker that a group belongs to. ok is false while no broker is known.
	Coordinator(name string) (id int32, ok bool)
	// Self is this broker's id.
	Self() int32
	// Brokers are the ids of the live brokers, ascending. The list must not be changed.
	Brokers() []int32
	// Image is the view of the topics now.
	Image() group.Image
}

// Mirror shows commits as native stream groups. What it cannot show is shown with the next commit, or not at all.
type Mirror interface {
	// Show shows a group's committed offset, Hide removes the native group of a partition.
	Show(ctx context.Context, name string, o Offset) error
	Hide(ctx context.Context, name string, o Offset) error
}

// Observer is told what happens, for metrics. Its methods must not block.
type Observer interface {
	// Stored tells the outcome of everything that the store was to take.
	Stored(err error)
	Committed(offsets int, took time.Duration, err error)
	Saved(took time.Duration, err error)
	Loaded(took time.Duration, err error)
	Rebalanced(phase string)
	Expired(offsets int)
}

// Dependencies are what a coordinator works with.
type Dependencies struct {
	Store   Store
	Cluster Cluster
	Mirror  Mirror // nil: none
	// Own returns a group's settings: those of all, which it must not change, or others where the group has its own. It
	// answers from memory. Nil: no group has.
	Own      func(name string, all *group.Settings) *group.Settings
	Observer Observer
	Log      *slog.Logger
	Now      func() time.Time
}

// Coordinator runs the groups that this broker coordinates. Its methods are safe for concurrent use.
type Coordinator struct {
	Dependencies
	set Settings

	work context.Context // ends when nothing more is to be stored
	stop context.CancelFunc
	wg   sync.WaitGroup
	roll roll

	mu     sync.RWMutex
	closed bool
	cells  map[string]*cell
	dirty  map[*cell]struct{} // with something to show in native groups
}

// New returns a coordinator that has loaded nothing yet: Run does.
func New(s Settings, d Dependencies) *Coordinator {
	c := &Coordinator{Dependencies: d, set: s, cells: map[string]*cell{}, dirty: map[*cell]struct{}{}, roll: roll{missed: 1}}
	c.work, c.stop = context.WithCancel(context.Background())
	return c
}

// Close lets what is queued be stored, until ctx ends, and gives up all groups.
func (c *Coordinator) Close(ctx context.Context) {
	c.mu.Lock()
	c.closed = true
	cells := make([]*cell, 0, len(c.cells))
	for _, l := range c.cells {
		cells = append(cells, l)
	}
	c.mu.Unlock()
	for _, l := range cells {
		l.close()
	}
	drained := make(chan struct{})
	go func() {
		c.wg.Wait()
		close(drained)
	}()
	select {
	case <-drained:
	case <-ctx.Done():
	}
	c.stop()
	<-drained
}

// mine tells whether this broker coordinates a group.
func (c *Coordinator) mine(name string) error {
	id, ok := c.Cluster.Coordinator(name)
	switch {
	case !ok:
		return group.ErrCoordinatorUnavailable
	case id != c.Cluster.Self():
		return group.ErrNotCoordinator
	}
	return nil
}

// access is what is to be done with a group once it is loaded. With an error the group was not reached.
type access func(l *cell, err error)

// with calls f, maybe later, with the group's cell loaded and locked. f must not block, and not use c. The functions that
// it adds with l.after are called when the lock is free again.
func (c *Coordinator) with(name string, f access) {
	if err := c.mine(name); err != nil {
		c.drop(name, err)
		f(nil, err)
		return
	}
	for {
		l := c.cell(name)
		if l.enter(f) {
			return
		}
		c.remove(l) // it was given up meanwhile: the next one
	}
}

// cell finds or makes the group's cell.
func (c *Coordinator) cell(name string) *cell {
	c.mu.RLock()
	l := c.cells[name]
	c.mu.RUnlock()
	if l != nil {
		return l
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if l = c.cells[name]; l != nil {
		return l
	}
	l = newCell(c, name)
	if c.closed {
		l.state = closed
	} else {
		c.cells[name] = l
	}
	return l
}

// remove forgets a cell that is given up.
func (c *Coordinator) remove(l *cell) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.cells[l.name] == l {
		delete(c.cells, l.name)
	}
}

// drop gives up a group that is another broker's by now.
func (c *Coordinator) drop(name string, why error) {
	c.mu.RLock()
	l := c.cells[name]
	c.mu.RUnlock()
	if l != nil {
		l.giveUp(why)
	}
}

// all lists the cells there are.
func (c *Coordinator) all() []*cell {
	c.mu.RLock()
	defer c.mu.RUnlock()
	list := make([]*cell, 0, len(c.cells))
	for _, l := range c.cells {
		list = append(list, l)
	}
	return list
}
