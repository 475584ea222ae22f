package api

import "time"

// Settings are the broker's settings that answers depend on. They do not change while the broker runs. Zero values are
// not defaults; DefaultSettings has those.
type Settings struct {
	// MaxControlRequestBytes bounds the body of every request but Produce, which the listener's own limit bounds, and
	// the bytes of large ones that are decoded at a time: they become structures many times their size.
	MaxControlRequestBytes int
	// MaxDecompressedBytes bounds the decompressed records of all batches that wait to be appended.
	MaxDecompressedBytes int
	// ProduceTimeout bounds the wait for an append's outcome, beside the client's own limit. 0: only the client's.
	ProduceTimeout time.Duration
	// MaxBatchRecords and MaxBatchDecompressedBytes bound one batch; above, it is refused with MESSAGE_TOO_LARGE.
	MaxBatchRecords           int
	MaxBatchDecompressedBytes int
	// FetchMaxBytes bounds the records of one answer (fetch.max.bytes).
	FetchMaxBytes int
	// FetchMaxWait and FetchPartitionMaxBytes bound what a client asks for. 0: no bound.
	FetchMaxWait           time.Duration
	FetchPartitionMaxBytes int
	// RemoteTier tells that there is one.
	RemoteTier bool
	// MaxFetchSessions is the number of fetch sessions that are kept (max.incremental.fetch.session.cache.slots).
	MaxFetchSessions int
	// FetchSessionEvictAfter is how long a session must have been unused before a new one may take its place.
	FetchSessionEvictAfter time.Duration

	TopicSettings
	GroupSettings
}

// DefaultSettings returns the defaults.
func DefaultSettings() Settings {
	return Settings{
		MaxControlRequestBytes:    8 << 20,
		MaxDecompressedBytes:      256 << 20,
		ProduceTimeout:            5 * time.Second,
		MaxBatchRecords:           20_000,
		MaxBatchDecompressedBytes: 16 << 20,
		FetchMaxBytes:             55 << 20,
		MaxFetchSessions:          1000,
		FetchSessionEvictAfter:    2 * time.Minute,
		TopicSettings:             DefaultTopicSettings(),
		GroupSettings:             DefaultGroupSettings(),
	}
}
