package copying

import (
	"context"
	"crypto/rand"
	"io"
	"strings"
	"sync"
	"time"
)

// rate is a limit of bytes a second that all copies and merges share.
type rate struct {
	mu   sync.Mutex
	free time.Time // from when on the next bytes may be sent
}

// rateStep bounds how far bytes that are sent may be ahead of the limit.
const rateStep = 100 * time.Millisecond

// take books bytes and tells how long to wait before they are sent.
func (r *rate) take(now time.Time, bytes int, perSecond int64) time.Duration {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.free.Before(now) {
		r.free = now
	}
	wait := r.free.Sub(now)
	r.free = r.free.Add(time.Duration(float64(bytes) / float64(perSecond) * float64(time.Second)))
	return wait
}

// limited reads no faster than the copier's limit allows, and counts.
type limited struct {
	ctx    context.Context
	copier *Copier
	from   io.Reader
	bytes  int64
}

// Slow reads what goes to the store beside copies, no faster than both may go together.
func (c *Copier) Slow(ctx context.Context, r io.Reader) io.Reader {
	return &limited{ctx: ctx, copier: c, from: r}
}

func (l *limited) Read(p []byte) (int, error) {
	limit := l.copier.Settings().MaxBytesPerSecond
	if limit > 0 {
		p = p[:max(1, min(int64(len(p)), int64(float64(limit)*rateStep.Seconds())))]
	}
	n, err := l.from.Read(p)
	l.bytes += int64(n)
	if limit > 0 && n > 0 {
		if wait := l.copier.rate.take(l.copier.now(), n, limit); wait > 0 {
			if err := l.copier.wait(l.ctx, wait); err != nil {
				return 0, err
			}
		}
	}
	return n, err
}

func sleep(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// randomName tells two copies of the same records apart.
func randomName() string { return strings.ToLower(rand.Text()[:13]) }

// slots bound how many partitions are copied at a time. The bound may change.
type slots struct {
	mu    sync.Mutex
	taken int
	freed chan struct{} // closed when one is given back
}

// take waits until fewer than so many are taken.
func (s *slots) take(ctx context.Context, most int) error {
	for {
		s.mu.Lock()
		if s.taken < max(1, most) {
			s.taken++
			s.mu.Unlock()
			return nil
		}
		freed := s.freed
		s.mu.Unlock()
		select {
		case <-freed:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

func (s *slots) give() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.taken--
	close(s.freed)
	s.freed = make(chan struct{})
}
