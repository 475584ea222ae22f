package conformance

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"fmt"
	"slices"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// produceRecordsRows are about the records of one partition. "end 0" tells that nothing was appended.
func produceRecordsRows() []row {
	rows := []row{
		{name: "records null", do: producedNull, want: "never answered", korvet: differs("INVALID_RECORD", "Clear errors")},
		{name: "records empty", do: producedBytes(nil), want: "INVALID_RECORD, end 0"},
		{name: "shorter than a batch", do: producedBytes(values("v").bytes()[:40]), want: "INVALID_RECORD, end 0"},
		{name: "two batches for one partition", do: producedBytes(append(values("a").bytes(), values("b").bytes()...)), want: "INVALID_RECORD, end 0"},
		{name: "message set v0 in Produce v3", do: producedOldIn(3, 0), want: "INVALID_RECORD, end 0"},
		{name: "message set v1 in Produce v3", do: producedOldIn(3, 1), want: "INVALID_RECORD, end 0"},
		{name: "corrupt CRC", do: producedBytes(flipped(values("v").bytes())), want: "CORRUPT_MESSAGE, end 0"},
		{name: "magic 3", do: producedBatch(func(b *recordBatch) { b.Magic = 3 }), want: "CORRUPT_MESSAGE, end 0"},
		{name: "magic -1", do: producedBatch(func(b *recordBatch) { b.Magic = -1 }), want: "CORRUPT_MESSAGE, end 0"},
		{name: "length too small", do: producedLength(20), want: "CORRUPT_MESSAGE, end 0"},
		{name: "length negative", do: producedLength(-1), want: "CORRUPT_MESSAGE, end 0"},
		{name: "length too large", do: producedLength(100_000), want: "INVALID_RECORD, end 0"},
		{name: "zeroes", do: producedBytes(make([]byte, 100)), want: "CORRUPT_MESSAGE, end 0"},
		{name: "last byte missing", do: producedBytes(chopped(values("v").bytes())), want: "INVALID_RECORD, end 0"},
		{name: "bytes after the last record", do: producedBatch(func(b *recordBatch) { b.trailer = []byte{0, 0} }), want: "INVALID_RECORD, end 0"},
		{name: "record longer than the batch", do: producedBatch(func(b *recordBatch) { b.records[1].extra = 40 }), want: "INVALID_RECORD, end 0", korvet: differs("INVALID_RECORD records 1, end 0", "Record errors")},
		{name: "base offset 1000", do: producedBatch(func(b *recordBatch) { b.FirstOffset = 1000 }), want: "INVALID_RECORD, end 0"},
		{name: "base offset -5", do: producedBatch(func(b *recordBatch) { b.FirstOffset = -5 }), want: "INVALID_RECORD, end 0"},
		{name: "control batch", do: producedBatch(func(b *recordBatch) { b.Attributes |= controlBit }), want: "INVALID_RECORD, end 0"},
		{name: "null header key", do: producedNullHeaderKey, want: "INVALID_RECORD, end 0", korvet: differs("INVALID_RECORD records 0, end 0", "Record errors")},
		{name: "producer id with epoch -1 and sequence -1", do: producedBatch(func(b *recordBatch) { b.ProducerID = 5 }), want: "INVALID_RECORD, end 0"},
		{name: "codec 5", do: producedBatch(func(b *recordBatch) { b.Attributes = 5 }), want: "UNKNOWN_SERVER_ERROR, end 0", korvet: differs("UNSUPPORTED_COMPRESSION_TYPE, end 0", "Clear errors")},
		{name: "body not in the codec the header says", do: producedBatch(func(b *recordBatch) { b.Attributes, b.body = codecGzip, []byte("no gzip at all") }), want: "UNKNOWN_SERVER_ERROR, end 0", korvet: differs("INVALID_RECORD, end 0", "Clear errors")},
		{name: "partition leader epoch 7", do: producedBatch(func(b *recordBatch) { b.PartitionLeaderEpoch = 7 }), want: "OK @0, end 2"},
		{name: "unused attribute bits", do: producedBatch(func(b *recordBatch) { b.Attributes |= 0x4000 }), want: "OK @0, end 2"},
		{name: "append-time bit on a CreateTime topic", do: producedBatch(func(b *recordBatch) { b.Attributes |= appendTimeBit }), want: "OK @0, end 2"},
		{name: "wrong max timestamp", do: producedBatch(func(b *recordBatch) { b.MaxTimestamp -= 1000 }), want: "OK @0, end 2"},
		{name: "no records", do: producedBytes(batchOf().bytes()), want: "INVALID_RECORD, end 0"},
		{name: "header key that is not UTF-8", do: producedForeignHeader, want: "OK @0, end 1", korvet: differs("INVALID_RECORD records 0, end 0", "What a table can hold")},
		{name: "timestamp beyond a table's range", do: producedBytes(stamped(-1 << 62).bytes()), want: "OK @0, end 1", korvet: differs("INVALID_TIMESTAMP records 0, end 0", "What a table can hold")},
		{name: "max timestamp -5", do: producedBatch(func(b *recordBatch) { b.MaxTimestamp = -5 }), want: "OK @0, end 2"},
		{name: "delete horizon bit", do: producedBatch(func(b *recordBatch) { b.Attributes |= 1 << 6 }), want: "OK @0, end 2"},
		{name: "producer epoch without producer id", do: producedBatch(func(b *recordBatch) { b.ProducerEpoch = 4 }), want: "OK @0, end 2"},
		{name: "unused record attributes", do: producedRecordAttributes, want: "OK @0, end 1"},
		{name: "a sequence without producer id", do: producedBatch(func(b *recordBatch) { b.FirstSequence = 3 }), want: "OK @0, end 2"},
	}
	rows = append(rows, countRows()...)
	rows = append(rows, deltaRows()...)
	rows = append(rows, row{name: "snappy in the framing of Java clients", do: producedXerial, want: "the same"})
	return append(rows, contentRows()...)
}

// countRows change how many records two are said to be.
func countRows() []row {
	var rows []row
	both := map[int32]*difference{
		3:       differs("INVALID_RECORD records 2, end 0", "Record errors"),
		1 << 30: differs("MESSAGE_TOO_LARGE, end 0", "Batch limits"),
	}
	for _, n := range []int32{0, 1, 3, -1, 1 << 30} {
		rows = append(rows,
			row{name: fmt.Sprintf("last offset delta of %d records", n), want: "INVALID_RECORD, end 0", do: producedBatch(func(b *recordBatch) { b.LastOffsetDelta = n - 1 })},
			row{name: fmt.Sprintf("count of %d records", n), want: "INVALID_RECORD, end 0", do: producedBatch(func(b *recordBatch) { b.NumRecords = n })},
			row{name: fmt.Sprintf("both of %d records", n), want: "INVALID_RECORD, end 0", do: producedBatch(func(b *recordBatch) { b.NumRecords, b.LastOffsetDelta = n, n-1 }), korvet: both[n]},
		)
	}
	return rows
}

// deltaRows give two records other offset deltas than 0 and 1, while count and last delta fit.
func deltaRows() []row {
	deltas := func(first, second int32) func(*recordBatch) {
		return func(b *recordBatch) {
			b.records[0].delta, b.records[1].delta = &first, &second
			if second > 1 {
				b.records = append(b.records, record{value: []byte("v"), timestamp: now()})
				b.records[1].delta, b.records[2].delta = &second, &second
				b.NumRecords, b.LastOffsetDelta = 3, 2
			}
		}
	}
	gzip := func(change func(*recordBatch)) func(*recordBatch) {
		return func(b *recordBatch) { change(b); b.codec(codecGzip) }
	}
	var rows []row
	for _, d := range []struct{ first, second, bad int32 }{{0, 2, 1}, {0, 0, 1}, {1, 0, 0}} {
		stored := fmt.Sprintf("OK @0, end %d", max(d.second, 1)+1)
		refused := differs(fmt.Sprintf("INVALID_RECORD records %d, end 0", d.bad), "Offset deltas")
		rows = append(rows,
			row{name: fmt.Sprintf("plain batch, offset deltas %d,%d", d.first, d.second), do: producedBatch(deltas(d.first, d.second)), want: stored, korvet: refused},
			row{name: fmt.Sprintf("gzip batch, offset deltas %d,%d", d.first, d.second), do: producedBatch(gzip(deltas(d.first, d.second))), want: "UNKNOWN_SERVER_ERROR, end 0", korvet: refused},
		)
	}
	return rows
}

// contentRows are records whose content must come back exactly.
func contentRows() []row {
	empty, a := []byte{}, []byte("a")
	header := func(k string, v []byte) kmsg.Header { return kmsg.Header{Key: k, Value: v} }
	var rows []row
	for _, r := range []struct {
		name string
		record
	}{
		{"null key and value", record{}},
		{"empty key and value", record{key: empty, value: empty}},
		{"null key, empty value", record{value: empty}},
		{"empty key, null value", record{key: empty}},
		{"empty header key", record{value: a, headers: []kmsg.Header{header("", a)}}},
		{"one header twice, null and empty ones, in order", record{value: a, headers: []kmsg.Header{header("a", nil), header("a", empty), header("a", []byte("1"))}}},
		{"binary key, value and header", record{key: []byte{0, 0xff, '\r', '\n'}, value: []byte{0xc3, 0x28}, headers: []kmsg.Header{header("b", []byte{0, 1})}}},
	} {
		for codec, name := range []string{"none", "gzip", "snappy", "lz4", "zstd"} {
			rows = append(rows, row{name: r.name + ", codec " + name, do: roundTrip(r.record, int16(codec)), want: "the same"})
		}
	}
	return rows
}

func producedBytes(b []byte) func(*conn) string {
	return func(c *conn) string {
		t := c.newTopic()
		return fmt.Sprintf("%s, end %d", c.produced(produceTo(9, t, -1, b)), c.end(t))
	}
}

// producedBatch sends a correct batch of two records after a change.
func producedBatch(change func(*recordBatch)) func(*conn) string {
	return func(c *conn) string { return producedBytes(values("a", "b").with(change).bytes())(c) }
}

func producedLength(n int32) func(*conn) string {
	b := values("v").bytes()
	binary.BigEndian.PutUint32(b[8:], uint32(n))
	return producedBytes(b)
}

func producedOldIn(version int16, magic int8) func(*conn) string {
	return func(c *conn) string {
		t := c.newTopic()
		return fmt.Sprintf("%s, end %d", c.produced(produceTo(version, t, -1, message(magic, 0, 0, []byte("k"), []byte("v")))), c.end(t))
	}
}

func chopped(b []byte) []byte { return b[:len(b)-1] }

// producedNull: Kafka never answers, which a short wait can only fail to disprove.
func producedNull(c *conn) string {
	t := c.newTopic()
	req := produceTo(9, t, -1)
	req.Topics[0].Partitions[0].Records = nil
	id := c.send(req)
	if !c.to.korvet {
		if c.silent() {
			return "never answered"
		}
		return "answered"
	}
	resp, err := c.receive(req, id)
	if err != nil {
		return outcome(err)
	}
	return describeProduced(resp.(*kmsg.ProduceResponse).Topics[0].Partitions[0])
}

// producedNullHeaderKey writes the length -1 where an empty header key has length 0.
func producedNullHeaderKey(c *conn) string {
	b := batchOf(record{value: []byte("v"), timestamp: now(), headers: []kmsg.Header{{Key: "", Value: []byte("h")}}})
	b.body = b.encodeRecords()
	b.body[len(b.body)-3] = 1 // zigzag of -1, before the value's length and its one byte
	return producedBytes(b.bytes())(c)
}

func producedForeignHeader(c *conn) string {
	b := batchOf(record{value: []byte("v"), timestamp: now(), headers: []kmsg.Header{{Key: "\xff\xfe", Value: []byte("h")}}})
	return producedBytes(b.bytes())(c)
}

func producedRecordAttributes(c *conn) string {
	b := values("v")
	b.body = b.encodeRecords()
	b.body[1] = 0x55 // after the length, of one byte
	return producedBytes(b.bytes())(c)
}

// roundTrip produces a record and compares what a fetch brings back, byte for byte.
func roundTrip(r record, codec int16) func(*conn) string {
	return func(c *conn) string {
		t := c.newTopic()
		r.timestamp = now()
		c.must(t, batchOf(r, r).codec(codec))
		for _, b := range c.batches(t, 0) {
			for _, got := range b.records {
				if diff := compare(r, got); diff != "" {
					return diff
				}
				if b.FirstTimestamp+got.TimestampDelta64 != r.timestamp {
					return fmt.Sprintf("timestamp %d, was %d", b.FirstTimestamp+got.TimestampDelta64, r.timestamp)
				}
			}
		}
		return "the same"
	}
}

// producedXerial compresses the records in two chunks with the header that the Java library writes.
func producedXerial(c *conn) string {
	t := c.newTopic()
	r := record{key: []byte("k"), value: bytes.Repeat([]byte("value "), 100), timestamp: now()}
	b := batchOf(r, r).codec(codecSnappy)
	raw := b.encodeRecords()
	b.body = []byte("\x82SNAPPY\x00\x00\x00\x00\x01\x00\x00\x00\x01")
	for _, part := range [][]byte{raw[:50], raw[50:]} {
		block := compress(codecSnappy, part)
		b.body = binary.BigEndian.AppendUint32(b.body, uint32(len(block)))
		b.body = append(b.body, block...)
	}
	c.must(t, b)
	var got []kmsg.Record
	for _, s := range c.batches(t, 0) {
		got = append(got, s.records...)
	}
	if len(got) != 2 {
		return fmt.Sprintf("%d records", len(got))
	}
	return cmp.Or(compare(r, got[0]), compare(r, got[1]), "the same")
}

func compare(r record, got kmsg.Record) string {
	same := func(a, b []byte) bool { return bytes.Equal(a, b) && (a == nil) == (b == nil) }
	switch {
	case !same(r.key, got.Key):
		return fmt.Sprintf("key %q (null %t)", got.Key, got.Key == nil)
	case !same(r.value, got.Value):
		return fmt.Sprintf("value %q (null %t)", got.Value, got.Value == nil)
	case !slices.EqualFunc(r.headers, got.Headers, func(a, b kmsg.Header) bool { return a.Key == b.Key && same(a.Value, b.Value) }):
		return fmt.Sprintf("headers %q", got.Headers)
	}
	return ""
}
