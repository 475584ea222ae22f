// Package copying copies sealed segments to the tables of their topics, each record once whatever dies meanwhile, and has the tables
// follow logs of which Redis lost the end.
package copying

import (
	"context"
	"io"
	"log/slog"
	"sync"
	"time"

	"github.com/google/uuid"

	"github.com/korvet-io/korvet/internal/dictionary"
	"github.com/korvet-io/korvet/internal/epoch"
	"github.com/korvet-io/korvet/internal/iceberg/datafile"
	"github.com/korvet-io/korvet/internal/iceberg/jsoncolumns"
	"github.com/korvet-io/korvet/internal/iceberg/tables"
	"github.com/korvet-io/korvet/internal/metadata"
	"github.com/korvet-io/korvet/internal/partition"
	"github.com/korvet-io/korvet/internal/redisstream"
	"github.com/korvet-io/korvet/internal/worker/lifecycle"
	"github.com/korvet-io/korvet/internal/worker/replicas"
	"github.com/korvet-io/korvet/internal/worker/tick"
)

// Tables is what copying needs of the remote tier. It is safe for concurrent use.
type Tables interface {
	// Table returns the table of a life of a topic. It may have to be created.
	Table(ctx context.Context, t *metadata.Topic) (Table, error)
}

// Table is the table of one life of a topic. It is safe for concurrent use.
type Table interface {
	// Create makes the table on the store unless it is there.
	Create(ctx context.Context) error
	// State reads what the table is now. chain.ErrNoTable.
	State(ctx context.Context) (*tables.State, error)
	// Seen makes sure that the store has the state that was read, whatever was kept in memory.
	Seen(ctx context.Context, s *tables.State) error
	// Append adds files that were put, on a state that was read: all or none. After chain.ErrConflict, chain.ErrStale and
	// tables.ErrFenced it did nothing; after another error it may have.
	Append(ctx context.Context, base *tables.State, fence int64, files []tables.Added, columns ...jsoncolumns.Column) (*tables.State, error)
	// Covers notes that the table may have records of a partition, before a file is written.
	Covers(ctx context.Context, partition int32) error
	// Truncate takes the rows from offsets on out of the table, if that is still wanted in the end, and tells which files went;
	// Untruncate takes it back. SetEpochs has the table tell the leader epochs of partitions of which it tells none. All are on a
	// state that was read, with Append's errors.
	Truncate(ctx context.Context, base *tables.State, fence int64, cuts map[int32]tables.Cut, still func(context.Context) error, o datafile.Options) (*tables.State, []tables.File, error)
	Untruncate(ctx context.Context, before, after *tables.State, fence int64) (*tables.State, error)
	SetEpochs(ctx context.Context, base *tables.State, epochs map[int32]epoch.History) (*tables.State, error)
	// Location is the table's, without a slash at its end.
	Location() string
	// Put writes a data file. After an error it may be there all the same.
	Put(ctx context.Context, location string, body io.Reader) error
}

// Sources is what copying needs of the Redis that holds the messages: redisstream.Shard. It is safe for concurrent use.
type Sources interface {
	Glances(ctx context.Context, keys []redisstream.Keys) ([]redisstream.Glance, error)
	Range(ctx context.Context, stream string, from redisstream.ID, inclusive bool, count int, sink redisstream.EntrySink) (redisstream.Page, error)
	Seek(ctx context.Context, stream string, offset int64) (redisstream.ID, bool, error)
	SetTiered(ctx context.Context, keys redisstream.Keys, c redisstream.Claim, end int64) (int64, error)
	SetTieredBack(ctx context.Context, keys redisstream.Keys, c redisstream.Claim, end int64) (int64, error)
	PartitionDictionary(ctx context.Context, keys redisstream.Keys, id uint32) ([]byte, error)
	Weigh(ctx context.Context, streams []string, nodes int) ([]int64, error)
	Identity() redisstream.Identity
}

// Settings are those of copying.
type Settings struct {
	RowGroupBytes   int64 // of records as they are before they are encoded; one row group is in memory for each partition that is copied
	TargetFileBytes int64 // of a data file, about
	KeyBloom        bool  // whether data files have a bloom filter of the keys
	Threads         int   // partitions that are copied at a time
	// MaxBytesPerSecond bounds what is written to the store, all partitions together.
	MaxBytesPerSecond int64
	MaxValueBytes     int // of a value after decompression
	JSON              jsoncolumns.Limits
}

// Observer is told of copying, for metrics. Its methods must not block.
type Observer interface {
	// FileArchived tells how long it took to write a data file, read from Redis and sent to the store, and why it failed.
	FileArchived(took time.Duration, err error)
	// Archived counts what is in a table for good: sealed segments whose last record it has, and bytes of data files.
	Archived(segments int, bytes int64)
	// ArchiveTruncated counts a table of which rows from an offset on were taken out: so many offsets.
	ArchiveTruncated(offsets int64)
	// ArchiveFailed counts what could not be done and is tried again; operation is table, copy, decode or commit.
	ArchiveFailed(operation string)
	// ArchiveLag tells of each topic how many of its sealed segments are not in its table, and how old the oldest of them is: the time
	// since its last append.
	ArchiveLag(segments map[string]int64, oldest map[string]time.Duration)
	// ArchiveLagOffsets tells of each topic how many offsets lie between the ends of its table and those of its logs.
	ArchiveLagOffsets(offsets map[string]int64)
}

// Dependencies are what a copier is made of.
type Dependencies struct {
	Redis    Sources
	Tables   Tables
	Settings func() Settings // those in force now
	Observer Observer
	Events   lifecycle.Events // may be nil
	Log      *slog.Logger
	// Dictionaries decode values of topics with zstd dictionaries. It may be nil: such values are then unreadable.
	Dictionaries *dictionary.Registry
	// Replicas are waited for before a commit, as many as a topic's min.insync.replicas asks for of those that Redis is run with: what
	// a failover could take back must not be in a table. It may be nil.
	Replicas replicas.Confirmer
	Run      int            // how many replicas Redis is run with
	Version  string         // of the program, for the data files
	Turns    datafile.Turns // of encoding; nil: none
}

// Copier copies sealed segments to the tables of their topics. What it remembers saves requests only, so that any process may
// go on.
type Copier struct {
	Dependencies
	now    func() time.Time
	wait   func(ctx context.Context, d time.Duration) error
	random func() string
	rate   rate
	slots  slots

	mu   sync.Mutex
	ends map[uuid.UUID]map[int32]int64 // of tables as they were read last
	// compared are the partitions whose table was seen to be the log's, and in which Redis.
	compared map[partition.Ref]redisstream.Identity
	told     map[uuid.UUID]string // what was logged last of a topic
}

// New makes a copier.
func New(d Dependencies) *Copier {
	c := &Copier{
		Dependencies: d, now: time.Now, wait: sleep, random: randomName,
		ends: map[uuid.UUID]map[int32]int64{}, told: map[uuid.UUID]string{},
		compared: map[partition.Ref]redisstream.Identity{},
	}
	c.slots.freed = make(chan struct{})
	return c
}

// Job is a topic whose sealed segments are to be copied, as a tick finds it.
type Job struct {
	Topic   *metadata.Topic
	Targets []tick.Target // its partitions that are there

	identity redisstream.Identity // of the Redis that was looked at
}

// fence is the number of the lease under which the job was made.
func (j *Job) fence() int64 { return j.Targets[0].Fence }
