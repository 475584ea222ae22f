package copying

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/korvet-io/korvet/internal/iceberg/chain"
	"github.com/korvet-io/korvet/internal/iceberg/jsoncolumns"
	"github.com/korvet-io/korvet/internal/iceberg/tables"
	"github.com/korvet-io/korvet/internal/redisstream"
	"github.com/korvet-io/korvet/internal/worker/lifecycle"
	"github.com/korvet-io/korvet/internal/worker/tick"
)

// roundLength is how long a round of copies begins new files: what it has copied by then is committed.
const roundLength = time.Minute

// Copy makes one round over a topic: it notes in the registries what the table has, copies what is due, of several partitions
// side by side, and commits it in one snapshot. more tells that there is more to be done at once.
//
// The table alone says how far it has come: it is read first, and what is copied goes on from there. So a round that died, or
// whose commit was not answered, needs no repair. What a round commits is noted by a later one, which has read it.
func (c *Copier) Copy(ctx context.Context, j *Job) (more bool, err error) {
	if err := c.look(ctx, j); err != nil || len(j.Targets) == 0 {
		return false, err
	}
	_, due, err := c.plans(ctx, j, c.known(j))
	if err != nil || !due && !c.unnoted(j) && c.Settled(j) {
		return false, err
	}
	table, err := c.Tables.Table(ctx, j.Topic)
	if err != nil {
		return false, c.failed(ctx, "table", fmt.Errorf("find table: %w", err))
	}
	state, err := c.state(ctx, j, table)
	if err != nil {
		return false, c.failed(ctx, "table", fmt.Errorf("read table: %w", err))
	}
	if state.Fence > j.fence() {
		return false, fmt.Errorf("copy to table: %w: %d", redisstream.ErrFenced, state.Fence)
	}
	c.learn(j, state)
	state, rewound, err := c.mend(ctx, j, table, state)
	if err != nil {
		return false, err
	}
	if c.unnoted(j) {
		if err := table.Seen(ctx, state); err != nil {
			return false, c.failed(ctx, "table", fmt.Errorf("read table: %w", err))
		}
	}
	ahead, err := c.note(ctx, j, state)
	if err != nil {
		return false, err
	}
	if ahead = errors.Join(rewound, ahead); len(j.Targets) == 0 || j.Topic.Config.RemoteCopyDisable {
		return false, ahead
	}
	plans, due, err := c.plans(ctx, j, state.Ends)
	if err != nil || !due {
		return false, errors.Join(ahead, err)
	}
	if err := cover(ctx, table, plans); err != nil {
		return false, errors.Join(ahead, c.failed(ctx, "table", err))
	}
	columns := c.columns(j, state)
	defer c.tell(ctx, j.fence(), lifecycle.Event{State: lifecycle.CopiesEnded, Topic: j.Topic.Name, TopicID: j.Topic.ID})
	files, failed := c.copyAll(ctx, j, table, plans, columns)
	if ctx.Err() != nil {
		return false, context.Cause(ctx)
	}
	if len(files) > 0 {
		if err := c.commit(ctx, j, table, state, files, columns); err != nil {
			return false, errors.Join(ahead, failed, c.failed(ctx, "commit", err))
		}
	}
	return len(files) > 0, errors.Join(ahead, failed)
}

// state reads what the topic's table is, which is made where nothing was copied yet.
func (c *Copier) state(ctx context.Context, j *Job, table Table) (*tables.State, error) {
	state, err := table.State(ctx)
	if errors.Is(err, chain.ErrNoTable) && !slices.ContainsFunc(j.Targets, func(t tick.Target) bool { return t.Glance.TieredEnd > 0 }) {
		if err = table.Create(ctx); err == nil {
			state, err = table.State(ctx)
		}
	}
	return state, err
}

// failed counts a failure. One that ran out of time at the store is not the end of the tick.
func (c *Copier) failed(ctx context.Context, operation string, err error) error {
	if tick.Ends(err) && ctx.Err() == nil && !errors.Is(err, redisstream.ErrUnavailable) && !errors.Is(err, redisstream.ErrFenced) {
		err = errors.New(err.Error())
	}
	if !tick.Ends(err) {
		c.Observer.ArchiveFailed(operation)
	}
	return err
}

// look looks at the job's partitions anew: it may have waited. Those that are gone are left out.
func (c *Copier) look(ctx context.Context, j *Job) error {
	j.identity = c.Redis.Identity()
	keys := make([]redisstream.Keys, len(j.Targets))
	for i := range j.Targets {
		keys[i] = j.Targets[i].Keys
	}
	glances, err := c.Redis.Glances(ctx, keys)
	if err != nil {
		return err
	}
	for i := range j.Targets {
		j.Targets[i].Glance = glances[i]
	}
	j.Targets = slices.DeleteFunc(j.Targets, func(t tick.Target) bool {
		return t.Glance.Err != nil || !t.Glance.Exists || t.Glance.TopicID != t.TopicID
	})
	return nil
}

// plans tells what is to be copied of each partition, where the table ends at these offsets.
func (c *Copier) plans(ctx context.Context, j *Job, ends map[int32]int64) (plans map[int32]stretchPlan, due bool, err error) {
	plans = map[int32]stretchPlan{}
	for i := range j.Targets {
		t := &j.Targets[i]
		end, open := ends[t.Ref.Partition], int64(0)
		if len(uncopied(t, end)) == 0 {
			continue
		}
		if tellsBytes(t) {
			bytes, err := c.Redis.Weigh(ctx, []string{t.Keys.Stream}, 0)
			if err != nil {
				return nil, false, err
			}
			open = bytes[0]
		}
		if p, due := planCopy(t, end, open); due {
			plans[t.Ref.Partition] = p
		}
	}
	return plans, len(plans) > 0, nil
}

// cover notes that the table may have records of the partitions that are to be copied.
func cover(ctx context.Context, table Table, plans map[int32]stretchPlan) error {
	for p := range plans {
		if err := table.Covers(ctx, p); err != nil {
			return err
		}
	}
	return nil
}

// errBehind is a table that does not have what it had.
var errBehind = errors.New("the table has less than it had")

// note tells the registries what the table has. Where Redis has lost what the table has, or the other way round, nothing is
// noted and nothing copied: the error says so.
func (c *Copier) note(ctx context.Context, j *Job, state *tables.State) (ahead, err error) {
	var problems []error
	j.Targets = slices.DeleteFunc(j.Targets, func(t tick.Target) bool {
		end := state.Ends[t.Ref.Partition]
		if err != nil || end == t.Glance.TieredEnd {
			return false
		}
		failed := errBehind
		if end > t.Glance.TieredEnd {
			_, failed = c.Redis.SetTiered(ctx, t.Keys, t.Claim(), end)
		}
		switch {
		case errors.Is(failed, redisstream.ErrAhead), errors.Is(failed, errBehind):
			problems = append(problems, problem(&t, fmt.Errorf("%w: the table ends at %d, noted is %d", failed, end, t.Glance.TieredEnd)))
			c.Observer.ArchiveFailed("table")
			return true
		case errors.Is(failed, redisstream.ErrDeleted):
			return true
		}
		err = failed
		return false
	})
	return errors.Join(problems...), err
}

// problem names the partition.
func problem(t *tick.Target, err error) error {
	return fmt.Errorf("topic %s partition %d: %w", t.Ref.Topic, t.Ref.Partition, err)
}

// copyAll copies what was planned, and returns the files that are whole, those of each partition in order. What fails at one
// partition does not hold up the others.
func (c *Copier) copyAll(ctx context.Context, j *Job, table Table, plans map[int32]stretchPlan, columns *jsoncolumns.Set) (files []copied, failed error) {
	var all sync.WaitGroup
	lists, problems := make([][]copied, len(j.Targets)), make([]error, len(j.Targets))
	until := c.now().Add(roundLength)
	for i := range j.Targets {
		t := &j.Targets[i]
		plan, due := plans[t.Ref.Partition]
		if !due {
			continue
		}
		if err := c.slots.take(ctx, c.Settings().Threads); err != nil {
			break
		}
		all.Go(func() {
			defer c.slots.give()
			var err error
			if lists[i], err = c.copyPartition(ctx, table, t, plan, columns, until); err != nil {
				problems[i] = problem(t, err)
			}
		})
	}
	all.Wait()
	return slices.Concat(lists...), errors.Join(problems...)
}

// copyPartition copies files of one partition until a time. With an error the files before are whole.
func (c *Copier) copyPartition(ctx context.Context, table Table, t *tick.Target, plan stretchPlan, columns *jsoncolumns.Set, until time.Time) (files []copied, err error) {
	v, err := c.values(t, columns)
	if err != nil {
		return nil, err
	}
	r := newReader(ctx, c.Redis, t, plan)
	defer r.close()
	for len(files) == 0 || c.now().Before(until) {
		f, err := c.copyFile(ctx, table, r, v)
		if f != nil {
			files = append(files, *f)
		}
		switch {
		case errors.Is(err, errUnreadable):
			return files, c.failed(ctx, "decode", err)
		case errors.Is(err, errGone) && c.dropped(ctx, t, plan):
			return files, nil
		case err != nil:
			return files, c.failed(ctx, "copy", err)
		case f == nil || f.End == plan.end():
			return files, nil
		}
	}
	return files, nil
}

// dropped tells whether a segment of the plan is not in the registry any more: retention or DeleteRecords let it go.
func (c *Copier) dropped(ctx context.Context, t *tick.Target, plan stretchPlan) bool {
	now, err := c.Redis.Glances(ctx, []redisstream.Keys{t.Keys})
	return err == nil && now[0].Err == nil && now[0].LogStart > plan.segments[0].Base
}
