package api

import (
	"strconv"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/korvet-io/korvet/internal/topicconfig"
)

// groupSetting is a setting of a consumer, share or streams group (KIP-848, KIP-932, KIP-1071) with Kafka's default and
// range. Groups are a later version's: the settings are shown, and changing them is refused.
type groupSetting struct {
	name     string
	typ      topicconfig.Type
	value    string
	low, max int64  // for numbers
	broker   string // the broker setting that gives the default
}

func groupSettings() []groupSetting {
	const i, s, b, l = topicconfig.Int, topicconfig.String, topicconfig.Boolean, topicconfig.List
	return []groupSetting{
		{"consumer.assignment.interval.ms", i, "1000", 0, 15000, "group.consumer.assignment.interval.ms"},
		{"consumer.heartbeat.interval.ms", i, "5000", 5000, 15000, "group.consumer.heartbeat.interval.ms"},
		{"consumer.session.timeout.ms", i, "45000", 45000, 60000, "group.consumer.session.timeout.ms"},
		{"errors.deadletterqueue.copy.record.enable", b, "false", 0, 0, ""},
		{"errors.deadletterqueue.topic.name", s, "", 0, 0, ""},
		{"share.assignment.interval.ms", i, "1000", 0, 15000, "group.share.assignment.interval.ms"},
		{"share.auto.offset.reset", s, "latest", 0, 0, ""},
		{"share.delivery.count.limit", i, "5", 2, 10, "group.share.delivery.count.limit"},
		{"share.heartbeat.interval.ms", i, "5000", 5000, 15000, "group.share.heartbeat.interval.ms"},
		{"share.isolation.level", s, "read_uncommitted", 0, 0, ""},
		{"share.partition.max.record.locks", i, "2000", 100, 4000, "group.share.partition.max.record.locks"},
		{"share.record.lock.duration.ms", i, "30000", 15000, 60000, "group.share.record.lock.duration.ms"},
		{"share.renew.acknowledge.enable", b, "true", 0, 0, ""},
		{"share.session.timeout.ms", i, "45000", 45000, 60000, "group.share.session.timeout.ms"},
		{"streams.assignment.interval.ms", i, "1000", 0, 15000, "group.streams.assignment.interval.ms"},
		{"streams.assignor.name", s, "sticky", 0, 0, "group.streams.assignors"},
		{"streams.heartbeat.interval.ms", i, "5000", 5000, 15000, "group.streams.heartbeat.interval.ms"},
		{"streams.initial.rebalance.delay.ms", i, "3000", 0, 1<<31 - 1, "group.streams.initial.rebalance.delay.ms"},
		{"streams.num.standby.replicas", i, "0", 0, 2, "group.streams.num.standby.replicas"},
		{"streams.rack.aware.assignment.tags", l, "", 0, 0, "group.streams.rack.aware.assignment.tags"},
		{"streams.session.timeout.ms", i, "45000", 45000, 60000, "group.streams.session.timeout.ms"},
	}
}

// groupConfigs lists a group's settings. No group has its own.
func groupConfigs() configs {
	var list configs
	for _, s := range groupSettings() {
		r := newConfig(s.name, s.typ, s.value, kmsg.ConfigSourceDefaultConfig, "")
		r.ReadOnly = true
		name := s.broker
		if name == "" {
			name = s.name
		}
		r.ConfigSynonyms = []kmsg.DescribeConfigsResponseResourceConfigConfigSynonym{{Name: name, Value: r.Value, Source: kmsg.ConfigSourceDefaultConfig}}
		list = append(list, r)
	}
	return list
}

// checkGroupConfig refuses a group's setting: what Kafka would not take as Kafka does, the rest because no group could
// obey it yet.
func checkGroupConfig(name, value string) error {
	for _, s := range groupSettings() {
		if s.name != name {
			continue
		}
		if s.typ == topicconfig.Int {
			n, err := strconv.ParseInt(value, 10, 32)
			if err != nil {
				return refuse(kerr.InvalidConfig, "Invalid value %s for configuration %s: Not a number of type INT", value, name)
			}
			if n < s.low || n > s.max {
				return refuse(kerr.InvalidConfig, "%s must be between %d and %d.", name, s.low, s.max)
			}
		}
		return refuse(kerr.InvalidRequest, "Settings of groups cannot be changed in this version: %s", name)
	}
	return refuse(kerr.InvalidConfig, "Unknown group config name: %s", name)
}
