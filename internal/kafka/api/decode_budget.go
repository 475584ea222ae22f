package api

import (
	"context"
	"fmt"
	"sync"
)

// smallControl is the size up to which control requests are decoded without asking: what they become is small enough.
const smallControl = 64 << 10

// decodeBudget bounds the bytes of large control requests that exist decoded at a time. kmsg checks an array's length
// against the bytes that remain, so that a request becomes at most some tens of times its size; the budget bounds that
// for all connections together.
type decodeBudget struct {
	max int

	mu    sync.Mutex
	used  int
	freed chan struct{} // closed when bytes were given back that others wait for
}

func newDecodeBudget(max int) *decodeBudget { return &decodeBudget{max: max} }

// acquire waits until n bytes may be decoded. n is at most the budget.
func (b *decodeBudget) acquire(ctx context.Context, n int) error {
	for n > smallControl {
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
			return fmt.Errorf("wait to decode: %w", ctx.Err())
		}
	}
	return nil
}

func (b *decodeBudget) release(n int) {
	if n <= smallControl {
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
