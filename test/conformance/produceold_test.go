package conformance

import (
	"encoding/binary"
	"fmt"
	"hash/crc32"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// produceOldRows are about Produce v0 to v2 with message sets, which Kafka 4 no longer serves and korvet does.
func produceOldRows() []row {
	k, v := []byte("k"), []byte("v")
	two := func(magic int8) []byte {
		return append(message(magic, 0, 0, k, v), message(magic, 0, 1, nil, []byte{})...)
	}
	wrapped := func(magic int8, codec int16) []byte {
		return message(magic, int8(codec), 1, nil, compress(codec, two(magic)))
	}
	rows := []row{
		{name: "v0, corrupt CRC", do: producedOld(0, flipped(message(0, 0, 0, k, v))), want: "closed", korvet: differs("CORRUPT_MESSAGE, end 0", "Produce v0 to v2")},
		{name: "v2, corrupt CRC", do: producedOld(2, flipped(message(1, 0, 0, k, v))), want: "closed", korvet: differs("CORRUPT_MESSAGE, end 0", "Produce v0 to v2")},
		{name: "v2, codec zstd", do: producedOld(2, wrapped(1, codecZstd)), want: "closed", korvet: differs("UNSUPPORTED_COMPRESSION_TYPE, end 0", "Produce v0 to v2")},
		{name: "v2, nothing", do: producedOld(2, nil), want: "closed", korvet: differs("INVALID_RECORD, end 0", "Produce v0 to v2")},
		{name: "v2, size beyond the set", do: producedOld(2, oversized(message(1, 0, 0, k, v))), want: "closed", korvet: differs("INVALID_RECORD, end 0", "Produce v0 to v2")},
		{name: "v2, unknown topic", do: producedOldUnknown, want: "closed", korvet: differs("UNKNOWN_TOPIC_OR_PARTITION", "Produce v0 to v2")},
		{name: "v2, compacted topic, null key", do: producedOldCompacted, want: "closed", korvet: differs("INVALID_RECORD, end 0", "Produce v0 to v2")},
	}
	same := differs("OK @0, end 2, the same", "Produce v0 to v2")
	for _, version := range []int16{0, 1, 2} {
		for _, magic := range []int8{0, 1} {
			rows = append(rows, row{name: fmt.Sprintf("v%d, magic %d", version, magic), do: roundTripOld(version, magic, two(magic)), want: "closed", korvet: same})
		}
	}
	for _, codec := range []struct {
		name string
		id   int16
	}{{"gzip", codecGzip}, {"snappy", codecSnappy}} {
		rows = append(rows,
			row{name: "v1, magic 0, " + codec.name, do: roundTripOld(1, 0, wrapped(0, codec.id)), want: "closed", korvet: same},
			row{name: "v2, magic 1, " + codec.name, do: roundTripOld(2, 1, wrapped(1, codec.id)), want: "closed", korvet: same},
		)
	}
	return append(rows, row{name: "v2, magic 1, lz4", do: roundTripOld(2, 1, wrapped(1, codecLz4)), want: "closed", korvet: same})
}

// messageTimestamp is the timestamp of all messages of magic 1, in ms.
const messageTimestamp = 1_500_000_000_000

// message encodes one message of a message set (magic 0 or 1).
func message(magic, attributes int8, offset int64, key, value []byte) []byte {
	var b []byte
	if magic == 0 {
		m := kmsg.MessageV0{Offset: offset, Attributes: attributes, Key: key, Value: value}
		b = m.AppendTo(nil)
	} else {
		m := kmsg.MessageV1{Offset: offset, Magic: 1, Attributes: attributes, Timestamp: messageTimestamp, Key: key, Value: value}
		b = m.AppendTo(nil)
	}
	binary.BigEndian.PutUint32(b[8:], uint32(len(b)-12))
	binary.BigEndian.PutUint32(b[12:], crc32.ChecksumIEEE(b[16:]))
	return b
}

func oversized(b []byte) []byte {
	binary.BigEndian.PutUint32(b[8:], uint32(len(b)+1000))
	return b
}

func producedOld(version int16, set []byte) func(*conn) string {
	return func(c *conn) string { return c.producedOld(version, c.newTopic(), set) }
}

func (c *conn) producedOld(version int16, t topic, set []byte) string {
	c.t.Helper()
	resp, err := c.try(produceTo(version, t, -1, set))
	if err != nil {
		return outcome(err)
	}
	p := resp.(*kmsg.ProduceResponse).Topics[0].Partitions[0]
	if p.ErrorCode == 0 {
		return fmt.Sprintf("OK @%d, end %d", p.BaseOffset, c.end(t))
	}
	return fmt.Sprintf("%s, end %d", code(p.ErrorCode), c.end(t))
}

func producedOldUnknown(c *conn) string {
	resp, err := c.try(produceTo(2, topic{name: newName()}, -1, message(1, 0, 0, nil, []byte("v"))))
	if err != nil {
		return outcome(err)
	}
	return code(resp.(*kmsg.ProduceResponse).Topics[0].Partitions[0].ErrorCode)
}

func producedOldCompacted(c *conn) string {
	return c.producedOld(2, c.newTopic("cleanup.policy=compact"), message(1, 0, 0, nil, []byte("v")))
}

// roundTripOld produces two messages, k=v and null=empty, and looks at the records that a fetch brings back.
func roundTripOld(version int16, magic int8, set []byte) func(*conn) string {
	return func(c *conn) string {
		t := c.newTopic()
		s := c.producedOld(version, t, set)
		if s == "closed" {
			return s
		}
		timestamp := int64(messageTimestamp)
		if magic == 0 {
			timestamp = -1 // messages of magic 0 have none
		}
		want := []record{{key: []byte("k"), value: []byte("v")}, {value: []byte{}}}
		var got []kmsg.Record
		for _, b := range c.batches(t, 0) {
			if b.FirstTimestamp != timestamp || b.MaxTimestamp != timestamp {
				return fmt.Sprintf("%s, timestamps %d to %d", s, b.FirstTimestamp, b.MaxTimestamp)
			}
			got = append(got, b.records...)
		}
		if len(got) != len(want) {
			return fmt.Sprintf("%s, %d records", s, len(got))
		}
		for i, r := range want {
			if diff := compare(r, got[i]); diff != "" {
				return s + ", " + diff
			}
		}
		return s + ", the same"
	}
}
