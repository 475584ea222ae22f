package tiertest

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"testing"

	"github.com/google/uuid"

	"github.com/korvet-io/korvet/internal/iceberg/chain"
	objectstore "github.com/korvet-io/korvet/internal/iceberg/store"
	"github.com/korvet-io/korvet/internal/iceberg/tables"
	"github.com/korvet-io/korvet/internal/metadata"
	"github.com/korvet-io/korvet/internal/partition"
	"github.com/korvet-io/korvet/internal/remote"
	"github.com/korvet-io/korvet/internal/worker/copying"
)

// Registry is where tables are; one for each life of a topic.
type Registry struct {
	mu   sync.Mutex
	Root string
	List []metadata.Table
}

// EnsureTable implements copying.TableRegistry, as CoverTable does.
func (r *Registry) EnsureTable(_ context.Context, t *metadata.Topic) (metadata.Table, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, e := range r.List {
		if e.TopicID == t.ID {
			return e, nil
		}
	}
	e := metadata.Table{Name: t.Name, Topic: t.Name, TopicID: t.ID, Copied: 1, Location: fmt.Sprintf("%s/%s-%d", r.Root, t.Name, len(r.List))}
	r.List = append(r.List, e)
	return e, nil
}

func (r *Registry) CoverTable(_ context.Context, t metadata.Table, partition int32) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	for i := range r.List {
		if e := &r.List[i]; e.Location == t.Location {
			e.Copied = max(e.Copied, partition+2)
		}
	}
	return nil
}

// MayHave tells whether the table may have records of a partition.
func (r *Registry) MayHave(ref partition.Ref) bool {
	e, ok := r.Find(ref.ID)
	return ok && ref.Partition < e.Copied-1
}

// Find finds the table of a life of a topic.
func (r *Registry) Find(id uuid.UUID) (metadata.Table, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, e := range r.List {
		if e.TopicID == id {
			return e, true
		}
	}
	return metadata.Table{}, false
}

// TableOf implements remote.Registry, as Tables does.
func (r *Registry) TableOf(id uuid.UUID) (metadata.Table, bool) { return r.Find(id) }
func (r *Registry) Tables() []metadata.Table                    { return r.List }

// Tier is the tier below a root, on a store.
func Tier(t testing.TB, root string, list *Registry, s objectstore.Store) *remote.Tier {
	t.Helper()
	tier, err := remote.Open(context.Background(), remote.Settings{Path: root, Namespace: "korvet"}, list, chain.NoHint{}, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	tier.Store = s
	return tier
}

// Tables are its tables.
func Tables(t testing.TB, root string, list *Registry, s objectstore.Store) copying.Tables {
	t.Helper()
	return copying.NewTables(Tier(t, root, list, s), list, func(ctx context.Context, table *tables.Table, t *metadata.Topic) error {
		return table.Create(ctx, tables.Life{Topic: t.Name, ID: t.ID.String()}, nil)
	})
}
