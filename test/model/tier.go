package model

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/korvet-io/korvet/internal/iceberg/chain"
	"github.com/korvet-io/korvet/internal/iceberg/datafile"
	"github.com/korvet-io/korvet/internal/iceberg/storetest"
	"github.com/korvet-io/korvet/internal/iceberg/tables"
	"github.com/korvet-io/korvet/internal/metadata"
	"github.com/korvet-io/korvet/internal/partition"
	"github.com/korvet-io/korvet/internal/remote"
	"github.com/korvet-io/korvet/internal/worker/copying"
	"github.com/korvet-io/korvet/internal/worker/upkeep"
)

// remoteTier is the remote tier of a program: how it is used, and what the program knows of it.
type remoteTier struct {
	path    string
	wanted  bool         // the topic is in it from its creation or sooner or later
	ahead   atomic.Int64 // how far its clock is ahead of ours, ns
	born    sync.Map     // location -> how far it was when the object was written
	reads   remote.ReaderSettings
	copies  copying.Settings
	upkeep  upkeep.Settings
	checked string // the newest metadata file that was compared
}

func (t *remoteTier) String() string {
	return fmt.Sprintf("row groups of %d B, data files of %d B, at least %d are merged, read in stretches of %d rows",
		t.copies.RowGroupBytes, t.copies.TargetFileBytes, t.upkeep.Merge.MinFiles, t.reads.StretchRows)
}

// prepareTier draws how the remote tier is used.
func (w *world) prepareTier() {
	w.opened++
	t := &w.remote
	t.path, t.wanted = fmt.Sprintf("file://%s/%d", w.dir, w.opened), w.rnd.IntN(3) > 0
	t.reads = remote.DefaultReaderSettings()
	t.reads.StretchRows = int64(1 + w.rnd.IntN(40))
	t.reads.CacheBytes = [...]int64{1, 64 << 10, 64 << 20}[w.rnd.IntN(3)]
	group := [...]int64{1 << 10, 16 << 10, 1 << 20}[w.rnd.IntN(3)]
	target := [...]int64{4 << 10, 32 << 10, 1 << 20}[w.rnd.IntN(3)]
	t.copies = copying.Settings{RowGroupBytes: group, TargetFileBytes: target, KeyBloom: w.rnd.IntN(2) == 0, Threads: 1 + w.rnd.IntN(3), MaxValueBytes: 16 << 20}
	t.copies.JSON.Columns, t.copies.JSON.NameBytes = 8, 64
	t.upkeep = upkeep.Settings{
		OrphanAge: time.Hour, Snapshots: tables.Rules{MaxAge: time.Hour, MinCount: 1 + w.rnd.IntN(3), MaxCount: 20, MaxBytes: 512 << 10},
		Merge: tables.MergeRules{
			TargetBytes: target, MinFiles: 2 + w.rnd.IntN(3), MaxBytes: 8 * target,
			Options: datafile.Options{PageBytes: 1 << (8 + w.rnd.IntN(10)), RowGroupBytes: int(group), CreatedBy: "model"},
		},
	}
}

// removeTier removes the program's files.
func (w *world) removeTier() {
	_ = os.RemoveAll(strings.TrimPrefix(w.remote.path, "file://"))
}

// clock is that of the store and of the tables' upkeep, which the program puts forward.
func (w *world) clock() time.Time { return time.Now().Add(time.Duration(w.remote.ahead.Load())) }

// tier is a process's way to the remote tier.
type tier struct {
	*remote.Tier
	shelf *shelf
	cut   *storetest.Cut
}

// openTier opens the remote tier for a process.
func (w *world) openTier(log *slog.Logger) *tier {
	opened, err := remote.Open(w.ctx, remote.Settings{Path: w.remote.path, Namespace: "korvet", MetadataCache: 1 << 20}, w.store, w.store.TableHint(), log)
	if err != nil {
		panic(err) // a directory of ours
	}
	t := &tier{Tier: opened, shelf: &shelf{Store: opened.Store, remote: &w.remote, left: -1}}
	t.cut = storetest.NewCut(t.shelf)
	t.Now, t.Store = w.clock, t.cut
	return t
}

func (t *tier) reader(w *world) partition.Remote {
	return remote.NewReader(t.Tier, w.remote.reads, nil)
}

// SeekAppend looks with what the table is now: what a reader remembers may delay retention, and the model is exact.
func (t *tier) SeekAppend(ctx context.Context, ref partition.Ref, ms, from int64) (int64, error) {
	return remote.NewReader(t.Tier, remote.DefaultReaderSettings(), nil).SeekAppend(ctx, ref, ms, from)
}

// table is the topic's table, of which nothing was read yet; nil: it has none.
func (w *world) table() (*tables.Table, metadata.Table) {
	entry, has := w.store.TableOf(w.topic.ID)
	if !has {
		return nil, entry
	}
	objects := w.openTier(slog.New(slog.DiscardHandler)).Store
	c := &chain.Chain{Store: objects, Hint: w.store.TableHint(), Location: entry.Location, Now: w.clock}
	return tables.Open(c, "korvet", entry.Name), entry
}

// leaving tells whether the topic's table is to go at the next tick.
func (w *world) leaving() bool {
	_, has := w.store.TableOf(w.topic.ID)
	return has && !w.topic.Config.RemoteStorage && w.topic.Config.RemoteDeleteOnDisable
}

// Copies and upkeep tell nothing that is not in the log, too.
func (d *done) FileArchived(time.Duration, error)                     {}
func (d *done) Archived(segments int, _ int64)                        { d.archived.Add(int64(segments)) }
func (d *done) ArchiveTruncated(int64)                                {}
func (d *done) ArchiveFailed(string)                                  {}
func (d *done) ArchiveLag(map[string]int64, map[string]time.Duration) {}
func (d *done) ArchiveLagOffsets(map[string]int64)                    {}
func (d *done) TablesKept(_, _, _, _ map[string]int64)                {}
func (d *done) UpkeepFailed(string)                                   {}
func (d *done) UpkeepDone(operation string, n int) {
	counts, _ := d.upkeep.LoadOrStore(operation, new(atomic.Int64))
	counts.(*atomic.Int64).Add(int64(n))
}

// upkeepText lists what upkeep did.
func (d *done) upkeepText() string {
	var b strings.Builder
	for _, operation := range []string{"drop", "merge", "expire", "reclaim", "sweep", "engine", "off"} {
		if n, ok := d.upkeep.Load(operation); ok {
			fmt.Fprintf(&b, ", %s %d", operation, n.(*atomic.Int64).Load())
		}
	}
	return b.String()
}
