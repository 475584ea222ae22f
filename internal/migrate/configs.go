package migrate

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// effective reads a topic's settings, defaults included.
func effective(ctx context.Context, c *Cluster, name string) (map[string]string, error) {
	return settings(ctx, c, name, false)
}

// settings reads a topic's settings, all or its own.
func settings(ctx context.Context, c *Cluster, name string, own bool) (map[string]string, error) {
	described, err := c.Admin.DescribeTopicConfigs(ctx, name)
	if err != nil {
		return nil, fmt.Errorf("describe settings of %s: %w", name, err)
	}
	one, err := described.On(name, nil)
	if err == nil {
		err = one.Err
	}
	if err != nil {
		return nil, fmt.Errorf("describe settings of %s: %w", name, err)
	}
	values := map[string]string{}
	for _, config := range one.Configs {
		if !own || config.Source == kmsg.ConfigSourceDynamicTopicConfig {
			values[config.Key] = config.MaybeValue()
		}
	}
	return values, nil
}

// The setting of a codec, and one that only zstd can have.
const (
	codecSetting      = "storage.compression.type"
	dictionarySetting = "storage.compression.dictionary.enabled"
)

// targetConfigs are the source's own settings with those that were asked for, without those that another cluster does not
// know, whose names are unknown.
func (m *Migration) targetConfigs(ctx context.Context) (configs map[string]*string, unknown []string, err error) {
	own, err := settings(ctx, m.o.From, m.source.name, true)
	if err != nil {
		return nil, nil, err
	}
	if m.o.To != m.o.From {
		if unknown, err = m.unknown(ctx, own); err != nil {
			return nil, nil, err
		}
	}
	configs = map[string]*string{}
	for name, value := range own {
		if !slices.Contains(unknown, name) {
			configs[name] = &value
		}
	}
	maps.Copy(configs, m.o.Configs)
	if codec := configs[codecSetting]; codec != nil && *codec != "zstd" && m.o.Configs[dictionarySetting] == nil {
		delete(configs, dictionarySetting)
	}
	return configs, unknown, nil
}

// unknown lists the settings that the target's cluster does not know: a topic that it would create does not have them.
func (m *Migration) unknown(ctx context.Context, own map[string]string) ([]string, error) {
	created, err := m.o.To.Admin.ValidateCreateTopics(ctx, m.wanted(), -1, nil, m.o.Target)
	if err != nil {
		return nil, fmt.Errorf("ask for the settings of a new topic %s: %w", m.o.Target, err)
	}
	known := created[m.o.Target].Configs
	var names []string
	for name := range own {
		if _, ok := known[name]; !ok && len(known) > 0 { // an old broker tells none
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names, nil
}

// logAppendTime is the value of message.timestamp.type with which a topic's timestamps are those of the append.
const logAppendTime = "LogAppendTime"

// checkTimestamps refuses a target that would replace all timestamps, unless that is wanted.
func (m *Migration) checkTimestamps(ctx context.Context) error {
	configs, err := effective(ctx, m.o.To, m.o.Target)
	if err != nil {
		return err
	}
	if configs["message.timestamp.type"] == logAppendTime && !m.o.AppendTime {
		return fmt.Errorf("topic %s has message.timestamp.type=%s: all records would get the time of the migration; set CreateTime, or allow it", m.o.Target, logAppendTime)
	}
	return m.checkAppendHeader(ctx, configs)
}

// appendHeader adds a header to what consumers read, and so to what is copied.
const appendHeader = "log.append.timestamp.header"

// checkAppendHeader refuses a target, with these settings, that would add the header to records that have it from the source.
func (m *Migration) checkAppendHeader(ctx context.Context, target map[string]string) error {
	if target[appendHeader] != "true" {
		return nil
	}
	source, err := effective(ctx, m.o.From, m.source.name)
	if err != nil || source[appendHeader] != "true" {
		return err
	}
	return fmt.Errorf("%s=true at the source and at the target: records would have the header twice; with --config %s=false the copy keeps the source's append times, or set it to false at the source", appendHeader, appendHeader)
}
