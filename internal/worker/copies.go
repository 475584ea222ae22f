package worker

import (
	"context"
	"errors"
	"slices"

	"github.com/google/uuid"

	"github.com/korvet-io/korvet/internal/metadata"
	"github.com/korvet-io/korvet/internal/partition"
	"github.com/korvet-io/korvet/internal/worker/copying"
	"github.com/korvet-io/korvet/internal/worker/tick"
)

// copy offers the tiered ones of the targets' topics, and has rounds of copies run until ctx ends.
func (s *Storage) copy(ctx context.Context, targets []tick.Target) {
	if s.Copier == nil {
		return
	}
	jobs := s.copyJobs(targets)
	s.Copier.Lag(jobs)
	jobs = slices.DeleteFunc(jobs, func(j copying.Job) bool { return j.Topic.Config.RemoteCopyDisable && s.Copier.Settled(&j) })
	for range s.copies.offer(jobs, max(1, s.Copier.Settings().Threads)) {
		go func() {
			for {
				j, passing, over := s.copies.take(ctx)
				if j == nil {
					return
				}
				over(s.copyRound(passing, j))
			}
		}()
	}
}

// copyJobs puts the targets of each tiered topic together.
func (s *Storage) copyJobs(targets []tick.Target) []copying.Job {
	parts := map[uuid.UUID][]tick.Target{}
	for _, t := range targets {
		if t.Config.RemoteStorage {
			parts[t.Ref.ID] = append(parts[t.Ref.ID], t)
		}
	}
	var jobs []copying.Job
	for _, topic := range s.Topics.All() {
		if list := parts[topic.ID]; len(list) > 0 {
			jobs = append(jobs, copying.Job{Topic: topic, Targets: list})
		}
	}
	return jobs
}

// copyRound makes a round over one topic. It reports whether there is more to be done.
func (s *Storage) copyRound(ctx context.Context, j *copying.Job) (more bool) {
	round := *j // a later one begins with all targets
	round.Targets = slices.Clone(j.Targets)
	more, err := s.Copier.Copy(ctx, &round)
	switch cause := context.Cause(ctx); {
	case errors.Is(cause, errUnwanted):
		return false
	case cause != nil:
		err = cause
	}
	if err != nil && tick.Ends(err) {
		s.copies.fail(err)
		s.Log.Info("copying to the remote tier stops until the next tick", "topic", j.Topic.Name, "error", err)
		return false
	}
	s.Copier.Report(j.Topic, err)
	return more
}

// keepCopies ends the copies of topics that were deleted, or are not to be copied any more.
func (s *Storage) keepCopies() {
	topics := s.Topics.All()
	s.copies.keep(func(ref partition.Ref) bool {
		return slices.ContainsFunc(topics, func(t *metadata.Topic) bool {
			return topicRef(t) == ref && t.Config.RemoteStorage && !t.Config.RemoteCopyDisable
		})
	})
}

// topicRef stands for a topic as a whole.
func topicRef(t *metadata.Topic) partition.Ref {
	return partition.Ref{Topic: t.Name, ID: t.ID, Partition: -1}
}
