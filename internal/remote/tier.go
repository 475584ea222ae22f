// Package remote is the remote tier as the rest of korvet sees it: the Iceberg tables of all topics below one location, opened
// once, read by partition and offset. What tables and data files are made of is internal/iceberg's.
package remote

import (
	"context"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"time"

	"github.com/google/uuid"

	"github.com/korvet-io/korvet/internal/iceberg/chain"
	"github.com/korvet-io/korvet/internal/iceberg/store"
	"github.com/korvet-io/korvet/internal/iceberg/tables"
	"github.com/korvet-io/korvet/internal/metadata"
)

// Registry knows the tables there are. It is safe for concurrent use.
type Registry interface {
	// TableOf finds the table of a life of a topic in what is known; false where it has none.
	TableOf(topicID uuid.UUID) (metadata.Table, bool)
	// Tables lists those that topics have.
	Tables() []metadata.Table
}

// Settings are those of the tier.
type Settings struct {
	Path      string // korvet.storage.remote.path: a URL
	Namespace string // korvet.namespace
	S3        store.S3
	// MetadataCache bounds the bytes of tables' metadata files that are kept in memory; 0: none.
	MetadataCache int64
	// Catalog finds a table in the catalog that holds the tables instead of their folders; nil: none does.
	Catalog func(namespace, name string) chain.Catalog
}

// Tier opens the tables of topics. It is safe for concurrent use.
type Tier struct {
	Settings
	Store    store.Store
	Registry Registry
	Log      *slog.Logger
	// Now is the clock that is compared with the store's times.
	Now func() time.Time

	hint   chain.Hint
	cache  *chain.Cache
	mu     sync.Mutex
	opened map[string]*tables.Table // by location
}

// Open reaches the store. It reads nothing of it.
func Open(ctx context.Context, s Settings, r Registry, h chain.Hint, log *slog.Logger) (*Tier, error) {
	s.Path = strings.TrimRight(s.Path, "/")
	objects, err := store.Open(ctx, s.Path, s.S3)
	if err != nil {
		return nil, fmt.Errorf("open remote tier: %w", err)
	}
	return &Tier{Settings: s, Store: objects, Registry: r, Log: log, Now: time.Now, hint: h, cache: chain.NewCache(s.MetadataCache), opened: map[string]*tables.Table{}}, nil
}

// Table is the one of an entry. What was read of it is kept while the tier is open or until Forget.
func (t *Tier) Table(e metadata.Table) *tables.Table {
	t.mu.Lock()
	defer t.mu.Unlock()
	table, ok := t.opened[e.Location]
	if !ok {
		c := &chain.Chain{Store: t.Store, Hint: t.hint, Location: e.Location, Now: t.Now, Cache: t.cache}
		if t.Catalog != nil {
			c.Catalog = t.Catalog(t.Namespace, e.Name)
		}
		table = tables.Open(c, t.Namespace, e.Name)
		t.opened[e.Location] = table
	}
	return table
}

// Forget lets go of what is kept of a table.
func (t *Tier) Forget(e metadata.Table) {
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.opened, e.Location)
}
