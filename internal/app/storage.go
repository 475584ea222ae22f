package app

import (
	"context"
	"fmt"

	"github.com/korvet-io/korvet/internal/partition"
	"github.com/korvet-io/korvet/internal/worker"
	"github.com/korvet-io/korvet/internal/worker/compaction"
)

// openStorage makes the storage worker, unless this process is to run none. owner is that of the process's partitions.
func (b *Broker) openStorage(p *parts, owner string) {
	w := &b.cfg.Storage.Worker
	if !w.Enabled {
		return
	}
	if !b.cfg.Broker.Enabled {
		owner = fmt.Sprintf("worker/%s", p.store.Self().BootID)
	}
	log := b.log.With(componentKey, "worker")
	compactor := compaction.New(p.shard, int64(w.CompactionBytes)/int64(w.CompactionThreads), b.metrics, log)
	if p.replicas != nil {
		compactor.AwaitReplicas(p.replicas, b.cfg.Messages.Replicas)
	}
	p.announcer = b.announcer(p)
	copier := b.copier(p)
	d := worker.Dependencies{
		Topics: p.store, TableList: p.store, Redis: p.shard, Observer: b.metrics, Log: log, Gone: p.owner.isGone, Compactor: compactor,
		Copier: copier,
	}
	if p.announcer != nil {
		d.Ticked = p.announcer.Ticked
	}
	if keeper := b.openKeeper(p, copier, log); keeper != nil {
		d.Keeper = keeper
	}
	p.storage = worker.NewStorage(
		worker.Settings{Namespace: b.cfg.Namespace, Owner: owner, Tick: w.Tick, Lease: w.Lease, Passes: w.CompactionThreads},
		d,
	)
}

// full wakes the storage worker: Redis refused a write.
func (p *parts) full() {
	if p.storage != nil {
		p.storage.Wake()
	}
}

// deleted wakes the storage worker for a partition whose log start DeleteRecords has raised.
func (p *parts) deleted(ref partition.Ref) {
	if p.storage != nil {
		p.storage.Wake(ref)
	}
}

// runBackground runs what works beside the listener until ctx ends.
func (b *Broker) runBackground(ctx context.Context, p *parts) {
	b.running.Go(func() {
		if err := p.store.Run(ctx); err != nil {
			b.fail(fmt.Errorf("this broker ends: another one was started with the same korvet.broker.id: %w", err))
		}
	})
	b.running.Go(func() { p.deletions.Run(ctx, workerTick) })
	if p.storage != nil {
		b.running.Go(func() { p.storage.Run(ctx) })
	}
	b.runRemoteLog(ctx, p)
	if p.groups != nil {
		b.running.Go(func() { p.dictionaries.Run(ctx) })
		b.running.Go(func() { p.groups.Run(ctx) })
	}
}

// work is what a process without a broker does: it is ready until ctx ends.
func (b *Broker) work(ctx context.Context) error {
	b.log.Info("storage worker runs", "http", b.httpListener.Addr().String(), "redis", place(b.cfg.Messages), "version", b.opt.Version)
	close(b.ready)
	<-ctx.Done()
	return nil
}
