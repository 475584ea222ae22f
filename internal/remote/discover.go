package remote

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/korvet-io/korvet/internal/iceberg/chain"
	"github.com/korvet-io/korvet/internal/iceberg/store"
	"github.com/korvet-io/korvet/internal/iceberg/tables"
	"github.com/korvet-io/korvet/internal/metadata"
)

// Found is a table that lies below a namespace's folder, known from the store alone.
type Found struct {
	metadata.Table
	About tables.About
	State *tables.State
	Open  *tables.Table
	Err   error // why it cannot be read; of the rest only Location and Name hold then
}

// NamespaceFolder is the folder of a namespace's tables.
func (s *Settings) NamespaceFolder() string {
	return strings.TrimRight(s.Path, "/") + "/" + s.Namespace + "/"
}

// Discover reads the newest state of each table below a namespace's folder, by what the store has there, and what another catalog
// says of it where one holds the tables: no Redis is asked.
// Folders without a table are passed over. each is called in the order of the folders' names.
func Discover(ctx context.Context, s Settings, objects store.Store, each func(*Found) error) error {
	folder := s.NamespaceFolder()
	names, err := objects.Folders(ctx, folder)
	if err != nil {
		return fmt.Errorf("look for tables: %w", err)
	}
	for _, name := range names {
		f := discover(ctx, s, objects, folder+name)
		if errors.Is(f.Err, chain.ErrNoTable) {
			continue
		}
		if err := ctx.Err(); err != nil {
			return err
		}
		if err := each(f); err != nil {
			return err
		}
	}
	return nil
}

func discover(ctx context.Context, s Settings, objects store.Store, location string) *Found {
	f := &Found{Table: metadata.Table{Name: TableName(location), Location: location}}
	c := &chain.Chain{Store: objects, Hint: chain.NoHint{}, Location: location, Now: time.Now}
	if s.Catalog != nil {
		c.Catalog = s.Catalog(s.Namespace, f.Name)
	}
	f.Open = tables.Open(c, s.Namespace, f.Name)
	if f.State, f.Err = f.Open.State(ctx); f.Err != nil {
		return f
	}
	if s.Catalog != nil && store.Plain(f.State.Location()) != store.Plain(location) { // the catalog has the table of another life
		f.Err = chain.ErrNoTable
		return f
	}
	if f.About, f.Err = f.State.About(); f.Err == nil {
		f.Topic, f.TopicID = f.About.Topic, f.About.TopicID
	}
	return f
}

// TableName is the name in the catalog of the table that lies in a folder: what is before the folder's first dash, which no name
// has.
func TableName(location string) string {
	name, _, _ := strings.Cut(location[strings.LastIndexByte(location, '/')+1:], "-")
	return name
}
