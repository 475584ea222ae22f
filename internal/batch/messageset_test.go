package batch

import (
	"bytes"
	"encoding/binary"
	"errors"
	"hash/crc32"
	"slices"
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// messageV0 and messageV1 are messages as franz-go's own encoder writes them.
func messageV0(offset int64, codec Codec, key, value []byte) []byte {
	m := kmsg.MessageV0{Offset: offset, Magic: 0, Attributes: int8(codec), Key: key, Value: value}
	m.MessageSize = int32(len(m.AppendTo(nil)) - lengthOverhead)
	return resealMessage(m.AppendTo(nil))
}

func messageV1(offset, timestamp int64, codec Codec, key, value []byte) []byte {
	m := kmsg.MessageV1{Offset: offset, Magic: 1, Attributes: int8(codec), Timestamp: timestamp, Key: key, Value: value}
	m.MessageSize = int32(len(m.AppendTo(nil)) - lengthOverhead)
	return resealMessage(m.AppendTo(nil))
}

func resealMessage(raw []byte) []byte {
	binary.BigEndian.PutUint32(raw[12:], crc32.ChecksumIEEE(raw[16:]))
	return raw
}

func TestConvertReadsWhatJavaWrote(t *testing.T) {
	for magic := range 2 {
		for _, codec := range []Codec{None, Gzip, Snappy, LZ4} {
			raw := golden(t, []string{"java-v0-", "java-v1-"}[magic]+codec.String())
			b, err := Convert(raw, Limits{})
			if err != nil {
				t.Fatalf("v%d %v: %v", magic, codec, err)
			}
			if b.Codec != codec || !equalRecords(readAllRecords(b), goldenRecords(magic, codec)) {
				t.Errorf("v%d %v: the records differ", magic, codec)
			}
			again := mustParse(t, bytes.Clone(b.Raw))
			if !bytes.Equal(again.Raw, b.Raw) {
				t.Errorf("v%d %v: the batch made needs a correction", magic, codec)
			}
		}
	}
}

func TestConvertTakesABatchOfMagic2(t *testing.T) {
	b, err := Convert(foreignBatch(t, Zstd, plainRecords(3), nil), Limits{})
	if err != nil || b.Count != 3 {
		t.Fatalf("got %v", err)
	}
}

func TestConvertGivesNewOffsets(t *testing.T) {
	for name, offsets := range map[string][]int64{"relative": {0, 1}, "absolute": {5000, 5001}, "all zero": {0, 0}} {
		inner := append(messageV1(offsets[0], 7, None, nil, []byte("a")), messageV1(offsets[1], 5, None, nil, []byte("b"))...)
		b, err := Convert(messageV1(offsets[1], 7, Gzip, nil, foreignCompress(t, Gzip, inner)), Limits{})
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		r := readAllRecords(b)
		if len(r) != 2 || r[0].Offset != 0 || r[1].Offset != 1 || r[0].Timestamp != 7 || r[1].Timestamp != 5 || b.MaxTimestamp != 7 {
			t.Errorf("%s: got %+v", name, r)
		}
	}
}

func TestConvertFlattensSeveralMessages(t *testing.T) {
	inner := append(messageV0(0, None, nil, []byte("b")), messageV0(1, None, nil, []byte("c"))...)
	set := append(messageV0(0, None, []byte("k"), []byte("a")), messageV0(2, Snappy, nil, foreignCompress(t, Snappy, inner))...)
	set = append(set, messageV0(3, None, nil, nil)...)
	b, err := Convert(set, Limits{})
	if err != nil {
		t.Fatal(err)
	}
	var values [][]byte
	for _, r := range readAllRecords(b) {
		values = append(values, r.Value)
	}
	if !slices.EqualFunc(values, [][]byte{[]byte("a"), []byte("b"), []byte("c"), nil}, equalBytes) || b.Codec != Snappy || b.NullKeyCount != 3 {
		t.Fatalf("got %q, %v", values, b.Codec)
	}
}

func TestConvertJudgesMessageSets(t *testing.T) {
	plain := messageV1(0, 1, None, []byte("k"), []byte("v"))
	change := func(at int, to byte) []byte {
		m := bytes.Clone(plain)
		m[at] = to
		return m
	}
	rows := []struct {
		name string
		raw  []byte
		want error
	}{
		{"nothing", nil, ErrInvalidRecord},
		{"shorter than a message", make([]byte, 17), ErrInvalidRecord},
		{"zeroes", make([]byte, 60), ErrCorrupt},
		{"flipped bit", change(len(plain)-1, 'w'), ErrCorrupt},
		{"magic 3", change(atMessageMagic, 3), ErrCorrupt},
		{"magic -1", change(atMessageMagic, 0xff), ErrCorrupt},
		{"length negative", change(atLength, 0x80), ErrCorrupt},
		{"length less than a message", change(atLength+3, messageOverheadV1-1), ErrCorrupt},
		{"length too large", change(atLength+3, 200), ErrInvalidRecord},
		{"last byte missing", plain[:len(plain)-1], ErrInvalidRecord},
		{"a part of a second message", append(bytes.Clone(plain), plain[:20]...), ErrInvalidRecord},
		{"a second message of magic 2", append(bytes.Clone(plain), change(atMessageMagic, 2)...), ErrCorrupt},
		{"key longer than the message", resealMessage(change(29, 200)), ErrInvalidRecord},
		{"key length -2", resealMessage(append(bytes.Clone(plain[:26]), append([]byte{0xff, 0xff, 0xff, 0xfe}, plain[30:]...)...)), ErrInvalidRecord},
		{"value shorter than the message", resealMessage(change(34, 0)), ErrInvalidRecord},
		{"zstd", messageV1(0, 1, Zstd, nil, foreignCompress(t, Zstd, plain)), ErrUnsupportedCompression},
		{"codec 7", messageV0(0, 7, nil, plain), ErrUnsupportedCompression},
		{"not compressed although it says so", messageV1(0, 1, Gzip, nil, plain), ErrInvalidRecord},
		{"compressed null", messageV1(0, 1, Gzip, nil, nil), ErrInvalidRecord},
		{"compressed nothing", messageV1(0, 1, Gzip, nil, foreignCompress(t, Gzip, nil)), ErrInvalidRecord},
		{"compressed in compressed", messageV1(0, 1, Gzip, nil, foreignCompress(t, Gzip, messageV1(0, 1, Gzip, nil, foreignCompress(t, Gzip, plain)))), ErrInvalidRecord},
		{"magic 0 in magic 1", messageV1(0, 1, Gzip, nil, foreignCompress(t, Gzip, messageV0(0, None, nil, nil))), ErrInvalidRecord},
		{"magic 2 in magic 1", messageV1(0, 1, Gzip, nil, foreignCompress(t, Gzip, foreignBatch(t, None, plainRecords(1), nil))), ErrCorrupt},
		{"broken header checksum of lz4 in magic 1", messageV1(0, 1, LZ4, nil, breakLZ4(foreignCompress(t, LZ4, plain))), ErrInvalidRecord},
		{"broken header checksum of lz4 in magic 0", messageV0(0, LZ4, nil, breakLZ4(foreignCompress(t, LZ4, messageV0(0, None, nil, nil)))), nil},
		{"timestamp beyond microseconds", messageV1(0, 1<<62, None, nil, nil), ErrInvalidTimestamp},
		{"timestamp -2", messageV1(0, -2, None, nil, nil), nil},
		{"any attributes", resealMessage(change(atMessageAttributes, 0xf8)), nil},
	}
	for _, row := range rows {
		t.Run(row.name, func(t *testing.T) {
			b, err := Convert(row.raw, Limits{})
			if !errors.Is(err, row.want) {
				t.Fatalf("got error %v, want %v", err, row.want)
			}
			if err == nil && len(readAllRecords(b)) != int(b.Count) {
				t.Fatal("the cursor does not give all records")
			}
		})
	}
}

// breakLZ4 spoils the header checksum of a frame.
func breakLZ4(frame []byte) []byte {
	frame[lz4HeaderSize(frame)-1]++
	return frame
}

func TestConvertKeepsToLimits(t *testing.T) {
	inner := bytes.Repeat(messageV0(0, None, nil, make([]byte, 100)), 10)
	wrapped := messageV0(0, Gzip, nil, foreignCompress(t, Gzip, inner))
	for _, row := range []struct {
		lim  Limits
		want error
	}{
		{Limits{MaxRecords: 20, MaxDecompressed: 2 * len(inner)}, nil},
		{Limits{MaxRecords: 19}, ErrTooLarge},
		{Limits{MaxDecompressed: 2*len(inner) - 1}, ErrTooLarge},
		{Limits{MaxDecompressed: 1}, ErrTooLarge},
	} {
		if _, err := Convert(append(bytes.Clone(wrapped), wrapped...), row.lim); !errors.Is(err, row.want) {
			t.Errorf("limits %+v: got %v, want %v", row.lim, err, row.want)
		}
	}
}
