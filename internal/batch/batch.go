// Package batch reads and writes Kafka's record batches (magic 2) and reads the older message sets (magic 0 and 1).
// It is a leaf that the wire, the tail cache and the log share.
package batch

// Batch is a record batch that Parse or Convert has validated: its CRC, lengths, counts, codec and every record were
// checked, so that a cursor over it cannot fail. It is not safe for concurrent changes (Stamp, StampAppendTime, Release).
type Batch struct {
	Raw             []byte // the whole batch, from its base offset on, as sent
	Codec           Codec
	BaseTimestamp   int64
	MinTimestamp    int64 // ms, of the records, or the append time once stamped
	MaxTimestamp    int64 // of the records, not what the header claims
	ProducerID      int64 // -1: none
	ProducerEpoch   int16
	BaseSequence    int32
	Count           int32
	NullKeyCount    int32 // how many records have a null key
	Transactional   bool
	UncompressedLen int // bytes of the records section when not compressed

	records  []byte  // the records section, not compressed: a part of Raw, or of scratch
	scratch  *buffer // nil when records is a part of Raw
	appended bool    // the append time is in force: every record's timestamp is MaxTimestamp
}

// Default limits of what a producer's batch may hold.
const (
	DefaultMaxRecords      = 20_000
	DefaultMaxDecompressed = 16 << 20
)

// Limits bound what one batch may hold. A zero field means its default.
type Limits struct {
	MaxRecords      int
	MaxDecompressed int // bytes of the records section when not compressed
	// AnyTimestamp accepts every timestamp. It is for topics of type LogAppendTime, where StampAppendTime replaces them.
	AnyTimestamp bool
}

func (l Limits) withDefaults() Limits {
	if l.MaxRecords <= 0 {
		l.MaxRecords = DefaultMaxRecords
	}
	if l.MaxDecompressed <= 0 {
		l.MaxDecompressed = DefaultMaxDecompressed
	}
	return l
}

// Release gives the memory of the decompressed records back. The batch has no records for a cursor from then on,
// and slices taken from one are invalid; Raw stays. It may be called more than once.
func (b *Batch) Release() {
	b.records = nil
	if b.scratch != nil {
		b.scratch.release()
		b.scratch = nil
	}
}

// NullKeys returns the batch indexes of the records without a key, which a compacted topic refuses. It costs nothing
// when there are none.
func (b *Batch) NullKeys() []int32 {
	if b.NullKeyCount == 0 {
		return nil
	}
	indexes := make([]int32, 0, b.NullKeyCount)
	b.each(func(index int32, _ int64, nullKey bool) {
		if nullKey {
			indexes = append(indexes, index)
		}
	})
	return indexes
}

// TimestampsOutside returns the batch indexes of the records whose timestamp (ms) is not in [lo, hi]. It costs nothing
// when there are none.
func (b *Batch) TimestampsOutside(lo, hi int64) []int32 {
	if lo <= b.MinTimestamp && b.MaxTimestamp <= hi {
		return nil
	}
	var indexes []int32
	b.each(func(index int32, timestamp int64, _ bool) {
		if timestamp < lo || timestamp > hi {
			indexes = append(indexes, index)
		}
	})
	return indexes
}
