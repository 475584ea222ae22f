package worker

import (
	"context"
	"fmt"
	"math"
	"slices"

	"github.com/google/uuid"

	"github.com/korvet-io/korvet/internal/metadata"
	"github.com/korvet-io/korvet/internal/partition"
	"github.com/korvet-io/korvet/internal/redisstream"
	"github.com/korvet-io/korvet/internal/worker/tick"
)

// Dictionaries is what the storage worker needs of the zstd dictionaries in Redis. It is as safe as Redis's other methods.
type Dictionaries interface {
	DictionaryUse(ctx context.Context, keys redisstream.Keys) (redisstream.DictionaryUse, error)
	DropDictionaries(ctx context.Context, keys redisstream.Keys, c redisstream.Claim, d redisstream.DictionaryDrop) (int64, error)
	CountDictionaries(ctx context.Context, keys []redisstream.DictionaryKeys) ([]int64, error)
	UnheldDictionaries(ctx context.Context, keys redisstream.DictionaryKeys, partitions []redisstream.Keys) ([]uint32, error)
	ForgetDictionaries(ctx context.Context, keys redisstream.DictionaryKeys, fence int64, ids []uint32) (int64, error)
}

// Dictionaries whose records are gone go in two steps: from each partition's own copy, once the log start has passed all
// records that were written before another one was used instead; and from the topic's, once no partition holds them.

// shelves remember what was found, so that a tick asks no more than two counts where nothing changed.
type shelves struct {
	partitions map[partition.Ref]shelf
	topics     map[uuid.UUID]shelf
}

// shelf is what was found of the dictionaries of one partition, or of one topic's life.
type shelf struct {
	topic uuid.UUID
	fence int64 // of the lease under which it was found: meanwhile another worker may have dropped some
	held  int64
	due   int64 // of a partition: the log start from which on the next one may go; of a topic: what its partitions hold
}

// dropDictionaries drops those that no record needs.
func (s *Storage) dropDictionaries(ctx context.Context, targets []tick.Target) error {
	kept := shelves{map[partition.Ref]shelf{}, map[uuid.UUID]shelf{}}
	held := map[uuid.UUID]int64{}
	for i := range targets {
		t := &targets[i]
		if t.Glance.Dictionaries > 1 {
			found, err := s.dropFrom(ctx, t, s.shelves.partitions[t.Ref])
			if err := s.settle(t, err); err != nil {
				return err
			}
			if err == nil {
				kept.partitions[t.Ref] = found
			}
			if found.held < t.Glance.Dictionaries {
				delete(s.shelves.topics, t.Ref.ID)
			}
			t.Glance.Dictionaries = found.held
		}
		held[t.Ref.ID] += t.Glance.Dictionaries
	}
	err := s.forgetDictionaries(ctx, held, kept.topics)
	s.shelves = kept
	return err
}

// dropFrom drops a partition's dictionaries.
func (s *Storage) dropFrom(ctx context.Context, t *tick.Target, known shelf) (shelf, error) {
	oldest := oldestEntry(t)
	now := shelf{topic: t.Ref.ID, fence: t.Fence, held: t.Glance.Dictionaries, due: known.due}
	if known == now && oldest < known.due {
		return known, nil
	}
	now.due = 0
	use, err := s.Redis.DictionaryUse(ctx, t.Keys)
	if err != nil {
		return now, err
	}
	since, ids := outlived(use.From, oldest)
	dropped := int64(0)
	for page := range slices.Chunk(ids, redisstream.DictionaryStep) {
		if err := s.hold(ctx); err != nil {
			return now, err
		}
		n, err := s.Redis.DropDictionaries(ctx, t.Keys, t.Claim(), redisstream.DictionaryDrop{
			Token: use.Token, Below: oldest, Since: since, IDs: page,
		})
		if err != nil {
			return now, err
		}
		dropped += n
	}
	if now.held -= dropped; dropped < int64(len(ids)) { // a broker wrote meanwhile: look again at the next tick
		return now, nil
	}
	for _, id := range ids {
		delete(use.From, id)
	}
	now.due = nextDue(use.From)
	if dropped > 0 {
		s.Log.Info("dropped zstd dictionaries of which no record is left", "topic", t.Ref.Topic, "partition", t.Ref.Partition, "dictionaries", ids)
	}
	return now, nil
}

// oldestEntry is an offset below which no entry is left, in no stream of the partition: also who reads the streams by hand finds
// the dictionaries of what is there.
func oldestEntry(t *tick.Target) int64 {
	g := &t.Glance
	switch {
	case len(g.Segments) > 0:
		return min(g.LocalStart, g.Segments[0].Base)
	case g.Length > 0:
		return min(g.LocalStart, int64(min(g.First.Seq, math.MaxInt64)))
	}
	return g.LocalStart
}

// outlived lists the dictionaries that no record at or above an offset uses, by what was noted of each: from which offset on
// it was used last. since is one that was used after them all, from that offset on at the latest.
func outlived(from map[uint32]int64, oldest int64) (since uint32, ids []uint32) {
	latest := int64(-1)
	for id, offset := range from {
		if offset <= oldest && offset > latest {
			since, latest = id, offset
		}
	}
	for id, offset := range from {
		if offset < latest {
			ids = append(ids, id)
		}
	}
	slices.Sort(ids)
	return since, ids
}

// nextDue is the lowest offset at which another dictionary is outlived: the second lowest that is noted.
func nextDue(from map[uint32]int64) int64 {
	lowest, next := int64(math.MaxInt64), int64(math.MaxInt64)
	for _, offset := range from {
		switch {
		case offset < lowest:
			lowest, next = offset, lowest
		case offset > lowest:
			next = min(next, offset)
		}
	}
	return next
}

// topicFields are the fields that the hash of a topic's dictionaries has beside them: newest, sum, ratio, maybe fence.
const topicFields = 3

// forgetDictionaries drops the topics' dictionaries that no partition holds. held is how many the partitions of each have.
func (s *Storage) forgetDictionaries(ctx context.Context, held map[uuid.UUID]int64, kept map[uuid.UUID]shelf) error {
	topics := slices.DeleteFunc(slices.Clone(s.Topics.All()), func(t *metadata.Topic) bool { return !t.Config.StorageDictionary })
	keys := make([]redisstream.DictionaryKeys, len(topics))
	for i, t := range topics {
		keys[i] = redisstream.NewDictionaryKeys(s.Namespace, t.Name, partition.Ref{ID: t.ID}.TopicID())
	}
	counts, err := s.Redis.CountDictionaries(ctx, keys)
	if err != nil {
		return err
	}
	for i, t := range topics {
		now := shelf{topic: t.ID, fence: s.lease.fence, held: counts[i], due: held[t.ID]}
		if counts[i] <= topicFields+1 || s.shelves.topics[t.ID] == now {
			kept[t.ID] = now
			continue
		}
		dropped, err := s.forgetOf(ctx, t, keys[i])
		now.held -= dropped
		switch {
		case err == nil:
			kept[t.ID] = now
		case tick.Ends(err):
			return err
		default:
			s.Observer.WorkerFailed("dictionaries")
			s.Log.Warn("zstd dictionaries of a topic were not looked at: trying again at the next tick", "topic", t.Name, "error", err)
		}
	}
	return nil
}

// forgetOf drops the dictionaries of one topic's life that no partition holds.
func (s *Storage) forgetOf(ctx context.Context, t *metadata.Topic, keys redisstream.DictionaryKeys) (dropped int64, err error) {
	partitions := make([]redisstream.Keys, t.Partitions)
	for p := range t.Partitions {
		partitions[p] = redisstream.NewKeys(s.Namespace, t.Name, p)
	}
	ids, err := s.Redis.UnheldDictionaries(ctx, keys, partitions)
	if err != nil {
		return 0, err
	}
	for page := range slices.Chunk(ids, redisstream.DictionaryStep) {
		if err := s.hold(ctx); err != nil {
			return dropped, err
		}
		n, err := s.Redis.ForgetDictionaries(ctx, keys, s.lease.fence, page)
		if err != nil {
			return dropped, fmt.Errorf("topic %s: %w", t.Name, err)
		}
		dropped += n
	}
	if dropped > 0 {
		s.Log.Info("dropped zstd dictionaries that no partition needs", "topic", t.Name, "dictionaries", ids)
	}
	return dropped, nil
}
