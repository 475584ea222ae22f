package app

import (
	"log/slog"

	"github.com/google/uuid"

	"github.com/korvet-io/korvet/internal/iceberg/datafile"
	"github.com/korvet-io/korvet/internal/iceberg/tables"
	"github.com/korvet-io/korvet/internal/worker/copying"
	"github.com/korvet-io/korvet/internal/worker/upkeep"
)

const (
	// metadataBytes is the size of a table's metadata file above which snapshots go.
	metadataBytes = 512 << 10
	// mergePart is how many target file sizes one step of merging reads.
	mergePart = 4
)

// openKeeper makes what keeps the tables of the remote tier in order, and shares the limit of the copier's writes; nil: there is
// none.
func (b *Broker) openKeeper(p *parts, copier *copying.Copier, log *slog.Logger) *upkeep.Keeper {
	if p.tier == nil {
		return nil
	}
	d := upkeep.Dependencies{
		Redis: p.shard, Times: p.reader, Observer: b.metrics, Log: log,
		Settings: func() upkeep.Settings { return b.keepSettings(copier) },
		Tables: func(topic uuid.UUID) (upkeep.Table, bool) {
			entry, ok := p.store.TableOf(topic)
			if !ok {
				return nil, false
			}
			return p.tier.Table(entry), true
		},
	}
	if p.announcer != nil {
		d.Events = p.announcer
	}
	return upkeep.New(d)
}

func (b *Broker) keepSettings(copier *copying.Copier) upkeep.Settings {
	r := &b.cfg.Storage.Remote
	u := &r.Upkeep
	return upkeep.Settings{
		NoMerge: !u.MergeEnabled, NoDelete: r.Catalog.Type != "korvet" && !r.Catalog.DeleteFiles, OrphanAge: u.OrphanMaxAge,
		Snapshots: tables.Rules{MaxAge: u.SnapshotMaxAge, MinCount: u.SnapshotMinCount, MaxCount: u.SnapshotMaxCount, MaxBytes: metadataBytes},
		Merge: tables.MergeRules{
			TargetBytes: int64(r.FileSize), MinFiles: u.MergeMinFiles, MaxBytes: mergePart * int64(r.FileSize), Slow: copier.Slow,
			Options: datafile.Options{PageBytes: datafile.DefaultPageBytes, RowGroupBytes: int(r.RowGroupSize), KeyBloom: r.BloomFilter, CreatedBy: b.opt.Version, Turns: b.turns},
		},
	}
}
