package worker

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/korvet-io/korvet/internal/redisstream"
)

// lease is the worker's lease as this process knows it.
type lease struct {
	fence int64     // 0: not held
	ends  time.Time // by this process's clock, never later than in Redis
}

// hold takes the lease, or renews it once a third of it is over. Each step calls it first, so that nothing is done under
// a lease that is over: redisstream.ErrLeaseLost, a *redisstream.HeldError.
func (s *Storage) hold(ctx context.Context) error {
	sent := s.now()
	if s.lease.fence != 0 && !sent.Before(s.lease.ends) {
		s.leave()
		return fmt.Errorf("%w: it is over", redisstream.ErrLeaseLost)
	}
	if s.lease.fence != 0 && s.lease.ends.Sub(sent) > 2*s.Lease/3 {
		return nil
	}
	was := s.lease.fence
	fence, err := s.Redis.Lease(ctx, s.request(was, s.Lease))
	if errors.Is(err, redisstream.ErrLeaseLost) {
		s.leave()
	}
	if err != nil {
		return err
	}
	s.lease = lease{fence: fence, ends: sent.Add(s.Lease)}
	if was == 0 {
		s.Log.Info("storage worker: this process has the lease", "fence", fence)
	}
	return nil
}

func (s *Storage) request(held int64, length time.Duration) redisstream.LeaseRequest {
	return redisstream.LeaseRequest{
		Key: s.Namespace + ":storage:worker", Owner: s.Owner, LengthMs: length.Milliseconds(), Held: held, Gone: s.Gone,
	}
}

// leave forgets a lease that is no longer this process's. Passes made under it end.
func (s *Storage) leave() {
	s.passes.end(redisstream.ErrLeaseLost)
	s.copies.end(redisstream.ErrLeaseLost)
	s.Observer.WorkerLeads(false)
	s.lease = lease{}
}

// release gives the lease back, so that the next worker need not wait for its end. No pass is running.
func (s *Storage) release(ctx context.Context) {
	if s.lease.fence == 0 {
		return
	}
	if _, err := s.Redis.Lease(ctx, s.request(s.lease.fence, 0)); err != nil && !errors.Is(err, redisstream.ErrLeaseLost) {
		s.Log.Info("storage worker: its lease could not be given back and runs out", "error", err)
	}
	s.leave()
}
