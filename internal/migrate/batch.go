package migrate

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"math"

	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// batchOverhead is the size of a record batch without records.
const batchOverhead = 61

// batchBuilder collects records for one batch.
type batchBuilder struct {
	records []byte // encoded, one after the other
	count   int64
	first   int64 // timestamps, in ms
	max     int64
	lone    bool // it holds one record that is above the limit while it is not compressed
}

// add takes a record unless the batch would get larger than limit bytes. An empty batch takes any.
func (b *batchBuilder) add(r *kgo.Record, limit int) bool {
	if b.lone || b.count == math.MaxInt32 {
		return false
	}
	ms := r.Timestamp.UnixMilli()
	if b.count == 0 {
		b.first, b.max = ms, ms
	}
	before := len(b.records)
	b.records = appendRecord(b.records, r, int32(b.count), ms-b.first)
	if over := batchOverhead+len(b.records) > limit; over && b.count > 0 {
		b.records = b.records[:before]
		return false
	} else if over {
		b.lone = true
	}
	b.count++
	b.max = max(b.max, ms)
	return true
}

// appendRecord appends the encoded form. Null and empty stay what they are.
func appendRecord(dst []byte, r *kgo.Record, delta int32, msDelta int64) []byte {
	one := kmsg.Record{TimestampDelta64: msDelta, OffsetDelta: delta, Key: r.Key, Value: r.Value}
	for _, h := range r.Headers {
		one.Headers = append(one.Headers, kmsg.Header{Key: h.Key, Value: h.Value})
	}
	// The length comes first and is itself of a variable length: it is that of what follows a length of 0.
	body := one.AppendTo(nil)
	dst = binary.AppendVarint(dst, int64(len(body)-1))
	return append(dst, body[1:]...)
}

// zstdOnly makes a record above the limit fit where it can.
var zstdOnly = []kgo.CompressionCodec{kgo.ZstdCompression()}

// encode makes the batch of a producer whose sequence numbers are the offsets that the records get: base is that of the
// first. So the broker appends it there or nowhere, and only once.
func (b *batchBuilder) encode(producer int64, epoch int16, base int64) ([]byte, error) {
	batch := kmsg.RecordBatch{
		PartitionLeaderEpoch: -1, Magic: 2, LastOffsetDelta: int32(b.count - 1), FirstTimestamp: b.first, MaxTimestamp: b.max,
		ProducerID: producer, ProducerEpoch: epoch, FirstSequence: int32(base & math.MaxInt32), NumRecords: int32(b.count), Records: b.records,
	}
	if b.lone {
		c, err := kgo.DefaultCompressor(zstdOnly...)
		if err != nil {
			return nil, fmt.Errorf("make compressor: %w", err)
		}
		packed, codec := c.Compress(new(bytes.Buffer), b.records)
		batch.Records, batch.Attributes = packed, int16(codec)
	}
	const fromEpoch, fromAttributes = 12, 21 // what the length counts, and the checksum
	raw := batch.AppendTo(nil)
	binary.BigEndian.PutUint32(raw[8:], uint32(len(raw)-fromEpoch))
	binary.BigEndian.PutUint32(raw[17:], crc32.Checksum(raw[fromAttributes:], crc32.MakeTable(crc32.Castagnoli)))
	return raw, nil
}
