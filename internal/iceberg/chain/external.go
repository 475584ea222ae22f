package chain

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path"
	"strconv"
	"strings"

	"github.com/apache/iceberg-go/table"

	"github.com/korvet-io/korvet/internal/iceberg/store"
)

// Catalog is another catalog that holds the tables, in place of the numbered files of a chain: a REST catalog, a database. Its
// commit is the commit point. It is safe for concurrent use.
type Catalog interface {
	// Load returns the table's newest metadata and where that is. ErrNoTable.
	Load(ctx context.Context) (m table.Metadata, location string, err error)
	// Create makes the table. ErrConflict: it is there.
	Create(ctx context.Context, m table.Metadata) (table.Metadata, string, error)
	// Commit applies updates to the table if it is as the requirements say. ErrConflict: it is not, and nothing was changed. After
	// another error they may have been applied.
	Commit(ctx context.Context, required []table.Requirement, updates []table.Update) (table.Metadata, string, error)
	// Drop forgets the table. Its files stay. It is no error when there is none.
	Drop(ctx context.Context) error
}

// Drop has the catalog that holds the table forget it, if what it has under the name is the table of this location. Without such a
// catalog it does nothing.
func (c *Chain) Drop(ctx context.Context) error {
	if c.Catalog == nil {
		return nil
	}
	m, _, err := c.Catalog.Load(ctx)
	if errors.Is(err, ErrNoTable) || err == nil && store.Plain(strings.TrimRight(m.Location(), "/")) != store.Plain(c.Location) {
		return nil
	}
	if err == nil {
		err = c.Catalog.Drop(ctx)
	}
	if err != nil {
		return fmt.Errorf("drop table in catalog: %w", err)
	}
	return nil
}

// CommitUpdates writes the version after base, which is what updates make of it.
func (c *Chain) CommitUpdates(ctx context.Context, base *Version, updates []table.Update, m table.Metadata) (*Version, error) {
	if c.Catalog == nil {
		return c.Commit(ctx, base, m)
	}
	if c.Now().Sub(base.read) > maxAge {
		return nil, ErrStale
	}
	began := c.Now()
	required := []table.Requirement{table.AssertTableUUID(base.Metadata.TableUUID())}
	var current *int64
	if s := base.Metadata.CurrentSnapshot(); s != nil {
		current = &s.SnapshotID
	}
	required = append(required, table.AssertRefSnapshotID(table.MainBranch, current))
	after, location, err := c.Catalog.Commit(ctx, required, updates)
	if err != nil {
		return nil, fmt.Errorf("commit to catalog: %w", err)
	}
	v, err := external(after, location)
	if err == nil {
		v.read = began
	}
	return v, err
}

// currentOf reads the newest version from the catalog.
func (c *Chain) currentOf(ctx context.Context) (*Version, error) {
	began := c.Now()
	m, location, err := c.Catalog.Load(ctx)
	if err != nil {
		return nil, fmt.Errorf("load table from catalog: %w", err)
	}
	v, err := external(m, location)
	if err == nil {
		v.read = began
	}
	return v, err
}

// external is a version that a catalog has. Its number is that in front of the file's name; 0: there is none.
func external(m table.Metadata, location string) (*Version, error) {
	raw, err := json.Marshal(m)
	if err != nil {
		return nil, fmt.Errorf("encode table's metadata: %w", err)
	}
	n, _ := leadingNumber(location)
	return &Version{Number: n, Location: location, Raw: raw, Metadata: m}, nil
}

// leadingNumber is the one that most catalogs write in front of a metadata file's name.
func leadingNumber(location string) (int64, bool) {
	number, _, dashed := strings.Cut(path.Base(location), "-")
	n, err := strconv.ParseInt(number, 10, 64)
	if err != nil || n < 0 || !dashed {
		return 0, false
	}
	return n, true
}
