package tables

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/apache/iceberg-go"
	"github.com/apache/iceberg-go/table"

	"github.com/korvet-io/korvet/internal/iceberg/chain"
	"github.com/korvet-io/korvet/internal/iceberg/datafile"
	"github.com/korvet-io/korvet/internal/iceberg/store"
)

// MergeRules say which data files are rewritten, and how.
type MergeRules struct {
	TargetBytes int64            // about the size of a data file
	MinFiles    int              // so many adjacent small files are merged although they do not fill one
	MaxBytes    int64            // of files that one Merge reads, about: it takes one group at least
	Options     datafile.Options // of the files it writes; typed columns are those of the table
	// Slow reads a data file that is being written no faster than it may be sent; nil: as fast as it goes.
	Slow func(ctx context.Context, r io.Reader) io.Reader
}

// Merged is what Merge did.
type Merged struct {
	Files int   // that were replaced
	Bytes int64 // of the files in their place
	More  bool  // is left to be done
}

// Merge rewrites small adjacent files of a partition, in offset order, and files of which rows were deleted without these, for
// the storage worker of a fencing number: in one snapshot, which has the rows that it had before. With nothing to do it returns
// base. It holds a few pages of each file in memory. After chain.ErrConflict, chain.ErrStale and ErrFenced nothing was changed.
func (t *Table) Merge(ctx context.Context, base *State, fence int64, r MergeRules) (*State, Merged, error) {
	if base.Fence > fence {
		return nil, Merged{}, fmt.Errorf("merge files of table: %w: %d above %d", ErrFenced, base.Fence, fence)
	}
	s, m, err := t.merge(ctx, base, fence, &r)
	if err != nil {
		return nil, m, fmt.Errorf("merge files of table: %w", err)
	}
	return s, m, nil
}

func (t *Table) merge(ctx context.Context, base *State, fence int64, r *MergeRules) (_ *State, m Merged, err error) {
	files, err := t.Files(ctx, base)
	if err != nil {
		return nil, m, err
	}
	var written []Added
	gone := map[string]bool{}
	read := int64(0)
	for _, g := range planMerge(files, r) {
		if read > 0 && read+g.bytes > r.MaxBytes {
			m.More = true
			break
		}
		read += g.bytes
		added, err := t.mergeGroup(ctx, base, files, &g, r)
		written = append(written, added...)
		if err != nil {
			t.discard(ctx, written)
			return nil, Merged{}, err
		}
		for _, f := range g.files {
			gone[f.Location] = true
		}
	}
	if len(gone) == 0 {
		return base, m, nil
	}
	s, err := t.commitMerge(ctx, base, fence, files, gone, written)
	if errors.Is(err, chain.ErrConflict) || errors.Is(err, chain.ErrStale) {
		t.discard(ctx, written)
	}
	if err != nil {
		return nil, Merged{}, err
	}
	m.Files = len(gone)
	for _, a := range written {
		m.Bytes += a.Bytes
	}
	return s, m, nil
}

// discard deletes files that are in no table. What of them stays is swept.
func (t *Table) discard(ctx context.Context, files []Added) {
	for _, f := range files {
		_ = t.store.Delete(context.WithoutCancel(ctx), []string{f.Location})
	}
}

func (t *Table) commitMerge(ctx context.Context, base *State, fence int64, files *Files, gone map[string]bool, written []Added) (*State, error) {
	removed, left := files.split(func(f *File) bool { return gone[f.Location] })
	change := replacement{operation: table.OpReplace, fence: fence, remove: entriesOf(removed), deletes: files.idle(left)}
	change.add = make([]iceberg.DataFile, len(written))
	for i := range written {
		d, err := newDataFile(&written[i], base.version.Metadata)
		if err != nil {
			return nil, err
		}
		change.add[i] = d
	}
	return t.replace(ctx, base, &change)
}

// mergeGroup writes the rows of a group's files to new ones. With an error it returns those that may be there.
func (t *Table) mergeGroup(ctx context.Context, base *State, files *Files, g *mergeGroup, r *MergeRules) (written []Added, err error) {
	deleted, err := t.deletedRows(ctx, files, g)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	rows := newMergedRows(ctx, t, g, deleted)
	rows.until = g.until
	defer rows.stop()
	for {
		row, err := rows.peek()
		if err != nil || row == nil {
			return written, err
		}
		a := Added{Partition: g.partition}
		a.Location = fmt.Sprintf("%s/data/partition=%d/%020d-%d-%s.parquet", t.chain.Location, g.partition, row.Offset, g.files[len(g.files)-1].Last, strings.ToLower(rand.Text()[:13]))
		written = append(written, a)
		if err := t.mergeFile(ctx, base, &written[len(written)-1], rows, r); err != nil {
			return written, err
		}
	}
}

// mergeFile writes rows to one file: all there are, unless that would be twice the size that it is to have.
func (t *Table) mergeFile(ctx context.Context, base *State, a *Added, rows *mergedRows, r *MergeRules) error {
	read, write := io.Pipe()
	sized := &counter{w: write}
	done := make(chan error, 1)
	go func() {
		f := newRowWriter(sized, base, a.Partition, r.Options)
		err := rows.copyTo(f, func() bool { return sized.n >= 2*r.TargetBytes })
		if err == nil {
			a.Summary, err = f.Close()
		}
		done <- err
		_ = write.CloseWithError(err)
	}()
	var body io.Reader = read
	if r.Slow != nil {
		body = r.Slow(ctx, body)
	}
	err := t.store.Put(ctx, a.Location, body)
	_ = read.CloseWithError(errors.New("the store took no more"))
	if wrote := <-done; err == nil {
		err = wrote
	}
	a.Bytes, a.End = sized.n, a.LastOffset+1
	return err
}

// counter counts what is written.
type counter struct {
	w io.Writer
	n int64
}

func (c *counter) Write(p []byte) (int, error) {
	n, err := c.w.Write(p)
	c.n += int64(n)
	return n, err
}

// deletedRows reads which rows of a group's files were deleted.
func (t *Table) deletedRows(ctx context.Context, files *Files, g *mergeGroup) (map[string]*datafile.Positions, error) {
	deleted := map[string]*datafile.Positions{}
	for i := range files.Deletes {
		d := &files.Deletes[i]
		of := map[string]*datafile.Positions{}
		for _, f := range g.files {
			if !d.Concerns(&f) {
				continue
			}
			if deleted[f.Location] == nil {
				deleted[f.Location] = datafile.NewPositions(f.Rows)
			}
			of[store.Plain(f.Location)] = deleted[f.Location]
		}
		if len(of) == 0 {
			continue
		}
		err := datafile.ReadDeletes(ctx, object{t.store, d.Location}, d.Bytes, func(file string) *datafile.Positions { return of[store.Plain(file)] })
		if err != nil {
			return nil, fmt.Errorf("%s: %w", d.Location, err)
		}
	}
	return deleted, nil
}
