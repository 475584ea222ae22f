package chain

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/korvet-io/korvet/internal/iceberg/store"
)

// Keep is how long a metadata file stays after another followed it: a committer that slept cannot write a number that was freed
// meanwhile, and a query that began with it has this long to end.
const Keep = keep

// Past is a version that another followed.
type Past struct {
	Location string
	Followed time.Time // when the one after it was written
}

// Past lists the versions before the current one that are still there, oldest first. ErrCorrupt: the current one is not the newest,
// since the number after it is missing and higher ones are there: what these name must not go. ErrElsewhere.
func (c *Chain) Past(ctx context.Context, current *Version) ([]Past, error) {
	if c.Catalog != nil {
		return c.pastOf(ctx, current)
	}
	written := map[int64]time.Time{}
	err := c.Store.List(ctx, c.folder(), func(o store.Object) error {
		if n, ok := c.numberOf(o.Location); ok {
			written[n] = o.Modified
		}
		return nil
	})
	if err == nil && len(written) == 0 {
		err = ErrNoTable
	}
	if err != nil {
		return nil, fmt.Errorf("list table's metadata: %w", err)
	}
	if err := c.gap(ctx, current, written); err != nil {
		return nil, err
	}
	var past []Past
	numbers := slices.Sorted(maps.Keys(written))
	for i, n := range numbers {
		if n >= current.Number || i+1 == len(numbers) {
			break
		}
		past = append(past, Past{Location: c.location(n), Followed: written[numbers[i+1]]})
	}
	return past, nil
}

// Old are the first of the past versions that may go, at most so many: each was followed by another more than a day ago, and by at
// least newer ones.
func (c *Chain) Old(past []Past, newer, most int) []Past {
	for i, p := range past {
		if i == most || len(past)-i <= newer || c.Now().Sub(p.Followed) <= keep {
			return past[:i]
		}
	}
	return past
}

// gap tells whether the chain was cut behind a version: somebody deleted the file after it.
func (c *Chain) gap(ctx context.Context, current *Version, written map[int64]time.Time) error {
	next := current.Number + 1
	if _, there := written[next]; there || slices.Max(slices.Collect(maps.Keys(written))) < next {
		return nil
	}
	_, err := c.Store.Size(ctx, c.location(next)) // it may have come while the folder was listed
	if errors.Is(err, store.ErrNotFound) {
		err = fmt.Errorf("%w: %s is missing, and later ones are there", ErrCorrupt, c.location(next))
	}
	return err
}

// Numbered finds where the version of a number is, behind which the table has a current one. store.ErrNotFound: it is gone, or its
// place is not known any more.
func (c *Chain) Numbered(ctx context.Context, number int64) (location string, err error) {
	if c.Catalog == nil {
		return c.location(number), nil
	}
	current, err := c.currentOf(ctx)
	if err != nil {
		return "", err
	}
	for e := range current.Metadata.PreviousFiles() {
		if n, ok := leadingNumber(e.MetadataFile); ok && n == number {
			return e.MetadataFile, nil
		}
	}
	return "", fmt.Errorf("find version %d of the table: %w", number, store.ErrNotFound)
}

// At reads the version at a location, which is no base to commit on. store.ErrNotFound: it is gone.
func (c *Chain) At(ctx context.Context, location string) (*Version, error) {
	raw, err := c.Store.Read(ctx, location)
	if err != nil {
		return nil, fmt.Errorf("read table's metadata: %w", err)
	}
	v := &Version{Location: location, Raw: raw}
	if n, ok := c.numberOf(location); ok {
		v.Number = n
	} else {
		v.Number, _ = leadingNumber(location)
	}
	if v.Metadata, err = parse(v); err != nil {
		return nil, err
	}
	return v, nil
}

// Remove deletes metadata files of past versions, oldest first.
func (c *Chain) Remove(ctx context.Context, old []Past) error {
	for _, p := range old {
		if err := c.Store.Delete(ctx, []string{p.Location}); err != nil {
			return fmt.Errorf("remove table's metadata: %w", err)
		}
	}
	return nil
}

// Own tells whether a location is that of one of the chain's own files, which the versions there are do not name.
func (c *Chain) Own(location string) bool {
	_, ok := c.numberOf(location)
	return c.Catalog == nil && ok || location == c.hintFile()
}
