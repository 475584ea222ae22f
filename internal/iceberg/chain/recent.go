package chain

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/korvet-io/korvet/internal/iceberg/store"
)

// trust is how long a version counts as the newest without a question to the store, while the hint says so, too: a commit whose
// committer died before it changed the hint shows after this time at the latest.
const trust = time.Hour

// recent is the newest version as it was read or written last.
type recent struct {
	mu     sync.Mutex
	number int64 // 0: none
	at     time.Time
}

// saw notes that a version is the newest, as of a time.
func (r *recent) saw(v *Version, at time.Time) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !at.Before(r.at) {
		r.number, r.at = v.Number, at
	}
}

// forget has the next one ask the store.
func (r *recent) forget() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.number = 0
}

func (r *recent) known(now time.Time) int64 {
	r.mu.Lock()
	defer r.mu.Unlock()
	if now.Sub(r.at) >= trust {
		return 0
	}
	return r.number
}

// Recent is the newest version as far as the hint tells, without a request to the store where that is the one which was read or
// written here last. There may be a newer one: a commit on it looks first, as Current does.
func (c *Chain) Recent(ctx context.Context) (*Version, error) {
	began := c.Now()
	number := c.recent.known(began)
	if c.Catalog != nil || number == 0 {
		return c.Current(ctx)
	}
	if hint, err := c.Hint.Load(ctx, c.Location); err != nil || hint != number {
		return c.Current(ctx)
	}
	v := c.Cache.get(c.location(number))
	if v == nil {
		return c.Current(ctx)
	}
	v.read, v.unseen = began, true
	return v, nil
}

// seen makes sure that a base which nobody asked the store for is there.
func (c *Chain) seen(ctx context.Context, base *Version) error {
	if !base.unseen {
		return nil
	}
	size, err := c.Store.Size(ctx, base.Location)
	switch {
	case errors.Is(err, store.ErrNotFound), err == nil && size != int64(len(base.Raw)):
		return ErrConflict
	case err != nil:
		return fmt.Errorf("commit to table: %w: %w", ErrConflict, err) // nothing was sent
	}
	return nil
}
