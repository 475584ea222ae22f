package dictionary

import (
	"context"
	"errors"
	"sync"

	"github.com/korvet-io/korvet/internal/compress"
	"github.com/korvet-io/korvet/internal/redisstream"
)

// ErrMissing is a dictionary that is in Redis no more, or never was.
var ErrMissing = errors.New("dictionary is not in redis")

// ErrUnusable is a blob that is no dictionary of its id.
var ErrUnusable = errors.New("not a usable zstd dictionary")

// Cached is a dictionary that was used lately; nil: Find it.
func (t *Topic) Cached(id uint32) *compress.Dictionary {
	identity := t.registry.Store.Identity()
	if k := t.current.Load(); k != nil && k.newest.ID == id && k.of(identity) {
		return k.dictionary
	}
	return t.registry.cache.get(cacheKey{t.id, id, identity})
}

// Find reads a dictionary of the topic's life, else what own gives: the partition's own copy, which is in its records' Redis
// as long as they are. ErrMissing when neither has it.
func (t *Topic) Find(ctx context.Context, id uint32, own func(context.Context) ([]byte, error)) (*compress.Dictionary, error) {
	identity := t.registry.Store.Identity()
	blob, err := t.registry.Store.LoadDictionary(ctx, t.keys, id)
	if err == nil && blob == nil {
		blob, err = own(ctx)
	}
	if err != nil {
		return nil, err
	}
	d, err := parse(blob, id)
	if err == nil {
		t.registry.cache.put(cacheKey{t.id, id, identity}, d)
	}
	return d, err
}

// cached is how many parsed dictionaries are kept for reading, of some 100 KiB each.
const cached = 128

type cacheKey struct {
	topicID  string
	id       uint32
	identity redisstream.Identity
}

// cache keeps the dictionaries used last.
type cache struct {
	mu    sync.Mutex
	known map[cacheKey]*entry
	turn  uint64
}

type entry struct {
	dictionary *compress.Dictionary
	used       uint64
}

func (c *cache) get(k cacheKey) *compress.Dictionary {
	c.mu.Lock()
	defer c.mu.Unlock()
	e := c.known[k]
	if e == nil {
		return nil
	}
	c.turn++
	e.used = c.turn
	return e.dictionary
}

func (c *cache) put(k cacheKey, d *compress.Dictionary) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.known == nil {
		c.known = map[cacheKey]*entry{}
	}
	if len(c.known) >= cached && c.known[k] == nil {
		c.dropOldest()
	}
	c.turn++
	c.known[k] = &entry{d, c.turn}
}

func (c *cache) dropOldest() {
	var oldest cacheKey
	least := c.turn + 1
	for k, e := range c.known {
		if e.used < least {
			oldest, least = k, e.used
		}
	}
	delete(c.known, oldest)
}
