package conformance

import (
	"fmt"

	"github.com/twmb/franz-go/pkg/kmsg"
)

const hour, year = 3600 * 1000, 365 * 24 * 3600 * 1000 // ms

// produceSettingsRows are about topic settings and timestamps.
func produceSettingsRows() []row {
	b := func(s string) []byte { return []byte(s) }
	rows := []row{
		{name: "zstd batch in v3", do: producedZstd(3), want: "UNSUPPORTED_COMPRESSION_TYPE"},
		{name: "zstd batch in v7", do: producedZstd(7), want: "OK @0"},
		{name: "compression.type=gzip", do: storedCodec(codecLz4, "compression.type=gzip"), want: "codec 1"},
		{name: "compression.type=uncompressed", do: storedCodec(codecLz4, "compression.type=uncompressed"), want: "codec 0"},
		{name: "compression.type=producer", do: storedCodec(codecLz4, "compression.type=producer"), want: "codec 3", rebuilt: "codec 0"},
		{name: "compacted topic, null key", do: producedCompacted(record{key: b("a"), value: b("1")}, record{value: b("2")}), want: "INVALID_RECORD records 1, end 0"},
		{name: "compacted topic, two null keys", do: producedCompacted(record{value: b("1")}, record{key: b("a"), value: b("1")}, record{value: b("2")}), want: "INVALID_RECORD records 0,2, end 0"},
		{name: "compacted topic, null key in v7", do: producedCompactedOld, want: "INVALID_RECORD"},
		{name: "compacted topic, empty key", do: producedCompacted(record{key: []byte{}, value: b("1")}), want: "OK @0, end 1"},
		{name: "compacted topic, tombstone", do: producedCompacted(record{key: b("a")}), want: "OK @0, end 1"},
		{name: "LogAppendTime", do: producedAppendTime(1000), want: "OK, stamped, found by the stamp, not found by the sent timestamp"},
		{name: "LogAppendTime, far future", do: producedAppendTime(now() + 10*year), want: "OK, stamped, found by the stamp, not found by the sent timestamp"},
		{name: "LogAppendTime, -1", do: producedAppendTime(-1), want: "OK, stamped, found by the stamp, not found by the sent timestamp"},
	}
	for _, ts := range []struct {
		name    string
		ms      int64
		setting string
		want    string
	}{
		{"more than 1 hour ahead", now() + 2*hour, "", "INVALID_TIMESTAMP records 0, end 0"},
		{"10 years ahead", now() + 10*year, "", "INVALID_TIMESTAMP records 0, end 0"},
		{"10 years ahead, after.max.ms raised", now() + 10*year, "message.timestamp.after.max.ms=9223372036854775807", "OK @0, end 1"},
		{"older than before.max.ms", now() - 2*hour, "message.timestamp.before.max.ms=3600000", "INVALID_TIMESTAMP records 0, end 0"},
		{"10 years back", now() - 10*year, "", "OK @0, end 1"},
		{"0", 0, "", "OK @0, end 1"},
		{"-1", -1, "", "OK @0, end 1"},
		{"-2", -2, "", "OK @0, end 1"},
		{"-86400000", -86400000, "", "OK @0, end 1"},
	} {
		rows = append(rows, row{name: "timestamp " + ts.name, do: producedStamped(ts.ms, ts.setting), want: ts.want})
	}
	return rows
}

func producedZstd(version int16) func(*conn) string {
	return func(c *conn) string {
		return c.produced(produceTo(version, c.newTopic(), -1, values("v").codec(codecZstd).bytes()))
	}
}

// storedCodec tells the codec of a fetched batch.
func storedCodec(sent int16, setting string) func(*conn) string {
	return func(c *conn) string {
		t := c.newTopic(setting)
		c.must(t, values("some value that is long enough to be compressed compressed compressed compressed compressed").codec(sent))
		return fmt.Sprintf("codec %d", c.batches(t, 0)[0].Attributes&7)
	}
}

func producedCompacted(records ...record) func(*conn) string {
	return func(c *conn) string {
		t := c.newTopic("cleanup.policy=compact")
		for i := range records {
			records[i].timestamp = now()
		}
		return fmt.Sprintf("%s, end %d", c.produced(produceTo(9, t, -1, batchOf(records...).bytes())), c.end(t))
	}
}

func producedCompactedOld(c *conn) string {
	return c.produced(produceTo(7, c.newTopic("cleanup.policy=compact"), -1, values("v").bytes()))
}

func producedStamped(ms int64, setting string) func(*conn) string {
	return func(c *conn) string {
		var settings []string
		if setting != "" {
			settings = append(settings, setting)
		}
		t := c.newTopic(settings...)
		s := fmt.Sprintf("%s, end %d", c.produced(produceTo(9, t, -1, stamped(ms).bytes())), c.end(t))
		if c.end(t) == 1 && c.batches(t, 0)[0].FirstTimestamp != ms {
			return "stored with another timestamp"
		}
		return s
	}
}

func producedAppendTime(ms int64) func(*conn) string {
	return func(c *conn) string {
		t := c.newTopic("message.timestamp.type=LogAppendTime")
		p := ask[*kmsg.ProduceResponse](c, produceTo(9, t, -1, stamped(ms, ms).bytes())).Topics[0].Partitions[0]
		s := code(p.ErrorCode)
		stored := c.batches(t, 0)[0]
		if p.LogAppendTime > 0 && stored.Attributes&appendTimeBit != 0 && stored.MaxTimestamp == p.LogAppendTime {
			s += ", stamped"
		}
		if found := c.listOffset(9, t, p.LogAppendTime); found.Offset == 0 && found.Timestamp == p.LogAppendTime {
			s += ", found by the stamp"
		}
		if found := c.listOffset(9, t, max(ms, 0)); found.Timestamp != ms {
			s += ", not found by the sent timestamp"
		}
		return s
	}
}
