package tables

import (
	"context"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/apache/iceberg-go"
	"github.com/apache/iceberg-go/table"

	"github.com/korvet-io/korvet/internal/iceberg/fileio"
	"github.com/korvet-io/korvet/internal/iceberg/store"
)

// ownProperties are those that engines may not change, beside all that begin with korvet.: their own commits, or the library's,
// would go elsewhere or take metadata files away that are still needed.
var ownProperties = []string{
	"format-version", "write.data.path", "write.metadata.path", "write.folder-storage.path", "write.object-storage.enabled",
	"write.metadata.delete-after-commit.enabled",
}

// judge refuses what would change the log.
func (t *Table) judge(ctx context.Context, turns *Turns, before, after table.Metadata) error {
	if err := sameProperties(before.Properties(), after.Properties()); err != nil {
		return err
	}
	old, current := before.CurrentSnapshot(), after.CurrentSnapshot()
	if err := t.judgeSnapshots(before, after, old, current); err != nil {
		return err
	}
	if current == nil || old != nil && old.SnapshotID == current.SnapshotID {
		return nil
	}
	was, err := t.live(ctx, old)
	if err != nil {
		return fmt.Errorf("%w: the table cannot be read: %w", ErrConflict, err)
	}
	is, err := t.live(ctx, current)
	if err != nil {
		return unreadable(err)
	}
	if len(is.twice) > len(was.twice) {
		return fmt.Errorf("%w: %s would be in the table twice", ErrRefused, is.twice[0])
	}
	if err := t.judgeBetween(ctx, before, after, current); err != nil {
		return err
	}
	return newComparison(t, turns, after, was.files, is.files).check(ctx)
}

// judgeBetween wants snapshots that a commit adds below the newest to be readable: what maintenance cannot read stops it.
func (t *Table) judgeBetween(ctx context.Context, before, after table.Metadata, current *table.Snapshot) error {
	for _, s := range after.Snapshots() {
		if s.SnapshotID == current.SnapshotID || before.SnapshotByID(s.SnapshotID) != nil {
			continue
		}
		if _, err := t.live(ctx, &s); err != nil {
			return unreadable(err)
		}
	}
	return nil
}

func sameProperties(before, after iceberg.Properties) error {
	own := func(name string) bool {
		return strings.HasPrefix(name, "korvet.") || slices.Contains(ownProperties, name)
	}
	for name, value := range after {
		if was, known := before[name]; own(name) && (!known || was != value) {
			return fmt.Errorf("%w: property %s is korvet's own", ErrRefused, name)
		}
	}
	for name := range before {
		if _, still := after[name]; own(name) && !still {
			return fmt.Errorf("%w: property %s is korvet's own", ErrRefused, name)
		}
	}
	return nil
}

// judgeSnapshots wants every new snapshot to be on branch main, on top of what main was.
func (t *Table) judgeSnapshots(before, after table.Metadata, old, current *table.Snapshot) error {
	known := map[int64]bool{}
	for _, s := range before.Snapshots() {
		known[s.SnapshotID] = true
	}
	if old != nil && current == nil {
		return fmt.Errorf("%w: branch main may not be removed", ErrRefused)
	}
	if current != nil && known[current.SnapshotID] && (old == nil || current.SnapshotID != old.SnapshotID) {
		return fmt.Errorf("%w: branch main may not go back to an earlier snapshot: consumers have read on", ErrRefused)
	}
	onMain := map[int64]bool{}
	for s := current; s != nil && !known[s.SnapshotID]; {
		onMain[s.SnapshotID] = true
		switch {
		case s.ParentSnapshotID == nil && old != nil || s.ParentSnapshotID != nil && old == nil && after.SnapshotByID(*s.ParentSnapshotID) == nil:
			return fmt.Errorf("%w: snapshot %d does not follow the current one", ErrRefused, s.SnapshotID)
		case s.ParentSnapshotID == nil:
			s = nil
		case known[*s.ParentSnapshotID] && *s.ParentSnapshotID != old.SnapshotID:
			return fmt.Errorf("%w: snapshot %d follows %d, the current one is %d", ErrConflict, s.SnapshotID, *s.ParentSnapshotID, old.SnapshotID)
		default:
			s = after.SnapshotByID(*s.ParentSnapshotID)
		}
	}
	for _, s := range after.Snapshots() {
		if known[s.SnapshotID] {
			continue
		}
		if !onMain[s.SnapshotID] {
			return fmt.Errorf("%w: snapshot %d is not on branch main", ErrRefused, s.SnapshotID)
		}
		if !t.below(s.ManifestList) {
			return fmt.Errorf("%w: %s is outside the table's location", ErrRefused, s.ManifestList)
		}
	}
	return nil
}

// below tells whether a file lies in the table's folder and has the only name that it can have there: by a second one it would
// be deleted with the first, and %2e%2e/ leads out of the folder.
func (t *Table) below(location string) bool {
	name, found := strings.CutPrefix(store.Plain(location), store.Plain(t.chain.Location)+"/")
	return found && !strings.Contains(name, "%") && path.Clean("/"+name) == "/"+name
}

// live is the files that a snapshot has, by location.
type live struct {
	files map[string]iceberg.ManifestEntry
	twice []string // those that it has more than once
}

// live reads which files a snapshot has. Manifests that were read for the newest state are not read again.
func (t *Table) live(ctx context.Context, s *table.Snapshot) (*live, error) {
	l := &live{files: map[string]iceberg.ManifestEntry{}}
	if s == nil {
		return l, nil
	}
	io := fileio.New(ctx, t.store)
	manifests, err := readList(io, s)
	if err != nil {
		return nil, err
	}
	for _, m := range manifests {
		entries, err := t.entries(io, m)
		if err != nil {
			return nil, err
		}
		for _, e := range entries {
			location := store.Plain(e.DataFile().FilePath())
			if _, there := l.files[location]; there {
				l.twice = append(l.twice, location)
			}
			l.files[location] = e
		}
	}
	return l, nil
}

// entries reads a manifest, unless it is known.
func (t *Table) entries(io fileio.IO, m iceberg.ManifestFile) ([]iceberg.ManifestEntry, error) {
	t.files.mu.Lock()
	entries, ok := t.files.manifests[m.FilePath()]
	t.files.mu.Unlock()
	if ok {
		return entries, nil
	}
	if !t.below(m.FilePath()) {
		return nil, fmt.Errorf("%w: manifest %s is outside the table's location", ErrRefused, m.FilePath())
	}
	return readManifest(io, m)
}
