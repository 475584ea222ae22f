// Package deletion finishes the deletion of topics, and that of the remote tier's tables that no topic has any more.
//
// Every process may do it, also several at a time: each step can be repeated.
package deletion

import (
	"context"
	"log/slog"
	"time"

	"github.com/google/uuid"

	"github.com/korvet-io/korvet/internal/metadata"
	"github.com/korvet-io/korvet/internal/partition"
)

// Deletions is the list of topics that were deleted and of which something may be left. All methods are safe for
// concurrent use.
type Deletions interface {
	// Deletions lists them. With an error the list holds what could be read.
	Deletions(ctx context.Context) ([]*metadata.Topic, error)
	// CommitDeletion makes sure that this life of the topic is off the topics, and returns it with all its partitions.
	CommitDeletion(ctx context.Context, t *metadata.Topic) (*metadata.Topic, error)
	// DeletionDone takes a topic off the list. It may be off already.
	DeletionDone(ctx context.Context, t *metadata.Topic) error
	// Deleted receives when a topic was added to the list.
	Deleted() <-chan struct{}
}

// Partitions removes partitions' data.
type Partitions interface {
	// DeletePartition removes everything of one partition of one life of a topic. Removing what is gone, or what
	// another life of the name has replaced, succeeds.
	DeletePartition(ctx context.Context, p partition.Ref) error
	// DeleteTopic removes what one life of a topic has beside its partitions, once those are gone. It may be repeated.
	DeleteTopic(ctx context.Context, topic string, id uuid.UUID) error
}

// Worker finishes deletions. It logs what fails and tries it again at the next tick.
type Finisher struct {
	deletions  Deletions
	partitions Partitions
	dropped    dropped
	log        *slog.Logger
}

// New makes one.
func New(d Deletions, p Partitions, log *slog.Logger) *Finisher {
	return &Finisher{deletions: d, partitions: p, log: log}
}

// AfterTables makes it delete the tables of topics that are gone, too, before it runs. objects is nil in a process that has no
// remote tier.
func (f *Finisher) AfterTables(t TableList, objects Objects) {
	f.dropped = dropped{tables: t, objects: objects, now: time.Now}
}

// Run works until ctx ends: at once, when a topic is deleted, and at every tick.
func (f *Finisher) Run(ctx context.Context, tick time.Duration) {
	ticker := time.NewTicker(tick)
	defer ticker.Stop()
	for {
		if err := f.FinishDeletions(ctx); err != nil && ctx.Err() == nil {
			f.log.Warn("deletions are not finished: trying again at the next tick", "error", err)
		}
		if err := f.FinishTables(ctx); err != nil && ctx.Err() == nil {
			f.log.Warn("tables of topics that are gone are not dropped: trying again at the next tick", "error", err)
		}
		select {
		case <-ctx.Done():
			return
		case <-f.deletions.Deleted():
		case <-ticker.C:
		}
	}
}
