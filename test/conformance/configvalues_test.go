package conformance

import (
	"strings"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// configValueRows are values of topic settings, each tried at creation and by SET, with validate_only.
func configValueRows() []row {
	var rows []row
	for _, v := range []struct{ setting, want string }{
		{"=1", "INVALID_CONFIG"},
		{" retention.ms=1", "INVALID_CONFIG"},
		{"retention.ms=", "INVALID_CONFIG"},
		{"retention.ms= 5 ", "OK"},
		{"retention.ms=+5", "OK"},
		{"retention.ms=-1", "OK"},
		{"retention.ms=-2", "INVALID_CONFIG"},
		{"retention.ms=0x10", "INVALID_CONFIG"},
		{"retention.ms=1_000", "INVALID_CONFIG"},
		{"retention.ms=1e3", "INVALID_CONFIG"},
		{"retention.ms=1.5", "INVALID_CONFIG"},
		{"retention.ms=9223372036854775807", "OK"},
		{"retention.ms=9223372036854775808", "INVALID_CONFIG"},
		{"retention.bytes=-5", "OK"},
		{"cleanup.policy=delete,compact", "OK"},
		{"cleanup.policy=delete,delete", "OK"},
		{"cleanup.policy= delete , compact ", "OK"},
		{"cleanup.policy=delete,", "INVALID_CONFIG"},
		{"cleanup.policy=Delete", "INVALID_CONFIG"},
		{"cleanup.policy=none", "INVALID_CONFIG"},
		{"preallocate=TRUE", "OK"},
		{"preallocate=yes", "INVALID_CONFIG"},
		{"unclean.leader.election.enable=true", "OK"},
		{"compression.type=GZIP", "INVALID_CONFIG"},
		{"compression.gzip.level=0", "INVALID_CONFIG"},
		{"compression.gzip.level=10", "INVALID_CONFIG"},
		{"compression.lz4.level=18", "INVALID_CONFIG"},
		{"compression.zstd.level=23", "INVALID_CONFIG"},
		{"segment.bytes=1048576", "OK"},
		{"segment.bytes=1048575", "INVALID_CONFIG"},
		{"segment.bytes=2147483648", "INVALID_CONFIG"},
		{"segment.ms=0", "INVALID_CONFIG"},
		{"segment.jitter.ms=-1", "INVALID_CONFIG"},
		{"index.interval.bytes=-1", "INVALID_CONFIG"},
		{"file.delete.delay.ms=-1", "INVALID_CONFIG"},
		{"flush.ms=-1", "INVALID_CONFIG"},
		{"flush.messages=0", "INVALID_CONFIG"},
		{"max.message.bytes=0", "OK"},
		{"max.message.bytes=-1", "INVALID_CONFIG"},
		{"message.timestamp.type=createtime", "INVALID_CONFIG"},
		{"message.timestamp.before.max.ms=-1", "INVALID_CONFIG"},
		{"message.timestamp.after.max.ms=-1", "INVALID_CONFIG"},
		{"message.timestamp.difference.max.ms=5", "INVALID_CONFIG"},
		{"message.format.version=3.0", "INVALID_CONFIG"},
		{"message.downconversion.enable=true", "INVALID_CONFIG"},
		{"min.cleanable.dirty.ratio=0.5", "OK"},
		{"min.cleanable.dirty.ratio=1.5", "INVALID_CONFIG"},
		{"min.compaction.lag.ms=-1", "INVALID_CONFIG"},
		{"max.compaction.lag.ms=0", "INVALID_CONFIG"},
		{"delete.retention.ms=-1", "INVALID_CONFIG"},
		{"min.insync.replicas=0", "INVALID_CONFIG"},
		{"min.insync.replicas=2147483647", "OK"},
		{"leader.replication.throttled.replicas=*", "OK"},
		{"leader.replication.throttled.replicas=0:0,1:0", "OK"},
		{"leader.replication.throttled.replicas=x", "INVALID_CONFIG"},
		{"local.retention.ms=-3", "INVALID_CONFIG"},
		{"local.retention.bytes=5", "OK"},
		{"remote.storage.enable=true", "INVALID_CONFIG"},
		{"remote.log.copy.disable=true", "OK"},
		{"remote.log.delete.on.disable=true", "OK"},
		{"no.such.setting=1", "INVALID_CONFIG"},
	} {
		rows = append(rows,
			row{name: "create with " + v.setting, want: v.want, do: valueAtCreation(v.setting)},
			row{name: "SET " + v.setting, want: v.want, do: valueSet(v.setting)},
		)
	}
	for _, own := range []string{"segment.bytes=-1", "compression.type=none"} {
		rows = append(rows,
			row{name: "create with " + own, want: "INVALID_CONFIG", korvet: differs("OK", "Values of its own"), do: valueAtCreation(own)},
			row{name: "SET " + own, want: "INVALID_CONFIG", korvet: differs("OK", "Values of its own"), do: valueSet(own)},
		)
	}
	return append(rows,
		row{name: "min.compaction.lag.ms above max.compaction.lag.ms", do: valueAtCreation("min.compaction.lag.ms=9", "max.compaction.lag.ms=5"), want: "INVALID_CONFIG"},
		row{name: "a list with one entry twice is shown without", do: valueListShown, want: "OK cleanup.policy=compact DYNAMIC_TOPIC_CONFIG"},
	)
}

func valueAtCreation(settings ...string) func(*conn) string {
	return func(c *conn) string {
		req := createTopics(7, newTopicRequest(newName(), 1, 1, settings...))
		req.ValidateOnly = true
		return code(ask[*kmsg.CreateTopicsResponse](c, req).Topics[0].ErrorCode)
	}
}

func valueSet(setting string) func(*conn) string {
	return func(c *conn) string {
		name, value, _ := strings.Cut(setting, "=")
		req := alterConfigs(1, topicResource, c.newTopic().name, set(name, value))
		req.ValidateOnly = true
		return c.alter(req)
	}
}

func valueListShown(c *conn) string {
	return c.setting(c.newTopic("cleanup.policy=compact,compact"), "cleanup.policy")
}
