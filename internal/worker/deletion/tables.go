package deletion

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"

	"github.com/korvet-io/korvet/internal/metadata"
)

// settled is how long a dropped table is looked after: a storage worker that was paused may still write to it, at most ten
// minutes after it read the table.
const settled = 15 * time.Minute

// orphaned is how long a table's topic must have been found gone before the table is dropped: whoever restores both may restore
// the table first.
const orphaned = time.Minute

// TableList is the list of tables of the remote tier. All methods are safe for concurrent use.
type TableList interface {
	TableOf(topic uuid.UUID) (metadata.Table, bool)
	// FindTable asks for it anew.
	FindTable(ctx context.Context, topic uuid.UUID) (metadata.Table, bool, error)
	Tables() []metadata.Table
	// TopicGone tells whether the topic of a table is gone, and its deletion done. When in doubt it is not.
	TopicGone(ctx context.Context, t metadata.Table) (bool, error)
	// DropTable parts a table from its topic, and may be repeated.
	DropTable(ctx context.Context, t metadata.Table) error
	DroppedTables() []metadata.Table
	// ForgetTable takes it off the dropped ones, and may be repeated.
	ForgetTable(ctx context.Context, t metadata.Table) error
}

// Objects deletes the objects of dropped tables. It may be repeated, also by several processes at a time.
type Objects interface {
	Clear(ctx context.Context, t metadata.Table) error
}

// dropped finishes tables that no topic has any more.
type dropped struct {
	tables  TableList
	objects Objects              // nil: this process has no remote tier; another one deletes them
	gone    map[string]time.Time // locations of tables whose topic is gone, and when that was found first
	now     func() time.Time
	failing bool // the last look at the objects failed, and the log says so
	told    bool // that there are tables and no remote tier in this process
}

// dropOf parts a topic that is being deleted from its table.
func (f *Finisher) dropOf(ctx context.Context, topic uuid.UUID) error {
	if f.dropped.tables == nil {
		return nil
	}
	t, ok, err := f.dropped.tables.FindTable(ctx, topic)
	if err != nil || !ok {
		return err
	}
	return f.dropped.tables.DropTable(ctx, t)
}

// FinishTables deletes the objects of tables that no topic has any more. The error is of what other than the store failed.
func (f *Finisher) FinishTables(ctx context.Context) error {
	d := &f.dropped
	if d.tables == nil {
		return nil
	}
	problems := []error{f.dropOrphans(ctx)}
	if d.objects == nil {
		if all := d.tables.Tables(); len(all) > 0 && !d.told {
			d.told = true
			f.log.Warn("topics have remote storage and korvet.storage.remote.path is not set here: this process cannot read what only their tables have, nor copy or delete anything there; set it as the others have it",
				"tables", len(all), "topic", all[0].Topic)
		}
		return errors.Join(problems...)
	}
	var failed []error
	for _, t := range d.tables.DroppedTables() {
		if err := d.objects.Clear(ctx, t); err != nil {
			failed = append(failed, err)
			continue
		}
		if d.now().Sub(time.UnixMilli(t.DroppedMs)) < settled {
			continue
		}
		if err := d.tables.ForgetTable(ctx, t); err != nil {
			problems = append(problems, err)
			continue
		}
		f.log.Info("table is deleted", "table", t.Name, "topic", t.Topic, "location", t.Location)
	}
	f.tellFailing(ctx, errors.Join(failed...))
	return errors.Join(problems...)
}

// tellFailing logs once that objects cannot be deleted: the store may be away for long.
func (f *Finisher) tellFailing(ctx context.Context, err error) {
	if failing := err != nil && ctx.Err() == nil; failing != f.dropped.failing {
		f.dropped.failing = failing
		if failing {
			f.log.Warn("objects of tables that no topic has any more cannot be deleted: trying again at each tick", "error", err)
		} else {
			f.log.Info("objects of tables that no topic has any more are deleted again")
		}
	}
}

// dropOrphans drops tables whose topic's deletion did not know of them: they were reserved while it went on.
func (f *Finisher) dropOrphans(ctx context.Context) error {
	d := &f.dropped
	before := d.gone
	d.gone = map[string]time.Time{}
	var problems []error
	for _, t := range d.tables.Tables() {
		gone, err := d.tables.TopicGone(ctx, t)
		if err != nil {
			problems = append(problems, err)
		}
		if !gone {
			continue
		}
		since, known := before[t.Location]
		if !known {
			since = d.now()
		}
		if d.gone[t.Location] = since; d.now().Sub(since) < orphaned {
			continue
		}
		if err := d.tables.DropTable(ctx, t); err != nil {
			problems = append(problems, fmt.Errorf("drop table of topic %s, id %s, which is gone: %w", t.Topic, t.TopicID, err))
		}
	}
	return errors.Join(problems...)
}
