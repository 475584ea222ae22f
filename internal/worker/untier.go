package worker

import (
	"context"
	"errors"
	"fmt"

	"github.com/korvet-io/korvet/internal/metadata"
	"github.com/korvet-io/korvet/internal/partition"
	"github.com/korvet-io/korvet/internal/redisstream"
	"github.com/korvet-io/korvet/internal/worker/tick"
)

// untierOff lets go of the tables of topics whose remote tier was turned off: the logs start at what Redis has of them, then the
// table is no longer the topic's. Its objects are deleted in the background.
func (s *Storage) untierOff(ctx context.Context) error {
	if s.TableList == nil {
		return nil
	}
	topics := s.Topics.All()
	s.keepCopies() // this tick may have offered what was turned off since, and nobody may have begun it yet
	for _, t := range topics {
		if t.Config.RemoteStorage || !t.Config.RemoteDeleteOnDisable || s.copies.busy(topicRef(t)) {
			continue // a copy that has not ended yet could note again what is forgotten here
		}
		table, has := s.TableList.TableOf(t.ID)
		if !has {
			continue
		}
		if err := s.untier(ctx, t, table); tick.Ends(err) {
			return err
		} else if err != nil {
			s.Observer.WorkerFailed("untier")
			s.Log.Warn("a topic's remote data is not let go of: trying again at the next tick", "topic", t.Name, "error", err)
		}
	}
	return nil
}

// untier lets go of one topic's table.
func (s *Storage) untier(ctx context.Context, t *metadata.Topic, table metadata.Table) error {
	for p := range t.Partitions {
		if err := s.hold(ctx); err != nil {
			return err
		}
		ref := partition.Ref{Topic: t.Name, ID: t.ID, Partition: p}
		claim := redisstream.Claim{TopicID: ref.TopicID(), Fence: s.lease.fence}
		_, err := s.Redis.Untier(ctx, redisstream.NewKeys(s.Namespace, t.Name, p), claim)
		if err != nil && !errors.Is(err, redisstream.ErrDeleted) { // this life of the topic has nothing there
			return fmt.Errorf("partition %d: %w", p, err)
		}
	}
	if err := s.TableList.DropTable(ctx, table); err != nil {
		return err
	}
	s.Log.Info("the remote tier of a topic is off: its remote data is being deleted", "topic", t.Name, "table", table.Name, "location", table.Location)
	return nil
}
