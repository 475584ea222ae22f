package deletion

import (
	"context"
	"errors"
	"fmt"

	"github.com/korvet-io/korvet/internal/metadata"
	"github.com/korvet-io/korvet/internal/partition"
)

// FinishDeletions removes what is left of every deleted topic. One that fails does not hold up the others.
func (f *Finisher) FinishDeletions(ctx context.Context) error {
	topics, err := f.deletions.Deletions(ctx)
	problems := []error{err}
	for _, t := range topics {
		if err := f.finish(ctx, t); err != nil {
			problems = append(problems, fmt.Errorf("finish deletion of topic %s, id %s: %w", t.Name, t.ID, err))
		}
	}
	return errors.Join(problems...)
}

// finish removes one life of a topic. The broker that was asked to delete it may have died between the two steps of the
// commit, so both are repeated first.
func (f *Finisher) finish(ctx context.Context, t *metadata.Topic) error {
	t, err := f.deletions.CommitDeletion(ctx, t)
	if err != nil {
		return err
	}
	for p := range t.Partitions {
		if err := f.partitions.DeletePartition(ctx, partition.Ref{Topic: t.Name, ID: t.ID, Partition: p}); err != nil {
			return fmt.Errorf("delete partition %d: %w", p, err)
		}
	}
	if err := f.partitions.DeleteTopic(ctx, t.Name, t.ID); err != nil {
		return fmt.Errorf("delete what it has beside its partitions: %w", err)
	}
	if err := f.dropOf(ctx, t.ID); err != nil {
		return err
	}
	if err := f.deletions.DeletionDone(ctx, t); err != nil {
		return err
	}
	f.log.Info("topic is deleted", "topic", t.Name, "id", t.ID, "partitions", t.Partitions)
	return nil
}
