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

const (
	// clearAtOnce bounds the locations that are deleted in one request.
	clearAtOnce = 1000
	// markTries bounds how often a table is marked anew when others change it at the same time.
	markTries = 5
	// unreadable is how long the deletion of a table waits for its metadata to become readable.
	unreadable = time.Hour
)

// Clear deletes every object of a table, which no topic has any more. It may be repeated. Whoever looks meanwhile finds a table
// that says of itself that it is being deleted, until nothing but that is left. A table of another place than this tier's is
// refused.
func (t *Tier) Clear(ctx context.Context, e metadata.Table) error {
	folder, below := strings.CutPrefix(e.Location, t.Path+"/"+t.Namespace+"/")
	if !below || folder == "" || folder == "." || folder == ".." || strings.ContainsAny(folder, "/\\") {
		return fmt.Errorf("delete table %s: its location %s is not a folder of %s/%s, where this process may delete: is korvet.storage.remote.path another one here?", e.Name, e.Location, t.Path, t.Namespace)
	}
	defer t.Forget(e)
	last, err := t.markDeleting(ctx, e)
	if err == nil {
		err = t.clearBut(ctx, e.Location+"/", last)
	}
	if err == nil {
		err = t.Table(e).Drop(ctx) // while its metadata can still be read
	}
	if err == nil {
		err = t.Store.Clear(ctx, e.Location+"/")
	}
	if err != nil {
		return fmt.Errorf("delete table %s: %w", e.Name, err)
	}
	return nil
}

// markDeleting writes into a table that it is being deleted, and returns where; "": there is no table, or none that can be read.
func (t *Tier) markDeleting(ctx context.Context, e metadata.Table) (location string, err error) {
	table := t.Table(e)
	var s *tables.State
	for range markTries { // others may be changing the table still
		if s, err = table.State(ctx); err == nil && t.Catalog != nil && store.Plain(s.Location()) != store.Plain(e.Location) { // another catalog has a later life's under the name
			return "", nil
		}
		if err == nil && !s.Deleting() {
			s, err = table.SetProperties(ctx, s, map[string]string{tables.DeletingProperty: "true"})
		}
		if !errors.Is(err, chain.ErrConflict) {
			break
		}
	}
	switch {
	case err == nil:
		return s.MetadataLocation(), nil
	case errors.Is(err, chain.ErrNoTable) || time.Since(time.UnixMilli(e.DroppedMs)) > unreadable:
		return "", nil
	}
	return "", err
}

// clearBut deletes all objects of a folder but one.
func (t *Tier) clearBut(ctx context.Context, folder, kept string) error {
	var found []string
	flush := func() error {
		err := t.Store.Delete(ctx, found)
		found = found[:0]
		return err
	}
	err := t.Store.List(ctx, folder, func(o store.Object) error {
		if store.Plain(o.Location) == store.Plain(kept) { // other catalogs may write it another way
			return nil
		}
		if found = append(found, o.Location); len(found) < clearAtOnce {
			return nil
		}
		return flush()
	})
	return errors.Join(err, flush())
}
