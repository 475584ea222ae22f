package topicconfig

import (
	"slices"
	"strconv"
)

// Effective holds a topic's settings in force, parsed once per version of the topic, for the paths of data to read.
// Times are in ms, sizes in bytes; -1 is no limit unless said otherwise.
type Effective struct {
	Delete  bool // cleanup.policy names delete
	Compact bool // cleanup.policy names compact: records need keys

	MaxMessageBytes             int32
	MaxDecompressedMessageBytes int32
	LogAppendTime               bool
	TimestampBeforeMaxMs        int64
	TimestampAfterMaxMs         int64
	AppendTimestampHeader       bool
	MinInsyncReplicas           int // as set: what Redis's replicas allow is applied by the reader

	Compression string // of batches sent: producer, uncompressed, gzip, snappy, lz4 or zstd
	GzipLevel   int    // -1: the library's own
	LZ4Level    int
	ZstdLevel   int

	RetentionMs         int64
	RetentionBytes      int64
	LocalRetentionMs    int64 // never -2: that is resolved
	LocalRetentionBytes int64 // never -2: that is resolved
	Segmented           bool  // false: a partition stays one stream
	SegmentBytes        int64
	SegmentMs           int64

	DeleteRetentionMs      int64
	MinCompactionLagMs     int64
	MaxCompactionLagMs     int64
	MinCleanableDirtyRatio float64

	StorageCompression string // none, gzip, snappy, lz4 or zstd
	StorageDictionary  bool

	RemoteStorage         bool // false also where the topic cannot be tiered
	RemoteCopyDisable     bool
	RemoteDeleteOnDisable bool
	// A sealed segment is copied once one of these is reached: the time since its newest record, the bytes of what came after
	// it. 0: at once; -1: this one is not looked at.
	RemoteCopyLagMs    int64
	RemoteJSONColumns  bool // fields of JSON values are columns of the table, too
	RemoteCopyLagBytes int64
}

// Effective resolves and parses a topic's settings. Own settings that this version does not know or accept (a newer
// version's, or changed by hand) are left out, so that a topic stays usable.
func (s *Schema) Effective(topic string, own map[string]string) Effective {
	own, _ = s.parseAll(own)
	num := func(name string) int64 { return s.number(topic, own, name) }
	flag := func(name string) bool { return s.flag(topic, own, name) }
	text := func(name string) string { return s.value(topic, own, name) }
	policies := SplitList(text(cleanupPolicy))
	ratio, _ := strconv.ParseFloat(text("min.cleanable.dirty.ratio"), 64)
	e := Effective{
		Delete:                      slices.Contains(policies, "delete"),
		Compact:                     slices.Contains(policies, "compact"),
		MaxMessageBytes:             int32(num("max.message.bytes")),
		MaxDecompressedMessageBytes: int32(num("max.decompressed.message.bytes")),
		LogAppendTime:               text("message.timestamp.type") == "LogAppendTime",
		TimestampBeforeMaxMs:        num("message.timestamp.before.max.ms"),
		TimestampAfterMaxMs:         num("message.timestamp.after.max.ms"),
		AppendTimestampHeader:       flag("log.append.timestamp.header"),
		MinInsyncReplicas:           int(num("min.insync.replicas")),
		Compression:                 text(compressionType),
		GzipLevel:                   int(num("compression.gzip.level")),
		LZ4Level:                    int(num("compression.lz4.level")),
		ZstdLevel:                   int(num("compression.zstd.level")),
		RetentionMs:                 num(retentionMs),
		RetentionBytes:              num(retentionBytes),
		LocalRetentionMs:            num(localRetentionMs),
		LocalRetentionBytes:         num(localRetentionBytes),
		SegmentBytes:                num(segmentBytes),
		SegmentMs:                   num(segmentMs),
		DeleteRetentionMs:           num("delete.retention.ms"),
		MinCompactionLagMs:          num(minCompactionLagMs),
		MaxCompactionLagMs:          num(maxCompactionLagMs),
		MinCleanableDirtyRatio:      ratio,
		StorageCompression:          text(storageCompression),
		StorageDictionary:           flag(storageDictionary),
		RemoteStorage:               flag(remoteStorageEnable),
		RemoteCopyDisable:           flag(remoteCopyDisable),
		RemoteDeleteOnDisable:       flag(remoteDeleteOnOff),
		RemoteCopyLagMs:             num(remoteCopyLagMs),
		RemoteCopyLagBytes:          num(remoteCopyLagBytes),
		RemoteJSONColumns:           text(valueFormat) == "json",
	}
	if _, marked := own[storageDictionary]; !marked { // created by a version that stored values as they are, whatever this says
		e.StorageCompression = "none"
	}
	// A topic that became one of these by a default is not tiered, as in Kafka.
	e.RemoteStorage = e.RemoteStorage && !e.Compact && !Internal(topic)
	e.resolveRetention(s.isSet(topic, own, segmentMs))
	return e
}

// resolveRetention applies the rules that tie settings together.
func (e *Effective) resolveRetention(segmentMsSet bool) {
	if e.LocalRetentionMs == -2 {
		e.LocalRetentionMs = e.RetentionMs
	}
	if e.LocalRetentionBytes == -2 {
		e.LocalRetentionBytes = e.RetentionBytes
	}
	if e.RemoteCopyLagMs == -1 { // KIP-1241
		e.RemoteCopyLagMs = e.LocalRetentionMs
	}
	if e.RemoteCopyLagBytes == -1 {
		e.RemoteCopyLagBytes = e.LocalRetentionBytes
	}
	// Without these rules a short-lived topic would be sealed by age only after its records are gone.
	if !segmentMsSet && (e.SegmentBytes == -1 || e.RetentionMs >= 0 && e.SegmentMs > e.RetentionMs) {
		e.SegmentMs = -1
	}
	e.Segmented = !e.Compact && (e.SegmentBytes >= 0 || e.SegmentMs >= 0)
	if e.RemoteStorage && !e.Segmented { // only sealed segments are copied
		e.Segmented, e.SegmentBytes, e.SegmentMs = true, defaultSegmentBytes, defaultSegmentMs
	}
}
