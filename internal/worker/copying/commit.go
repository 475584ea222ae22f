package copying

import (
	"context"
	"errors"
	"fmt"

	"github.com/korvet-io/korvet/internal/iceberg/chain"
	"github.com/korvet-io/korvet/internal/iceberg/jsoncolumns"
	"github.com/korvet-io/korvet/internal/iceberg/tables"
	"github.com/korvet-io/korvet/internal/redisstream"
	"github.com/korvet-io/korvet/internal/worker/lifecycle"
	"github.com/korvet-io/korvet/internal/worker/replicas"
)

// commitTries bounds how often a commit is planned anew in one round, while others change the table.
const commitTries = 5

// commit puts the files into the table, all in one snapshot. While others change the table it looks again: files stay good as
// long as their partition ends where they begin; else another worker has copied the same.
func (c *Copier) commit(ctx context.Context, j *Job, table Table, planned *tables.State, files []copied, columns *jsoncolumns.Set) error {
	if err := replicas.Wait(ctx, c.Replicas, j.identity, j.Topic.Config.MinInsyncReplicas, c.Run); err != nil {
		return err
	}
	for try := 0; ; try++ {
		state, err := table.State(ctx)
		if err != nil {
			return fmt.Errorf("read table: %w", err)
		}
		if state.Fence > j.fence() {
			return fmt.Errorf("commit to table: %w: %d", redisstream.ErrFenced, state.Fence)
		}
		var list []tables.Added
		for _, f := range files {
			if p := f.Partition; state.Ends[p] == planned.Ends[p] {
				list = append(list, f.Added)
			}
		}
		if len(list) == 0 {
			return nil
		}
		if err := c.sameRedis(j); err != nil {
			return err
		}
		state, err = table.Append(ctx, state, j.fence(), list, columns.Columns()...)
		switch {
		case err == nil:
			c.learn(j, state)
			c.archived(ctx, j, list)
			return nil
		case errors.Is(err, tables.ErrFenced):
			return fmt.Errorf("%w: %w", redisstream.ErrFenced, err)
		case !errors.Is(err, chain.ErrConflict) && !errors.Is(err, chain.ErrStale), try == commitTries:
			return err
		}
	}
}

// archived tells of what is in the table for good.
func (c *Copier) archived(ctx context.Context, j *Job, files []tables.Added) {
	var bytes int64
	segments := 0
	events := make([]lifecycle.Event, 0, len(files))
	for _, f := range files {
		bytes += f.Bytes
		events = append(events, lifecycle.Event{
			State: lifecycle.CopySegmentFinished, Topic: j.Topic.Name, TopicID: j.Topic.ID, Partition: f.Partition,
			First: f.FirstOffset, Last: f.LastOffset, Location: f.Location, Bytes: f.Bytes,
		})
		for i := range j.Targets {
			if t := &j.Targets[i]; t.Ref.Partition == f.Partition {
				for _, seg := range t.Glance.Segments {
					if seg.Last >= f.FirstOffset && seg.Last < f.End {
						segments++
					}
				}
			}
		}
	}
	c.Observer.Archived(segments, bytes)
	c.tell(ctx, j.fence(), events...)
}

// tell passes events on.
func (c *Copier) tell(ctx context.Context, fence int64, events ...lifecycle.Event) {
	if c.Events != nil {
		c.Events.RemoteSegments(ctx, fence, events)
	}
}
