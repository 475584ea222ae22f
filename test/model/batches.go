package model

import (
	"encoding/binary"
	"fmt"
	"hash/crc32"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/korvet-io/korvet/internal/batch"
	"github.com/korvet-io/korvet/internal/record"
)

// identity is how a batch of an idempotent producer is known again.
type identity struct {
	id       int64 // -1: none
	sequence int32
}

// Fields of a record batch's header (magic 2).
const (
	atCRC        = 17
	atAttributes = 21
	atProducer   = 43
	atSequence   = 53
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// encode writes a producer's batch.
func encode(records []Record, by identity) (*batch.Batch, error) {
	var b batch.Builder
	b.Reset(nil, batch.BuildOptions{})
	for i, r := range records {
		ok := b.Put(&record.Record{Offset: int64(i), Timestamp: r.Timestamp, Key: r.Key, Value: r.Value, Headers: encodeHeaders(r.Headers)})
		if !ok {
			return nil, fmt.Errorf("encode batch: record %d of %d does not fit", i, len(records))
		}
	}
	raw := b.Finish()
	if by.id >= 0 {
		binary.BigEndian.PutUint64(raw[atProducer:], uint64(by.id))
		binary.BigEndian.PutUint16(raw[atProducer+8:], 0)
		binary.BigEndian.PutUint32(raw[atSequence:], uint32(by.sequence))
		binary.BigEndian.PutUint32(raw[atCRC:], crc32.Checksum(raw[atAttributes:], castagnoli))
	}
	return batch.Parse(raw, batch.Limits{})
}

func encodeHeaders(headers []Header) []byte {
	if len(headers) == 0 {
		return nil
	}
	out := binary.AppendVarint(nil, int64(len(headers)))
	for _, h := range headers {
		out = record.AppendHeader(out, h.Key, h.Value)
	}
	return out
}

// decode reads uncompressed record batches with a decoder that is not korvet's.
func decode(raw []byte) ([]Record, error) {
	var records []Record
	for len(raw) > 0 {
		var b kmsg.RecordBatch
		if err := b.ReadFrom(raw); err != nil {
			return records, fmt.Errorf("decode batch: %w", err)
		}
		size := 12 + int(b.Length)
		if got := crc32.Checksum(raw[atAttributes:size], castagnoli); got != uint32(b.CRC) {
			return records, fmt.Errorf("decode batch at %d: its CRC is %x, that of its bytes %x", b.FirstOffset, uint32(b.CRC), got)
		}
		rest := b.Records
		for range b.NumRecords {
			var r kmsg.Record
			length, n := binary.Varint(rest)
			if n <= 0 || int(length) > len(rest)-n {
				return records, fmt.Errorf("decode batch at %d: a record is cut off", b.FirstOffset)
			}
			if err := r.ReadFrom(rest[:n+int(length)]); err != nil {
				return records, fmt.Errorf("decode record of batch at %d: %w", b.FirstOffset, err)
			}
			rest = rest[n+int(length):]
			records = append(records, decoded(&b, &r))
		}
		raw = raw[size:]
	}
	return records, nil
}

func decoded(b *kmsg.RecordBatch, r *kmsg.Record) Record {
	const logAppendTime = 8
	out := Record{Offset: b.FirstOffset + int64(r.OffsetDelta), Timestamp: b.FirstTimestamp + r.TimestampDelta64, Key: r.Key, Value: r.Value, Led: b.PartitionLeaderEpoch + 1}
	if b.Attributes&logAppendTime != 0 {
		out.Timestamp = b.MaxTimestamp
	}
	for _, h := range r.Headers {
		out.Headers = append(out.Headers, Header{h.Key, h.Value})
	}
	return out
}
