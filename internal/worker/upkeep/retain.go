package upkeep

import (
	"context"
	"errors"

	"github.com/korvet-io/korvet/internal/iceberg/chain"
	"github.com/korvet-io/korvet/internal/iceberg/tables"
	"github.com/korvet-io/korvet/internal/redisstream"
	"github.com/korvet-io/korvet/internal/worker/lifecycle"
)

// retain raises the log starts of a topic's partitions by its retention, as far as that is decided by what only the table has,
// and drops the table's files below the starts of the round before: who began to read there has had a tick to notice.
func (k *Keeper) retain(ctx context.Context, table Table, s *tables.State, job *Job, topic *keptTopic) (*tables.State, error) {
	files, err := table.Files(ctx, s)
	if err != nil {
		return s, err
	}
	before := map[int32]int64{}
	for i := range job.Partitions {
		p := &job.Partitions[i]
		if seen, ok := topic.starts[p.Ref.Partition]; ok {
			before[p.Ref.Partition] = min(seen, p.Glance.LogStart)
		}
		topic.starts[p.Ref.Partition] = p.Glance.LogStart
		start, err := k.start(ctx, p, files.Data[p.Ref.Partition], s.Ends[p.Ref.Partition])
		if err != nil {
			return s, err
		}
		if start > p.Glance.LogStart {
			raised, err := k.Redis.RaiseStart(ctx, p.Keys, p.Claim(), start)
			if errors.Is(err, redisstream.ErrDeleted) {
				continue
			}
			if err != nil {
				return s, err
			}
			topic.starts[p.Ref.Partition] = raised
		}
	}
	after, gone, err := table.DropBefore(ctx, s, job.Partitions[0].Fence, before)
	if err != nil {
		return s, ignoreConflict(err)
	}
	if len(gone) > 0 {
		k.Observer.UpkeepDone("drop", len(gone))
		if k.Events != nil {
			k.Events.RemoteSegments(ctx, job.Partitions[0].Fence, lifecycle.TakenOut(job.Topic, gone))
		}
	}
	return after, nil
}

// ignoreConflict leaves to the next tick what another commit came before.
func ignoreConflict(err error) error {
	if errors.Is(err, chain.ErrConflict) || errors.Is(err, chain.ErrStale) {
		return nil
	}
	return err
}

// start is where a partition's log is to start by retention, looking at its data files, which rise by offset, of a table that ends at
// an offset. What Redis has is looked at by the tick itself: no further than to its first record.
func (k *Keeper) start(ctx context.Context, p *Partition, files []tables.File, end int64) (int64, error) {
	g := &p.Glance
	for len(files) > 0 && files[0].Last < g.LogStart {
		files = files[1:]
	}
	start := max(g.LogStart, p.remoteExcess(files, end))
	if cutoff, ok := p.Cutoff(); ok && g.LogStart < g.LocalStart {
		byTime, err := k.byTime(ctx, p, files, int64(cutoff))
		if err != nil {
			return 0, err
		}
		start = max(start, byTime)
	}
	return min(start, max(g.LocalStart, g.TieredEnd), p.End()), nil
}

// byTime finds the first offset of the files that was appended at the cutoff or later.
func (k *Keeper) byTime(ctx context.Context, p *Partition, files []tables.File, cutoff int64) (int64, error) {
	for _, f := range files {
		if f.MaxAppendMs < cutoff {
			continue
		}
		if f.MinAppendMs >= cutoff {
			return f.First, nil
		}
		return k.Times.SeekAppend(ctx, p.Ref, cutoff, max(f.First, p.Glance.LogStart))
	}
	return p.Glance.LocalStart, nil
}

// remoteExcess is where the log is to start by retention.bytes: the oldest files go while the rest, with what Redis alone has,
// is at least that many bytes. Redis alone has what is not below the table's end as the files were read, whatever is noted: copies go
// on meanwhile, and nothing may count twice.
func (p *Partition) remoteExcess(files []tables.File, end int64) int64 {
	limit := p.Config.RetentionBytes
	if limit < 0 || !p.Config.Delete {
		return 0
	}
	rest := p.localBytes(end)
	for _, f := range files {
		rest += f.Bytes
	}
	start := int64(0)
	for _, f := range files {
		if rest-f.Bytes < limit {
			break
		}
		rest -= f.Bytes
		start = f.Last + 1
	}
	return start
}

// localBytes are those of Redis's memory that records take which a table with this end does not have.
func (p *Partition) localBytes(end int64) int64 {
	bytes := p.OpenBytes
	for _, seg := range p.Glance.Segments {
		if seg.Last >= end {
			bytes += p.Living(seg, p.SealedBytes[seg.Number])
		}
	}
	return bytes
}
