package tables

import (
	"context"
	"fmt"
)

const (
	// keptVersions is how many metadata files stay however old they are: those that the metadata log names.
	keptVersions = 100
	// batchVersions bounds the work of one Reclaim.
	batchVersions = 100
)

// Reclaimed is what Reclaim deleted.
type Reclaimed struct {
	Files    int // data files, deletes, manifests and manifest lists
	Versions int // metadata files
	More     bool
}

// Reclaim deletes metadata files that were followed by another more than a day ago, and with them the files that only they
// named. So who opened the table a day ago or less finds all its files. It is for the storage worker of a fencing number, a
// bounded step, and may be repeated: after an error what is left is deleted by a later one.
func (t *Table) Reclaim(ctx context.Context, fence int64) (Reclaimed, error) {
	r, err := t.reclaim(ctx, fence)
	if err != nil {
		return r, fmt.Errorf("reclaim table's files: %w", err)
	}
	return r, nil
}

func (t *Table) reclaim(ctx context.Context, fence int64) (r Reclaimed, err error) {
	if t.chain.Catalog != nil { // whose files these are, it knows
		return r, nil
	}
	s, err := t.State(ctx)
	if err != nil {
		return r, err
	}
	if s.Fence > fence {
		return r, fmt.Errorf("%w: %d above %d", ErrFenced, s.Fence, fence)
	}
	old, next, err := t.chain.Old(ctx, s.version, keptVersions, batchVersions)
	if err != nil || len(old) == 0 {
		return r, err
	}
	oldest, err := t.chain.At(ctx, next)
	if err != nil {
		return r, err
	}
	kept, gone := t.namedBy(ctx, false), t.namedBy(ctx, true)
	stay := &named{snapshots: map[int64]bool{}}
	for _, s := range append(oldest.Metadata.Snapshots(), s.version.Metadata.Snapshots()...) {
		stay.snapshots[s.SnapshotID] = true
	}
	for _, n := range old {
		v, err := t.chain.At(ctx, n)
		if err != nil {
			return r, err
		}
		if err := gone.add(v.Metadata, stay); err != nil {
			return r, err
		}
	}
	if len(gone.snapshots)+len(gone.files) > 0 {
		if err := kept.add(oldest.Metadata, nil); err != nil {
			return r, err
		}
		if r.Files, err = t.deleteOnly(ctx, gone, kept); err != nil {
			return r, err
		}
	}
	r.Versions, r.More = len(old), len(old) == batchVersions
	return r, t.chain.Remove(ctx, old)
}

// deleteOnly deletes what gone names, and neither kept nor the newest version.
func (t *Table) deleteOnly(ctx context.Context, gone, kept *named) (int, error) {
	if err := t.addNewest(ctx, kept); err != nil {
		return 0, err
	}
	if err := gone.readAll(kept); err != nil {
		return 0, err
	}
	if len(gone.files) > 0 {
		if err := kept.readAll(nil); err != nil {
			return 0, err
		}
	}
	if err := t.addNewest(ctx, kept); err != nil { // it may have taken a while
		return 0, err
	}
	if len(gone.files) > 0 {
		if err := kept.readAll(nil); err != nil {
			return 0, err
		}
	}
	n := 0
	files, manifests, lists := gone.only(kept)
	for _, locations := range [][]string{files, manifests, lists} {
		if err := t.store.Delete(ctx, locations); err != nil {
			return n, err
		}
		n += len(locations)
	}
	return n, nil
}

// addNewest notes what the newest version names.
func (t *Table) addNewest(ctx context.Context, kept *named) error {
	v, err := t.chain.Current(ctx)
	if err != nil {
		return err
	}
	return kept.add(v.Metadata, nil)
}
