// Package tiertest is a storage worker with a remote tier for tests of what rooms of the worker do together.
package tiertest

import (
	"context"
	"strings"
	"testing"
	"time"

	objectstore "github.com/korvet-io/korvet/internal/iceberg/store"
	"github.com/korvet-io/korvet/internal/iceberg/storetest"
	"github.com/korvet-io/korvet/internal/redisstream"
	"github.com/korvet-io/korvet/internal/worker"
	"github.com/korvet-io/korvet/internal/worker/copying"
	"github.com/korvet-io/korvet/internal/worker/workertest"
)

// Rig is a Redis with a storage worker that copies to tables below a directory.
type Rig struct {
	*workertest.Rig
	Storage *worker.Storage
	Root    string // location that the tables are below
	Tables  *Registry
	Plain   objectstore.Store // the store as it is
	Store   *storetest.Cut    // as the worker has it: a test may cut it off
	Set     copying.Settings  // in force now
	Events  *Events
	Copied  *Observer
}

// New makes one on a Redis of its own, started with these arguments if there are any.
func New(t *testing.T, args ...string) *Rig {
	t.Helper()
	plain, err := objectstore.Open(t.Context(), "file:///", objectstore.S3{})
	if err != nil {
		t.Fatal(err)
	}
	return On(workertest.New(t, args...), "file://"+t.TempDir(), plain)
}

// On makes one on a Redis and on a store.
func On(r *workertest.Rig, root string, plain objectstore.Store) *Rig {
	c := &Rig{
		Rig: r, Root: root, Plain: plain, Events: &Events{}, Copied: &Observer{Failures: map[string]int{}},
		Set: copying.Settings{RowGroupBytes: 1 << 20, TargetFileBytes: 8 << 20, Threads: 2, MaxValueBytes: 100 << 20},
	}
	c.Tables = &Registry{Root: root}
	c.Store = storetest.NewCut(plain)
	c.Storage = c.Worker("1/a")
	c.Storage.Copier = c.Copier(c.Shard)
	c.Work = func(ctx context.Context) error { return c.Storage.RunOnce(ctx) }
	return c
}

// Worker makes a storage worker on the rig's Redis.
func (c *Rig) Worker(owner string) *worker.Storage { return Worker(c.Rig, owner) }

// Worker makes a storage worker without a remote tier.
func Worker(r *workertest.Rig, owner string) *worker.Storage {
	return worker.NewStorage(
		worker.Settings{Namespace: "korvet", Owner: owner, Tick: time.Minute, Lease: 2 * time.Minute},
		worker.Dependencies{Topics: &r.Topics, Redis: r.Shard, Observer: r.Seen, Log: r.Logger()},
	)
}

// Copier makes one whose store is the rig's, on a Redis.
func (c *Rig) Copier(redis *redisstream.Shard) *copying.Copier {
	return copying.New(copying.Dependencies{
		Redis: redis, Tables: c.TablesOn(c.Store), Settings: func() copying.Settings { return c.Set }, Observer: c.Copied, Events: c.Events,
		Log: c.Logger(), Version: "test",
	})
}

// TablesOn are the rig's tables on another store.
func (c *Rig) TablesOn(s objectstore.Store) copying.Tables { return Tables(c, c.Root, c.Tables, s) }

// Tiered makes a topic of one partition that is copied.
func (c *Rig) Tiered(name string, more map[string]string) *workertest.Part {
	c.Helper()
	configs := map[string]string{"remote.storage.enable": "true"}
	for k, v := range more {
		configs[k] = v
	}
	return c.Create(name, configs)
}

// Count is how often the log has a text.
func (c *Rig) Count(text string) int { return strings.Count(c.Logged.String(), text) }
