package chain

import (
	"container/list"
	"sync"
)

// Cache keeps the newest metadata files of tables, which never change, up to so many bytes of them; what they are parsed to is
// some times as large. It is safe for concurrent use, and for several chains.
type Cache struct {
	max int64

	mu    sync.Mutex
	bytes int64
	byUse *list.List               // of *Version, the one that was used last in front
	known map[string]*list.Element // by location
}

// NewCache makes a cache of at most so many bytes.
func NewCache(maxBytes int64) *Cache {
	return &Cache{max: maxBytes, byUse: list.New(), known: map[string]*list.Element{}}
}

// get returns a copy of a version that is known, or nil.
func (c *Cache) get(location string) *Version {
	if c == nil {
		return nil
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	e, ok := c.known[location]
	if !ok {
		return nil
	}
	c.byUse.MoveToFront(e)
	v := *e.Value.(*Version)
	return &v
}

// put keeps a version, which is parsed.
func (c *Cache) put(v *Version) {
	if c == nil {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if e, ok := c.known[v.Location]; ok {
		c.remove(e)
	}
	kept := *v
	c.known[v.Location] = c.byUse.PushFront(&kept)
	c.bytes += int64(len(v.Raw))
	for c.bytes > c.max {
		c.remove(c.byUse.Back())
	}
}

func (c *Cache) remove(e *list.Element) {
	v := c.byUse.Remove(e).(*Version)
	delete(c.known, v.Location)
	c.bytes -= int64(len(v.Raw))
}
