package worker

import (
	"context"

	"github.com/korvet-io/korvet/internal/worker/tick"
	"github.com/korvet-io/korvet/internal/worker/upkeep"
)

// keepTables offers the topics that have tables to the keeper.
func (s *Storage) keepTables(ctx context.Context, targets []tick.Target) {
	if s.Keeper == nil {
		return
	}
	var jobs []upkeep.Job
	for _, topic := range s.Topics.All() {
		if topic.Config.Compact || !topic.Config.RemoteStorage && topic.Config.RemoteDeleteOnDisable { // its table is about to go
			continue
		}
		job := upkeep.Job{Topic: topic}
		for i := range targets {
			if t := &targets[i]; t.Ref.ID == topic.ID {
				job.Partitions = append(job.Partitions, s.keepPartition(t))
			}
		}
		if len(job.Partitions) > 0 {
			jobs = append(jobs, job)
		}
	}
	s.Keeper.Keep(ctx, jobs)
}

// keepPartition is a target with what is known of its sizes.
func (s *Storage) keepPartition(t *tick.Target) upkeep.Partition {
	z := s.sizes.of(t)
	return upkeep.Partition{Target: *t, OpenBytes: z.open, SealedBytes: z.sealed}
}
