// Package worker keeps the storage of all partitions in order. At each tick the one process that holds the lease looks at them and
// does what is due: it seals segments, applies retention to what is in Redis, and drops what nothing needs any more. Beside the ticks
// it has topics copied to the remote tier, partitions compacted, and the tier's tables kept in order, each by a room of its own.
package worker

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"slices"
	"sync"
	"time"

	"github.com/google/uuid"

	"github.com/korvet-io/korvet/internal/metadata"
	"github.com/korvet-io/korvet/internal/partition"
	"github.com/korvet-io/korvet/internal/redisstream"
	"github.com/korvet-io/korvet/internal/worker/copying"
	"github.com/korvet-io/korvet/internal/worker/tick"
	"github.com/korvet-io/korvet/internal/worker/upkeep"
)

// Topics lists the topics there are. The list must not be changed.
type Topics interface{ All() []*metadata.Topic }

// Redis is what the storage worker needs of the Redis that holds the messages: each change is one script that carries a
// Claim, takes a bounded step and may be repeated. Safe for concurrent use.
type Redis interface {
	Lease(ctx context.Context, q redisstream.LeaseRequest) (fence int64, err error)
	Glances(ctx context.Context, keys []redisstream.Keys) ([]redisstream.Glance, error)
	Roll(ctx context.Context, keys redisstream.Keys, c redisstream.Claim, open int64) (redisstream.Segment, bool, error)
	RaiseStart(ctx context.Context, keys redisstream.Keys, c redisstream.Claim, start int64) (int64, error)
	Untier(ctx context.Context, keys redisstream.Keys, c redisstream.Claim) (int64, error)
	DropCopy(ctx context.Context, keys redisstream.Keys, c redisstream.Claim) error
	DropSegment(ctx context.Context, keys redisstream.Keys, c redisstream.Claim, seg redisstream.Segment) (bool, error)
	TrimHead(ctx context.Context, keys redisstream.Keys, c redisstream.Claim, h redisstream.Head) (int64, redisstream.ID, error)
	FirstAt(ctx context.Context, stream string, ms uint64) (redisstream.ID, bool, error)
	Seek(ctx context.Context, stream string, offset int64) (redisstream.ID, bool, error)
	Weigh(ctx context.Context, streams []string, nodes int) ([]int64, error)
	Memory(ctx context.Context) (used, limit int64, err error)
	Dictionaries
}

// TopicTables are the tables of the remote tier by topic: metadata.Store. They are safe for concurrent use.
type TopicTables interface {
	TableOf(topic uuid.UUID) (metadata.Table, bool)
	// DropTable parts a table from its topic, and may be repeated.
	DropTable(ctx context.Context, t metadata.Table) error
}

// Observer is told what the storage worker does, for metrics. Its methods must not block.
type Observer interface {
	WorkerLeads(leads bool)
	WorkerTicked(took time.Duration)
	WorkerFailed(operation string)
	SegmentSealed()
	SegmentDropped()
	RecordsTrimmed(records int64)
	BytesFreed(bytes int64)
	LocalBytes(byTopic map[string]int64)
	RedisFull(nothingCanGo bool)
}

// Settings of the storage worker.
type Settings struct {
	Namespace string
	Owner     string        // unique to this start of the process
	Tick      time.Duration // between two looks at all partitions
	Lease     time.Duration // how long the others wait for a worker that died; above Tick
	Passes    int           // of compaction at a time; 0: one
}

// Dependencies are what a storage worker is made of beside its settings.
type Dependencies struct {
	Topics   Topics
	Redis    Redis
	Observer Observer
	Log      *slog.Logger
	// Compactor compacts the topics whose cleanup.policy says so, several partitions at a time. It may be nil.
	Compactor interface {
		Compact(ctx context.Context, t *tick.Target) error
	}
	// TableList is that of the remote tier's tables. It may be nil.
	TableList TopicTables
	// Keeper applies retention to what is in the remote tier, and keeps the tables in order. It may be nil.
	Keeper interface {
		Keep(ctx context.Context, jobs []upkeep.Job)
		Wait()
	}
	// Copier copies sealed segments of topics with remote.storage.enable=true. It is nil without a remote tier.
	Copier *copying.Copier
	// Gone tells whether another worker's process is provably dead, so that its lease need not be waited for. It may be nil.
	Gone func(owner string) bool
	// Ticked is called after each look at all partitions, with the number of the lease. It must not block; it may be nil.
	Ticked func(fence int64)
}

// Storage is the storage worker of one process. Of all processes the one that holds the lease acts: it drops and trims what
// retention and DeleteRecords put below the log start, seals idle segments and compacts, by scripts on Redis alone.
type Storage struct {
	Settings
	Dependencies
	now     func() time.Time
	lease   lease
	sizes   sizes
	shelves shelves
	full    fullness
	freed   int64
	// passes are those of compaction, copies those of the copier.
	passes *passes[tick.Target]
	copies *passes[copying.Job]

	wake chan struct{}
	mu   sync.Mutex
	refs map[partition.Ref]struct{} // to look at before the next tick
	all  bool
}

// NewStorage makes a storage worker.
func NewStorage(s Settings, d Dependencies) *Storage {
	return &Storage{
		Settings: s, Dependencies: d, now: time.Now, sizes: sizes{},
		passes: newPasses(func(t tick.Target) partition.Ref { return t.Ref }), copies: newPasses(func(j copying.Job) partition.Ref { return topicRef(j.Topic) }),
		wake: make(chan struct{}, 1), refs: map[partition.Ref]struct{}{},
	}
}

// Wake asks for a look at some partitions before the next tick, or at all when none is named. It does not block.
func (s *Storage) Wake(refs ...partition.Ref) {
	s.mu.Lock()
	s.all = s.all || len(refs) == 0
	for _, r := range refs {
		s.refs[r] = struct{}{}
	}
	s.mu.Unlock()
	select {
	case s.wake <- struct{}{}:
	default:
	}
}

// wanted takes what Wake was asked for. nil: all partitions.
func (s *Storage) wanted() map[partition.Ref]struct{} {
	s.mu.Lock()
	defer s.mu.Unlock()
	refs := s.refs
	if s.all {
		refs = nil
	}
	s.refs, s.all = map[partition.Ref]struct{}{}, false
	return refs
}

// RunOnce takes or renews the lease and does what is due, at all partitions, copies and compaction last. While another process holds
// the lease it does nothing: the error is then a *redisstream.HeldError.
func (s *Storage) RunOnce(ctx context.Context) error {
	err := s.tick(ctx, nil)
	if s.Keeper != nil {
		s.Keeper.Wait()
	}
	return cmp.Or(err, s.copies.collect(), s.passes.collect())
}

// tick looks at the partitions named, or at all when only is nil.
func (s *Storage) tick(ctx context.Context, only map[partition.Ref]struct{}) error {
	began := s.now()
	s.freed = 0
	if s.lease.fence != 0 && !began.Before(s.lease.ends) {
		s.leave() // take it again
	}
	if err := s.hold(ctx); err != nil {
		return err
	}
	s.keepPasses()
	s.keepCopies()
	targets := s.targets(only)
	if err := s.glance(ctx, targets); err != nil {
		return err
	}
	if err := s.visit(ctx, targets, only == nil); err != nil {
		return err
	}
	if err := s.untierOff(ctx); err != nil {
		return err
	}
	s.Observer.WorkerLeads(true)
	s.Observer.WorkerTicked(s.now().Sub(began))
	if only != nil {
		return nil
	}
	if s.Ticked != nil {
		s.Ticked(s.lease.fence)
	}
	return s.relieve(ctx)
}

// targets lists the partitions by topic.
func (s *Storage) targets(only map[partition.Ref]struct{}) []tick.Target {
	var list []tick.Target
	for _, t := range s.Topics.All() {
		for p := range t.Partitions {
			ref := partition.Ref{Topic: t.Name, ID: t.ID, Partition: p}
			if _, named := only[ref]; !named && only != nil {
				continue
			}
			list = append(list, tick.Target{
				Ref: ref, Keys: redisstream.NewKeys(s.Namespace, t.Name, p), TopicID: ref.TopicID(),
				Config: &t.Config, Fence: s.lease.fence,
			})
		}
	}
	return list
}

// glance looks at the targets.
func (s *Storage) glance(ctx context.Context, targets []tick.Target) error {
	keys := make([]redisstream.Keys, len(targets))
	for i := range targets {
		keys[i] = targets[i].Keys
	}
	glances, err := s.Redis.Glances(ctx, keys)
	if err != nil {
		return err
	}
	for i := range targets {
		targets[i].Glance = glances[i]
		targets[i].Compared = s.compared(&targets[i])
	}
	return nil
}

// visit weighs the targets that changed and does what is due at each. What fails at one does not hold up the others,
// unless Redis is away or the lease is lost.
func (s *Storage) visit(ctx context.Context, targets []tick.Target, everything bool) error {
	targets = slices.DeleteFunc(targets, func(t tick.Target) bool { return !s.alive(&t) })
	if err := s.weigh(ctx, targets); err != nil {
		return err
	}
	for i := range targets {
		if err := s.settle(&targets[i], s.work(ctx, &targets[i])); err != nil {
			return err
		}
	}
	if !everything {
		return nil
	}
	s.sizes.keepOnly(targets)
	s.Observer.LocalBytes(s.sizes.byTopic())
	if err := s.dropDictionaries(ctx, targets); err != nil {
		return err
	}
	s.copy(ctx, targets)
	s.compact(ctx, targets)
	s.keepTables(ctx, targets)
	return nil
}

// settle logs what failed at one partition. The error is one that ends the tick.
func (s *Storage) settle(t *tick.Target, err error) error {
	switch {
	case err == nil, errors.Is(err, redisstream.ErrDeleted): // the deletion's own worker takes what is left
		return nil
	case tick.Ends(err):
		return err
	}
	s.Observer.WorkerFailed("partition")
	s.Log.Warn("storage of a partition was not worked on: trying again at the next tick",
		"topic", t.Ref.Topic, "partition", t.Ref.Partition, "error", err)
	return nil
}

// alive tells whether the partition was written to in this life of its topic.
func (s *Storage) alive(t *tick.Target) bool {
	if err := t.Glance.Err; err != nil {
		s.Observer.WorkerFailed("look")
		s.Log.Warn("a partition cannot be looked at", "topic", t.Ref.Topic, "partition", t.Ref.Partition, "error", err)
		return false
	}
	return t.Glance.Exists && t.Glance.TopicID == t.TopicID
}

// compared tells, of a target that was looked at just now, whether what its table has may go from Redis.
func (s *Storage) compared(t *tick.Target) bool { return s.Copier == nil || s.Copier.Compared(t.Ref) }

// again looks at one target anew.
func (s *Storage) again(ctx context.Context, t *tick.Target) error {
	glances, err := s.Redis.Glances(ctx, []redisstream.Keys{t.Keys})
	if err != nil {
		return err
	}
	t.Compared = s.compared(t)
	if t.Glance = glances[0]; t.Glance.Err != nil {
		return t.Glance.Err
	}
	if t.Glance.TopicID != t.TopicID {
		return redisstream.ErrDeleted
	}
	return nil
}
