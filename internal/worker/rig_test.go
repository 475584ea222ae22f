package worker

import (
	"context"
	"testing"
	"time"

	"github.com/korvet-io/korvet/internal/worker/workertest"
)

// rig is a storage worker on a real Redis.
type rig struct {
	*workertest.Rig
	storage *Storage
}

func newRig(t *testing.T, args ...string) *rig {
	t.Helper()
	r := &rig{Rig: workertest.New(t, args...)}
	r.storage = r.worker("1/a")
	r.Work = func(ctx context.Context) error { return r.storage.RunOnce(ctx) }
	return r
}

func (r *rig) worker(owner string) *Storage {
	return NewStorage(
		Settings{Namespace: "korvet", Owner: owner, Tick: time.Minute, Lease: 2 * time.Minute},
		Dependencies{Topics: &r.Topics, Redis: r.Shard, Observer: r.Seen, Log: r.Logger()},
	)
}

const hour = time.Hour
