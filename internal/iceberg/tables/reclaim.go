package tables

import (
	"context"
	"errors"
	"fmt"

	"github.com/apache/iceberg-go/table"

	"github.com/korvet-io/korvet/internal/iceberg/chain"
	"github.com/korvet-io/korvet/internal/iceberg/store"
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
	s, err := t.cleanable(ctx, fence)
	if s == nil || err != nil {
		return r, err
	}
	past, err := t.past(ctx, s)
	if err != nil {
		return r, err
	}
	old := t.chain.Old(past, keptVersions, batchVersions)
	if len(old) == 0 {
		return r, nil
	}
	oldest := s.version // that stays
	if len(old) < len(past) {
		if oldest, err = t.chain.At(ctx, past[len(old)].Location); err != nil {
			return r, err
		}
	}
	kept, gone := t.namedBy(ctx, false), t.namedBy(ctx, true)
	stay := &named{snapshots: map[int64]bool{}}
	for _, s := range append(oldest.Metadata.Snapshots(), s.version.Metadata.Snapshots()...) {
		stay.snapshots[s.SnapshotID] = true
	}
	for _, p := range old {
		v, err := t.chain.At(ctx, p.Location)
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

// cleanable is the state of a table of which files may be deleted by the storage worker of a fencing number; nil: none may. Another
// catalog's table says so where files belong to more than its newest version: Nessie, of whose branches this is one, sets it.
func (t *Table) cleanable(ctx context.Context, fence int64) (*State, error) {
	s, err := t.State(ctx)
	if err != nil {
		return nil, err
	}
	if s.Fence > fence {
		return nil, fmt.Errorf("%w: %d above %d", ErrFenced, s.Fence, fence)
	}
	if t.chain.Catalog != nil && (!s.version.Metadata.Properties().GetBool(table.GCEnabledKey, true) || store.Plain(s.Location()) != store.Plain(t.chain.Location)) {
		return nil, nil
	}
	return s, nil
}

// past lists the versions before a state; none where another catalog keeps them elsewhere.
func (t *Table) past(ctx context.Context, s *State) ([]chain.Past, error) {
	past, err := t.chain.Past(ctx, s.version)
	if errors.Is(err, chain.ErrElsewhere) {
		return nil, nil
	}
	return past, err
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
