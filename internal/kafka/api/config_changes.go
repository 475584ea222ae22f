package api

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/korvet-io/korvet/internal/metadata"
	"github.com/korvet-io/korvet/internal/topicconfig"
)

// configChange is a change of one resource's settings: of all (AlterConfigs) or of some (IncrementalAlterConfigs).
type configChange struct {
	kind       kmsg.ConfigResourceType
	name       string
	replaceAll bool
	settings   []settingChange
}

// settingChange is what becomes of one setting.
type settingChange struct {
	name  string
	op    kmsg.IncrementalAlterConfigOp
	value *string
}

func resourceKey(kind kmsg.ConfigResourceType, name string) string {
	return fmt.Sprintf("%d:%s", kind, name)
}

// changeConfigs makes one resource's change, whole or not at all.
func (a *API) changeConfigs(ctx context.Context, change *configChange, validateOnly bool) error {
	if err := change.check(); err != nil {
		return err
	}
	switch change.kind {
	case kmsg.ConfigResourceTypeTopic:
		if change.name == "" {
			return refuse(kerr.InvalidRequest, "Default topic resources are not allowed.")
		}
		if err := checkTopicName(change.name); err != nil {
			return err
		}
		return a.alterTopic(ctx, change.name, validateOnly, func(t *metadata.Topic) (int32, map[string]string, error) {
			configs, err := a.changedConfigs(t, change)
			return t.Partitions, configs, err
		})
	case kmsg.ConfigResourceTypeBroker:
		return a.changeBrokerConfigs(ctx, change, validateOnly)
	case kmsg.ConfigResourceTypeBrokerLogger:
		return a.changeLoggers(change, validateOnly)
	case kmsg.ConfigResourceTypeGroupConfig:
		return a.changeGroupConfigs(ctx, change, validateOnly)
	case kmsg.ConfigResourceTypeClientMetrics:
		return refuse(kerr.InvalidRequest, "Metrics of clients are not collected in this version: there are no subscriptions.")
	}
	return unsupportedResource(change.kind)
}

// check refuses what is wrong whatever the resource is.
func (c *configChange) check() error {
	if twice := repeated(c.settings, func(s *settingChange) string { return s.name }); len(twice) > 0 {
		return refuse(kerr.InvalidRequest, "Error due to duplicate config keys: %s", strings.Join(slices.Sorted(maps.Keys(twice)), ","))
	}
	for _, s := range c.settings {
		if s.op < kmsg.IncrementalAlterConfigOpSet || s.op > kmsg.IncrementalAlterConfigOpSubtract {
			return refuse(kerr.InvalidRequest, "Unknown operation %d for config %s", s.op, s.name)
		}
		if s.value == nil && s.op != kmsg.IncrementalAlterConfigOpDelete {
			return refuse(kerr.InvalidRequest, "Null value not supported for : %s", s.name)
		}
	}
	return nil
}

// changedConfigs returns what the topic's own settings become.
func (a *API) changedConfigs(t *metadata.Topic, change *configChange) (map[string]string, error) {
	wanted := map[string]string{}
	if !change.replaceAll {
		maps.Copy(wanted, t.Configs)
	}
	for _, s := range change.settings {
		if err := a.changeSetting(t, wanted, s); err != nil {
			return nil, err
		}
	}
	if err := a.checkValueLengths(wanted); err != nil {
		return nil, err
	}
	stored, err := a.schema.Alter(t.Name, t.Configs, wanted)
	if err != nil {
		return nil, refuse(kerr.InvalidConfig, "%v", err)
	}
	return stored, nil
}

func (a *API) changeSetting(t *metadata.Topic, wanted map[string]string, s settingChange) error {
	switch s.op {
	case kmsg.IncrementalAlterConfigOpSet:
		wanted[s.name] = *s.value
		return nil
	case kmsg.IncrementalAlterConfigOpDelete:
		delete(wanted, s.name)
		return nil
	}
	setting, ok := a.schema.Setting(s.name)
	if !ok {
		return &topicconfig.InvalidError{Name: s.name}
	}
	value, err := changeList(setting.Type, a.schema.Resolve(t.Name, wanted, setting)[0].Value, s)
	if err == nil {
		wanted[s.name] = value
	}
	return err
}

// changeList returns what becomes of a list's value to which words are added or from which they are taken.
func changeList(t topicconfig.Type, value string, s settingChange) (string, error) {
	if t != topicconfig.List {
		return "", refuse(kerr.InvalidConfig, "Can't %s to key %s because its type is not LIST.", s.op, s.name)
	}
	words := topicconfig.SplitList(value)
	for _, w := range topicconfig.SplitList(*s.value) {
		has := slices.Contains(words, w)
		switch {
		case s.op == kmsg.IncrementalAlterConfigOpAppend && !has:
			words = append(words, w)
		case s.op == kmsg.IncrementalAlterConfigOpSubtract && has:
			words = slices.DeleteFunc(words, func(have string) bool { return have == w })
		}
	}
	return strings.Join(words, ","), nil
}
