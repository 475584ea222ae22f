package copying

import (
	"maps"
	"time"

	"github.com/google/uuid"

	"github.com/korvet-io/korvet/internal/iceberg/tables"
	"github.com/korvet-io/korvet/internal/partition"
	"github.com/korvet-io/korvet/internal/redisstream"
)

// What the copier remembers of tables spares the store requests while there is nothing to do, and tells how far they are
// behind.

// known are the ends of a topic's table as they were read last; where nothing was read, what the registries say.
func (c *Copier) known(j *Job) map[int32]int64 {
	c.mu.Lock()
	ends := maps.Clone(c.ends[j.Topic.ID])
	c.mu.Unlock()
	if ends == nil {
		ends = map[int32]int64{}
	}
	for i := range j.Targets {
		t := &j.Targets[i]
		ends[t.Ref.Partition] = max(ends[t.Ref.Partition], t.Glance.TieredEnd)
	}
	return ends
}

// learn remembers the ends of a topic's table.
func (c *Copier) learn(j *Job, state *tables.State) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.ends[j.Topic.ID] = state.Ends
}

// unnoted tells whether the table has more of a partition than its registry says.
func (c *Copier) unnoted(j *Job) bool {
	ends := c.known(j)
	for i := range j.Targets {
		if t := &j.Targets[i]; ends[t.Ref.Partition] > t.Glance.TieredEnd {
			return true
		}
	}
	return false
}

// Lag tells how far the tables are behind their logs, and forgets what is no topic's any more.
func (c *Copier) Lag(jobs []Job) {
	segments, oldest, offsets := map[string]int64{}, map[string]time.Duration{}, map[string]int64{}
	there := map[uuid.UUID]bool{}
	for i := range jobs {
		j := &jobs[i]
		there[j.Topic.ID] = true
		ends := c.known(j)
		segments[j.Topic.Name], oldest[j.Topic.Name], offsets[j.Topic.Name] = 0, 0, 0
		for k := range j.Targets {
			t := &j.Targets[k]
			end := ends[t.Ref.Partition]
			list := uncopied(t, end)
			offsets[j.Topic.Name] += max(0, t.End()-max(end, t.Glance.LogStart))
			if segments[j.Topic.Name] += int64(len(list)); len(list) > 0 {
				age := time.Duration(t.Glance.Now-min(list[0].LastMs, t.Glance.Now)) * time.Millisecond
				oldest[j.Topic.Name] = max(oldest[j.Topic.Name], age)
			}
		}
	}
	c.Observer.ArchiveLag(segments, oldest)
	c.Observer.ArchiveLagOffsets(offsets)
	c.mu.Lock()
	defer c.mu.Unlock()
	maps.DeleteFunc(c.ends, func(id uuid.UUID, _ map[int32]int64) bool { return !there[id] })
	maps.DeleteFunc(c.compared, func(ref partition.Ref, _ redisstream.Identity) bool { return !there[ref.ID] })
	maps.DeleteFunc(c.told, func(id uuid.UUID, _ string) bool { return !there[id] })
}
