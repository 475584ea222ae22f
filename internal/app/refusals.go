package app

import (
	"errors"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/korvet-io/korvet/internal/metadata"
	"github.com/korvet-io/korvet/internal/partition"
)

// calm is how long Redis must have refused nothing to be called writable again, and the time between two lines that say
// that it refuses. A Redis at its limit refuses one write and takes the next.
const calm = time.Minute

// refusals watches the writes that Redis refuses because it is full or cannot save its data, whoever sent them: the storage
// worker may run in another process, or not at all.
type refusals struct {
	log   *slog.Logger
	now   func() time.Time
	count func(reason string) // for metrics
	full  func()              // Redis is full: somebody may free memory

	active atomic.Bool
	mu     sync.Mutex
	since  time.Time // the first refusal of this spell
	last   time.Time
	told   time.Time // when the log said so last
	n      int64     // refusals of this spell
}

// reasonOf names why Redis refused a write; "" for any other error.
func reasonOf(err error) string {
	switch {
	case errors.Is(err, partition.ErrFull), errors.Is(err, metadata.ErrFull):
		return "full"
	case errors.Is(err, partition.ErrNotSaved), errors.Is(err, metadata.ErrNotSaved):
		return "not_saved"
	}
	return ""
}

// advice is what an operator can do about each reason.
var advice = map[string]string{
	"full":      "Redis is full (maxmemory) and refuses writes, which clients repeat: it takes them again when retention, deletions or a larger maxmemory make room",
	"not_saved": "Redis cannot save its data to disk (MISCONF) and refuses writes, which clients repeat: its own log says why",
}

// note takes the outcome of a write.
func (r *refusals) note(err error) {
	if err == nil {
		r.accepted()
		return
	}
	reason := reasonOf(err)
	if reason == "" {
		return
	}
	r.count(reason)
	if reason == "full" {
		r.full()
	}
	now := r.now()
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.n == 0 {
		r.since = now
	}
	r.n++
	r.last = now
	r.active.Store(true)
	if r.told.IsZero() || now.Sub(r.told) >= calm {
		r.told = now
		r.log.Warn(advice[reason], "refused", r.n, "since", r.since.UTC().Format(time.RFC3339))
	}
}

// accepted ends the spell if the last refusal was long ago.
func (r *refusals) accepted() {
	if !r.active.Load() {
		return
	}
	now := r.now()
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.n == 0 || now.Sub(r.last) < calm {
		return
	}
	r.log.Info("Redis takes writes again", "refused", r.n, "for", r.last.Sub(r.since).Round(time.Second))
	r.n, r.told = 0, time.Time{}
	r.active.Store(false)
}
