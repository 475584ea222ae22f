package copying

import (
	"context"
	"io"

	"github.com/korvet-io/korvet/internal/iceberg/tables"
	"github.com/korvet-io/korvet/internal/metadata"
	"github.com/korvet-io/korvet/internal/remote"
)

// TableRegistry knows which table is whose: metadata.Store.
type TableRegistry interface {
	// EnsureTable returns the table of a life of a topic, and gives it one where it has none.
	EnsureTable(ctx context.Context, t *metadata.Topic) (metadata.Table, error)
	// CoverTable notes that a table may have records of a partition, unless that is noted.
	CoverTable(ctx context.Context, t metadata.Table, partition int32) error
}

// tierTables are the tables of a tier.
type tierTables struct {
	tier     *remote.Tier
	registry TableRegistry
	// create makes a table on the store unless it is there.
	create func(ctx context.Context, table *tables.Table, t *metadata.Topic) error
}

// NewTables makes the tables of a tier for a copier. create makes one on the store, unless it is there.
func NewTables(tier *remote.Tier, r TableRegistry, create func(ctx context.Context, table *tables.Table, t *metadata.Topic) error) Tables {
	return &tierTables{tier: tier, registry: r, create: create}
}

func (t *tierTables) Table(ctx context.Context, topic *metadata.Topic) (Table, error) {
	entry, err := t.registry.EnsureTable(ctx, topic)
	if err != nil {
		return nil, err
	}
	table := t.tier.Table(entry)
	return &tierTable{
		Table: table, tier: t.tier, location: entry.Location,
		covers: func(ctx context.Context, partition int32) error { return t.registry.CoverTable(ctx, entry, partition) },
		create: func(ctx context.Context) error { return t.create(ctx, table, topic) },
	}, nil
}

// tierTable is one of them.
type tierTable struct {
	*tables.Table
	tier     *remote.Tier
	location string
	create   func(ctx context.Context) error
	covers   func(ctx context.Context, partition int32) error
}

func (t *tierTable) Covers(ctx context.Context, partition int32) error {
	return t.covers(ctx, partition)
}

func (t *tierTable) Create(ctx context.Context) error { return t.create(ctx) }

func (t *tierTable) Location() string { return t.location }

func (t *tierTable) Put(ctx context.Context, location string, body io.Reader) error {
	return t.tier.Store.Put(ctx, location, body)
}

func (t *tierTable) Seen(ctx context.Context, s *tables.State) error {
	_, err := t.tier.Store.Size(ctx, s.MetadataLocation())
	return err
}
