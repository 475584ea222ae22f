package copying

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/korvet-io/korvet/internal/epoch"
	"github.com/korvet-io/korvet/internal/iceberg/tables"
	"github.com/korvet-io/korvet/internal/partition"
	"github.com/korvet-io/korvet/internal/redisstream"
	"github.com/korvet-io/korvet/internal/worker/lifecycle"
	"github.com/korvet-io/korvet/internal/worker/tick"
)

// A Redis that came back without the end of a log gives its offsets to other records. The table may have the ones before: the
// leader epochs that both tell of say from which offset on. The log is what was acknowledged since, so the table follows it.

// errRewound is a log that ends below its table and was not led since.
var errRewound = errors.New("redis lost records that the table has, and nobody has led the log since")

// errOtherRedis is a round that began on another Redis than the one that is there now.
var errOtherRedis = errors.New("redis is another one than at the beginning")

// sameRedis tells whether a job is still about the Redis that was looked at.
func (c *Copier) sameRedis(j *Job) error {
	if c.Redis.Identity() != j.identity {
		return errOtherRedis
	}
	return nil
}

// Settled tells whether all that may have to be compared was, in this Redis.
func (c *Copier) Settled(j *Job) bool {
	return !slices.ContainsFunc(j.Targets, func(t tick.Target) bool { return t.Glance.TieredEnd > 0 && !c.Compared(t.Ref) })
}

// Compared tells whether a partition's table was seen to be its log's in this Redis: only then may what the table has go from
// Redis.
func (c *Copier) Compared(ref partition.Ref) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	identity, ok := c.compared[ref]
	return ok && identity == c.Redis.Identity()
}

// mend compares the table with the logs, and takes out of it what is not the log's. The job goes on without partitions of which
// it cannot tell yet: rewound says which.
func (c *Copier) mend(ctx context.Context, j *Job, table Table, state *tables.State) (after *tables.State, rewound, err error) {
	cuts, untold := map[int32]tables.Cut{}, map[int32]epoch.History{}
	var problems []error
	j.Targets = slices.DeleteFunc(j.Targets, func(t tick.Target) bool {
		p := t.Ref.Partition
		end, told := state.Ends[p], state.Epochs[p]
		at := epoch.Fork(t.Glance.Epochs, t.End(), told, end)
		switch log := epoch.History(t.Glance.Epochs); {
		case at < end && at == t.End() && (len(told) == 0 || log.Newest() <= told.Newest()):
			problems = append(problems, problem(&t, fmt.Errorf("%w: the log ends at %d, the table at %d", errRewound, at, end)))
			c.Observer.ArchiveFailed("table")
			return true
		case at < end:
			cuts[p] = tables.Cut{At: at, End: max(at, t.Glance.LocalStart), Epochs: log}
		case end > 0 && len(told) == 0 && len(log) > 0:
			untold[p] = log
		}
		return false
	})
	rewound = errors.Join(problems...)
	if err := c.sameRedis(j); err != nil || len(j.Targets) == 0 {
		return state, rewound, err
	}
	if state, err = c.cut(ctx, j, table, state, cuts); err != nil {
		return nil, rewound, c.failed(ctx, "commit", err)
	}
	if len(untold) > 0 {
		if state, err = table.SetEpochs(ctx, state, untold); err != nil {
			return nil, rewound, c.failed(ctx, "commit", err)
		}
	}
	c.learn(j, state)
	c.mu.Lock()
	defer c.mu.Unlock()
	for i := range j.Targets {
		c.compared[j.Targets[i].Ref] = j.identity
	}
	return state, rewound, nil
}

// cut truncates the table. What was noted of it goes first: nothing may leave Redis that the table is about to lose.
func (c *Copier) cut(ctx context.Context, j *Job, table Table, state *tables.State, cuts map[int32]tables.Cut) (*tables.State, error) {
	if len(cuts) == 0 {
		return state, nil
	}
	for i := range j.Targets {
		t := &j.Targets[i]
		cut, ok := cuts[t.Ref.Partition]
		if !ok || t.Glance.TieredEnd <= cut.End {
			continue
		}
		noted, err := c.Redis.SetTieredBack(ctx, t.Keys, t.Claim(), cut.End)
		if err != nil {
			return nil, err
		}
		t.Glance.TieredEnd = noted
	}
	still := func(ctx context.Context) error { return c.stillCut(ctx, j, cuts) }
	after, gone, err := table.Truncate(ctx, state, j.fence(), cuts, still, c.fileOptions())
	if errors.Is(err, tables.ErrFenced) {
		return nil, fmt.Errorf("%w: %w", redisstream.ErrFenced, err)
	}
	if err != nil {
		return nil, err
	}
	if err := still(ctx); err != nil { // Redis was rewound again while the commit was under way
		if _, failed := table.Untruncate(ctx, state, after, j.fence()); failed != nil {
			return nil, errors.Join(err, failed)
		}
		return nil, fmt.Errorf("the truncation was taken back: %w", err)
	}
	for p, cut := range cuts {
		c.Observer.ArchiveTruncated(state.Ends[p] - cut.At)
		c.Log.Warn("redis lost the end of a log that its table had, and other records have these offsets since: the table was truncated",
			"topic", j.Topic.Name, "partition", p, "offset", cut.At, "end_before", state.Ends[p], "end", cut.End)
	}
	c.tell(ctx, j.fence(), lifecycle.TakenOut(j.Topic, gone)...)
	return after, nil
}

// stillCut tells whether the logs are still the ones for which the table is cut: a Redis that was rewound again may have the
// history that the table has, or none.
func (c *Copier) stillCut(ctx context.Context, j *Job, cuts map[int32]tables.Cut) error {
	var keys []redisstream.Keys
	var list []tables.Cut
	for i := range j.Targets {
		if cut, ok := cuts[j.Targets[i].Ref.Partition]; ok {
			keys, list = append(keys, j.Targets[i].Keys), append(list, cut)
		}
	}
	glances, err := c.Redis.Glances(ctx, keys)
	if err == nil {
		err = c.sameRedis(j)
	}
	for i, cut := range list {
		switch {
		case err != nil:
			return err
		case glances[i].Err != nil:
			return glances[i].Err
		case !glances[i].Exists || epoch.History(glances[i].Epochs).Newest() < cut.Epochs.Newest():
			return errOtherRedis
		}
	}
	return nil
}
