package tables

import (
	"context"
	"errors"

	"github.com/apache/iceberg-go"
	"github.com/apache/iceberg-go/table"

	"github.com/korvet-io/korvet/internal/iceberg/fileio"
	"github.com/korvet-io/korvet/internal/iceberg/store"
)

// named is which files some snapshots name, by plain location.
type named struct {
	table     *Table
	io        fileio.IO
	snapshots map[int64]bool
	lists     map[string]bool
	manifests map[string]iceberg.ManifestFile
	files     map[string]bool // data files and deletes, of the manifests that were read
	read      map[string]bool // manifests
	lenient   bool            // what is gone names nothing
}

func (t *Table) namedBy(ctx context.Context, lenient bool) *named {
	return &named{
		table: t, io: fileio.New(ctx, t.store), lenient: lenient, snapshots: map[int64]bool{}, lists: map[string]bool{},
		manifests: map[string]iceberg.ManifestFile{}, files: map[string]bool{}, read: map[string]bool{},
	}
}

// add notes the manifest lists and manifests of snapshots, except those that others have.
func (n *named) add(m table.Metadata, others *named) error {
	for _, s := range m.Snapshots() {
		if n.snapshots[s.SnapshotID] || others != nil && others.snapshots[s.SnapshotID] {
			continue
		}
		n.snapshots[s.SnapshotID] = true
		n.lists[store.Plain(s.ManifestList)] = true
		manifests, err := readList(n.io, &s)
		if n.lenient && errors.Is(err, store.ErrNotFound) {
			continue
		}
		if err != nil {
			return err
		}
		for _, f := range manifests {
			n.manifests[store.Plain(f.FilePath())] = f
		}
	}
	for f := range m.Statistics() {
		n.files[store.Plain(f.StatisticsPath)] = true
	}
	for f := range m.PartitionStatistics() {
		n.files[store.Plain(f.StatisticsPath)] = true
	}
	return nil
}

// readAll notes the files of the manifests, except of those that others have.
func (n *named) readAll(others *named) error {
	for location, m := range n.manifests {
		if n.read[location] || others != nil && others.manifests[location] != nil {
			continue
		}
		entries, err := n.table.entries(n.io, m)
		if n.lenient && errors.Is(err, store.ErrNotFound) {
			err = nil
		}
		if err != nil {
			return err
		}
		n.read[location] = true
		for _, e := range entries {
			n.files[store.Plain(e.DataFile().FilePath())] = true
		}
	}
	return nil
}

// only lists what others do not name: data files and deletes, manifests, manifest lists, in the order in which they may be
// deleted so that a part of it can be begun again.
func (n *named) only(others *named) (files, manifests, lists []string) {
	for f := range n.files {
		if !others.files[f] && n.table.below(f) {
			files = append(files, f)
		}
	}
	for m := range n.manifests {
		if others.manifests[m] == nil && n.table.below(m) {
			manifests = append(manifests, m)
		}
	}
	for l := range n.lists {
		if !others.lists[l] && n.table.below(l) {
			lists = append(lists, l)
		}
	}
	return files, manifests, lists
}
