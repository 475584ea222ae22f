package topicconfig

// Names that the code refers to.
const (
	cleanupPolicy        = "cleanup.policy"
	compressionType      = "compression.type"
	segmentBytes         = "segment.bytes"
	segmentMs            = "segment.ms"
	retentionMs          = "retention.ms"
	retentionBytes       = "retention.bytes"
	localRetentionMs     = "local.retention.ms"
	localRetentionBytes  = "local.retention.bytes"
	minCompactionLagMs   = "min.compaction.lag.ms"
	maxCompactionLagMs   = "max.compaction.lag.ms"
	remoteStorageEnable  = "remote.storage.enable"
	valueFormat          = "remote.storage.iceberg.value.format"
	remoteCopyDisable    = "remote.log.copy.disable"
	remoteDeleteOnOff    = "remote.log.delete.on.disable"
	remoteCopyLagMs      = "remote.copy.lag.ms"
	remoteCopyLagBytes   = "remote.copy.lag.bytes"
	storageCompression   = "storage.compression.type"
	storageDictionary    = "storage.compression.dictionary.enabled"
	defaultSegmentBytes  = 128 << 20
	defaultSegmentMs     = 24 * 60 * 60 * 1000
	maxDecompressedBytes = 2147483639 // Kafka's largest array
	longMax              = "9223372036854775807"
)

// table returns all settings in the order of their names.
func table() []Setting {
	return []Setting{
		{Name: cleanupPolicy, Type: List, Default: "delete", BrokerName: "log.cleanup.policy", Effect: Active, check: listOf("compact", "delete"),
			Doc: "What happens to old records: `delete` removes them by retention, `compact` keeps the last one of each key, both may be given. Compacted topics refuse records without a key. [retention.md](retention.md) and [compaction.md](compaction.md) tell how records go."},
		{Name: "compression.gzip.level", Type: Int, Default: "-1", BrokerName: "compression.gzip.level", Effect: Active, check: or("-1", between(1, 9)),
			Doc: "Level for `compression.type=gzip`; -1 is the library's own."},
		{Name: "compression.lz4.level", Type: Int, Default: "9", BrokerName: "compression.lz4.level", Effect: Active, check: between(1, 17),
			Doc: "Level for `compression.type=lz4`."},
		{Name: compressionType, Type: String, Default: "producer", BrokerName: "compression.type", Effect: Active, check: oneOf("uncompressed", "zstd", "lz4", "snappy", "gzip", "producer"),
			Doc: "Codec of record batches on their way to consumers. `producer`: as they were sent while they are in the broker's memory, uncompressed when they are read from Redis. Any other: that codec, always. `none` is another word for `uncompressed`."},
		{Name: "compression.zstd.level", Type: Int, Default: "3", BrokerName: "compression.zstd.level", Effect: Active, check: between(-131072, 22),
			Doc: "Level for `compression.type=zstd`."},
		{Name: "delete.retention.ms", Type: Long, Default: "86400000", BrokerName: "log.cleaner.delete.retention.ms", Effect: Active, check: atLeast(0),
			Doc: "How long compaction keeps a tombstone, from the pass that found it first."},
		{Name: "errors.deadletterqueue.group.enable", Type: Boolean, Default: "false", Effect: Stored,
			Doc: "Whether share groups may use the topic as a dead-letter queue."},
		{Name: "file.delete.delay.ms", Type: Long, Default: "60000", BrokerName: "log.segment.delete.delay.ms", Effect: Stored, check: atLeast(0),
			Doc: "Delay before a removed file is deleted from disk."},
		{Name: "flush.messages", Type: Long, Default: longMax, BrokerName: "log.flush.interval.messages", Effect: Stored, check: atLeast(1),
			Doc: "Records between two calls of fsync. Redis's `appendfsync` decides here."},
		{Name: "flush.ms", Type: Long, Default: longMax, BrokerName: "log.flush.interval.ms", Effect: Stored, check: atLeast(0),
			Doc: "Time between two calls of fsync. Redis's `appendfsync` decides here."},
		{Name: "follower.replication.throttled.replicas", Type: List, Effect: Stored, check: throttledReplicas,
			Doc: "Replicas whose fetching is throttled. Redis replicates here."},
		{Name: "index.interval.bytes", Type: Int, Default: "4096", BrokerName: "log.index.interval.bytes", Effect: Stored, check: atLeast(0),
			Doc: "Bytes between two entries of the offset index. There is none here."},
		{Name: "leader.replication.throttled.replicas", Type: List, Effect: Stored, check: throttledReplicas,
			Doc: "Replicas whose serving is throttled. Redis replicates here."},
		{Name: localRetentionBytes, Type: Long, Default: "-2", BrokerName: "log.local.retention.bytes", Effect: Active, check: atLeast(-2),
			Doc: "Bytes of a partition that stay in Redis, as `MEMORY USAGE` tells them, when older segments are in the remote tier; -2 is `retention.bytes`, -1 no limit. Needs `remote.storage.enable=true`."},
		{Name: localRetentionMs, Type: Long, Default: "-2", BrokerName: "log.local.retention.ms", Effect: Active, check: atLeast(-2),
			Doc: "How long records stay in Redis, by their append time, when their segment is in the remote tier; -2 is `retention.ms`, -1 for ever. Needs `remote.storage.enable=true`."},
		{Name: "log.append.timestamp.header", Type: Boolean, Default: "false", Product: true, Effect: Active,
			Doc: "Consumers get each record with the header `korvet.log.append.timestamp.ms`: the append time in ms, as decimal text, whichever tier it comes from. Altering it counts for what is fetched from then on. It is not stored. Such topics are read from Redis, never from the broker's memory."},
		{Name: maxCompactionLagMs, Type: Long, Default: longMax, BrokerName: "log.cleaner.max.compaction.lag.ms", Effect: Active, check: atLeast(1),
			Doc: "Longest time from its append that a record may stay uncompacted, whatever the dirty ratio."},
		{Name: "max.decompressed.message.bytes", Type: Int, Default: "2147483639", BrokerName: "max.decompressed.message.bytes", Effect: Active, check: between(1, maxDecompressedBytes),
			Doc: "Largest size of a batch after decompression; `korvet.broker.max-batch-decompressed-bytes` bounds it for the whole broker."},
		{Name: "max.message.bytes", Type: Int, Default: "1048588", BrokerName: "message.max.bytes", Effect: Active, check: atLeast(0),
			Doc: "Largest record batch as sent, its header included."},
		{Name: "message.timestamp.after.max.ms", Type: Long, Default: "3600000", BrokerName: "log.message.timestamp.after.max.ms", Effect: Active, check: atLeast(0),
			Doc: "How far a record's timestamp may lie ahead of the broker's clock (CreateTime only)."},
		{Name: "message.timestamp.before.max.ms", Type: Long, Default: longMax, BrokerName: "log.message.timestamp.before.max.ms", Effect: Active, check: atLeast(0),
			Doc: "How far a record's timestamp may lie behind the broker's clock (CreateTime only)."},
		{Name: "message.timestamp.type", Type: String, Default: "CreateTime", BrokerName: "log.message.timestamp.type", Effect: Active, check: oneOf("CreateTime", "LogAppendTime"),
			Doc: "Whether a record carries the producer's timestamp or the time of its append."},
		{Name: "min.cleanable.dirty.ratio", Type: Double, Default: "0.5", BrokerName: "log.cleaner.min.cleanable.ratio", Effect: Active, check: between(0, 1),
			Doc: "Part of a log's records that must be uncompacted, of those that may be compacted, before a pass starts: it must be above this."},
		{Name: minCompactionLagMs, Type: Long, Default: "0", BrokerName: "log.cleaner.min.compaction.lag.ms", Effect: Active, check: atLeast(0),
			Doc: "Time from its append that a record stays uncompacted at least."},
		{Name: "min.insync.replicas", Type: Int, Default: "1", BrokerName: "min.insync.replicas", Effect: Active, check: atLeast(1),
			Doc: "Copies in Redis servers that acks=all waits for. Counts up to 1 + `korvet.redis.replicas`; a higher value is lowered to that."},
		{Name: "preallocate", Type: Boolean, Default: "false", BrokerName: "log.preallocate", Effect: Stored,
			Doc: "Whether log files are allocated in advance."},
		{Name: remoteCopyLagBytes, Type: Long, Default: "-1", BrokerName: "log.remote.copy.lag.bytes", Effect: Active, check: atLeast(-1),
			Doc: "A sealed segment is copied to the remote tier once so many bytes came after it, or `remote.copy.lag.ms` has passed; 0 at once, -1 `local.retention.bytes`, and where that is no limit bytes are not looked at."},
		{Name: remoteCopyLagMs, Type: Long, Default: "0", BrokerName: "log.remote.copy.lag.ms", Effect: Active, check: atLeast(-1),
			Doc: "A sealed segment is copied to the remote tier once its newest record is so old, or `remote.copy.lag.bytes` came after it; 0 at once, -1 `local.retention.ms`, and where that is for ever the age is not looked at."},
		{Name: remoteCopyDisable, Type: Boolean, Default: "false", Effect: Active,
			Doc: "Stops copying to the remote tier while reads from it go on. `local.retention.*` must then be -2 or the total."},
		{Name: remoteDeleteOnOff, Type: Boolean, Default: "false", Effect: Active,
			Doc: "Allows `remote.storage.enable` to be turned off, and deletes the remote data then."},
		{Name: remoteStorageEnable, Type: Boolean, Default: "false", AtCreation: true, Effect: Active,
			Doc: "Copies sealed segments to the remote tier. Needs `korvet.storage.remote.path`, and `cleanup.policy=delete` or an empty one. That of the first matching pattern (`remote-storage-enabled`) is stored as the topic's own when it is created, unless the topic is compacted. A topic without segments gets the default ones. See [tiered storage](tiered-storage.md)."},
		{Name: valueFormat, Type: String, Default: "raw", Effect: Active, check: valueFormats,
			Doc: "What the remote tier's table has of values: `raw` the value as it is, in the column `value`; `json` beside it the fields of values that are JSON objects, in typed columns of their own. See [typed columns](tiered-storage.md#typed-columns). Altering it counts for what is copied from then on."},
		{Name: retentionBytes, Type: Long, Default: "-1", BrokerName: "log.retention.bytes", Effect: Active,
			Doc: "Size above which the oldest records of a partition go, as measured in Redis's memory; -1 is no limit."},
		{Name: retentionMs, Type: Long, Default: "604800000", BrokerName: "log.retention.ms", Effect: Active, check: atLeast(-1),
			Doc: "How long records are kept, by their append time; -1 is for ever."},
		{Name: segmentBytes, Type: Int, Default: "134217728", KafkaDefault: "1073741824", BrokerName: "log.segment.bytes", Effect: Active, check: or("-1", atLeast(1<<20)),
			Doc: "Bytes in Redis, as `MEMORY USAGE` tells them, at which a segment is sealed: before a batch that would make it larger. -1 without `segment.ms` keeps a partition in one stream, which becomes the first segment when it is set later; a topic of the remote tier has the default segments then, and shows them. Compacted topics are never segmented."},
		{Name: "segment.index.bytes", Type: Int, Default: "10485760", BrokerName: "log.index.size.max.bytes", Effect: Stored, check: atLeast(4),
			Doc: "Size of the offset index. There is none here."},
		{Name: "segment.jitter.ms", Type: Long, Default: "0", BrokerName: "log.roll.jitter.ms", Effect: Stored, check: atLeast(0),
			Doc: "Random part of the time after which a segment is sealed."},
		{Name: segmentMs, Type: Long, Default: "86400000", KafkaDefault: "604800000", BrokerName: "log.roll.ms", Effect: Active, check: atLeast(1),
			Doc: "Age of a segment's first record, by its append time, at which the segment is sealed. The default applies only where it fits inside `retention.ms`."},
		{Name: storageDictionary, Type: Boolean, Default: "false", Product: true, CreationOnly: true, Effect: Active,
			Doc: "Trains a zstd dictionary from the topic's values and compresses with it. Needs `storage.compression.type=zstd`, and is true there unless said otherwise. See [compression](compression.md)."},
		{Name: storageCompression, Type: String, Default: "none", Product: true, CreationOnly: true, Effect: Active, check: oneOf("none", "gzip", "snappy", "lz4", "zstd"),
			Doc: "Codec of the values in Redis. That of the first matching pattern (`storage-compression-type`), else the server's (`korvet.storage.local.compression.codec`), is stored as the topic's own when it is created. See [compression](compression.md)."},
		{Name: "unclean.leader.election.enable", Type: Boolean, Default: "false", BrokerName: "unclean.leader.election.enable", Effect: Stored,
			Doc: "Whether a replica that lags may become leader. Redis's failover decides here."},
	}
}
