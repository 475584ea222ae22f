package remote

import (
	"container/list"
	"sync"
)

// cache keeps what was read last, up to so many bytes, and has whoever asks for what is being read wait for it. What is being
// read weighs nothing yet. The newest is kept whatever it weighs: somebody is about to use it.
type cache[K comparable, V any] struct {
	mu      sync.Mutex
	max     int64
	used    int64
	entries map[K]*list.Element // of *entry[K, V]
	order   *list.List          // the one used last is in front
	changed func(used int64)    // may be nil
	unused  func(V)             // is told of a value that was let go of and that nobody uses; may be nil
}

// entry is a value that is there or being read. Its fields but key are set before ready is closed.
type entry[K comparable, V any] struct {
	key    K
	ready  chan struct{}
	value  V
	err    error
	weight int64
	users  int  // who began it and has not released it; guarded by the cache's lock
	gone   bool // it is in the cache no more; guarded likewise
}

func newCache[K comparable, V any](max int64) *cache[K, V] {
	return &cache[K, V]{max: max, entries: map[K]*list.Element{}, order: list.New()}
}

// begin returns the entry of a key, to be released; fresh: it is new, and whoever called has to end it, too.
func (c *cache[K, V]) begin(k K) (e *entry[K, V], fresh bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if at, ok := c.entries[k]; ok {
		c.order.MoveToFront(at)
		e = at.Value.(*entry[K, V])
		e.users++
		return e, false
	}
	e = &entry[K, V]{key: k, ready: make(chan struct{}), users: 1}
	c.entries[k] = c.order.PushFront(e)
	return e, true
}

// release says that whoever began an entry uses its value no more.
func (c *cache[K, V]) release(e *entry[K, V]) {
	c.mu.Lock()
	defer c.mu.Unlock()
	e.users--
	c.tell(e)
}

// tell says that nobody can use a value any more, where that is so. The lock is held.
func (c *cache[K, V]) tell(e *entry[K, V]) {
	if e.gone && e.users == 0 && e.err == nil && c.unused != nil {
		c.unused(e.value)
	}
}

// has tells whether a key's value is there or being read.
func (c *cache[K, V]) has(k K) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	_, ok := c.entries[k]
	return ok
}

// end gives an entry its value. One that failed is not kept.
func (c *cache[K, V]) end(e *entry[K, V], v V, weight int64, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	e.value, e.err, e.weight = v, err, weight
	close(e.ready)
	if err != nil {
		c.drop(e)
		return
	}
	c.used += weight
	c.shrink(e)
}

// limit changes how many bytes are kept.
func (c *cache[K, V]) limit(max int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.max = max
	c.shrink(nil)
}

// shrink drops what was not used for longest, but not the newest. The lock is held.
func (c *cache[K, V]) shrink(newest *entry[K, V]) {
	for at := c.order.Back(); c.used > c.max && at != nil && at.Value != any(newest); {
		old := at.Value.(*entry[K, V])
		at = at.Prev()
		if old.weight > 0 {
			c.drop(old)
		}
	}
	if c.changed != nil {
		c.changed(c.used)
	}
}

// drop lets go of a value. The lock is held.
func (c *cache[K, V]) drop(e *entry[K, V]) {
	if at, ok := c.entries[e.key]; ok && at.Value == any(e) {
		delete(c.entries, e.key)
		c.order.Remove(at)
		c.used -= e.weight
		e.gone = true
		c.tell(e)
	}
}
