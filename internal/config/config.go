// Package config holds every setting of korvet: its name, type, default and meaning in one table, read strictly from a
// file, the environment and flags (a later one wins) into plain data. It imports nothing of korvet.
package config

import (
	"net"
	"strconv"
	"time"
)

// Bytes is a size in bytes. In text KB, MB and GB are powers of 1024.
type Bytes int64

// Config is what a broker runs with. Load fills and validates it.
type Config struct {
	Namespace string // prefix of every Redis key
	Broker    Broker
	Redis     Redis // metadata, and messages unless Messages differs
	Messages  Redis // korvet.storage.local.redis: the Redis that holds the streams
	Storage   Storage
	Groups    Groups
	HTTP      HTTP
	Log       Log
	Metrics   Metrics
	Topics    []TopicPattern // in the order that they are tried
}

// Broker is the Kafka side.
type Broker struct {
	Enabled        bool
	ID             int32
	Host           string
	Port           int // 0 picks a free one
	AdvertisedHost string
	AdvertisedPort int // 0: the port that is listened on

	MaxRequestBytes        Bytes
	MaxControlRequestBytes Bytes // of requests other than Produce
	MaxDecompressedBytes   Bytes // of all batches that wait to be appended
	MaxPendingBytes        Bytes // of all connections: above it sockets are not read
	ResumePendingBytes     Bytes // below it they are again
	MaxInFlightRequests    int   // of one connection
	MaxConnections         int
	MaxConnectionsPerIP    int // 0: no limit
	ConnectionsMaxIdle     time.Duration
	FrameTimeout           time.Duration // for a request that has begun to be complete
	ResponseQueueTimeout   time.Duration // for a client to take an answer
	ShutdownTimeout        time.Duration // for what is in flight to be answered

	FetchMaxWait           time.Duration // upper bound of a request's; 0: none
	FetchMaxBytes          Bytes         // of one answer
	FetchPartitionMaxBytes Bytes         // upper bound of a request's; 0: none
	FetchSessions          int
	TailCacheBytes         Bytes
	ReadAheadAnswers       int // fetch answers read before they are asked for, of all partitions
	ReadAheadKept          time.Duration

	ProduceTimeout            time.Duration // upper bound of a request's; 0: none
	MaxBatchRecords           int
	MaxBatchDecompressedBytes Bytes
	ProducerIDExpiration      time.Duration

	AutoCreateTopics bool
	NumPartitions    int32

	LeaseDuration     time.Duration
	HeartbeatInterval time.Duration
	StaleAfter        time.Duration
}

// Groups are consumer groups and committed offsets.
type Groups struct {
	RebalanceDelay time.Duration
	MinSession     time.Duration
	MaxSession     time.Duration
	MaxSize        int

	ConsumerSession    time.Duration
	ConsumerHeartbeat  time.Duration
	AssignmentInterval time.Duration
	ConsumerMaxSize    int
	Assignors          string // by commas
	Migration          string

	OffsetsRetentionMinutes int
	OffsetsCheckInterval    time.Duration
	OffsetsCommitTimeout    time.Duration
	OffsetMetadataMaxBytes  int
	MaxMemberMetadataBytes  Bytes
	NativeInterval          time.Duration // 0: commits are not shown
}

// Redis is one Redis and how to talk to it.
type Redis struct {
	URI      string // empty: Host and Port
	Host     string
	Port     int
	Username string
	Password string
	Cluster  bool
	Timeout  time.Duration
	Replicas int // how many replicas it is run with

	CircuitBreaker      bool
	CircuitOpenDuration time.Duration

	// Configured tells that the place was named by the user, not taken from the defaults.
	Configured bool
	// DataDir is where a child Redis keeps its data, when there is need of one.
	DataDir string
}

// Address is the host:port of a Redis without URI.
func (r Redis) Address() string { return net.JoinHostPort(r.Host, strconv.Itoa(r.Port)) }

// Storage is where records are kept.
type Storage struct {
	WriteConnections int
	Compression      Compression
	Worker           Worker
	Remote           Remote
}

// Worker is the storage worker. Of all processes that run one, the one that holds the lease works.
type Worker struct {
	Enabled bool
	Tick    time.Duration // between two looks at all partitions
	Lease   time.Duration // how long the others wait for one that died
	// CompactionBytes bounds the memory of all compaction passes for keys.
	CompactionBytes   Bytes
	CompactionThreads int // passes at a time
}

// HTTP is the listener of /livez, /readyz and /metrics.
type HTTP struct {
	Host  string
	Port  int // 0 picks a free one
	Pprof bool
}

// Log is how the broker logs.
type Log struct {
	Level  string // a level, then component=level pairs, by commas
	Format string // text or json
}

// Metrics bounds what /metrics tells.
type Metrics struct {
	MaxGroups int // groups with series of their own
	MaxTopics int // topics with series of their own; the others share one
}

// TopicPattern is one of korvet.topics: what new topics get whose name the glob matches. Of several that match, the
// first that sets a field decides it.
type TopicPattern struct {
	Name       string // glob: * and ?
	AutoCreate *bool
	Partitions *int32
	Configs    map[string]string // topic settings by name; nil: none
}
