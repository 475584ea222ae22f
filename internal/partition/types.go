// Package partition is a partition's log over all tiers: append (group commit, fencing, idempotent producers),
// read (tail cache, Redis, later the remote tier), offsets by time and by leader epoch, ownership.
//
// It knows records and offsets, never Kafka requests. What it needs of the local tier is the port Local.
package partition

import (
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"

	"github.com/korvet-io/korvet/internal/batch"
	"github.com/korvet-io/korvet/internal/compress"
)

// Ref names a partition of one life of a topic: a topic that was deleted and created again has another ID.
type Ref struct {
	Topic     string
	ID        uuid.UUID
	Partition int32
}

// TopicID is how Redis knows this life of the topic.
func (r Ref) TopicID() string { return fmt.Sprintf("%x", r.ID[:]) }

// Appended is the outcome of one accepted batch.
type Appended struct {
	BaseOffset     int64
	LogStartOffset int64
	AppendTime     int64 // ms in Redis's time when the topic stamps LogAppendTime, else -1
	Duplicate      bool  // an idempotent producer sent it before; BaseOffset is the first one's
}

// AppendOptions are the topic's settings and the request's wishes that an append depends on.
type AppendOptions struct {
	// AllReplicas is acks=all: done is called only when the high watermark has passed the batch.
	AllReplicas bool
	// MinReplicas is the topic's min.insync.replicas. It counts up to what Redis is run with.
	MinReplicas int
	// LogAppendTime stamps every record with Redis's time.
	LogAppendTime bool
	// TimeoutMs bounds the wait for the outcome; 0 means no bound but the broker's.
	TimeoutMs int64
	// Values is how the topic's values are stored.
	Values Values
	// Segment says when the partition's open segment is sealed.
	Segment SegmentPolicy
}

// Values says how a topic's values are stored in the local tier. It is the same for all of a topic's life.
type Values struct {
	Codec compress.Codec
	// Dictionary compresses with the topic's zstd dictionary once there is one.
	Dictionary bool
}

// Bounds are the ends of a partition's log.
type Bounds struct {
	LogStart      int64 // log start offset: the first offset that may be read
	HighWatermark int64 // one after the last offset that consumers may see
	LogEnd        int64 // one after the last offset appended
	LeaderEpoch   int32
	// LocalStart is the first offset that Redis has, TieredEnd one after the last that the remote tier has for sure; 0: none.
	LocalStart, TieredEnd int64
	// Leader epochs of the records at the log start, at LocalStart, before TieredEnd and at it. Only the method Bounds tells.
	StartEpoch, LocalEpoch, TieredEpoch, PendingEpoch int32
}

// ReadRequest asks for record batches from Offset on.
type ReadRequest struct {
	Offset   int64
	MaxBytes int // a soft limit: the first batch is returned whole if AtLeastOne
	// AtLeastOne returns one batch even if it exceeds MaxBytes (KIP-74).
	AtLeastOne bool
	// Codec and Level are how batches that are rebuilt from the local tier are compressed. Those in the tail cache are as
	// they were appended.
	Codec batch.Codec
	Level int
	// NoZstd is set for clients that cannot read it (before Fetch v10, KIP-110): such batches are rebuilt without it.
	NoZstd bool
	// Values is how the topic's values are stored.
	Values Values
	// LogAppendTime tells that the topic stamps the append time now: records of the remote tier that have it are sent so.
	LogAppendTime bool
	// AppendTimeHeader adds the header record.AppendTimeHeader to every record. Batches are rebuilt for it: the tail cache has them as
	// they were sent.
	AppendTimeHeader bool
	// Began is from when on the wait for the remote tier counts; zero: now.
	Began time.Time

	readsOn bool // the consumer has read on before
}

// ReadResult holds whole record batches (v2), the first of which contains or follows Offset.
type ReadResult struct {
	Bounds
	// Batches are appended to the buffer given to Read. They must not be changed.
	Batches []byte
}

// TimeOffset answers a search by time. Offset is -1 when there is none.
type TimeOffset struct {
	Offset      int64
	Timestamp   int64
	LeaderEpoch int32
}

// Why Redis refuses writes; both are ErrStorage.
var (
	ErrFull     = fmt.Errorf("%w: it is full (maxmemory)", ErrStorage)
	ErrNotSaved = fmt.Errorf("%w: it cannot save its data to disk (MISCONF), its log says why", ErrStorage)
)

// The few error kinds a caller acts on. kafka/api turns them into error codes, in one place.
var (
	ErrNotLeader              = errors.New("not the leader of this partition") // retry elsewhere or later: fenced, lease held by another, Redis away, read-only or loading
	ErrTimeout                = errors.New("timed out")                        // the outcome is unknown
	ErrStorage                = errors.New("redis refuses writes")             // one of the two below
	ErrNotEnoughReplicas      = errors.New("not enough replicas")              // nothing was appended
	ErrNotEnoughReplicasAfter = errors.New("not enough replicas after append") // appended, not replicated in time
	ErrOffsetOutOfRange       = errors.New("offset out of range")              //
	ErrOutOfOrderSequence     = errors.New("out of order sequence number")     //
	ErrInvalidProducerEpoch   = errors.New("invalid producer epoch")           //
	ErrInvalidRecord          = errors.New("invalid record")                   // a record that storage cannot hold
	ErrCorruptValue           = errors.New("corrupt value")                    // its frame does not decode
	ErrTooLarge               = errors.New("batch too large")                  //
	ErrUnknownPartition       = errors.New("unknown topic or partition")       // this life of the topic is over
	ErrFencedLeaderEpoch      = errors.New("fenced leader epoch")              //
	ErrUnknownLeaderEpoch     = errors.New("unknown leader epoch")             //
	ErrRemote                 = errors.New("remote storage failed")            // a data file is gone or damaged, or no table is known
	ErrRemoteAway             = errors.New("remote storage is away")           // it does not answer, or not in time
	ErrClosed                 = errors.New("broker is shutting down")          // retry on another broker
)
