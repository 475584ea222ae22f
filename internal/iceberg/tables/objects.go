package tables

import (
	"context"
	"errors"
	"fmt"

	"golang.org/x/sync/errgroup"

	"github.com/korvet-io/korvet/internal/iceberg/chain"
	"github.com/korvet-io/korvet/internal/iceberg/datafile"
	"github.com/korvet-io/korvet/internal/iceberg/store"
)

// checkedAtOnce is how many files of a commit are looked at side by side.
const checkedAtOnce = 16

// checkObjects wants the files that a commit adds to be on the store, and to be what the commit says: an engine may have written
// to another machine's disk, or not at all, and the files that they replace are deleted some time later.
func (c *comparison) checkObjects(ctx context.Context) error {
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(checkedAtOnce)
	for _, files := range c.added {
		for i := range files {
			g.Go(func() error { return c.checkObject(ctx, &files[i]) })
		}
	}
	for _, d := range c.deletes {
		g.Go(func() error {
			bytes, err := c.table.store.Size(ctx, d.FilePath())
			if err == nil && bytes != d.FileSizeBytes() {
				err = fmt.Errorf("%w: %s has %d bytes, the commit says %d", ErrRefused, d.FilePath(), bytes, d.FileSizeBytes())
			}
			return unreadable(err)
		})
	}
	return g.Wait()
}

// checkObject reads a data file's end, and has its offsets from there.
func (c *comparison) checkObject(ctx context.Context, f *File) error {
	if err := c.allowed(f.entry); err != nil {
		return err
	}
	d, err := datafile.Open(ctx, object{c.table.store, f.Location}, f.Bytes)
	if err != nil {
		return unreadable(fmt.Errorf("%s: %w", f.Location, err))
	}
	if d.Rows() != f.Rows {
		return fmt.Errorf("%w: %s has %d rows, the commit says %d", ErrRefused, f.Location, d.Rows(), f.Rows)
	}
	first, last, ok := d.Offsets()
	switch {
	case ok && f.Last >= f.First && (first < f.First || last > f.Last):
		return fmt.Errorf("%w: %s has offsets %d to %d, the commit says %d to %d", ErrRefused, f.Location, first, last, f.First, f.Last)
	case ok:
		f.First, f.Last = first, last
	case f.Last < f.First:
		return fmt.Errorf("%w: %s: neither its manifest nor the file tells which offsets it has", ErrRefused, f.Location)
	}
	return nil
}

// unreadable tells what an error at a commit's file means. A store that does not answer is no fault of the commit's, which may be tried again.
func unreadable(err error) error {
	switch {
	case err == nil || errors.Is(err, ErrRefused) || errors.Is(err, ErrConflict):
		return err
	case errors.Is(err, store.ErrNotFound), errors.Is(err, store.ErrShort), errors.Is(err, store.ErrDenied), errors.Is(err, datafile.ErrCorrupt), errors.Is(err, chain.ErrCorrupt):
		return fmt.Errorf("%w: %w", ErrRefused, err)
	}
	return fmt.Errorf("%w: its files cannot be read: %w", ErrConflict, err)
}
