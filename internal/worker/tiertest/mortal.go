package tiertest

import (
	"math/rand/v2"
	"os"
	"testing"

	objectstore "github.com/korvet-io/korvet/internal/iceberg/store"
	"github.com/korvet-io/korvet/internal/iceberg/storetest"
	"github.com/korvet-io/korvet/internal/worker"
	"github.com/korvet-io/korvet/internal/worker/workertest"
)

// long tells whether tests take minutes.
var long = os.Getenv("KORVET_TEST_LONG") != ""

// OnEachPlace runs a test on a directory, and in the long form on an S3 server, too.
func OnEachPlace(t *testing.T, test func(t *testing.T, c *Rig)) {
	t.Run("file", func(t *testing.T) { test(t, New(t)) })
	if !long {
		return
	}
	t.Run("s3", func(t *testing.T) {
		s3 := storetest.Start(t)
		root := s3.Location() + "/tier"
		plain, err := objectstore.Open(t.Context(), root, s3.Options(""))
		if err != nil {
			t.Fatal(err)
		}
		test(t, On(workertest.New(t), root, plain))
	})
}

// AtEach has a worker die at each of a number of places, which are tried until one dies no more; in the short form at some of them.
func AtEach(t *testing.T, what string, every, least int, dies func(n int) bool) {
	t.Helper()
	step := 1
	if !long {
		step = every
	}
	n := rand.IntN(step)
	for dies(n) {
		n += step
	}
	t.Logf("died after up to %d %s", n-step, what)
	if n < least {
		t.Errorf("died after up to %d %s only", n-step, what)
	}
}

// Mortal is a worker whose process dies after so many commands to Redis, or operations of the store: nothing that it begins then
// is done.
type Mortal struct {
	Storage *worker.Storage
	Fuse    *workertest.Fuse
	Store   *storetest.Cut
}

// Never is more than a worker does.
const Never = 1 << 30

// Places are those of AtEach: every how many in the short form, and how many there are at least.
type Places struct{ Every, Least int }

// AtEachLoss is AtEach for each way in which such a worker's last operation is lost, after commands to Redis and operations of the store.
// Nothing may be lost by itself.
func AtEachLoss(t *testing.T, commands, operations Places, dies func(commands, operations int, how storetest.How) bool) {
	t.Helper()
	if dies(Never, Never, storetest.Before) {
		t.Fatal("died of nothing")
	}
	AtEach(t, "commands to Redis", commands.Every, commands.Least, func(n int) bool { return dies(n, Never, storetest.Before) })
	AtEach(t, "operations of the store", operations.Every, operations.Least, func(n int) bool { return dies(Never, n, storetest.Before) })
	AtEach(t, "operations, and one that was not answered", operations.Every, operations.Least, func(n int) bool { return dies(Never, n, storetest.After) })
}

// Mortal makes one. dies tells how the last operation of the store is lost.
func (c *Rig) Mortal(commands, operations int, how storetest.How) *Mortal {
	m := &Mortal{Fuse: workertest.NewFuse(c, c.Redis.Addr(), commands), Store: storetest.NewCut(c.Plain)}
	shard := workertest.OpenShard(c, m.Fuse.URI())
	m.Fuse.Blown = func() { m.Store.Limit(0, storetest.Before, nil) }
	m.Store.Limit(operations, how, m.Fuse.Blow)
	m.Storage = c.Worker("1/mortal")
	m.Storage.Redis = shard
	m.Storage.Gone = func(string) bool { return true }
	m.Storage.Copier = c.Copier(shard)
	m.Storage.Copier.Tables = c.TablesOn(m.Store)
	return m
}

// Works has it make ticks until it dies. It reports whether it did.
func (m *Mortal) Works(c *Rig, ticks int) (died bool) {
	for range ticks {
		_ = m.Storage.RunOnce(c.Context()) // what it could not do shows in what it left
	}
	died = m.Fuse.Dead() || m.Store.Dead()
	m.Fuse.Blow()
	return died
}
