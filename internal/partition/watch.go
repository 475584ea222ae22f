package partition

import (
	"math"
	"sync"
)

// watchers are those that wait for the high watermark to pass an offset.
type watchers struct {
	mu   sync.Mutex
	list map[*watcher]struct{}
}

type watcher struct {
	offset int64
	wake   func()
}

// add registers a watcher.
func (w *watchers) add(offset int64, wake func()) *watcher {
	one := &watcher{offset, wake}
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.list == nil {
		w.list = map[*watcher]struct{}{}
	}
	w.list[one] = struct{}{}
	return one
}

func (w *watchers) remove(one *watcher) {
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.list, one)
}

// wake calls those whose offset is below high, once.
func (w *watchers) wake(high int64) {
	w.mu.Lock()
	var due []*watcher
	for one := range w.list {
		if one.offset < high {
			delete(w.list, one)
			due = append(due, one)
		}
	}
	w.mu.Unlock()
	for _, one := range due {
		one.wake()
	}
}

// everybody is above every offset: it wakes all.
const everybody = math.MaxInt64

// Watch calls wake once when the high watermark passes offset. See kafka/api's port Logs for the contract.
func (p *Partition) Watch(offset int64, wake func()) (cancel func()) {
	one := p.watchers.add(offset, wake)
	var fx effects
	p.mu.Lock()
	known, high, over := p.ends.known, p.ends.high, p.phase == gone
	p.want(&fx)
	p.mu.Unlock()
	p.run(&fx)
	if over || known && high > offset { // it passed before the watcher was there
		p.watchers.wake(high)
		if over {
			p.watchers.wake(everybody)
		}
	}
	p.env.busy(p)
	return func() { p.watchers.remove(one) }
}

// want makes the partition lead although nobody writes: a leader knows the end of the log without asking Redis, and is
// told nothing when somebody else moves it. The lock is held.
func (p *Partition) want(fx *effects) {
	if p.phase == gone || p.current() {
		return
	}
	if p.phase == leading { // Redis is another one: nothing remembered holds
		p.phase = resting
		p.ends.known = false
	}
	p.wanted = true
	p.advance(p.env.now(), fx)
}

// current tells whether what is remembered of the log holds. The lock is held.
func (p *Partition) current() bool {
	if !p.ends.known || p.phase != leading {
		return false
	}
	if p.term.identity.Hidden() { // each connection has its own
		return p.term.conn.Alive()
	}
	return p.term.identity == p.env.shard.Identity()
}

// highWatermark is up to where consumers may read; everybody is woken when that is not known any more.
func (p *Partition) highWatermark() int64 {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.ends.known || p.phase == gone {
		return everybody
	}
	return p.ends.high
}
