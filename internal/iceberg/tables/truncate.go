package tables

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/apache/iceberg-go"
	"github.com/apache/iceberg-go/table"

	"github.com/korvet-io/korvet/internal/epoch"
	"github.com/korvet-io/korvet/internal/iceberg/chain"
	"github.com/korvet-io/korvet/internal/iceberg/datafile"
)

// Cut says that a partition's log is another one from an offset on than the one that the table has.
type Cut struct {
	At     int64         // the first offset that goes
	End    int64         // where the partition's part of the table ends afterwards: At, or above it where the log has nothing in between
	Epochs epoch.History // of the log
}

// Truncate takes the rows at and above offsets out of the table, for the storage worker of a fencing number, in one snapshot, and
// tells which files went: a file that has rows below, too, is replaced by one that has only these. still is asked last, when all
// but the commit is done: its error ends it. After that, chain.ErrConflict, chain.ErrStale and ErrFenced nothing was changed.
// Earlier snapshots keep what they had until they expire.
func (t *Table) Truncate(ctx context.Context, base *State, fence int64, cuts map[int32]Cut, still func(context.Context) error, o datafile.Options) (*State, []File, error) {
	if base.Fence > fence {
		return nil, nil, fmt.Errorf("truncate table: %w: %d above %d", ErrFenced, base.Fence, fence)
	}
	s, gone, err := t.truncate(ctx, base, fence, cuts, still, o)
	if err != nil {
		return nil, nil, fmt.Errorf("truncate table: %w", err)
	}
	return s, gone, nil
}

func (t *Table) truncate(ctx context.Context, base *State, fence int64, cuts map[int32]Cut, still func(context.Context) error, o datafile.Options) (*State, []File, error) {
	files, err := t.Files(ctx, base)
	if err != nil {
		return nil, nil, err
	}
	gone, left := files.split(func(f *File) bool {
		cut, ok := cuts[f.Partition]
		return ok && f.Last >= cut.At
	})
	written, err := t.headsOf(ctx, base, files, gone, cuts, o)
	if err != nil {
		t.discard(ctx, written)
		return nil, nil, err
	}
	change := replacement{
		operation: table.OpOverwrite, fence: fence, remove: entriesOf(gone), deletes: files.idle(left), properties: iceberg.Properties{},
		still: func(ctx context.Context) error {
			if err := still(ctx); err != nil {
				return fmt.Errorf("%w: %w", errNotStill, err)
			}
			return nil
		},
	}
	if len(written) == 0 {
		change.operation = table.OpDelete
	}
	for i := range written {
		d, err := newDataFile(&written[i], base.version.Metadata)
		if err != nil {
			t.discard(ctx, written)
			return nil, nil, err
		}
		change.add = append(change.add, d)
	}
	for p, cut := range cuts {
		partition := strconv.Itoa(int(p))
		change.properties[endProperty+partition] = strconv.FormatInt(cut.End, 10)
		change.properties[epochsProperty+partition] = cut.Epochs.Below(cut.End).Text()
	}
	s, err := t.replace(ctx, base, &change)
	if errors.Is(err, chain.ErrConflict) || errors.Is(err, chain.ErrStale) || errors.Is(err, errNotStill) {
		t.discard(ctx, written)
	}
	return s, gone, err
}

// errNotStill is a change that is not wanted any more.
var errNotStill = errors.New("not wanted any more")

// Untruncate takes a Truncate of the same fencing number back that came after a state: before is that state, after the one that it
// made. After chain.ErrConflict, chain.ErrStale and ErrFenced nothing was changed.
func (t *Table) Untruncate(ctx context.Context, before, after *State, fence int64) (*State, error) {
	if after.Fence > fence {
		return nil, fmt.Errorf("take truncation back: %w: %d above %d", ErrFenced, after.Fence, fence)
	}
	properties := iceberg.Properties{fenceProperty: strconv.FormatInt(fence, 10)}
	for name, value := range before.version.Metadata.Properties() {
		if strings.HasPrefix(name, endProperty) || strings.HasPrefix(name, epochsProperty) {
			properties[name] = value
		}
	}
	updates := table.Updates{table.NewSetPropertiesUpdate(properties)}
	if s := before.version.Metadata.CurrentSnapshot(); s != nil {
		updates = append(updates, table.NewSetSnapshotRefUpdate(table.MainBranch, s.SnapshotID, table.BranchRef, 0, 0, 0))
	}
	m, err := update(after.version.Metadata, updates, after.version.Location)
	if err != nil {
		return nil, fmt.Errorf("take truncation back: %w", err)
	}
	v, err := t.chain.CommitUpdates(ctx, after.version, updates, m)
	if err != nil {
		return nil, fmt.Errorf("take truncation back: %w", err)
	}
	return parseState(v)
}

// headsOf writes the rows below the cuts of the files that go. With an error it returns the files that may be there.
func (t *Table) headsOf(ctx context.Context, base *State, files *Files, gone []File, cuts map[int32]Cut, o datafile.Options) (written []Added, err error) {
	groups := map[int32]*mergeGroup{}
	for _, f := range gone {
		if f.First >= cuts[f.Partition].At {
			continue
		}
		g := groups[f.Partition]
		if g == nil {
			g = &mergeGroup{partition: f.Partition, until: cuts[f.Partition].At}
			groups[f.Partition] = g
		}
		g.files = append(g.files, f)
	}
	for _, g := range groups {
		added, err := t.mergeGroup(ctx, base, files, g, &MergeRules{TargetBytes: 1 << 60, Options: o})
		written = append(written, added...)
		if err != nil {
			return written, err
		}
	}
	return written, nil
}

// SetEpochs has the table tell the leader epochs of partitions of which it does not tell any, on a state. It returns the state
// after it.
func (t *Table) SetEpochs(ctx context.Context, base *State, epochs map[int32]epoch.History) (*State, error) {
	properties := map[string]string{}
	for p, h := range epochs {
		if h = h.Below(base.Ends[p]); len(h) > 0 && len(base.Epochs[p]) == 0 {
			properties[epochsProperty+strconv.Itoa(int(p))] = h.Text()
		}
	}
	if len(properties) == 0 {
		return base, nil
	}
	return t.SetProperties(ctx, base, properties)
}
