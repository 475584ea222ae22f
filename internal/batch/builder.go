package batch

import (
	"math"
	"slices"

	"github.com/korvet-io/korvet/internal/record"
)

// BuildOptions say how a Builder writes its batch.
type BuildOptions struct {
	LeaderEpoch int32 // the epoch the records were written under
	Codec       Codec
	Level       int // of the codec; DefaultLevel for its own default
	// LogAppendTime writes a batch that carries one timestamp for all its records: Put refuses a record of another one.
	LogAppendTime bool
	// MaxBytes bounds the batch, header included and before compression; 0 means only the format's own bound.
	// One record always fits.
	MaxBytes int
}

// Builder writes records into one record batch (magic 2) without producer id. Offsets may leave holes between records;
// they must rise. The zero Builder must be Reset first. It allocates nothing once dst is large enough.
type Builder struct {
	opt           BuildOptions
	dst           []byte
	start         int // of the batch in dst
	count         int32
	baseOffset    int64
	baseTimestamp int64
	lastDelta     int64
	maxTimestamp  int64
}

var _ record.Sink = (*Builder)(nil)

// Reset starts a batch that Finish appends to dst. The builder owns dst until then.
func (b *Builder) Reset(dst []byte, opt BuildOptions) {
	if opt.MaxBytes <= 0 || opt.MaxBytes > math.MaxInt32 {
		opt.MaxBytes = math.MaxInt32
	}
	*b = Builder{opt: opt, dst: dst, start: len(dst)}
}

// Len is the size of the batch so far, before compression, in bytes; 0 without records.
func (b *Builder) Len() int { return len(b.dst) - b.start }

// Count is the number of records put so far.
func (b *Builder) Count() int { return int(b.count) }

// Put copies r into the batch. It returns false, and has not taken r, when the batch is full or cannot represent r: the
// offset is more than 2^31-1 after the first, the append time is another one, or the batch began with a negative
// timestamp and r has another one. The first record always fits.
func (b *Builder) Put(r *record.Record) bool {
	if b.count == 0 {
		b.begin(r)
	}
	offsetDelta, timestampDelta := r.Offset-b.baseOffset, r.Timestamp-b.baseTimestamp
	headers := max(len(r.Headers), 1)
	body := 1 + varintSize(timestampDelta) + varintSize(offsetDelta) + fieldSize(r.Key) + fieldSize(r.Value) + headers
	size := varintSize(int64(body)) + body
	if b.count > 0 && !b.takes(offsetDelta, timestampDelta, size) {
		return false
	}

	at := len(b.dst)
	b.dst = slices.Grow(b.dst, size)[:at+size]
	out := b.dst[at : at+size]
	at = putVarint(out, 0, int64(body))
	out[at] = 0 // attributes
	at = putVarint(out, at+1, timestampDelta)
	at = putVarint(out, at, offsetDelta)
	at = putField(out, at, r.Key)
	at = putField(out, at, r.Value)
	out[at] = 0 // no headers
	copy(out[at:], r.Headers)

	b.count++
	b.lastDelta = offsetDelta
	b.maxTimestamp = max(b.maxTimestamp, r.Timestamp)
	return true
}

func (b *Builder) begin(r *record.Record) {
	b.baseOffset, b.baseTimestamp, b.maxTimestamp = r.Offset, r.Timestamp, r.Timestamp
	b.dst = slices.Grow(b.dst, HeaderSize)[:b.start+HeaderSize]
}

// takes tells whether one more record, of size bytes, fits. What follows a record without timestamp goes into a batch of
// its own, as message sets v0 had it: Sarama reads a negative base timestamp as none and counts the deltas from the year 1.
func (b *Builder) takes(offsetDelta, timestampDelta int64, size int) bool {
	return offsetDelta <= math.MaxInt32 &&
		b.Len()+size <= b.opt.MaxBytes &&
		(timestampDelta == 0 || !b.opt.LogAppendTime && b.baseTimestamp >= 0)
}

func fieldSize(field []byte) int {
	if field == nil {
		return 1
	}
	return varintSize(int64(len(field))) + len(field)
}

func putField(out []byte, at int, field []byte) int {
	if field == nil {
		return putVarint(out, at, -1)
	}
	at = putVarint(out, at, int64(len(field)))
	return at + copy(out[at:], field)
}

// Finish returns dst with the whole batch appended, or dst as it was when no record was put. The builder must be
// Reset before it is used again.
func (b *Builder) Finish() []byte {
	dst := b.dst
	b.dst = nil
	if b.count == 0 {
		return dst
	}
	if b.opt.Codec != None {
		dst = b.compress(dst)
	}
	raw := dst[b.start:]
	attributes := int16(b.opt.Codec)
	if b.opt.LogAppendTime {
		attributes |= appendTimeBit
	}
	putInt64(raw, atBaseOffset, b.baseOffset)
	putInt32(raw, atLength, int32(len(raw)-lengthOverhead))
	putInt32(raw, atLeaderEpoch, b.opt.LeaderEpoch)
	raw[atMagic] = magicV2
	putInt16(raw, atAttributes, attributes)
	putInt32(raw, atLastOffsetDelta, int32(b.lastDelta))
	putInt64(raw, atBaseTimestamp, b.baseTimestamp)
	putInt64(raw, atMaxTimestamp, b.maxTimestamp)
	putInt64(raw, atProducerID, -1)
	putInt16(raw, atProducerEpoch, -1)
	putInt32(raw, atBaseSequence, -1)
	putInt32(raw, atCount, b.count)
	sealCRC(raw)
	return dst
}

// compress replaces the records at the end of dst by their compressed form.
func (b *Builder) compress(dst []byte) []byte {
	scratch := newBuffer()
	defer scratch.release()
	records := b.start + HeaderSize
	scratch.b = b.opt.Codec.compress(scratch.b[:0], dst[records:], b.opt.Level)
	return append(dst[:records], scratch.b...)
}
