package worker

import (
	"math/rand/v2"
	"os"
	"testing"

	objectstore "github.com/korvet-io/korvet/internal/iceberg/store"
	"github.com/korvet-io/korvet/internal/iceberg/storetest"
	"github.com/korvet-io/korvet/internal/worker/workertest"
)

// long tells whether tests take minutes.
var long = os.Getenv("KORVET_TEST_LONG") != ""

// onEachPlace runs a test on a directory, and in the long form on an S3 server, too.
func onEachPlace(t *testing.T, test func(t *testing.T, c *copyRig)) {
	t.Run("file", func(t *testing.T) { test(t, newCopyRig(t)) })
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
		test(t, newCopyRigOn(workertest.New(t), root, plain))
	})
}

// atEach has a worker die at each of a number of places, which are tried until one dies no more; in the short form at some of them.
func atEach(t *testing.T, what string, every, least int, dies func(n int) bool) {
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

// mortal is a worker whose process dies after so many commands to Redis, or operations of the store: nothing that it begins then
// is done.
type mortal struct {
	storage *Storage
	fuse    *workertest.Fuse
	store   *storetest.Cut
}

// never is more than a worker does.
const never = 1 << 30

// mortal makes one. dies tells how the last operation of the store is lost.
func (c *copyRig) mortal(commands, operations int, how storetest.How) *mortal {
	m := &mortal{fuse: workertest.NewFuse(c, c.Redis.Addr(), commands), store: storetest.NewCut(c.plain)}
	shard := workertest.OpenShard(c, m.fuse.URI())
	m.fuse.Blown = func() { m.store.Limit(0, storetest.Before, nil) }
	m.store.Limit(operations, how, m.fuse.Blow)
	m.storage = c.worker("1/mortal")
	m.storage.Redis = shard
	m.storage.Gone = func(string) bool { return true }
	m.storage.Copier = c.copier(shard)
	m.storage.Copier.Tables = c.tablesOn(m.store)
	return m
}

// works has it make ticks until it dies. It reports whether it did.
func (m *mortal) works(c *copyRig, ticks int) (died bool) {
	for range ticks {
		_ = m.storage.RunOnce(c.Context()) // what it could not do shows in what it left
	}
	died = m.fuse.Dead() || m.store.Dead()
	m.fuse.Blow()
	return died
}
