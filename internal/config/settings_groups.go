package config

import (
	"math"
	"strings"
)

// groupSettings are the rows of consumer groups and committed offsets.
func groupSettings() []setting {
	return []setting{
		{name: "korvet.broker.rebalance-delay", kafka: "group.initial.rebalance.delay.ms", def: "3s", field: func(c *Config) any { return &c.Groups.RebalanceDelay }, check: between(0, 600_000),
			doc: "How long the first rebalance of an empty group waits for further members (classic protocol)."},
		{name: "korvet.broker.group-min-session-timeout-ms", kafka: "group.min.session.timeout.ms", def: "6s", field: func(c *Config) any { return &c.Groups.MinSession }, check: between(1, math.MaxInt32),
			doc: "Shortest session timeout that a member may ask for (classic protocol)."},
		{name: "korvet.broker.group-max-session-timeout-ms", kafka: "group.max.session.timeout.ms", def: "30m", field: func(c *Config) any { return &c.Groups.MaxSession }, check: between(1, math.MaxInt32),
			doc: "Longest one."},
		{name: "korvet.broker.group-max-size", kafka: "group.max.size", def: "5000", field: func(c *Config) any { return &c.Groups.MaxSize }, check: between(1, math.MaxInt32),
			doc: "Members of a group (classic protocol); further ones are refused with GROUP_MAX_SIZE_REACHED."},
		{name: "korvet.broker.group-consumer-session-timeout-ms", kafka: "group.consumer.session.timeout.ms", def: "45s", field: func(c *Config) any { return &c.Groups.ConsumerSession }, check: between(1, math.MaxInt32),
			doc: "A member of the consumer protocol (KIP-848) that is silent for so long is removed."},
		{name: "korvet.broker.group-consumer-heartbeat-interval-ms", kafka: "group.consumer.heartbeat.interval.ms", def: "5s", field: func(c *Config) any { return &c.Groups.ConsumerHeartbeat }, check: between(1, math.MaxInt32),
			doc: "How often such a member is told to send heartbeats."},
		{name: "korvet.broker.group-consumer-assignment-interval-ms", kafka: "group.consumer.assignment.interval.ms", def: "1s", field: func(c *Config) any { return &c.Groups.AssignmentInterval }, check: between(0, 600_000),
			doc: "Least time between two assignments of such a group: changes that come faster are assigned together (KIP-1263)."},
		{name: "korvet.broker.group-consumer-max-size", kafka: "group.consumer.max.size", def: "5000", field: func(c *Config) any { return &c.Groups.ConsumerMaxSize }, check: between(1, math.MaxInt32),
			doc: "Members of a group of the consumer protocol."},
		{name: "korvet.broker.group-consumer-assignors", kafka: "group.consumer.assignors", def: "uniform,range", field: func(c *Config) any { return &c.Groups.Assignors }, check: assignors,
			doc: "Server-side assignors by commas: uniform, range. The first is the one of members that name none."},
		{name: "korvet.broker.group-consumer-migration-policy", kafka: "group.consumer.migration.policy", def: "bidirectional", field: func(c *Config) any { return &c.Groups.Migration }, check: oneOf("bidirectional", "upgrade", "downgrade", "disabled"),
			doc: "Whether a group with members may go from the classic to the consumer protocol (upgrade), back (downgrade), both or neither."},
		{name: "korvet.broker.offsets-retention-minutes", kafka: "offsets.retention.minutes", def: "10080", field: func(c *Config) any { return &c.Groups.OffsetsRetentionMinutes }, check: between(1, math.MaxInt32),
			doc: "In minutes: committed offsets are removed so long after their group became empty, or after the commit where no member is subscribed to the topic."},
		{name: "korvet.broker.offsets-retention-check-interval-ms", kafka: "offsets.retention.check.interval.ms", def: "10m", field: func(c *Config) any { return &c.Groups.OffsetsCheckInterval }, check: between(1, math.MaxInt32),
			doc: "How often that is looked at."},
		{name: "korvet.broker.offsets-commit-timeout-ms", kafka: "offsets.commit.timeout.ms", def: "5s", field: func(c *Config) any { return &c.Groups.OffsetsCommitTimeout }, check: between(1, math.MaxInt32),
			doc: "A commit that Redis has not taken in so long is answered COORDINATOR_NOT_AVAILABLE, so that heartbeats behind it get through; it may still be stored."},
		{name: "korvet.broker.offset-metadata-max-bytes", kafka: "offset.metadata.max.bytes", def: "4096", field: func(c *Config) any { return &c.Groups.OffsetMetadataMaxBytes }, check: between(0, math.MaxInt16),
			doc: "Text that may go with a committed offset; a longer one is OFFSET_METADATA_TOO_LARGE."},
		{name: "korvet.broker.max-member-metadata-bytes", def: "1MB", field: func(c *Config) any { return &c.Groups.MaxMemberMetadataBytes }, check: between(1024, 1<<30),
			doc: "What a member's protocols or subscription may take, which are kept as long as it is in its group; more is INVALID_REQUEST."},
		{name: "korvet.broker.native-groups-interval", def: "1s", field: func(c *Config) any { return &c.Groups.NativeInterval }, check: between(0, 3_600_000),
			doc: "How often commits are shown as native stream groups `kafka:<group>` (XINFO GROUPS); 0: never."},
	}
}

// assignors checks a list of server-side assignors.
func assignors(v any) string {
	seen := map[string]bool{}
	for name := range strings.SplitSeq(v.(string), ",") {
		if name = strings.TrimSpace(name); name != "uniform" && name != "range" || seen[name] {
			return "must be uniform, range or both, by commas"
		}
		seen[name] = true
	}
	return ""
}
