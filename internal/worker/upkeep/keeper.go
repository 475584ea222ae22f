// Package upkeep applies retention to what is in the tables of the remote tier, and keeps the tables in order: snapshots expire, small
// files are merged, files that nothing names are deleted.
package upkeep

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"

	"github.com/google/uuid"

	"github.com/korvet-io/korvet/internal/iceberg/tables"
	"github.com/korvet-io/korvet/internal/metadata"
	"github.com/korvet-io/korvet/internal/partition"
	"github.com/korvet-io/korvet/internal/redisstream"
	"github.com/korvet-io/korvet/internal/worker/lifecycle"
	"github.com/korvet-io/korvet/internal/worker/tick"
)

// Table is the table of one life of a topic as a keeper needs it: tables.Table. It is safe for concurrent use.
type Table interface {
	State(ctx context.Context) (*tables.State, error)
	// Recent is the state as it is known here, without a request where nothing tells of a newer one. A commit on it looks first.
	Recent(ctx context.Context) (*tables.State, error)
	Describe(ctx context.Context, base *tables.State, partitions int32, configs map[string]string) (*tables.State, error)
	Files(ctx context.Context, s *tables.State) (*tables.Files, error)
	DropBefore(ctx context.Context, base *tables.State, fence int64, starts map[int32]int64) (*tables.State, []tables.File, error)
	Expire(ctx context.Context, base *tables.State, fence int64, r tables.Rules) (*tables.State, int, error)
	Reclaim(ctx context.Context, fence int64) (tables.Reclaimed, error)
	Sweep(ctx context.Context, fence int64, age time.Duration) (tables.Swept, error)
	Merge(ctx context.Context, base *tables.State, fence int64, m tables.MergeRules) (*tables.State, tables.Merged, error)
}

// AppendTimes finds records of the remote tier by the time of their append: remote.Reader. It is safe for concurrent use.
type AppendTimes interface {
	// SeekAppend finds the first offset from one on whose record was appended at a time, in ms, or later; the table's end where there
	// is none.
	SeekAppend(ctx context.Context, ref partition.Ref, ms, from int64) (int64, error)
}

// Starts raises log starts: redisstream.Shard. It is safe for concurrent use.
type Starts interface {
	RaiseStart(ctx context.Context, keys redisstream.Keys, c redisstream.Claim, start int64) (int64, error)
	Identity() redisstream.Identity
}

// Settings are those of retention in the remote tier and of the upkeep of tables.
type Settings struct {
	Snapshots tables.Rules
	Merge     tables.MergeRules
	NoMerge   bool
	NoDelete  bool          // neither reclaims nor sweeps
	OrphanAge time.Duration // of files that no version of a table names, before they are deleted
}

// Observer is told what a keeper does, for metrics. Its methods must not block.
type Observer interface {
	// TablesKept tells by topic what its table holds: snapshots, data files, files of deletes, bytes of data files.
	TablesKept(snapshots, files, deletes, bytes map[string]int64)
	// UpkeepDone counts files that went, or came in the place of others; operation is drop, expire, reclaim, sweep or merge.
	UpkeepDone(operation string, files int)
	// UpkeepFailed counts what is tried again at a later tick.
	UpkeepFailed(operation string)
}

// Dependencies are what a keeper is made of.
type Dependencies struct {
	Redis    Starts
	Tables   func(topic uuid.UUID) (Table, bool) // those there are
	Times    AppendTimes
	Settings func() Settings // those in force now
	Observer Observer
	Log      *slog.Logger
	Events   lifecycle.Events // may be nil
	Now      func() time.Time // that of the store; nil: time.Now
}

// Keeper applies retention to what is in the remote tier, and keeps the tables in order. What it remembers saves requests and
// delays deletions only, so that any process may go on.
type Keeper struct {
	Dependencies
	now func() time.Time

	running sync.WaitGroup
	mu      sync.Mutex
	busy    bool
	// The rest is the running round's.
	topics   map[uuid.UUID]*keptTopic
	fence    int64
	identity redisstream.Identity
	settled  time.Time // since when fence and identity are these
}

// keptTopic is what a keeper remembers of a topic.
type keptTopic struct {
	starts                map[int32]int64 // log starts as the round before saw them
	reclaim, sweep, merge time.Time       // when these are due
	failed                string          // what was logged last
	// What the table held when it was seen last.
	snapshots, files, deletes, bytes int64
}

// New makes a keeper.
func New(d Dependencies) *Keeper {
	k := &Keeper{Dependencies: d, now: d.Now, topics: map[uuid.UUID]*keptTopic{}}
	if k.now == nil {
		k.now = time.Now
	}
	return k
}

// Job is a topic with a table, as a tick finds it.
type Job struct {
	Topic      *metadata.Topic
	Partitions []Partition
}

// Partition is a partition of it that is there.
type Partition struct {
	tick.Target
	// OpenBytes is the memory that the open segment takes in Redis, SealedBytes that of sealed ones, by number.
	OpenBytes   int64
	SealedBytes map[int64]int64
}

// Keep begins a round over all topics with tables, unless one is running: the store may be slow, and the ticks do not wait.
func (k *Keeper) Keep(ctx context.Context, jobs []Job) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.busy {
		return
	}
	k.busy = true
	k.running.Go(func() {
		k.round(ctx, jobs)
		k.mu.Lock()
		defer k.mu.Unlock()
		k.busy = false
	})
}

// Wait returns when no round is running.
func (k *Keeper) Wait() { k.running.Wait() }

// round keeps one table after another. What fails at one does not hold up the others.
func (k *Keeper) round(ctx context.Context, jobs []Job) {
	there := map[uuid.UUID]bool{}
	snapshots, files, deletes, bytes := map[string]int64{}, map[string]int64{}, map[string]int64{}, map[string]int64{}
	for i := range jobs {
		job := &jobs[i]
		table, ok := k.Tables(job.Topic.ID)
		if !ok || len(job.Partitions) == 0 {
			continue
		}
		there[job.Topic.ID] = true
		k.settle(job.Partitions[0].Fence)
		topic := k.topics[job.Topic.ID]
		if topic == nil {
			topic = &keptTopic{starts: map[int32]int64{}, merge: k.now().Add(mergeEvery)}
			k.topics[job.Topic.ID] = topic
		}
		operation, err := k.keep(ctx, table, job, topic)
		if ctx.Err() != nil || errors.Is(err, tables.ErrFenced) || errors.Is(err, redisstream.ErrFenced) {
			return
		}
		k.tell(job.Topic.Name, topic, operation, err)
		name := job.Topic.Name
		snapshots[name], files[name], deletes[name], bytes[name] = topic.snapshots, topic.files, topic.deletes, topic.bytes
	}
	for id := range k.topics {
		if !there[id] {
			delete(k.topics, id)
		}
	}
	k.Observer.TablesKept(snapshots, files, deletes, bytes)
}

// settle notes since when this process leads, and Redis is the one it is.
func (k *Keeper) settle(fence int64) {
	if identity := k.Redis.Identity(); fence != k.fence || identity != k.identity {
		k.fence, k.identity, k.settled = fence, identity, k.now()
	}
}

// tell logs what failed at a topic once, until something else fails or nothing does.
func (k *Keeper) tell(name string, topic *keptTopic, operation string, err error) {
	said := ""
	if err != nil {
		said = operation + ": " + err.Error()
		k.Observer.UpkeepFailed(operation)
	}
	switch {
	case said == topic.failed:
	case said != "":
		k.Log.Warn("a topic's table was not kept in order: trying again at a later tick", "topic", name, "operation", operation, "error", err)
	default:
		k.Log.Info("a topic's table is in order again", "topic", name)
	}
	topic.failed = said
}
