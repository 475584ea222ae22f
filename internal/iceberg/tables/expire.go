package tables

import (
	"context"
	"fmt"
	"time"

	"github.com/apache/iceberg-go/table"
)

// Rules say which snapshots a table keeps. Where the table has the property history.expire.max-snapshot-age-ms or
// history.expire.min-snapshots-to-keep, that counts instead.
type Rules struct {
	MaxAge   time.Duration // older snapshots go
	MinCount int           // so many newest ones stay, however old
	MaxCount int           // more than so many do not stay, however young
	MaxBytes int           // of the metadata file: above it the oldest go until about half of it is left
}

// Expire removes snapshots from the table's history, for the storage worker of a fencing number, and tells how many. It changes
// metadata only; with too few to remove it changes nothing and returns base. What branches and tags name stays. The files stay
// until nothing names them and nobody can be reading them: Reclaim.
func (t *Table) Expire(ctx context.Context, base *State, fence int64, r Rules) (*State, int, error) {
	if base.Fence > fence {
		return nil, 0, fmt.Errorf("expire snapshots: %w: %d above %d", ErrFenced, base.Fence, fence)
	}
	m := base.version.Metadata
	if !m.Properties().GetBool(table.GCEnabledKey, true) {
		return base, 0, nil
	}
	r = r.of(m, len(base.version.Raw))
	ids, due := expired(m, r, t.chain.Now())
	if !due {
		return base, 0, nil
	}
	s, err := t.change(ctx, base, []table.Update{table.NewRemoveSnapshotsUpdate(ids, false)})
	if err != nil {
		return nil, 0, fmt.Errorf("expire snapshots: %w", err)
	}
	return s, len(ids), nil
}

// of are the rules as a table has them.
func (r Rules) of(m table.Metadata, bytes int) Rules {
	p := m.Properties()
	r.MaxAge = time.Duration(p.GetInt64(table.MaxSnapshotAgeMsKey, r.MaxAge.Milliseconds())) * time.Millisecond
	r.MinCount = max(p.GetInt(table.MinSnapshotsToKeepKey, r.MinCount), 1)
	r.MaxCount = max(r.MaxCount, r.MinCount)
	if count := len(m.Snapshots()); r.MaxBytes > 0 && bytes > r.MaxBytes {
		r.MaxCount = max(count/2, 1)
		r.MinCount = min(r.MinCount, r.MaxCount)
	}
	return r
}

// expired lists what goes, and tells whether it is worth a commit: a tenth of the snapshots, or one an hour too old.
func expired(m table.Metadata, r Rules, now time.Time) (ids []int64, due bool) {
	all := m.Snapshots()
	byID := make(map[int64]*table.Snapshot, len(all))
	for i := range all {
		byID[all[i].SnapshotID] = &all[i]
	}
	keep, onMain := map[int64]bool{}, map[int64]bool{}
	for _, ref := range m.Refs() {
		keep[ref.SnapshotID] = true
	}
	count := 0
	for s := m.CurrentSnapshot(); s != nil; count++ {
		onMain[s.SnapshotID] = true
		if count < r.MinCount || count < r.MaxCount && now.Sub(time.UnixMilli(s.TimestampMs)) <= r.MaxAge {
			keep[s.SnapshotID] = true
		}
		if s.ParentSnapshotID == nil {
			break
		}
		s = byID[*s.ParentSnapshotID]
	}
	for _, s := range all {
		age := now.Sub(time.UnixMilli(s.TimestampMs))
		if keep[s.SnapshotID] || !onMain[s.SnapshotID] && age <= r.MaxAge {
			continue
		}
		ids = append(ids, s.SnapshotID)
		due = due || age > r.MaxAge+time.Hour
	}
	return ids, len(ids) > 0 && (due || len(ids)*10 >= len(all))
}
