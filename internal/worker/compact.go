package worker

import (
	"context"
	"errors"
	"slices"

	"github.com/korvet-io/korvet/internal/metadata"
	"github.com/korvet-io/korvet/internal/partition"
	"github.com/korvet-io/korvet/internal/worker/tick"
)

// compact offers the compacted ones of the targets, and has passes run until ctx ends.
func (s *Storage) compact(ctx context.Context, targets []tick.Target) {
	if s.Compactor == nil {
		return
	}
	targets = slices.DeleteFunc(slices.Clone(targets), func(t tick.Target) bool { return !t.Config.Compact })
	for range s.passes.offer(targets, max(1, s.Passes)) {
		go func() {
			for {
				t, passing, over := s.passes.take(ctx)
				if t == nil {
					return
				}
				s.pass(passing, t)
				over(false)
			}
		}()
	}
}

// pass makes the pass that is due at one partition.
func (s *Storage) pass(ctx context.Context, t *tick.Target) {
	err := s.again(ctx, t)
	if err == nil {
		err = s.Compactor.Compact(ctx, t)
	}
	switch cause := context.Cause(ctx); {
	case errors.Is(cause, errUnwanted):
		return
	case cause != nil:
		err = cause
	}
	if err := s.settle(t, err); err != nil {
		s.passes.fail(err)
		s.Log.Info("compaction stops until the next tick", "topic", t.Ref.Topic, "partition", t.Ref.Partition, "error", err)
	}
}

// keepPasses ends the passes over partitions whose topic was deleted, or left compaction.
func (s *Storage) keepPasses() {
	topics := s.Topics.All()
	s.passes.keep(func(ref partition.Ref) bool {
		return slices.ContainsFunc(topics, func(t *metadata.Topic) bool {
			return t.Name == ref.Topic && t.ID == ref.ID && t.Config.Compact && ref.Partition < t.Partitions
		})
	})
}
