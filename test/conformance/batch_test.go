package conformance

import (
	"bytes"
	"encoding/binary"
	"hash/crc32"
	"testing"

	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// Attribute bits of a record batch (v2).
const (
	codecGzip     = int16(1)
	codecSnappy   = int16(2)
	codecLz4      = int16(3)
	codecZstd     = int16(4)
	appendTimeBit = int16(1 << 3)
	transactional = int16(1 << 4)
	controlBit    = int16(1 << 5)
)

const (
	crcStart    = 21 // the CRC covers all from the attributes on
	batchHeader = 61
)

// record is a record to produce. Its offset delta is its index unless set.
type record struct {
	key, value []byte
	headers    []kmsg.Header
	timestamp  int64 // ms
	delta      *int32
	extra      int32 // added to the length that the record claims
}

// recordBatch is a batch to produce: a correct one to begin with, of which a test may then change what it likes.
type recordBatch struct {
	kmsg.RecordBatch
	records []record
	trailer []byte // bytes after the last record, inside the batch
	body    []byte // replaces the records' bytes when set
}

// batchOf makes a correct plain batch.
func batchOf(records ...record) *recordBatch {
	b := &recordBatch{records: records}
	b.Magic = 2
	b.PartitionLeaderEpoch = -1
	b.ProducerID, b.ProducerEpoch, b.FirstSequence = -1, -1, -1
	b.NumRecords = int32(len(records))
	b.LastOffsetDelta = int32(len(records)) - 1
	if len(records) > 0 {
		b.FirstTimestamp, b.MaxTimestamp = records[0].timestamp, records[0].timestamp
	}
	for _, r := range records {
		b.MaxTimestamp = max(b.MaxTimestamp, r.timestamp)
	}
	return b
}

// values makes a batch of one record per value, all of one recent timestamp.
func values(vs ...string) *recordBatch {
	records := make([]record, len(vs))
	for i, v := range vs {
		records[i] = record{value: []byte(v), timestamp: now()}
	}
	return batchOf(records...)
}

// stamped makes a batch of one record per timestamp.
func stamped(ms ...int64) *recordBatch {
	records := make([]record, len(ms))
	for i, t := range ms {
		records[i] = record{value: []byte("v"), timestamp: t}
	}
	return batchOf(records...)
}

func (b *recordBatch) codec(c int16) *recordBatch { b.Attributes = b.Attributes&^7 | c; return b }

func (b *recordBatch) from(id int64, epoch int16, sequence int32) *recordBatch {
	b.ProducerID, b.ProducerEpoch, b.FirstSequence = id, epoch, sequence
	return b
}

func (b *recordBatch) with(change func(*recordBatch)) *recordBatch { change(b); return b }

// bytes encodes the batch with a correct length and CRC.
func (b *recordBatch) bytes() []byte {
	raw := b.RecordBatch
	raw.Records = b.body
	if b.body == nil {
		raw.Records = compress(b.Attributes&7, append(b.encodeRecords(), b.trailer...))
	}
	raw.Length = int32(batchHeader - 12 + len(raw.Records))
	return sealed(raw.AppendTo(nil))
}

func (b *recordBatch) encodeRecords() []byte {
	var out []byte
	for i, r := range b.records {
		k := kmsg.Record{
			TimestampDelta64: r.timestamp - b.FirstTimestamp,
			OffsetDelta:      int32(i),
			Key:              r.key,
			Value:            r.value,
			Headers:          r.headers,
		}
		if r.delta != nil {
			k.OffsetDelta = *r.delta
		}
		k.Length = int32(len(k.AppendTo(nil))) - 1 + r.extra // less its own one-byte length of 0
		out = k.AppendTo(out)
	}
	return out
}

// sealed sets the CRC of an encoded batch.
func sealed(b []byte) []byte {
	binary.BigEndian.PutUint32(b[crcStart-4:], crc32.Checksum(b[crcStart:], crc32.MakeTable(crc32.Castagnoli)))
	return b
}

func compress(codec int16, src []byte) []byte {
	var c kgo.CompressionCodec
	switch codec {
	case codecGzip:
		c = kgo.GzipCompression()
	case codecSnappy:
		c = kgo.SnappyCompression()
	case codecLz4:
		c = kgo.Lz4Compression()
	case codecZstd:
		c = kgo.ZstdCompression()
	default:
		return src
	}
	compressor, err := kgo.DefaultCompressor(c)
	if err != nil {
		panic(err) // the codecs are constants
	}
	out, _ := compressor.Compress(new(bytes.Buffer), src)
	return bytes.Clone(out)
}

// stored is a batch as a fetch returned it, records decoded.
type stored struct {
	kmsg.RecordBatch
	size    int
	records []kmsg.Record
}

func (s stored) last() int64 { return s.FirstOffset + int64(s.LastOffsetDelta) }

// parseBatches decodes fetched batches and demands that each is correct: lengths, CRC, count, offset deltas. What follows
// the last whole one is returned as it is.
func parseBatches(t *testing.T, b []byte) (all []stored, rest []byte) {
	t.Helper()
	for len(b) >= batchHeader {
		size := 12 + int(binary.BigEndian.Uint32(b[8:]))
		if size > len(b) {
			break
		}
		all = append(all, parseBatch(t, b[:size]))
		b = b[size:]
	}
	return all, b
}

func parseBatch(t *testing.T, b []byte) stored {
	t.Helper()
	s := stored{size: len(b)}
	if err := s.ReadFrom(b); err != nil {
		t.Fatalf("parse fetched batch: %v", err)
	}
	if s.Magic != 2 {
		t.Fatalf("fetched a batch of magic %d", s.Magic)
	}
	if sum := crc32.Checksum(b[crcStart:], crc32.MakeTable(crc32.Castagnoli)); uint32(s.CRC) != sum {
		t.Fatalf("fetched a batch with CRC %08x, its bytes have %08x", uint32(s.CRC), sum)
	}
	raw, err := kgo.DefaultDecompressor().Decompress(s.Records, kgo.CompressionCodecType(s.Attributes&7))
	if err != nil {
		t.Fatalf("decompress fetched batch: %v", err)
	}
	for range s.NumRecords {
		var r kmsg.Record
		if err := r.ReadFrom(raw); err != nil {
			t.Fatalf("parse record %d of fetched batch: %v", len(s.records), err)
		}
		length := len(r.AppendTo(nil))
		raw = raw[length:]
		s.records = append(s.records, r)
	}
	if len(raw) > 0 {
		t.Fatalf("fetched batch has %d bytes after its last record", len(raw))
	}
	if n := len(s.records); n > 0 && s.records[n-1].OffsetDelta != s.LastOffsetDelta {
		t.Fatalf("fetched batch: last offset delta %d, of its last record %d", s.LastOffsetDelta, s.records[n-1].OffsetDelta)
	}
	return s
}
