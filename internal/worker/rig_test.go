package worker

import (
	"context"
	"testing"
	"time"
)

// rig is a storage worker on a real Redis.
type rig struct {
	*base
	storage *Storage
}

func newRig(t *testing.T, args ...string) *rig {
	t.Helper()
	r := &rig{base: newBase(t, args...)}
	r.storage = r.worker("1/a")
	r.work = func(ctx context.Context) error { return r.storage.RunOnce(ctx) }
	return r
}

func (r *rig) worker(owner string) *Storage {
	return NewStorage(
		Settings{Namespace: "korvet", Owner: owner, Tick: time.Minute, Lease: 2 * time.Minute},
		Dependencies{Topics: &r.topics, Redis: r.shard, Observer: r.seen, Log: r.logger()},
	)
}

const hour = time.Hour
