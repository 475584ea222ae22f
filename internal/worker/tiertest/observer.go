package tiertest

import (
	"context"
	"sync"
	"time"

	"github.com/korvet-io/korvet/internal/worker/lifecycle"
)

// Events keeps what happened to remote segments.
type Events struct {
	mu   sync.Mutex
	List []lifecycle.Event
}

func (e *Events) RemoteSegments(_ context.Context, _ int64, events []lifecycle.Event) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.List = append(e.List, events...)
}

// Observer keeps what the copier tells.
type Observer struct {
	mu       sync.Mutex
	Files    int
	Segments int
	Bytes    int64
	Cut      int64
	Failures map[string]int
	Lag      map[string]int64
	Offsets  map[string]int64
	Oldest   map[string]time.Duration
}

func (o *Observer) change(f func())                   { o.mu.Lock(); defer o.mu.Unlock(); f() }
func (o *Observer) FileArchived(time.Duration, error) { o.change(func() { o.Files++ }) }
func (o *Observer) Archived(n int, bytes int64) {
	o.change(func() { o.Segments += n; o.Bytes += bytes })
}
func (o *Observer) ArchiveFailed(operation string) { o.change(func() { o.Failures[operation]++ }) }
func (o *Observer) ArchiveTruncated(n int64)       { o.change(func() { o.Cut += n }) }
func (o *Observer) ArchiveLag(segments map[string]int64, oldest map[string]time.Duration) {
	o.change(func() { o.Lag, o.Oldest = segments, oldest })
}

func (o *Observer) ArchiveLagOffsets(offsets map[string]int64) {
	o.change(func() { o.Offsets = offsets })
}
