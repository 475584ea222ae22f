package chain

import (
	"errors"
	"testing"
	"time"

	"github.com/korvet-io/korvet/internal/iceberg/store"
	"github.com/korvet-io/korvet/internal/iceberg/storetest"
)

// watched is a chain with a cache, whose store counts and whose clock stands, and another process's chain of the same table and hint.
type watched struct {
	*testing.T
	*Chain
	counting *storetest.Counting
	now      time.Time
	other    *Chain
}

func newWatched(t *testing.T) *watched {
	t.Helper()
	w := &watched{T: t, Chain: newChain(t), now: time.Now()}
	w.other = &Chain{Store: w.Store, Hint: w.Hint, Location: w.Location, Now: w.Now}
	w.counting = storetest.NewCounting(w.Store)
	w.Store, w.Cache = w.counting, NewCache(1<<20)
	w.Chain.Now = func() time.Time { return w.now }
	create(t, w.other)
	return w
}

// recent checks which version is recent, and how many requests that cost.
func (w *watched) recent(number int64, requests int) *Version {
	w.Helper()
	w.counting.Take()
	v, err := w.Recent(w.Context())
	if err != nil {
		w.Fatal(err)
	}
	if n := len(w.counting.Take()); v.Number != number || n != requests {
		w.Errorf("version %d after %d requests, want %d after %d", v.Number, n, number, requests)
	}
	return v
}

// commits has a chain commit on what is newest.
func (w *watched) commits(c *Chain) {
	w.Helper()
	v, err := c.Current(w.Context())
	if err == nil {
		_, err = c.Commit(w.Context(), v, with(w.T, v, "n", "x"))
	}
	if err != nil {
		w.Fatal(err)
	}
}

func TestAVersionThatTheHintStillNamesCostsNoRequest(t *testing.T) {
	w := newWatched(t)
	w.recent(1, 2) // the file, and that there is no next one
	w.recent(1, 0)
	w.commits(w.other) // through the same hint
	w.recent(2, 2)
	w.recent(2, 0)
	w.commits(w.Chain)
	w.recent(3, 0)
	hint := w.Hint.(*noted)
	for _, wrong := range []int64{0, 1} { // Redis lost it, or was rewound
		hint.n.Store(wrong)
		v, err := w.Recent(t.Context())
		if err != nil || v.Number != 3 || hint.n.Load() != 3 {
			t.Errorf("with a hint of %d: %v, then %d", wrong, err, hint.n.Load())
		}
		w.recent(3, 0)
	}
	w.now = w.now.Add(trust)
	w.recent(3, 2)
	w.recent(3, 0)
	w.Cache = NewCache(1) // no room for it
	w.recent(3, 2)
	w.recent(3, 2)
}

// The hint does not tell of a commit whose committer died before it changed it: it shows in time, and nothing is committed beside it.
func TestACommitThatTheHintDoesNotTellOf(t *testing.T) {
	w := newWatched(t)
	w.recent(1, 2)
	silent := &Chain{Store: w.other.Store, Hint: NoHint{}, Location: w.Location, Now: w.other.Now}
	w.commits(silent)
	v := w.recent(1, 0)
	if _, err := w.Commit(t.Context(), v, with(t, v, "n", "y")); !errors.Is(err, ErrConflict) {
		t.Errorf("a commit on an older version: %v", err)
	}
	v = w.recent(2, 3)
	if _, err := w.Commit(t.Context(), v, with(t, v, "n", "y")); err != nil {
		t.Error(err)
	}
	w.recent(3, 0)
	w.commits(silent)
	w.recent(3, 0)
	w.now = w.now.Add(trust)
	w.recent(4, 3)
}

// A base that was not asked for is asked for before a commit on it: a version that is gone is none, and one that was read long ago is stale
// when the commit comes, not when it was read.
func TestACommitOnAVersionThatIsGoneIsRefused(t *testing.T) {
	w := newWatched(t)
	w.recent(1, 2)
	w.commits(w.Chain)
	w.now = w.now.Add(trust - time.Minute)
	v := w.recent(2, 0)
	if _, err := w.Commit(t.Context(), v, with(t, v, "n", "y")); err != nil {
		t.Errorf("a commit on a version that was read %v ago: %v", trust-time.Minute, err)
	}
	v = w.recent(3, 0)
	w.now = w.now.Add(2 * maxAge)
	if _, err := w.Commit(t.Context(), v, with(t, v, "n", "y")); !errors.Is(err, ErrStale) {
		t.Errorf("a commit of one who slept: %v", err)
	}
	w.recent(3, 2)
	v = w.recent(3, 0)
	if err := w.Store.Delete(t.Context(), []string{v.Location}); err != nil {
		t.Fatal(err)
	}
	if _, err := w.Commit(t.Context(), v, with(t, v, "n", "y")); !errors.Is(err, ErrConflict) {
		t.Errorf("a commit on a version that is gone: %v", err)
	}
	if _, err := w.Store.Size(t.Context(), w.location(4)); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("a fourth version: %v", err)
	}
	if v, err := w.Recent(t.Context()); err != nil || v.Number != 2 {
		t.Errorf("then the newest is %+v, %v", v, err)
	}
}
