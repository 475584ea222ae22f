package api

import (
	"encoding/binary"
	"fmt"
	"math"

	"github.com/twmb/franz-go/pkg/kerr"

	"github.com/korvet-io/korvet/internal/batch"
	"github.com/korvet-io/korvet/internal/compress"
	"github.com/korvet-io/korvet/internal/record"
)

// zstdProduce and zstdFetch are the first versions in which batches may be compressed with zstd (KIP-110).
const (
	zstdProduce = 7
	zstdFetch   = 10
)

// admitRecords validates records against their topic's settings and gives them the codec it asks for.
func (a *API) admitRecords(v *topicView, raw []byte, version int16) (*batch.Batch, error) {
	if raw == nil {
		return nil, refuse(kerr.InvalidRecord, "records are null")
	}
	if size, whole := batchSize(raw); whole && size > int(v.MaxMessageBytes) {
		return nil, tooLarge(size, v)
	}
	lim := batch.Limits{
		MaxRecords:      a.settings.MaxBatchRecords,
		MaxDecompressed: a.settings.MaxBatchDecompressedBytes,
		AnyTimestamp:    v.LogAppendTime,
	}
	if d := int(v.MaxDecompressedMessageBytes); d > 0 {
		lim.MaxDecompressed = min(lim.MaxDecompressed, d)
	}
	parse := batch.Parse
	if version < 3 {
		parse = batch.Convert
	}
	b, err := parse(raw, lim)
	if err != nil {
		return nil, err
	}
	if err := a.checkBatch(v, b, version); err != nil {
		b.Release()
		return nil, err
	}
	if v.recompress && b.Codec != v.codec {
		if b, err = batch.Recompress(b, v.codec, v.level); err != nil {
			return nil, err
		}
	}
	if len(b.Raw) > int(v.MaxMessageBytes) {
		b.Release()
		return nil, tooLarge(len(b.Raw), v)
	}
	return b, nil
}

// inflatedSize is how much memory the decompressed records may take: 0 for a batch that is not compressed, as its own
// header says.
func (a *API) inflatedSize(raw []byte, version int16) int {
	const attributes, codecBits = 22, 7
	if version >= 3 && (len(raw) <= attributes || raw[attributes]&codecBits == 0) {
		return 0
	}
	return min(a.settings.MaxBatchDecompressedBytes, a.settings.MaxDecompressedBytes)
}

// heldSize is how much memory a batch may take beside its request until its outcome is known: its decompressed records, and
// the frames of their values where the topic compresses those.
func (a *API) heldSize(v *topicView, raw []byte, version int16) int {
	inflated := a.inflatedSize(raw, version)
	switch {
	case v.values.Codec == compress.None:
		return inflated
	case inflated == 0:
		return min(len(raw), a.settings.MaxDecompressedBytes)
	}
	return min(2*inflated, a.settings.MaxDecompressedBytes)
}

// held is how much of that a batch takes. Frames are not larger than the values, but for some bytes of each.
func (v *topicView) held(b *batch.Batch) int {
	if v.values.Codec != compress.None && b.Codec != batch.None {
		return 2 * b.UncompressedLen
	}
	return b.UncompressedLen
}

// batchSize returns the size of a record batch by its own length field, and whether raw is exactly that.
func batchSize(raw []byte) (size int, whole bool) {
	if len(raw) <= 16 || raw[16] != 2 {
		return 0, false
	}
	size = int(int32(binary.BigEndian.Uint32(raw[8:]))) + 12
	return size, size == len(raw)
}

func tooLarge(size int, v *topicView) error {
	return fmt.Errorf("%w: batch of %d bytes, max.message.bytes is %d", batch.ErrTooLarge, size, v.MaxMessageBytes)
}

// checkBatch applies the topic's rules to a batch that is sound in itself.
func (a *API) checkBatch(v *topicView, b *batch.Batch, version int16) error {
	switch {
	case b.Transactional:
		return errTransactions
	case b.Codec == batch.Zstd && version < zstdProduce:
		return fmt.Errorf("%w: zstd in Produce version %d", batch.ErrUnsupportedCompression, version)
	}
	if v.Compact {
		if indexes := b.NullKeys(); len(indexes) > 0 {
			return &batch.RecordError{Kind: batch.ErrInvalidRecord, Indexes: indexes, Reason: "a compacted topic needs a key in every record"}
		}
	}
	if v.LogAppendTime {
		return nil
	}
	return checkTimestamps(v, b, a.now().UnixMilli())
}

// checkTimestamps refuses records dated beyond message.timestamp.before.max.ms and after.max.ms from now (KIP-937).
// Records without a timestamp (-1) always pass.
func checkTimestamps(v *topicView, b *batch.Batch, now int64) error {
	oldest, newest := int64(math.MinInt64), int64(math.MaxInt64)
	if v.TimestampBeforeMaxMs <= now {
		oldest = now - v.TimestampBeforeMaxMs
	}
	if v.TimestampAfterMaxMs <= math.MaxInt64-now {
		newest = now + v.TimestampAfterMaxMs
	}
	indexes := b.TimestampsOutside(oldest, newest)
	if len(indexes) > 0 && oldest > -1 {
		indexes = dated(b, indexes)
	}
	if len(indexes) == 0 {
		return nil
	}
	return &batch.RecordError{
		Kind: batch.ErrInvalidTimestamp, Indexes: indexes,
		Reason: fmt.Sprintf("its timestamp is not within %d ms before and %d ms after the broker's time %d", v.TimestampBeforeMaxMs, v.TimestampAfterMaxMs, now),
	}
}

// dated keeps those of the rising indexes whose records have a timestamp.
func dated(b *batch.Batch, indexes []int32) []int32 {
	kept := indexes[:0]
	cursor, r := b.Cursor(), record.Record{}
	for i, at := int32(0), 0; at < len(indexes) && cursor.Next(&r); i++ {
		if i != indexes[at] {
			continue
		}
		if r.Timestamp != -1 {
			kept = append(kept, i)
		}
		at++
	}
	return kept
}
