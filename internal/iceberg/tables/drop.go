package tables

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"

	"github.com/apache/iceberg-go"
	"github.com/apache/iceberg-go/table"
)

// DropBefore takes the data files out of the table that lie below their partition's start as a whole, for the storage worker
// of a fencing number, and tells which. It reads and writes metadata only, in one snapshot; with nothing to drop it changes
// nothing and returns base. The files themselves stay until no snapshot names them: Reclaim.
func (t *Table) DropBefore(ctx context.Context, base *State, fence int64, starts map[int32]int64) (*State, []File, error) {
	if base.Fence > fence {
		return nil, nil, fmt.Errorf("drop files from table: %w: %d above %d", ErrFenced, base.Fence, fence)
	}
	files, err := t.Files(ctx, base)
	if err != nil {
		return nil, nil, fmt.Errorf("drop files from table: %w", err)
	}
	gone, left := files.split(func(f *File) bool {
		start, known := starts[f.Partition]
		return known && f.Last < start
	})
	if len(gone) == 0 {
		return base, nil, nil
	}
	change := replacement{operation: table.OpDelete, fence: fence, remove: entriesOf(gone), deletes: files.idle(left)}
	s, err := t.replace(ctx, base, &change)
	if err != nil {
		return nil, nil, fmt.Errorf("drop files from table: %w", err)
	}
	return s, gone, nil
}

// split sorts the data files by whether they go.
func (f *Files) split(goes func(*File) bool) (gone []File, left map[int32][]File) {
	left = map[int32][]File{}
	for p, list := range f.Data {
		for i := range list {
			if goes(&list[i]) {
				gone = append(gone, list[i])
			} else {
				left[p] = append(left[p], list[i])
			}
		}
	}
	return gone, left
}

// idle lists the files of position deletes that concern none of the data files.
func (f *Files) idle(data map[int32][]File) (list []iceberg.DataFile) {
	for i := range f.Deletes {
		d := &f.Deletes[i]
		if !slices.ContainsFunc(data[d.Partition], func(f File) bool { return d.Concerns(&f) }) {
			list = append(list, d.entry)
		}
	}
	return list
}

func entriesOf(files []File) []iceberg.DataFile {
	list := make([]iceberg.DataFile, len(files))
	for i, f := range files {
		list[i] = f.entry
	}
	return list
}

// replacement is a change of the files of the table in one snapshot.
type replacement struct {
	operation            table.Operation
	fence                int64
	remove, add, deletes []iceberg.DataFile          // data files that go and come, files of position deletes that go
	properties           iceberg.Properties          // of the table, that change with them; nil: none
	still                func(context.Context) error // asked right before the commit, which an error ends; nil: nothing is
}

func (t *Table) replace(ctx context.Context, base *State, r *replacement) (*State, error) {
	tx, c, err := t.transaction(base)
	if err != nil {
		return nil, err
	}
	c.operation, c.still = r.operation, r.still
	fenced := iceberg.Properties{fenceProperty: strconv.FormatInt(r.fence, 10)}
	properties := maps.Clone(fenced)
	maps.Copy(properties, r.properties)
	if err := tx.SetProperties(properties); err != nil {
		return nil, err
	}
	if len(r.remove)+len(r.add)+len(r.deletes) == 0 {
		if _, err := tx.Commit(ctx); err != nil {
			return nil, err
		}
		return parseState(c.done)
	}
	if err := tx.ReplaceFiles(ctx, r.remove, r.add, r.deletes, fenced, table.WithoutAutoNameMapping()); err != nil {
		return nil, err
	}
	if _, err := tx.Commit(ctx); err != nil {
		return nil, err
	}
	return parseState(c.done)
}
