package batch

import (
	"bytes"
	"encoding/binary"
	"hash/crc32"
	"testing"

	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/korvet-io/korvet/internal/record"
)

var allCodecs = []Codec{None, Gzip, Snappy, LZ4, Zstd}

// foreignRecord is a record as franz-go's own encoder writes it.
func foreignRecord(index int, timestampDelta int64, key, value []byte, headers ...kmsg.Header) kmsg.Record {
	r := kmsg.Record{TimestampDelta64: timestampDelta, OffsetDelta: int32(index), Key: key, Value: value, Headers: headers}
	r.Length = int32(len(r.AppendTo(nil)) - 1) // a length of 0 takes one byte
	return r
}

// plainRecords are n records without surprises.
func plainRecords(n int) []kmsg.Record {
	records := make([]kmsg.Record, n)
	for i := range records {
		records[i] = foreignRecord(i, int64(i), []byte{'k', byte(i)}, bytes.Repeat([]byte{byte('a' + i%26)}, i%200))
	}
	return records
}

// foreignBatch encodes records with franz-go, a Kafka client with a code base of its own. edit may spoil the batch
// before its length and CRC are made.
func foreignBatch(t testing.TB, codec Codec, records []kmsg.Record, edit func(*kmsg.RecordBatch)) []byte {
	t.Helper()
	var body []byte
	last := int64(0)
	for _, r := range records {
		body = r.AppendTo(body)
		last = max(last, r.TimestampDelta64)
	}
	b := kmsg.RecordBatch{
		PartitionLeaderEpoch: -1,
		Magic:                2,
		Attributes:           int16(codec),
		LastOffsetDelta:      int32(len(records) - 1),
		FirstTimestamp:       1_700_000_000_000,
		MaxTimestamp:         1_700_000_000_000 + last,
		ProducerID:           -1,
		ProducerEpoch:        -1,
		FirstSequence:        -1,
		NumRecords:           int32(len(records)),
		Records:              foreignCompress(t, codec, body),
	}
	if edit != nil {
		edit(&b)
	}
	b.Length = int32(len(b.AppendTo(nil)) - lengthOverhead)
	return reseal(b.AppendTo(nil))
}

func foreignCompress(t testing.TB, codec Codec, body []byte) []byte {
	t.Helper()
	kgoCodec := map[Codec]kgo.CompressionCodec{Gzip: kgo.GzipCompression(), Snappy: kgo.SnappyCompression(), LZ4: kgo.Lz4Compression(), Zstd: kgo.ZstdCompression()}
	if codec == None {
		return body
	}
	c, err := kgo.DefaultCompressor(kgoCodec[codec])
	if err != nil {
		t.Fatal(err)
	}
	out, got := c.Compress(new(bytes.Buffer), body)
	if Codec(got) != codec {
		t.Fatalf("compressed as %v, not %v", got, codec)
	}
	return bytes.Clone(out)
}

// reseal gives raw the CRC of its bytes.
func reseal(raw []byte) []byte {
	binary.BigEndian.PutUint32(raw[17:], crc32.Checksum(raw[21:], crc32.MakeTable(crc32.Castagnoli)))
	return raw
}

// clone copies what a cursor gave, so that it outlives the cursor.
func clone(r record.Record) record.Record {
	r.Key, r.Value, r.Headers = bytes.Clone(r.Key), bytes.Clone(r.Value), bytes.Clone(r.Headers)
	return r
}

func readAllRecords(b *Batch) []record.Record {
	var all []record.Record
	var r record.Record
	for c := b.Cursor(); c.Next(&r); {
		all = append(all, clone(r))
	}
	return all
}

func mustParse(t testing.TB, raw []byte) *Batch {
	t.Helper()
	b, err := Parse(raw, Limits{})
	if err != nil {
		t.Fatalf("parse batch: %v", err)
	}
	return b
}

func build(records []record.Record, opt BuildOptions) []byte {
	var b Builder
	b.Reset(nil, opt)
	for i := range records {
		if !b.Put(&records[i]) {
			panic("the record does not fit")
		}
	}
	return b.Finish()
}

// awkwardRecords have every null, empty and header that a record can have.
func awkwardRecords() []record.Record {
	large := bytes.Repeat([]byte("0123456789abcdef"), 10_000)
	headers := kmsg.Record{Headers: []kmsg.Header{{Key: "b", Value: []byte{1}}, {Key: "a"}, {Key: "", Value: []byte{}}, {Key: "b", Value: []byte("é")}}}
	section := headers.AppendTo(nil)[6:] // after length, attributes, two deltas and two nulls
	return []record.Record{
		{Offset: 0, Timestamp: 1_700_000_000_000, Key: []byte("k"), Value: []byte("v")},
		{Offset: 1, Timestamp: 1_600_000_000_000, Key: nil, Value: large},
		{Offset: 2, Timestamp: -1, Key: []byte{}, Value: nil, Headers: section},
		{Offset: 3, Timestamp: 0, Key: nil, Value: nil},
		{Offset: 4, Timestamp: 1_800_000_000_000, Key: large, Value: []byte{}},
	}
}
