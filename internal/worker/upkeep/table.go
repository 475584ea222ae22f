package upkeep

import (
	"context"
	"errors"
	"time"

	"github.com/korvet-io/korvet/internal/iceberg/chain"
	"github.com/korvet-io/korvet/internal/iceberg/tables"
	"github.com/korvet-io/korvet/internal/metadata"
	"github.com/korvet-io/korvet/internal/worker/lifecycle"
)

const (
	reclaimEvery = time.Hour
	sweepEvery   = 24 * time.Hour
	mergeEvery   = 10 * time.Minute
	// settledFor is how long the worker's lease and Redis must have been the same before files are deleted: after a failover more
	// may be in use than what is known.
	settledFor = time.Hour
)

// keep does what is due at one table. It names the operation that failed.
func (k *Keeper) keep(ctx context.Context, table Table, job *Job, topic *keptTopic) (operation string, err error) {
	look := table.Recent // a table that nothing was committed to for long costs no request
	if topic.failed != "" {
		look = table.State
	}
	s, err := look(ctx)
	if errors.Is(err, chain.ErrNoTable) { // it is being made: nothing was copied yet
		return "", nil
	}
	if err != nil {
		return "table", err
	}
	described, err := table.Describe(ctx, s, job.Topic.Partitions, job.Topic.Configs)
	if err = ignoreConflict(err); err != nil {
		return "describe", err
	}
	if described != nil {
		s = described
	}
	if s, err = k.retain(ctx, table, s, job, topic); err != nil {
		return "drop", err
	}
	if err := topic.measure(ctx, table, s); err != nil {
		return "table", err
	}
	settings, fence := k.Settings(), job.Partitions[0].Fence
	after, n, err := table.Expire(ctx, s, fence, settings.Snapshots)
	if err = ignoreConflict(err); err != nil {
		return "expire", err
	}
	if n > 0 {
		s = after
		k.Observer.UpkeepDone("expire", n)
	}
	if err := k.merge(ctx, table, s, fence, settings, topic); err != nil {
		return "merge", err
	}
	if settings.NoDelete || k.now().Sub(k.settled) < settledFor {
		return "", nil
	}
	if err := k.reclaim(ctx, table, fence, topic, job.Topic); err != nil {
		return "reclaim", err
	}
	return "sweep", k.sweep(ctx, table, fence, settings, topic, job.Topic)
}

// measure notes how large the table is.
func (t *keptTopic) measure(ctx context.Context, table Table, s *tables.State) error {
	files, err := table.Files(ctx, s)
	if err != nil {
		return err
	}
	t.snapshots, t.deletes, t.files, t.bytes = int64(len(s.Snapshots())), int64(len(files.Deletes)), 0, 0
	for _, list := range files.Data {
		t.files += int64(len(list))
		for _, f := range list {
			t.bytes += f.Bytes
		}
	}
	return nil
}

// merge rewrites small files, a bounded part at a time.
func (k *Keeper) merge(ctx context.Context, table Table, s *tables.State, fence int64, settings Settings, topic *keptTopic) error {
	if settings.NoMerge || k.now().Before(topic.merge) {
		return nil
	}
	_, merged, err := table.Merge(ctx, s, fence, settings.Merge)
	if err = ignoreConflict(err); err != nil {
		topic.merge = k.now().Add(mergeEvery)
		return err
	}
	if merged.More { // at the next tick
		topic.merge = k.now()
	} else {
		topic.merge = k.now().Add(mergeEvery)
	}
	if merged.Files > 0 {
		k.Observer.UpkeepDone("merge", merged.Files)
	}
	return nil
}

// reclaim deletes what only metadata of more than a day ago names.
func (k *Keeper) reclaim(ctx context.Context, table Table, fence int64, topic *keptTopic, of *metadata.Topic) error {
	if k.now().Before(topic.reclaim) {
		return nil
	}
	topic.reclaim = k.now().Add(reclaimEvery)
	r, err := table.Reclaim(ctx, fence)
	if r.More {
		topic.reclaim = k.now()
	}
	if r.Files+r.Versions > 0 {
		k.Observer.UpkeepDone("reclaim", r.Files+r.Versions)
		k.tellGone(ctx, fence, of)
	}
	return err
}

// tellGone tells that objects of a topic's table were deleted.
func (k *Keeper) tellGone(ctx context.Context, fence int64, of *metadata.Topic) {
	if k.Events != nil {
		k.Events.RemoteSegments(ctx, fence, []lifecycle.Event{{State: lifecycle.DeleteSegmentFinished, Topic: of.Name, TopicID: of.ID}})
	}
}

// sweep deletes what no version of the table names.
func (k *Keeper) sweep(ctx context.Context, table Table, fence int64, settings Settings, topic *keptTopic, of *metadata.Topic) error {
	if k.now().Before(topic.sweep) {
		return nil
	}
	topic.sweep = k.now().Add(sweepEvery)
	swept, err := table.Sweep(ctx, fence, settings.OrphanAge)
	if swept.Orphans > 0 && err == nil {
		k.Observer.UpkeepDone("sweep", swept.Orphans)
		k.tellGone(ctx, fence, of)
		k.Log.Info("orphans of a topic's table were deleted", "topic", of.Name, "files", swept.Orphans, "bytes", swept.Bytes)
	}
	return err
}
