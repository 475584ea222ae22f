package chain

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/apache/iceberg-go"
	"github.com/apache/iceberg-go/table"

	"github.com/korvet-io/korvet/internal/iceberg/store"
)

// noted is a hint in memory.
type noted struct{ n atomic.Int64 }

func (h *noted) Load(context.Context, string) (int64, error)      { return h.n.Load(), nil }
func (h *noted) Store(_ context.Context, _ string, n int64) error { h.n.Store(n); return nil }

func newChain(t *testing.T) *Chain {
	t.Helper()
	s, err := store.Open(context.Background(), "file:///", store.S3{})
	if err != nil {
		t.Fatal(err)
	}
	return &Chain{Store: s, Hint: &noted{}, Location: "file://" + t.TempDir() + "/events", Now: time.Now}
}

func create(t *testing.T, c *Chain) *Version {
	t.Helper()
	schema := iceberg.NewSchema(0, iceberg.NestedField{ID: 1, Name: "offset", Type: iceberg.PrimitiveTypes.Int64, Required: true})
	m, err := table.NewMetadata(schema, iceberg.UnpartitionedSpec, table.UnsortedSortOrder, c.Location, iceberg.Properties{"format-version": "2"})
	if err != nil {
		t.Fatal(err)
	}
	v, err := c.Create(context.Background(), m)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// with is a table with one more property.
func with(t *testing.T, v *Version, key, value string) table.Metadata {
	t.Helper()
	m, err := table.UpdateTableMetadata(v.Metadata, []table.Update{table.NewSetPropertiesUpdate(iceberg.Properties{key: value})}, v.Location)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func TestWritersWhoCommitAtOnceLoseNothing(t *testing.T) {
	c := newChain(t)
	create(t, c)
	const writers, each = 6, 8
	var all sync.WaitGroup
	for w := range writers {
		all.Go(func() {
			own := &Chain{Store: c.Store, Hint: &noted{}, Location: c.Location, Now: time.Now}
			for i := range each {
				for {
					v, err := own.Current(t.Context())
					if err != nil {
						t.Error(err)
						return
					}
					_, err = own.Commit(t.Context(), v, with(t, v, fmt.Sprintf("%d-%d", w, i), "x"))
					if err == nil {
						break
					}
					if !errors.Is(err, ErrConflict) {
						t.Error(err)
						return
					}
				}
			}
		})
	}
	all.Wait()
	v, err := c.Current(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if v.Number != 1+writers*each {
		t.Errorf("the newest version is %d, want %d", v.Number, 1+writers*each)
	}
	for w := range writers {
		for i := range each {
			if v.Metadata.Properties()[fmt.Sprintf("%d-%d", w, i)] != "x" {
				t.Errorf("commit %d of writer %d is lost", i, w)
			}
		}
	}
}

func TestTheNewestIsFoundWhateverTheHintSays(t *testing.T) {
	c := newChain(t)
	v := create(t, c)
	for i := range 5 {
		var err error
		if v, err = c.Commit(t.Context(), v, with(t, v, "n", fmt.Sprint(i))); err != nil {
			t.Fatal(err)
		}
	}
	for _, hint := range []int64{0, 1, 3, 6, 7, 1000, -5} {
		c.Hint.(*noted).n.Store(hint)
		got, err := c.Current(t.Context())
		if err != nil || got.Number != 6 {
			t.Errorf("hint %d: %+v, %v; want version 6", hint, got, err)
		}
	}
	if err := c.Store.Delete(t.Context(), []string{c.location(1), c.location(2), c.hintFile()}); err != nil {
		t.Fatal(err)
	}
	c.Hint.(*noted).n.Store(2)
	if got, err := c.Current(t.Context()); err != nil || got.Number != 6 {
		t.Errorf("with the first versions gone: %+v, %v; want version 6", got, err)
	}
}

// unanswered is a store whose next put succeeds but is not answered, and is then sent again.
type unanswered struct {
	store.Store
	once bool
}

func (u *unanswered) PutIfAbsent(ctx context.Context, location string, body []byte) error {
	if u.once {
		u.once = false
		if err := u.Store.PutIfAbsent(ctx, location, body); err != nil {
			return err
		}
	}
	return u.Store.PutIfAbsent(ctx, location, body)
}

func TestCommitThatWasNotAnsweredIsRecognised(t *testing.T) {
	c := newChain(t)
	v := create(t, c)
	c.Store = &unanswered{Store: c.Store, once: true}
	v, err := c.Commit(t.Context(), v, with(t, v, "a", "1"))
	if err != nil || v.Number != 2 {
		t.Fatalf("%+v, %v", v, err)
	}
	base := *v
	base.Number = 1
	if _, err := c.Commit(t.Context(), &base, with(t, v, "a", "2")); !errors.Is(err, ErrConflict) {
		t.Errorf("a commit on an older version: %v, want a conflict", err)
	}
}

func TestCommitOnAnOldReadingIsRefused(t *testing.T) {
	c := newChain(t)
	create(t, c)
	v, err := c.Current(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	c.Now = func() time.Time { return time.Now().Add(maxAge + time.Minute) }
	if _, err := c.Commit(t.Context(), v, with(t, v, "a", "1")); !errors.Is(err, ErrStale) {
		t.Errorf("%v, want ErrStale", err)
	}
}

func TestNoTable(t *testing.T) {
	c := newChain(t)
	if _, err := c.Current(t.Context()); !errors.Is(err, ErrNoTable) {
		t.Errorf("%v, want ErrNoTable", err)
	}
	create(t, c)
	if err := c.Store.Put(t.Context(), c.location(2), strings.NewReader("{")); err != nil {
		t.Fatal(err)
	}
	if _, err := c.Current(t.Context()); err == nil || !strings.Contains(err.Error(), "v2.metadata.json") {
		t.Errorf("%v, want one that names the damaged file", err)
	}
}
