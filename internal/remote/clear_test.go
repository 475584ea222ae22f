package remote

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/korvet-io/korvet/internal/iceberg/chain"
	"github.com/korvet-io/korvet/internal/iceberg/store"
	"github.com/korvet-io/korvet/internal/iceberg/storetest"
	"github.com/korvet-io/korvet/internal/metadata"
)

// place is a tier in a directory.
type place struct {
	*testing.T
	dir  string
	tier *Tier
}

func newPlace(t *testing.T) *place {
	t.Helper()
	p := &place{T: t, dir: t.TempDir()}
	tier, err := Open(t.Context(), Settings{Path: "file://" + p.dir + "/", Namespace: "korvet"}, nil, chain.NoHint{}, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	p.tier = tier
	return p
}

// table makes one with a file of data.
func (p *place) table(name string) (metadata.Table, *metadata.Topic) {
	p.Helper()
	topic := &metadata.Topic{Name: name, ID: uuid.New(), Partitions: 3, Configs: map[string]string{"retention.ms": "5"}}
	e := metadata.Table{Name: name, Topic: name, TopicID: topic.ID, Location: "file://" + p.dir + "/korvet/" + name, DroppedMs: time.Now().UnixMilli()}
	if err := CreateTable(p.Context(), p.tier.Table(e), topic); err != nil {
		p.Fatal(err)
	}
	for _, file := range []string{"/data/partition=0/a.parquet", "/data/b.parquet"} {
		if err := p.tier.Store.Put(p.Context(), e.Location+file, strings.NewReader("x")); err != nil {
			p.Fatal(err)
		}
	}
	return e, topic
}

func TestAClearedTableLeavesNothingAndNoOtherIsTouched(t *testing.T) {
	p := newPlace(t)
	e, _ := p.table("orders")
	other, _ := p.table("orders_2")
	for range 2 {
		if err := p.tier.Clear(t.Context(), e); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := os.Stat(filepath.Join(p.dir, "korvet", "orders")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("its folder: %v", err)
	}
	if _, err := p.tier.Table(other).State(t.Context()); err != nil {
		t.Errorf("the other table: %v", err)
	}
	if _, err := p.tier.Store.Size(t.Context(), other.Location+"/data/b.parquet"); err != nil {
		t.Errorf("the other table's data: %v", err)
	}
}

// cutting fails from the n-th deletion on.
type cutting struct {
	store.Store
	left int
}

var errCut = errors.New("cut")

func (c *cutting) Delete(ctx context.Context, locations []string) error {
	for _, l := range locations {
		if c.left--; c.left < 0 {
			return errCut
		}
		if err := c.Store.Delete(ctx, []string{l}); err != nil {
			return err
		}
	}
	return nil
}

func TestATableThatIsHalfDeletedSaysSo(t *testing.T) {
	p := newPlace(t)
	e, _ := p.table("orders")
	whole := p.tier.Store
	for left := 0; ; left++ {
		p.tier.Store = &cutting{whole, left}
		err := p.tier.Clear(t.Context(), e)
		if err == nil {
			break
		}
		if !errors.Is(err, errCut) {
			t.Fatal(err)
		}
		p.tier.Forget(e)
		s, err := p.tier.Table(e).State(t.Context())
		if err != nil || !s.Deleting() {
			t.Fatalf("after %d deletions: %v", left, err)
		}
	}
	if _, err := os.Stat(filepath.Join(p.dir, "korvet", "orders")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("its folder: %v", err)
	}
}

// A process may die between any two operations of a deletion: whoever looks then finds the whole table, one that says of itself that
// it is being deleted, or none, and whoever goes on leaves nothing.
func TestADeletionThatDiesAnywhereIsFinished(t *testing.T) {
	p := newPlace(t)
	whole := p.tier.Store
	for _, how := range []storetest.How{storetest.Before, storetest.After} {
		for n, died := 0, true; died; n++ {
			name := fmt.Sprintf("orders_%d_%d", how, n)
			e, _ := p.table(name)
			cut := storetest.NewCut(whole)
			cut.Limit(n, how, nil)
			p.tier.Store = cut
			p.tier.Forget(e)
			err := p.tier.Clear(t.Context(), e)
			p.tier.Store = whole
			p.tier.Forget(e)
			if died = cut.Dead(); died != (err != nil) {
				t.Fatalf("after %d operations: died %v, %v", n, died, err)
			}
			if _, err := p.tier.Table(e).State(t.Context()); err != nil && !errors.Is(err, chain.ErrNoTable) {
				t.Errorf("after %d operations: %v", n, err)
			}
			if err := p.tier.Clear(t.Context(), e); err != nil {
				t.Fatal(err)
			}
			if _, err := os.Stat(filepath.Join(p.dir, "korvet", name)); !errors.Is(err, os.ErrNotExist) {
				t.Errorf("after %d operations its folder is left: %v", n, err)
			}
			if !died && n < 5 {
				t.Errorf("died %d times only", n)
			}
		}
	}
}

func TestNothingIsDeletedOutsideTheNamespace(t *testing.T) {
	p := newPlace(t)
	e, _ := p.table("orders")
	for _, location := range []string{
		"file://" + p.dir, "file://" + p.dir + "/korvet", "file://" + p.dir + "/korvet/", "file://" + p.dir + "/korvet/..", "file://" + p.dir + "/korvet/../korvet/orders",
		"file://" + p.dir + "/korvet/orders/data", "file://" + p.dir + "/korvet2/orders", "file:///", "s3://bucket/korvet/orders", "",
	} {
		wrong := e
		wrong.Location = location
		if err := p.tier.Clear(t.Context(), wrong); err == nil || !strings.Contains(err.Error(), "may delete") {
			t.Errorf("%q: %v", location, err)
		}
	}
	if _, err := p.tier.Table(e).State(t.Context()); err != nil {
		t.Error(err)
	}
}

func TestATableTellsWhatItsTopicIs(t *testing.T) {
	p := newPlace(t)
	e, topic := p.table("orders")
	table := p.tier.Table(e)
	check := func(partitions int32, retention string, version int64) {
		t.Helper()
		s, err := table.State(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if s, err = table.Describe(t.Context(), s, topic.Partitions, topic.Configs); err != nil {
			t.Fatal(err)
		}
		a, err := s.About()
		if err != nil || a.Partitions != partitions || a.Configs["retention.ms"] != retention || a.TopicID != topic.ID || a.Version != version {
			t.Errorf("it tells %+v, %v", a, err)
		}
	}
	check(3, "5", 1) // nothing to be written
	topic = &metadata.Topic{Name: topic.Name, ID: topic.ID, Partitions: 4, Configs: map[string]string{"retention.ms": "6"}}
	check(4, "6", 2)
	check(4, "6", 2)
	topic = &metadata.Topic{Name: topic.Name, ID: topic.ID, Partitions: 4}
	check(4, "", 3)
}
