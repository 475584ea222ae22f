package partition

import (
	"context"
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/korvet-io/korvet/internal/dictionary"
	"github.com/korvet-io/korvet/internal/redisstream"
)

// Shard is what a partition needs of the Redis that holds its stream. It is safe for concurrent use; the reads respect ctx.
type Shard interface {
	// Acquire hands over the connection that appends to stream go to, once, maybe later.
	Acquire(stream string, done func(redisstream.Conn, error))
	// Identity is that of the Redis reached last. When it changes, nothing that a partition remembers holds any more.
	Identity() redisstream.Identity
	Look(ctx context.Context, keys redisstream.Keys) (redisstream.View, error)
	Range(ctx context.Context, stream string, from redisstream.ID, inclusive bool, count int, sink redisstream.EntrySink) (redisstream.Page, error)
	Seek(ctx context.Context, stream string, offset int64) (redisstream.ID, bool, error)
	Trim(ctx context.Context, keys redisstream.Keys, topicID string, logStart int64) (int64, error)
	Delete(ctx context.Context, keys redisstream.Keys, topicID string) error
	LogStart(ctx context.Context, keys redisstream.Keys, topicID string) (redisstream.Starts, error)
	Size(ctx context.Context, streams []string) (int64, error)
	// PartitionDictionary reads a zstd dictionary from the partition's own copy; nil when it is not there.
	PartitionDictionary(ctx context.Context, keys redisstream.Keys, id uint32) ([]byte, error)
	mirror
}

// Replicator knows how far Redis's replicas are. It is safe for concurrent use and does not block.
type Replicator interface {
	// Connected tells whether at least n replicas are connected, as far as is known.
	Connected(n int) bool
	// Confirm calls done once: with nil when n replicas of the Redis of this identity have all that it had accepted
	// before the call.
	Confirm(id redisstream.Identity, n int, done func(error))
}

// Observer is told what happens, for metrics. Its methods must not block.
type Observer interface {
	AppendDone(records, bytes int, took time.Duration, err error)
	ReadDone(tier string, bytes int, took time.Duration, err error)
	Fenced(result string)
	Truncated(p Ref, records int64)
	// ValuesCompressed tells the bytes of a batch's values before and after.
	ValuesCompressed(p Ref, plain, stored int)
	// ValueCorrupt counts a value that a reader could not be given.
	ValueCorrupt(p Ref)
}

// Settings are a broker's settings that concern its partitions.
type Settings struct {
	Namespace       string
	Owner           string        // broker id / boot id
	Lease           time.Duration // how long a fence or an append holds a partition
	ProduceTimeout  time.Duration // bounds the wait for an append; 0: only the client's own
	RequestTimeout  time.Duration // a request to Redis without an answer for this long loses its connection
	TailCacheBytes  int64         // for all partitions together
	RedisReplicas   int           // how many replicas Redis is run with
	ProducerExpiry  time.Duration // an idempotent producer idle for longer is forgotten
	MaxProducers    int           // idempotent producers remembered per partition
	ReadReplyBytes  int           // largest answer asked of Redis at once
	ReadAhead       int           // fetch answers read in advance, of all partitions together
	ReadAheadKept   time.Duration // such an answer that nobody asked for is dropped
	MaxGroupRecords int           // records per MULTI; a producer's batch goes whole
	MaxGroupBytes   int
	MaxValueBytes   int           // a stored value that is larger when decompressed does not decode
	RemoteMaxWait   time.Duration // how long a read waits for the remote tier
	RemoteEndWait   time.Duration // how long one try of a takeover waits for the remote tier to tell what Redis may have lost
	RemoteRetry     time.Duration // how long after the remote tier did not tell what it has of a lost log it is asked again
	RemoteSearch    time.Duration // bounds a search of the remote tier by time, unless its own client does
}

// DefaultSettings are the documented defaults.
func DefaultSettings() Settings {
	return Settings{
		Namespace: "korvet", Lease: 3 * time.Second, ProduceTimeout: 5 * time.Second, RequestTimeout: 5 * time.Second,
		TailCacheBytes: 64 << 20, ProducerExpiry: 24 * time.Hour, MaxProducers: 10_000, ReadReplyBytes: 256 << 10,
		ReadAhead: 16, ReadAheadKept: 5 * time.Second,
		MaxGroupRecords: 1000, MaxGroupBytes: 1 << 20, MaxValueBytes: 16 << 20,
		RemoteMaxWait: 500 * time.Millisecond, RemoteEndWait: 2 * time.Second, RemoteRetry: time.Second, RemoteSearch: 30 * time.Second,
	}
}

// env is what the partitions of a broker share.
type env struct {
	Settings
	shard    Shard
	replicas Replicator
	remote   Remote // nil: none
	// tiered tells whether the remote tier may have records of a partition, by what is known without asking it.
	tiered   func(Ref) bool
	observer Observer
	// dictionaries are the topics' zstd dictionaries; nil: none are used.
	dictionaries *dictionary.Registry
	log          *slog.Logger
	budget       *budget
	// aheadSlots bounds what is read in advance.
	aheadSlots chan struct{}

	now       func() time.Duration // monotonic
	redisTime uint64               // 0: Redis's own
	token     func() string        // random, never the same twice
	gone      func(owner string) bool
	// minReplicas is a topic's min.insync.replicas.
	minReplicas  func(Ref) int
	expiryMs     atomic.Int64 // ProducerExpiry, which may change
	remoteWait   atomic.Int64 // RemoteMaxWait and RemoteSearch, which may change
	remoteSearch atomic.Int64
	busy         func(*Partition) // tells the sweeper that a partition has something to wait for
}
