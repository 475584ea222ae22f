package chain

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/apache/iceberg-go/table"

	"github.com/korvet-io/korvet/internal/iceberg/store"
)

// ErrElsewhere is a table of another catalog whose newest metadata file is not in the table's own folder: nobody can tell there
// what belongs to the table.
var ErrElsewhere = errors.New("the catalog keeps the table's metadata in another place")

// pastOf follows the log of metadata files, which each of them has of those before it, as far as they are in the table's folder.
// Files that it does not come to were never the table: commits that came second.
func (c *Chain) pastOf(ctx context.Context, current *Version) ([]Past, error) {
	files := map[string]store.Object{} // by plain location
	err := c.Store.List(ctx, c.folder(), func(o store.Object) error {
		if strings.Contains(o.Location, ".metadata.json") {
			files[store.Plain(o.Location)] = o
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("list table's metadata: %w", err)
	}
	newest, there := files[store.Plain(current.Location)]
	if !there {
		return nil, fmt.Errorf("%w: %s", ErrElsewhere, current.Location)
	}
	var past []Past
	followed := newest.Modified
	delete(files, store.Plain(current.Location))
	for m := current.Metadata; m != nil; {
		found := len(past)
		for _, e := range slices.Backward(slices.Collect(m.PreviousFiles())) {
			if o, there := files[store.Plain(e.MetadataFile)]; there {
				past = append(past, Past{Location: o.Location, Followed: followed})
				followed = o.Modified
				delete(files, store.Plain(e.MetadataFile))
			}
		}
		if len(past) == found {
			break
		}
		if m, err = c.metadataAt(ctx, past[len(past)-1].Location); err != nil {
			return nil, err
		}
	}
	slices.Reverse(past)
	return past, nil
}

// metadataAt reads a past version's metadata; nil: the file has just gone.
func (c *Chain) metadataAt(ctx context.Context, location string) (table.Metadata, error) {
	v, err := c.At(ctx, location)
	if errors.Is(err, store.ErrNotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	return v.Metadata, nil
}
