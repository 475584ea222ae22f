package partition

import (
	"slices"
	"sync"

	"github.com/korvet-io/korvet/internal/batch"
)

// cached is one record batch as it was appended, stamped with its offset and leader epoch. It is never changed.
type cached struct {
	base, last int64
	codec      batch.Codec
	raw        []byte
}

// cachedOverhead is counted for each batch beside its bytes.
const cachedOverhead = 256

func (c *cached) cost() int64 { return int64(cap(c.raw)) + cachedOverhead }

// tail is a partition's newest record batches, without a gap.
type tail struct {
	mu      sync.RWMutex
	batches []cached
	head    int // batches before it were dropped
	life    int // how often it was cleared
}

// add puts a batch behind the others; where it does not follow them they go. It tells what that freed.
func (t *tail) add(c cached) (life int, gone freed) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if n := len(t.batches); n > t.head && t.batches[n-1].last+1 != c.base {
		gone = t.clear()
	}
	t.batches = append(t.batches, c)
	return t.life, gone
}

// freed is what a tail gave up at once.
type freed struct {
	batches int
	bytes   int64
}

func (t *tail) clear() (gone freed) {
	for i := t.head; i < len(t.batches); i++ {
		gone.bytes += t.batches[i].cost()
	}
	gone.batches = len(t.batches) - t.head
	t.batches, t.head = nil, 0
	t.life++
	return gone
}

// lives tells whether the tail still lives that life.
func (t *tail) lives(life int) bool {
	t.mu.RLock()
	defer t.mu.RUnlock()
	return t.life == life
}

// dropOldest forgets the oldest batch, if the tail still lives the life it was added in, and tells what it cost.
func (t *tail) dropOldest(life int) int64 {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.head == len(t.batches) || t.life != life {
		return 0
	}
	cost := t.batches[t.head].cost()
	t.batches[t.head] = cached{}
	t.head++
	if t.head == len(t.batches) {
		t.batches, t.head = t.batches[:0], 0
	} else if t.head >= 64 && t.head > len(t.batches)/2 {
		t.batches = slices.Delete(t.batches, 0, t.head)
		t.head = 0
	}
	return cost
}

// read appends whole batches to dst: from the one that holds offset on, below high, at most limit bytes but at least one
// if asked to. hit is false when the cache does not hold the offset, or in a codec that the reader cannot read.
func (t *tail) read(dst []byte, req ReadRequest, high int64) (out []byte, hit bool) {
	t.mu.RLock()
	defer t.mu.RUnlock()
	live := t.batches[t.head:]
	i, _ := slices.BinarySearchFunc(live, req.Offset, func(c cached, o int64) int {
		switch {
		case c.last < o:
			return -1
		case c.base > o:
			return 1
		}
		return 0
	})
	if i == len(live) || live[i].base > req.Offset || !req.takes(&live[i]) {
		return dst, false
	}
	start := len(dst)
	for ; i < len(live) && live[i].last < high && req.takes(&live[i]); i++ {
		if len(dst)-start+len(live[i].raw) > req.MaxBytes && (len(dst) > start || !req.AtLeastOne) {
			break
		}
		dst = append(dst, live[i].raw...)
	}
	return dst, true
}

// begins is the offset of the tail's first record; above all where it has none.
func (t *tail) begins() int64 {
	t.mu.RLock()
	defer t.mu.RUnlock()
	if t.head == len(t.batches) {
		return everybody
	}
	return t.batches[t.head].base
}

// holds tells whether the tail has the record at an offset.
func (t *tail) holds(offset int64) bool {
	t.mu.RLock()
	defer t.mu.RUnlock()
	return t.head < len(t.batches) && t.batches[t.head].base <= offset && offset <= t.batches[len(t.batches)-1].last
}

// takes tells whether the reader can read a batch as it is.
func (r *ReadRequest) takes(c *cached) bool {
	return !r.AppendTimeHeader && (!r.NoZstd || c.codec != batch.Zstd)
}

// budget bounds the tail caches of all partitions together: the oldest batch of any goes first.
type budget struct {
	mu    sync.Mutex
	used  int64
	max   int64
	order []cachedIn // in the order they were added
	head  int
	dead  int // batches of order from head on whose tail was cleared
}

// cachedIn says whose tail a batch was added to.
type cachedIn struct {
	tail *tail
	life int
}

// add puts a batch into a partition's tail and drops older ones beyond the budget.
func (b *budget) add(t *tail, c cached) {
	if c.cost() > b.max {
		b.reset(t)
		return
	}
	life, gone := t.add(c)
	b.mu.Lock()
	defer b.mu.Unlock()
	b.used += c.cost() - gone.bytes
	b.dead += gone.batches
	b.order = append(b.order, cachedIn{t, life})
	for b.used > b.max && b.head < len(b.order) {
		oldest := b.order[b.head]
		cost := oldest.tail.dropOldest(oldest.life)
		if cost == 0 {
			b.dead--
		}
		b.used -= cost
		b.order[b.head] = cachedIn{}
		b.head++
	}
	b.tidy()
}

// tidy takes what is over off the order once that is most of it. mu is held.
func (b *budget) tidy() {
	if over := b.head + b.dead; over < 1024 || over < len(b.order)/2 {
		return
	}
	b.order = slices.DeleteFunc(b.order[b.head:], func(c cachedIn) bool { return !c.tail.lives(c.life) })
	b.head, b.dead = 0, 0
}

// dropBelow forgets the batches of a partition's tail that have a record below an offset.
func (b *budget) dropBelow(t *tail, offset int64) {
	if t.begins() >= offset {
		return
	}
	t.mu.RLock()
	kept := slices.Clone(t.batches[t.head:])
	t.mu.RUnlock()
	kept = slices.DeleteFunc(kept, func(c cached) bool { return c.base < offset })
	b.reset(t)
	for _, c := range kept {
		b.add(t, c)
	}
}

// reset forgets all of a partition's tail.
func (b *budget) reset(t *tail) {
	t.mu.Lock()
	gone := t.clear()
	t.mu.Unlock()
	b.mu.Lock()
	defer b.mu.Unlock()
	b.used -= gone.bytes
	b.dead += gone.batches
}
