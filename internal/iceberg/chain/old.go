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

// Old lists the numbers of metadata files that may go, oldest first, at most so many: each was followed by another more than a
// day ago, and by at least newer ones. next is the oldest that stays. ErrCorrupt: the current one is not the newest, since the number
// after it is missing and higher ones are there: what these name must not go.
func (c *Chain) Old(ctx context.Context, current *Version, newer int64, most int) (old []int64, next int64, err error) {
	written := map[int64]time.Time{}
	err = c.Store.List(ctx, c.folder(), func(o store.Object) error {
		if n, ok := c.numberOf(o.Location); ok {
			written[n] = o.Modified
		}
		return nil
	})
	if err != nil {
		return nil, 0, fmt.Errorf("list table's metadata: %w", err)
	}
	numbers := make([]int64, 0, len(written))
	for n := range written {
		numbers = append(numbers, n)
	}
	slices.Sort(numbers)
	if len(numbers) > 0 {
		if err := c.gap(ctx, current, written); err != nil {
			return nil, 0, err
		}
	}
	for i, n := range numbers {
		if i+1 == len(numbers) || len(old) == most || n >= current.Number-newer || c.Now().Sub(written[numbers[i+1]]) <= keep {
			return old, n, nil
		}
		old = append(old, n)
	}
	return nil, 0, fmt.Errorf("list table's metadata: %w", ErrNoTable)
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

// At reads the version of a number, which is no base to commit on. store.ErrNotFound: it is gone.
func (c *Chain) At(ctx context.Context, number int64) (*Version, error) {
	raw, err := c.Store.Read(ctx, c.location(number))
	if err != nil {
		return nil, fmt.Errorf("read table's metadata: %w", err)
	}
	v := &Version{Number: number, Location: c.location(number), Raw: raw}
	if v.Metadata, err = parse(v); err != nil {
		return nil, err
	}
	return v, nil
}

// Remove deletes metadata files that Old listed, oldest first.
func (c *Chain) Remove(ctx context.Context, old []int64) error {
	for _, n := range old {
		if err := c.Store.Delete(ctx, []string{c.location(n)}); err != nil {
			return fmt.Errorf("remove table's metadata: %w", err)
		}
	}
	return nil
}

// Numbered tells whether a location is that of one of the chain's own files.
func (c *Chain) Numbered(location string) bool {
	_, ok := c.numberOf(location)
	return ok || location == c.hintFile()
}
