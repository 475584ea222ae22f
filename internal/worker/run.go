package worker

import (
	"context"
	"errors"
	"time"

	"github.com/korvet-io/korvet/internal/partition"
	"github.com/korvet-io/korvet/internal/redisstream"
)

const (
	// pauseAfter bounds how often ticks follow each other, however often Wake is called.
	pauseAfter = time.Second
	// watchEvery is how often the leader looks whether Redis is full: whoever was refused may be another process.
	watchEvery = 5 * time.Second
	// releaseLimit bounds the giving back of the lease when the worker ends.
	releaseLimit = time.Second
)

// Run works until ctx ends: at once, at every tick and when it is woken. Then it ends copies and compaction and gives its lease back.
func (s *Storage) Run(ctx context.Context) {
	defer func() {
		_ = s.copies.collect()
		_ = s.passes.collect() // they end with ctx, and have said what failed
		if s.Keeper != nil {
			s.Keeper.Wait()
		}
		last, cancel := context.WithTimeout(context.WithoutCancel(ctx), releaseLimit)
		defer cancel()
		s.release(last)
	}()
	next := time.NewTimer(0)
	defer next.Stop()
	watch := time.NewTicker(watchEvery)
	defer watch.Stop()
	for {
		var only map[partition.Ref]struct{}
		select {
		case <-ctx.Done():
			return
		case <-next.C:
		case <-s.wake:
			only = s.wanted()
		case <-watch.C:
			s.keepPasses()
			s.keepCopies()
			if !s.pressed(ctx) {
				continue
			}
		}
		wait := s.attempt(ctx, only)
		if only == nil {
			next.Reset(wait)
		}
		select {
		case <-ctx.Done():
			return
		case <-time.After(pauseAfter):
		}
	}
}

// attempt runs one tick, logs what made it fail and tells how long to wait for the next.
func (s *Storage) attempt(ctx context.Context, only map[partition.Ref]struct{}) time.Duration {
	err := s.tick(ctx, only)
	if err == nil || ctx.Err() != nil {
		return s.Tick
	}
	if held, ok := errors.AsType[*redisstream.HeldError](err); ok {
		s.leave()
		left := time.Duration(held.Expiry-held.Now) * time.Millisecond // a worker that died gave nothing back
		return min(s.Tick, left+time.Millisecond)
	}
	s.Observer.WorkerFailed("tick")
	if errors.Is(err, redisstream.ErrLeaseLost) || errors.Is(err, redisstream.ErrFenced) {
		s.leave()
		s.Log.Warn("storage worker: another process took over", "error", err)
		return s.Tick
	}
	s.Observer.WorkerLeads(false)
	s.Log.Warn("storage worker: its tick failed and is repeated", "error", err, "in", s.Tick)
	return s.Tick
}

// pressed tells whether this process leads and Redis is full. It renews the lease, which may be hardly longer than a tick;
// the next tick notices when it is lost.
func (s *Storage) pressed(ctx context.Context) bool {
	if s.lease.fence == 0 || s.hold(ctx) != nil {
		return false
	}
	used, limit, err := s.Redis.Memory(ctx)
	if err != nil {
		return false
	}
	s.weighed(used, limit, false)
	return over(used, limit)
}

// relieve says so when Redis is full although all was done that retention allows, and looks again soon when more may go.
func (s *Storage) relieve(ctx context.Context) error {
	used, limit, err := s.Redis.Memory(ctx)
	if err != nil {
		return err
	}
	nothingCanGo := s.freed == 0
	if over(used, limit) && !nothingCanGo {
		s.Wake() // Redis frees in the background: what was done may not show yet
	}
	s.weighed(used, limit, nothingCanGo)
	return nil
}

// weighed tells once when Redis is full and nothing can go, and once when that is over.
func (s *Storage) weighed(used, limit int64, nothingCanGo bool) {
	switch changed := s.full.look(s.now(), used, limit, nothingCanGo); {
	case changed && s.full.stuck:
		s.Log.Error("Redis is full and no topic's retention lets anything go: producers are refused until maxmemory is raised, or retention.bytes or retention.ms lowered",
			"used", used, "maxmemory", limit)
	case changed:
		s.Log.Info("Redis has memory again", "used", used, "maxmemory", limit)
	}
	s.Observer.RedisFull(s.full.stuck)
}
