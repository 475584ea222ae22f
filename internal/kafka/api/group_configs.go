package api

import (
	"context"
	"strconv"
	"strings"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/korvet-io/korvet/internal/metadata"
	"github.com/korvet-io/korvet/internal/topicconfig"
)

// groupSetting is a setting of a consumer, share or streams group (KIP-848, KIP-932, KIP-1071) with Kafka's default and
// range. Share and streams groups do not exist here: their settings are shown and cannot be changed.
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

// changeable tells whether a group here may have the setting.
func (s *groupSetting) changeable() bool { return strings.HasPrefix(s.name, "consumer.") }

// maxGroupName bounds the name of a group with settings, in bytes: every broker holds it in memory.
const maxGroupName = 1024

func checkGroupResource(name string) error {
	switch {
	case name == "":
		return refuse(kerr.InvalidRequest, "Group name must not be empty")
	case len(name) > maxGroupName:
		return refuse(kerr.InvalidRequest, "The group's name has %d bytes, more than %d.", len(name), maxGroupName)
	}
	return nil
}

// groupConfigs lists a group's settings.
func (a *API) groupConfigs(group string) (configs, error) {
	if err := checkGroupResource(group); err != nil {
		return nil, err
	}
	own := a.configs.Config(metadata.GroupConfigs, group)
	var list configs
	for _, s := range groupSettings() {
		r := newConfig(s.name, s.typ, s.value, kmsg.ConfigSourceDefaultConfig, "")
		r.ReadOnly = !s.changeable()
		if v, ok := own[s.name]; ok {
			r.Value, r.Source, r.IsDefault = &v, kmsg.ConfigSourceGroupConfig, false
			r.ConfigSynonyms = append(r.ConfigSynonyms, kmsg.DescribeConfigsResponseResourceConfigConfigSynonym{Name: s.name, Value: &v, Source: kmsg.ConfigSourceGroupConfig})
		}
		r.ConfigSynonyms = append(r.ConfigSynonyms, a.groupDefault(&s))
		if len(r.ConfigSynonyms) == 1 {
			r.Value, r.Source = r.ConfigSynonyms[0].Value, r.ConfigSynonyms[0].Source
			r.IsDefault = r.Source == kmsg.ConfigSourceDefaultConfig
		}
		list = append(list, r)
	}
	return list, nil
}

// groupDefault is what a group without the setting has: the broker's own setting, where it has one.
func (a *API) groupDefault(s *groupSetting) kmsg.DescribeConfigsResponseResourceConfigConfigSynonym {
	d := kmsg.DescribeConfigsResponseResourceConfigConfigSynonym{Name: s.broker, Value: &s.value, Source: kmsg.ConfigSourceDefaultConfig}
	if s.broker == "" {
		d.Name = s.name
		return d
	}
	for _, b := range a.settings.Broker {
		if b.Name == s.broker {
			d.Value = &b.Value
			if b.Set {
				d.Source = kmsg.ConfigSourceStaticBrokerConfig
			}
		}
	}
	return d
}

// changeGroupConfigs changes a group's settings. The group need not exist.
func (a *API) changeGroupConfigs(ctx context.Context, change *configChange, validateOnly bool) error {
	if err := checkGroupResource(change.name); err != nil {
		return err
	}
	return a.alterConfig(ctx, metadata.GroupConfigs, change, validateOnly, func(wanted map[string]string) error {
		for _, s := range change.settings {
			if s.op == kmsg.IncrementalAlterConfigOpDelete {
				delete(wanted, s.name)
				continue
			}
			if s.op != kmsg.IncrementalAlterConfigOpSet {
				return refuse(kerr.InvalidConfig, "Can't %s to key %s because its type is not LIST.", s.op, s.name)
			}
			canonical, err := parseGroupConfig(s.name, *s.value)
			if err != nil {
				return err
			}
			wanted[s.name] = canonical
		}
		return nil
	})
}

func parseGroupConfig(name, value string) (string, error) {
	for _, s := range groupSettings() {
		if s.name != name {
			continue
		}
		text := strings.TrimSpace(value)
		if s.typ == topicconfig.Int {
			n, err := strconv.ParseInt(text, 10, 32)
			if err != nil {
				return "", refuse(kerr.InvalidConfig, "Invalid value %s for configuration %s: Not a number of type INT", value, name)
			}
			if n < s.low || n > s.max {
				return "", refuse(kerr.InvalidConfig, "%s must be in the range %d to %d inclusive.", name, s.low, s.max)
			}
			text = strconv.FormatInt(n, 10)
		}
		if !s.changeable() {
			return "", refuse(kerr.InvalidRequest, "There are no share groups and no streams groups in this version: %s cannot be set.", name)
		}
		return text, nil
	}
	return "", refuse(kerr.InvalidConfig, "Unknown group config name: %s", name)
}
