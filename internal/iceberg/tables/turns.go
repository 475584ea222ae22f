package tables

import (
	"context"
	"fmt"
)

// Turns lets one commit of an engine at a time compare its rows, so that the memory and the CPU that this takes do not grow with the
// number of engines. It is safe for concurrent use.
type Turns struct {
	bytes int64
	turn  chan struct{}
}

const (
	// leastWindow is the least that is read at once of a file that is compared, mostWindow the most.
	leastWindow = 256 << 10
	mostWindow  = 4 << 20
)

// NewTurns makes one for comparisons that take about so many bytes of memory.
func NewTurns(bytes int64) *Turns { return &Turns{bytes: bytes, turn: make(chan struct{}, 1)} }

// take waits for the turn, which is over with done.
func (t *Turns) take(ctx context.Context) (done func(), err error) {
	select {
	case t.turn <- struct{}{}:
		return func() { <-t.turn }, nil
	case <-ctx.Done():
		return nil, fmt.Errorf("%w: another commit's rows were compared all the time: %w", ErrConflict, ctx.Err())
	}
}

// window is how much to read at once of each of so many files that are open side by side; 0: they are too many.
func (t *Turns) window(files int) int {
	w := min(t.bytes/int64(max(files, 1)), mostWindow)
	if w < leastWindow {
		return 0
	}
	return int(w)
}
