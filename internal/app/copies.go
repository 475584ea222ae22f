package app

import (
	"github.com/korvet-io/korvet/internal/config"
	"github.com/korvet-io/korvet/internal/iceberg/jsoncolumns"
	"github.com/korvet-io/korvet/internal/remote"
	"github.com/korvet-io/korvet/internal/worker/copying"
)

// copier copies sealed segments to the remote tier; nil: there is none.
func (b *Broker) copier(p *parts) *copying.Copier {
	if p.tier == nil {
		return nil
	}
	d := copying.Dependencies{
		Redis: p.shard, Tables: copying.NewTables(p.tier, p.store, remote.CreateTable), Settings: func() copying.Settings { return b.copySettings(p.inForce.Load()) },
		Observer: b.metrics, Log: b.log.With(componentKey, "worker"), Dictionaries: p.dictionaries, Version: b.opt.Version, Turns: b.turns,
	}
	if p.replicas != nil {
		d.Replicas, d.Run = p.replicas, b.cfg.Messages.Replicas
	}
	if p.announcer != nil {
		d.Events = p.announcer
	}
	return copying.New(d)
}

func (b *Broker) copySettings(c *config.Config) copying.Settings {
	r := &c.Storage.Remote
	return copying.Settings{
		RowGroupBytes: int64(r.RowGroupSize), TargetFileBytes: int64(r.FileSize), KeyBloom: r.BloomFilter, Threads: r.CopyThreads,
		MaxBytesPerSecond: r.CopyMaxBytes, MaxValueBytes: int(c.Broker.MaxBatchDecompressedBytes),
		JSON: jsoncolumns.Limits{Columns: r.JSON.Columns, NameBytes: r.JSON.NameBytes},
	}
}
