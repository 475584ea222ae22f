package batch

import (
	"bytes"
	"errors"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// edited is a batch of three records that edit spoiled before it was sealed.
func edited(edit func(*kmsg.RecordBatch)) func(*testing.T) []byte {
	return func(t *testing.T) []byte { return foreignBatch(t, None, plainRecords(3), edit) }
}

// patched is a batch of three records whose bytes patch changed after it was sealed.
func patched(patch func(raw []byte) []byte) func(*testing.T) []byte {
	return func(t *testing.T) []byte { return patch(foreignBatch(t, None, plainRecords(3), nil)) }
}

// holding is a batch of the records given.
func holding(records ...kmsg.Record) func(*testing.T) []byte {
	return func(t *testing.T) []byte { return foreignBatch(t, None, records, nil) }
}

// Each row is one of Kafka's measured behaviours on Produce v9 that depends on the batch's bytes.
var parseRows = []struct {
	name string
	raw  func(*testing.T) []byte
	want error // nil: accepted
}{
	{"no bytes", func(*testing.T) []byte { return nil }, ErrInvalidRecord},
	{"shorter than a header", func(*testing.T) []byte { return make([]byte, 16) }, ErrInvalidRecord},
	{"two batches", func(t *testing.T) []byte {
		one := foreignBatch(t, None, plainRecords(1), nil)
		return append(one, one...)
	}, ErrInvalidRecord},
	{"message set v0", func(t *testing.T) []byte { return golden(t, "java-v0-uncompressed") }, ErrInvalidRecord},
	{"message set v1", func(t *testing.T) []byte { return golden(t, "java-v1-uncompressed") }, ErrInvalidRecord},
	{"flipped bit", patched(func(raw []byte) []byte { raw[len(raw)-1] ^= 1; return raw }), ErrCorrupt},
	{"magic 3", patched(func(raw []byte) []byte { raw[atMagic] = 3; return raw }), ErrCorrupt},
	{"magic -1", patched(func(raw []byte) []byte { raw[atMagic] = 0xff; return raw }), ErrCorrupt},
	{"length 13", patched(func(raw []byte) []byte { putInt32(raw, atLength, 13); return raw }), ErrCorrupt},
	{"length 48", patched(func(raw []byte) []byte { putInt32(raw, atLength, 48); return raw }), ErrCorrupt},
	{"length negative", patched(func(raw []byte) []byte { putInt32(raw, atLength, -1); return raw }), ErrCorrupt},
	{"length smallest", patched(func(raw []byte) []byte { putInt32(raw, atLength, math.MinInt32); return raw }), ErrCorrupt},
	{"zeroes", func(*testing.T) []byte { return make([]byte, 100) }, ErrCorrupt},
	{"length too large", patched(func(raw []byte) []byte { putInt32(raw, atLength, int32(len(raw))); return raw }), ErrInvalidRecord},
	{"length largest", patched(func(raw []byte) []byte { putInt32(raw, atLength, math.MaxInt32); return raw }), ErrInvalidRecord},
	{"last byte missing", patched(func(raw []byte) []byte { return raw[:len(raw)-1] }), ErrInvalidRecord},
	{"a byte after the batch", patched(func(raw []byte) []byte { return append(raw, 0) }), ErrInvalidRecord},
	{"last offset delta too small", edited(func(b *kmsg.RecordBatch) { b.LastOffsetDelta = 1 }), ErrInvalidRecord},
	{"last offset delta too large", edited(func(b *kmsg.RecordBatch) { b.LastOffsetDelta = 3 }), ErrInvalidRecord},
	{"last offset delta negative", edited(func(b *kmsg.RecordBatch) { b.LastOffsetDelta = -1 }), ErrInvalidRecord},
	{"count too small", edited(func(b *kmsg.RecordBatch) { b.NumRecords = 2 }), ErrInvalidRecord},
	{"count too large", edited(func(b *kmsg.RecordBatch) { b.NumRecords = 4 }), ErrInvalidRecord},
	{"count 0", edited(func(b *kmsg.RecordBatch) { b.NumRecords = 0 }), ErrInvalidRecord},
	{"count negative", edited(func(b *kmsg.RecordBatch) { b.NumRecords = -3 }), ErrInvalidRecord},
	{"count 0 and last offset delta -1", edited(func(b *kmsg.RecordBatch) { b.NumRecords, b.LastOffsetDelta = 0, -1 }), ErrInvalidRecord},
	{"count smallest, so that the difference overflows", edited(func(b *kmsg.RecordBatch) { b.NumRecords, b.LastOffsetDelta = math.MinInt32, math.MaxInt32 }), ErrInvalidRecord},
	{"one record fewer than count and last offset delta say", edited(func(b *kmsg.RecordBatch) { b.NumRecords, b.LastOffsetDelta = 4, 3 }), ErrInvalidRecord},
	{"one record more than count and last offset delta say", edited(func(b *kmsg.RecordBatch) { b.NumRecords, b.LastOffsetDelta = 2, 1 }), ErrInvalidRecord},
	{"bytes after the last record", edited(func(b *kmsg.RecordBatch) { b.Records = append(b.Records, 0) }), ErrInvalidRecord},
	{"record longer than the batch", edited(func(b *kmsg.RecordBatch) { b.Records = b.Records[:len(b.Records)-1] }), ErrInvalidRecord},
	{"no bytes of records", edited(func(b *kmsg.RecordBatch) { b.Records = nil }), ErrInvalidRecord},
	{"base offset 1000", patched(func(raw []byte) []byte { putInt64(raw, 0, 1000); return raw }), ErrInvalidRecord},
	{"base offset -5", patched(func(raw []byte) []byte { putInt64(raw, 0, -5); return raw }), ErrInvalidRecord},
	{"offset deltas 0,2", holding(foreignRecord(0, 0, nil, nil), foreignRecord(2, 0, nil, nil)), ErrInvalidRecord},
	{"offset deltas 0,0", holding(foreignRecord(0, 0, nil, nil), foreignRecord(0, 0, nil, nil)), ErrInvalidRecord},
	{"offset deltas 1,0", holding(foreignRecord(1, 0, nil, nil), foreignRecord(0, 0, nil, nil)), ErrInvalidRecord},
	{"control batch", edited(func(b *kmsg.RecordBatch) { b.Attributes |= controlBit }), ErrInvalidRecord},
	{"codec 5", edited(func(b *kmsg.RecordBatch) { b.Attributes |= 5 }), ErrUnsupportedCompression},
	{"codec 7", edited(func(b *kmsg.RecordBatch) { b.Attributes |= 7 }), ErrUnsupportedCompression},
	{"gzip in the header only", edited(func(b *kmsg.RecordBatch) { b.Attributes |= int16(Gzip) }), ErrInvalidRecord},
	{"snappy in the header only", edited(func(b *kmsg.RecordBatch) { b.Attributes |= int16(Snappy) }), ErrInvalidRecord},
	{"lz4 in the header only", edited(func(b *kmsg.RecordBatch) { b.Attributes |= int16(LZ4) }), ErrInvalidRecord},
	{"zstd in the header only", edited(func(b *kmsg.RecordBatch) { b.Attributes |= int16(Zstd) }), ErrInvalidRecord},
	{"producer id with epoch and sequence -1", edited(func(b *kmsg.RecordBatch) { b.ProducerID = 7 }), ErrInvalidRecord},
	{"producer id with sequence -1", edited(func(b *kmsg.RecordBatch) { b.ProducerID, b.ProducerEpoch = 7, 0 }), ErrInvalidRecord},
	{"producer id with epoch -1", edited(func(b *kmsg.RecordBatch) { b.ProducerID, b.FirstSequence = 7, 0 }), ErrInvalidRecord},
	{"producer id with epoch and sequence", edited(func(b *kmsg.RecordBatch) { b.ProducerID, b.ProducerEpoch, b.FirstSequence = 7, 0, math.MaxInt32 }), nil},
	{"sequence without producer id", edited(func(b *kmsg.RecordBatch) { b.FirstSequence = 3 }), nil},
	{"transactional bit", edited(func(b *kmsg.RecordBatch) { b.Attributes |= transactionalBit }), nil},
	{"any leader epoch", edited(func(b *kmsg.RecordBatch) { b.PartitionLeaderEpoch = 99 }), nil},
	{"unused attribute bits", edited(func(b *kmsg.RecordBatch) { b.Attributes |= 0x7f80 }), nil},
	{"append-time bit", edited(func(b *kmsg.RecordBatch) { b.Attributes |= appendTimeBit }), nil},
	{"wrong max timestamp", edited(func(b *kmsg.RecordBatch) { b.MaxTimestamp = 3 }), nil},
	{"null key and value", holding(foreignRecord(0, 0, nil, nil)), nil},
	{"empty key and value", holding(foreignRecord(0, 0, []byte{}, []byte{})), nil},
	{"empty header key", holding(foreignRecord(0, 0, nil, nil, kmsg.Header{Key: "", Value: []byte("v")})), nil},
	{"null header value", holding(foreignRecord(0, 0, nil, nil, kmsg.Header{Key: "h"})), nil},
	{"one header twice", holding(foreignRecord(0, 0, nil, nil, kmsg.Header{Key: "h"}, kmsg.Header{Key: "h"})), nil},
	{"header key that is not UTF-8", holding(foreignRecord(0, 0, nil, nil, kmsg.Header{Key: "\xff"})), ErrInvalidRecord},
	{"timestamps -1 and -2 and years back", holding(foreignRecord(0, -1_700_000_000_001, nil, nil), foreignRecord(1, -1_700_000_000_002, nil, nil), foreignRecord(2, -300_000_000_000, nil, nil)), nil},
	{"timestamp beyond microseconds", holding(foreignRecord(0, math.MaxInt64/1000, nil, nil)), ErrInvalidTimestamp},
	{"timestamp that overflows", holding(foreignRecord(0, math.MaxInt64, nil, nil)), ErrInvalidTimestamp},
	{"timestamp below microseconds", holding(foreignRecord(0, math.MinInt64+1, nil, nil)), ErrInvalidTimestamp},
}

func TestParseJudgesBatches(t *testing.T) {
	for _, row := range parseRows {
		t.Run(row.name, func(t *testing.T) {
			b, err := Parse(row.raw(t), Limits{})
			if !errors.Is(err, row.want) {
				t.Fatalf("got error %v, want %v", err, row.want)
			}
			if err == nil && len(readAllRecords(b)) != int(b.Count) {
				t.Fatalf("the cursor gave %d records of %d", len(readAllRecords(b)), b.Count)
			}
		})
	}
}

// bareRecord is a record with the header section given, which may be wrong.
func bareRecord(body ...byte) []byte {
	return append([]byte{byte(2 * len(body))}, body...)
}

func TestParseRefusesMalformedRecords(t *testing.T) {
	rows := []struct {
		name   string
		record []byte
	}{
		{"length negative", []byte{0x01}},
		{"length 0", []byte{0x00}},
		{"length of six bytes", []byte{0x8c, 0x80, 0x80, 0x80, 0x80, 0x00, 0, 0, 0, 1, 1, 0}},
		{"length above 32 bits", []byte{0xff, 0xff, 0xff, 0xff, 0x7f}},
		{"attributes only", bareRecord(0)},
		{"unfinished varint", bareRecord(0, 0x80)},
		{"timestamp of eleven bytes", bareRecord(0, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0, 0, 1, 1, 0)},
		{"timestamp above 64 bits", bareRecord(0, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x02, 0, 1, 1, 0)},
		{"key length -2", bareRecord(0, 0, 0, 3, 1, 0)},
		{"key longer than the record", bareRecord(0, 0, 0, 20, 1, 0)},
		{"value longer than the record", bareRecord(0, 0, 0, 1, 20, 0)},
		{"number of headers missing", bareRecord(0, 0, 0, 1, 1)},
		{"number of headers negative", bareRecord(0, 0, 0, 1, 1, 1)},
		{"more headers than bytes", bareRecord(0, 0, 0, 1, 1, 0xfe, 0xff, 0xff, 0xff, 0x0f)},
		{"fewer headers than they say", bareRecord(0, 0, 0, 1, 1, 4, 2, 'h', 1)},
		{"null header key", bareRecord(0, 0, 0, 1, 1, 2, 1, 1)},
		{"header key longer than the record", bareRecord(0, 0, 0, 1, 1, 2, 8, 1)},
		{"header value longer than the record", bareRecord(0, 0, 0, 1, 1, 2, 2, 'h', 8)},
		{"header value missing", bareRecord(0, 0, 0, 1, 1, 2, 2, 'h')},
		{"bytes after the headers", bareRecord(0, 0, 0, 1, 1, 0, 0)},
	}
	for _, row := range rows {
		t.Run(row.name, func(t *testing.T) {
			raw := foreignBatch(t, None, nil, func(b *kmsg.RecordBatch) {
				b.Records, b.NumRecords, b.LastOffsetDelta = row.record, 1, 0
			})
			_, err := Parse(raw, Limits{})
			var re *RecordError
			if !errors.As(err, &re) || !errors.Is(err, ErrInvalidRecord) || !slices.Equal(re.Indexes, []int32{0}) {
				t.Fatalf("got %v, want a record error of record 0", err)
			}
		})
	}
}

func TestParseNamesTheRecordsItRefuses(t *testing.T) {
	records := plainRecords(5)
	records[1] = foreignRecord(1, math.MaxInt64/1000, nil, nil)
	records[4] = foreignRecord(4, math.MaxInt64, nil, nil)
	_, err := Parse(foreignBatch(t, None, records, nil), Limits{})
	var re *RecordError
	if !errors.As(err, &re) || re.Kind != ErrInvalidTimestamp || !slices.Equal(re.Indexes, []int32{1, 4}) {
		t.Fatalf("got %v, want records 1 and 4 refused for their timestamps", err)
	}
	if !strings.Contains(err.Error(), "2 records, the first is 1") {
		t.Fatalf("the error does not say which records: %v", err)
	}
	if _, err := Parse(foreignBatch(t, None, records, nil), Limits{AnyTimestamp: true}); err != nil {
		t.Fatalf("refused although any timestamp is allowed: %v", err)
	}
}

func TestParseKeepsToLimits(t *testing.T) {
	for _, codec := range allCodecs {
		raw := foreignBatch(t, codec, plainRecords(100), nil)
		size := mustParse(t, bytes.Clone(raw)).UncompressedLen
		for _, row := range []struct {
			lim  Limits
			want error
		}{
			{Limits{MaxRecords: 100, MaxDecompressed: size}, nil},
			{Limits{MaxRecords: 99}, ErrTooLarge},
			{Limits{MaxDecompressed: size - 1}, ErrTooLarge},
			{Limits{MaxDecompressed: 1}, ErrTooLarge},
		} {
			if _, err := Parse(bytes.Clone(raw), row.lim); !errors.Is(err, row.want) {
				t.Errorf("%v with limits %+v: got %v, want %v", codec, row.lim, err, row.want)
			}
		}
	}
}

func TestParseCorrectsTheHeader(t *testing.T) {
	raw := foreignBatch(t, Gzip, plainRecords(3), func(b *kmsg.RecordBatch) {
		b.Attributes |= appendTimeBit
		b.MaxTimestamp = 3
	})
	b := mustParse(t, raw)
	if b.MaxTimestamp != 1_700_000_000_002 || b.MinTimestamp != 1_700_000_000_000 {
		t.Fatalf("timestamps are %d to %d", b.MinTimestamp, b.MaxTimestamp)
	}
	again := mustParse(t, bytes.Clone(b.Raw)) // its CRC is right
	if h, ok := Peek(again.Raw); !ok || h.MaxTimestamp != b.MaxTimestamp {
		t.Fatalf("the header says %+v", h)
	}
	if int16At(again.Raw, atAttributes)&appendTimeBit != 0 {
		t.Fatal("the append-time bit is still set")
	}
}

func TestParseLeavesAGoodBatchAsItIs(t *testing.T) {
	for _, codec := range allCodecs {
		raw := foreignBatch(t, codec, plainRecords(50), nil)
		sent := bytes.Clone(raw)
		if b := mustParse(t, raw); !bytes.Equal(b.Raw, sent) || b.Codec != codec {
			t.Errorf("%v: the batch was changed", codec)
		}
	}
}

func TestParseTellsTheProducer(t *testing.T) {
	b := mustParse(t, foreignBatch(t, None, plainRecords(2), func(b *kmsg.RecordBatch) {
		b.ProducerID, b.ProducerEpoch, b.FirstSequence, b.Attributes = 1<<40, 3, 9, transactionalBit
	}))
	if b.ProducerID != 1<<40 || b.ProducerEpoch != 3 || b.BaseSequence != 9 || !b.Transactional || b.Count != 2 {
		t.Fatalf("got %+v", b)
	}
	if b = mustParse(t, foreignBatch(t, None, plainRecords(2), func(b *kmsg.RecordBatch) { b.ProducerID = -9 })); b.ProducerID != -1 {
		t.Fatalf("a negative producer id is %d, not none", b.ProducerID)
	}
}
