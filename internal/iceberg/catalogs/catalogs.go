// Package catalogs keeps the remote tier's tables in a catalog that others run: an Iceberg REST catalog, a database, AWS Glue,
// a Hive metastore. Their commit is then the commit point.
package catalogs

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/apache/iceberg-go"
	"github.com/apache/iceberg-go/catalog"
	_ "github.com/apache/iceberg-go/catalog/glue" // these make themselves known
	_ "github.com/apache/iceberg-go/catalog/hive"
	_ "github.com/apache/iceberg-go/catalog/rest"
	icesql "github.com/apache/iceberg-go/catalog/sql"
	iceio "github.com/apache/iceberg-go/io"
	"github.com/apache/iceberg-go/table"
	_ "github.com/uptrace/bun/driver/pgdriver" // the drivers of database/sql
	_ "modernc.org/sqlite"

	"github.com/korvet-io/korvet/internal/iceberg/chain"
	"github.com/korvet-io/korvet/internal/iceberg/fileio"
	"github.com/korvet-io/korvet/internal/iceberg/store"
)

// Types there are.
var Types = []string{"rest", "sql", "glue", "hive"}

// Settings say which catalog it is.
type Settings struct {
	Type       string // one of Types
	URI        string
	Properties map[string]string // as the Iceberg library knows them: warehouse, credential, token, scope ...
	Timeout    time.Duration     // of one request, 0: DefaultTimeout
}

// Catalog is one that others run. It is safe for concurrent use, and reached when it is first needed.
type Catalog struct {
	settings Settings
	opening  chan struct{} // held by who opens it
	opened   atomic.Pointer[catalog.Catalog]
	calls    chan struct{} // to a metastore
}

// Open makes a catalog whose metadata files, where it does not write them itself, go to a store. It asks nothing yet.
func Open(s Settings, objects store.Store) (*Catalog, error) {
	if !slices.Contains(Types, s.Type) {
		return nil, fmt.Errorf("open catalog: type %q is none of %s", s.Type, strings.Join(Types, ", "))
	}
	s.Properties = maps.Clone(s.Properties)
	if s.Properties == nil {
		s.Properties = map[string]string{}
	}
	if s.Type == "sql" {
		if err := s.database(); err != nil {
			return nil, fmt.Errorf("open catalog: %w", err)
		}
	}
	if s.Timeout <= 0 {
		s.Timeout = DefaultTimeout
	}
	useStore(objects)
	return &Catalog{settings: s, opening: make(chan struct{}, 1), calls: make(chan struct{}, callsAtOnce)}, nil
}

// database translates the URL of a database into driver and dialect.
func (s *Settings) database() error {
	scheme, rest, _ := strings.Cut(s.URI, "://")
	driver, dialect := "", ""
	switch scheme {
	case "sqlite":
		driver, dialect, s.URI = "sqlite", "sqlite", rest
	case "postgres", "postgresql":
		driver, dialect, s.URI = "pg", "postgres", "postgres://"+rest
	case "mysql":
		driver, dialect, s.URI = "mysql", "mysql", rest
	default:
		return fmt.Errorf("%q is none of sqlite:///file, postgres://... and mysql://user:password@tcp(host:port)/database", scheme+"://")
	}
	s.Properties[icesql.DriverKey], s.Properties[icesql.DialectKey] = driver, dialect
	return nil
}

var usedStore sync.Once

// useStore has the library write to object stores through a store of ours. It knows one for each scheme.
func useStore(objects store.Store) {
	usedStore.Do(func() {
		for _, scheme := range []string{"s3", "gs", "abfs", "abfss"} {
			if !slices.Contains(iceio.GetRegisteredSchemes(), scheme) {
				iceio.Register(scheme, func(ctx context.Context, _ *url.URL, _ map[string]string) (iceio.IO, error) {
					return fileio.New(context.WithoutCancel(ctx), objects), nil
				})
			}
		}
	})
}

// Table is one table of the catalog.
func (c *Catalog) Table(namespace, name string) chain.Catalog {
	return &held{catalog: c, name: table.Identifier{namespace, name}}
}

// held is a table that the catalog holds.
type held struct {
	catalog *Catalog
	name    table.Identifier
}

// loaded is what a catalog has of a table.
type loaded struct {
	metadata table.Metadata
	location string
}

func loadedFrom(t *table.Table, err error) (loaded, error) {
	if err != nil {
		return loaded{}, err
	}
	return loaded{t.Metadata(), t.MetadataLocation()}, nil
}

// Load implements chain.Catalog.
func (h *held) Load(ctx context.Context) (table.Metadata, string, error) {
	l, err := use(ctx, h.catalog, func(ctx context.Context, cat catalog.Catalog) (loaded, error) {
		return loadedFrom(cat.LoadTable(ctx, h.name))
	})
	if errors.Is(err, catalog.ErrNoSuchTable) || errors.Is(err, catalog.ErrNoSuchNamespace) {
		err = fmt.Errorf("%w: %w", chain.ErrNoTable, err)
	}
	return l.metadata, l.location, err
}

// Create implements chain.Catalog.
func (h *held) Create(ctx context.Context, m table.Metadata) (table.Metadata, string, error) {
	l, err := use(ctx, h.catalog, func(ctx context.Context, cat catalog.Catalog) (loaded, error) { return h.create(ctx, cat, m) })
	if errors.Is(err, catalog.ErrTableAlreadyExists) {
		err = fmt.Errorf("%w: %w", chain.ErrConflict, err)
	}
	if err != nil {
		return nil, "", err
	}
	if got := l.metadata; !got.CurrentSchema().Equals(m.CurrentSchema()) || store.Plain(got.Location()) != store.Plain(m.Location()) || got.Version() != 2 {
		return nil, "", fmt.Errorf("the catalog made another table of it: at %s, format %d, %s", got.Location(), got.Version(), got.CurrentSchema())
	}
	return l.metadata, l.location, nil
}

func (h *held) create(ctx context.Context, cat catalog.Catalog, m table.Metadata) (loaded, error) {
	place := iceberg.Properties{}
	if h.catalog.settings.Type == "hive" { // which wants one of each database
		place["location"] = m.Location()[:strings.LastIndexByte(m.Location(), '/')]
	}
	err := cat.CreateNamespace(ctx, h.name[:1], place)
	if err != nil && !errors.Is(err, catalog.ErrNamespaceAlreadyExists) {
		return loaded{}, fmt.Errorf("create namespace %s: %w", h.name[0], err)
	}
	spec, properties := m.PartitionSpec(), maps.Clone(m.Properties())
	properties["format-version"] = "2"
	return loadedFrom(cat.CreateTable(ctx, h.name, m.CurrentSchema(), catalog.WithLocation(m.Location()), catalog.WithPartitionSpec(&spec),
		catalog.WithSortOrder(m.SortOrder()), catalog.WithProperties(properties)))
}

// Commit implements chain.Catalog.
func (h *held) Commit(ctx context.Context, required []table.Requirement, updates []table.Update) (table.Metadata, string, error) {
	l, err := use(ctx, h.catalog, func(ctx context.Context, cat catalog.Catalog) (loaded, error) {
		m, location, err := cat.CommitTable(ctx, h.name, required, updates)
		return loaded{m, location}, err
	})
	if errors.Is(err, table.ErrCommitFailed) || errors.Is(err, errUnreached) { // of the latter nothing was sent
		err = fmt.Errorf("%w: %w", chain.ErrConflict, err)
	}
	return l.metadata, l.location, err
}

// Drop implements chain.Catalog.
func (h *held) Drop(ctx context.Context) error {
	_, err := use(ctx, h.catalog, func(ctx context.Context, cat catalog.Catalog) (struct{}, error) {
		return struct{}{}, cat.DropTable(ctx, h.name)
	})
	if errors.Is(err, catalog.ErrNoSuchTable) {
		return nil
	}
	return err
}
