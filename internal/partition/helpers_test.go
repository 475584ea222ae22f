package partition_test

import (
	"encoding/binary"
	"hash/crc32"
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

func fixCRC(raw []byte) []byte {
	binary.BigEndian.PutUint32(raw[17:], crc32.Checksum(raw[21:], castagnoli))
	return raw
}

type plainRecord struct {
	Offset    int64
	Timestamp int64
	Value     string
}

// records decodes an uncompressed stored batch with a decoder that is not ours.
func records(t testing.TB, raw []byte) []plainRecord {
	t.Helper()
	var rb kmsg.RecordBatch
	if err := rb.ReadFrom(raw); err != nil {
		t.Fatalf("decode batch: %v", err)
	}
	if got := crc32.Checksum(raw[21:], castagnoli); uint32(rb.CRC) != got {
		t.Fatalf("batch at %d has CRC %x, want %x", rb.FirstOffset, uint32(rb.CRC), got)
	}
	rest := rb.Records
	var out []plainRecord
	for range rb.NumRecords {
		var r kmsg.Record
		length, n := binary.Varint(rest)
		if err := r.ReadFrom(rest[:n+int(length)]); err != nil {
			t.Fatalf("decode record: %v", err)
		}
		rest = rest[n+int(length):]
		ts := rb.FirstTimestamp + r.TimestampDelta64
		if rb.Attributes&8 != 0 {
			ts = rb.MaxTimestamp
		}
		out = append(out, plainRecord{rb.FirstOffset + int64(r.OffsetDelta), ts, string(r.Value)})
	}
	return out
}
