package migrate

import (
	"context"
	"fmt"
	"maps"

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

// targetConfigs are the source's own settings with those that were asked for.
func (m *Migration) targetConfigs(ctx context.Context) (map[string]*string, error) {
	own, err := settings(ctx, m.o.From, m.source.name, true)
	if err != nil {
		return nil, err
	}
	return merged(own, m.o.Configs), nil
}

func merged(own map[string]string, asked map[string]*string) map[string]*string {
	configs := map[string]*string{}
	for name, value := range own {
		configs[name] = &value
	}
	maps.Copy(configs, asked)
	return configs
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
	return nil
}
