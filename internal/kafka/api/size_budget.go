package api

import (
	"context"
	"fmt"
	"sync"
)

// smallControl, smallFetching and smallInflated are the sizes, in bytes, up to which control requests, fetches and
// decompressed batches are served without asking for room: what they take is small enough.
const (
	smallControl  = 64 << 10
	smallFetching = 512 << 10
	smallInflated = 4 << 10
)

// sizeBudget bounds the bytes that large requests of all connections take together; the others wait their turn. kmsg
// checks an array's length against the bytes that remain, so that a control request of n bytes becomes at most some tens
// times n.
type sizeBudget struct {
	max, small int

	mu    sync.Mutex
	used  int
	freed chan struct{} // closed when bytes were given back that others wait for
}

func newSizeBudget(max, small int) *sizeBudget { return &sizeBudget{max: max, small: small} }

// acquire waits until n bytes may be taken. n is at most the budget.
func (b *sizeBudget) acquire(ctx context.Context, n int) error {
	for n > b.small {
		b.mu.Lock()
		if b.used+n <= b.max {
			b.used += n
			b.mu.Unlock()
			return nil
		}
		if b.freed == nil {
			b.freed = make(chan struct{})
		}
		freed := b.freed
		b.mu.Unlock()
		select {
		case <-freed:
		case <-ctx.Done():
			return fmt.Errorf("wait for other large requests: %w", ctx.Err())
		}
	}
	return nil
}

// shrink gives back what is more than n bytes of what was acquired.
func (b *sizeBudget) shrink(acquired, n int) {
	b.give(b.counted(acquired) - b.counted(n))
}

// counted is what n bytes count for.
func (b *sizeBudget) counted(n int) int {
	if n <= b.small {
		return 0
	}
	return n
}

// release gives n bytes back.
func (b *sizeBudget) release(n int) {
	b.give(b.counted(n))
}

func (b *sizeBudget) give(n int) {
	if n == 0 {
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.used -= n
	if b.freed != nil {
		close(b.freed)
		b.freed = nil
	}
}
