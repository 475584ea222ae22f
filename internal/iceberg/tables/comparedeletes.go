package tables

import (
	"context"
	"fmt"

	"github.com/korvet-io/korvet/internal/iceberg/datafile"
)

// goneRows tells which rows of a partition go, and reads the commit's position deletes for it. It refuses such as readers could not
// apply, and rows that were deleted and would come back because their deletes go.
func (c *comparison) goneRows(ctx context.Context, p int32) ([]goneRows, error) {
	come, all := c.come[p], concerned(c.kept[p], c.come[p], c.gone[p])
	if len(c.gone[p]) > 0 { // what is deleted afterwards is told by all that stay
		come = c.after[p]
	}
	of := func(deletes []Deletes, files []File) (map[string]*datafile.Positions, error) {
		deleted, err := c.table.deletedRows(ctx, &Files{Deletes: deletes}, &mergeGroup{partition: p, files: files})
		return deleted, unreadable(err)
	}
	after, err := of(come, append(concerned(c.added[p], c.come[p]), all...))
	if err != nil || len(c.gone[p])+len(c.added[p]) == 0 {
		return nil, err
	}
	before, err := of(c.before[p], append(all, c.removed[p]...))
	if err != nil {
		return nil, err
	}
	var gone []goneRows
	for _, f := range all {
		b, a := before[f.Location], after[f.Location]
		if len(c.gone[p]) > 0 && !a.Covers(b) {
			return nil, fmt.Errorf("%w: rows of %s that were deleted would come back", ErrRefused, f.Location)
		}
		if newly := a.Without(b); newly.Count() > 0 {
			gone = append(gone, goneRows{File: f, before: b, stays: true, newly: newly})
		}
	}
	for _, f := range c.removed[p] {
		gone = append(gone, goneRows{File: f, before: before[f.Location]})
	}
	return gone, nil
}

// concerned are the files that deletes may be of.
func concerned(files []File, deletes ...[]Deletes) (list []File) {
	for _, f := range files {
		if f.concernedBy(deletes) {
			list = append(list, f)
		}
	}
	return list
}

func (f *File) concernedBy(deletes [][]Deletes) bool {
	for _, list := range deletes {
		for i := range list {
			if list[i].Concerns(f) {
				return true
			}
		}
	}
	return false
}
