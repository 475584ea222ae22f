package api

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/korvet-io/korvet/internal/metadata"
	"github.com/korvet-io/korvet/internal/topicconfig"
)

// A broker's settings are those of its configuration, most of which do not change while it runs, and the defaults of topic
// settings, all of which do (KIP-226). What tools change is kept by resource: one broker, or all of them (the empty name).

// brokerSetting finds a setting that a broker shows.
func (a *API) brokerSetting(name string) (BrokerSetting, bool) {
	if i := slices.IndexFunc(a.settings.Broker, func(s BrokerSetting) bool { return s.Name == name }); i >= 0 {
		return a.settings.Broker[i], true
	}
	s, ok := a.schema.BrokerSetting(name)
	if !ok {
		return BrokerSetting{}, false
	}
	return topicDefault(a.schema, s), true
}

// topicDefault is the broker setting that gives a topic setting's default.
func topicDefault(schema *topicconfig.Schema, s *topicconfig.Setting) BrokerSetting {
	static := schema.ResolveBroker(s)
	for static[0].Source == topicconfig.FromBroker || static[0].Source == topicconfig.FromCluster {
		static = static[1:]
	}
	return BrokerSetting{
		Name: s.BrokerName, Type: s.Type, Value: static[0].Value, Set: static[0].Source != topicconfig.FromDefault, Doc: s.Doc,
		Parse: s.Parse,
	}
}

// brokerConfigs lists the settings of this broker, and where each value may come from in order of precedence.
func (a *API) brokerConfigs() configs {
	own := a.configs.Config(metadata.BrokerConfigs, strconv.Itoa(int(a.cluster.Self().ID)))
	all := a.configs.Config(metadata.BrokerConfigs, metadata.AllBrokers)
	shown := slices.Clone(a.settings.Broker)
	for _, s := range a.schema.Settings() {
		if s.BrokerName != "" {
			shown = append(shown, topicDefault(a.schema, &s))
		}
	}
	list := make(configs, 0, len(shown))
	for i := range shown {
		s := &shown[i]
		var synonyms []kmsg.DescribeConfigsResponseResourceConfigConfigSynonym
		add := func(value string, source kmsg.ConfigSource) {
			synonyms = append(synonyms, kmsg.DescribeConfigsResponseResourceConfigConfigSynonym{Name: s.Name, Value: s.shown(value), Source: source})
		}
		if v, ok := own[s.Name]; ok {
			add(v, kmsg.ConfigSourceDynamicBrokerConfig)
		}
		if v, ok := all[s.Name]; ok {
			add(v, kmsg.ConfigSourceDynamicDefaultBrokerConfig)
		}
		if s.Set {
			add(s.Value, kmsg.ConfigSourceStaticBrokerConfig)
		} else {
			add(s.Value, kmsg.ConfigSourceDefaultConfig)
		}
		list = append(list, s.config(synonyms))
	}
	slices.SortFunc(list, func(x, y kmsg.DescribeConfigsResponseResourceConfig) int { return strings.Compare(x.Name, y.Name) })
	return list
}

// allBrokersConfigs lists the settings that tools gave to all brokers.
func (a *API) allBrokersConfigs() configs {
	var list configs
	all := a.configs.Config(metadata.BrokerConfigs, metadata.AllBrokers)
	for _, name := range slices.Sorted(maps.Keys(all)) {
		s, ok := a.brokerSetting(name)
		if !ok { // another version's
			continue
		}
		value := s.shown(all[name])
		list = append(list, s.config([]kmsg.DescribeConfigsResponseResourceConfigConfigSynonym{
			{Name: name, Value: value, Source: kmsg.ConfigSourceDynamicDefaultBrokerConfig},
		}))
	}
	return list
}

// shown is a value as DescribeConfigs may show it.
func (s *BrokerSetting) shown(value string) *string {
	if s.Sensitive {
		return nil
	}
	return &value
}

// config is the setting as DescribeConfigs shows it; the first synonym is in force.
func (s *BrokerSetting) config(synonyms []kmsg.DescribeConfigsResponseResourceConfigConfigSynonym) kmsg.DescribeConfigsResponseResourceConfig {
	r := newConfig(s.Name, s.Type, "", synonyms[0].Source, s.Doc)
	r.Value, r.ConfigSynonyms = synonyms[0].Value, synonyms
	r.ReadOnly, r.IsSensitive = s.Parse == nil, s.Sensitive
	return r
}

// changeBrokerConfigs changes the settings of this broker, or of all.
func (a *API) changeBrokerConfigs(ctx context.Context, change *configChange, validateOnly bool) error {
	if change.name != metadata.AllBrokers {
		if err := a.checkBroker(change.name); err != nil {
			return err
		}
	}
	return a.alterConfig(ctx, metadata.BrokerConfigs, change, validateOnly, func(wanted map[string]string) error {
		for _, s := range change.settings {
			if err := a.changeBrokerSetting(wanted, s); err != nil {
				return err
			}
		}
		if err := a.checkPools(change.name, wanted); err != nil {
			return err
		}
		return a.checkTopicDefaults(change.name, wanted)
	})
}

// checkPools refuses numbers of threads that are too far from those that this broker has: as Kafka does, which tells by the broker that
// is asked, also of a change for all (DynamicBrokerConfig's validateReconfiguration).
func (a *API) checkPools(name string, wanted map[string]string) error {
	own := a.configs.Config(metadata.BrokerConfigs, strconv.Itoa(int(a.cluster.Self().ID)))
	all := a.configs.Config(metadata.BrokerConfigs, metadata.AllBrokers)
	for i := range a.settings.Broker {
		s := &a.settings.Broker[i]
		if !s.Pool {
			continue
		}
		before, after := s.threads(own, all), s.threads(wanted, all)
		if name == metadata.AllBrokers {
			after = s.threads(own, wanted)
		}
		reason := ""
		switch {
		case after < before/2:
			reason = "value should be at least half the current value"
		case after > 2*before:
			reason = "value should not be greater than double the current value"
		default:
			continue
		}
		return refuse(kerr.InvalidRequest, "Dynamic thread count update validation failed for %s=%d, %s %d", s.Name, after, reason, before)
	}
	return nil
}

// threads is the number that is in force with these settings of the broker and of all.
func (s *BrokerSetting) threads(own, all map[string]string) int64 {
	for _, from := range []map[string]string{own, all} {
		if value, ok := from[s.Name]; ok {
			if n, err := strconv.ParseInt(value, 10, 64); err == nil {
				return n
			}
		}
	}
	n, _ := strconv.ParseInt(s.Value, 10, 64) // the configuration's, which was checked
	return n
}

// errNothingToStore ends a change that was checked and is not to be stored.
var errNothingToStore = errors.New("nothing to store")

// alterConfig changes settings that are kept by resource. with makes the settings as they are into what they become.
func (a *API) alterConfig(ctx context.Context, kind metadata.ConfigKind, change *configChange, validateOnly bool, with func(map[string]string) error) error {
	err := a.configs.AlterConfig(ctx, kind, change.name, func(have map[string]string) (map[string]string, error) {
		wanted := map[string]string{}
		if !change.replaceAll {
			maps.Copy(wanted, have)
		}
		if err := with(wanted); err != nil {
			return nil, err
		}
		if err := a.checkValueLengths(wanted); err != nil {
			return nil, err
		}
		if validateOnly || maps.Equal(wanted, have) {
			return nil, errNothingToStore
		}
		return wanted, nil
	})
	if errors.Is(err, errNothingToStore) {
		return nil
	}
	return err
}

func (a *API) changeBrokerSetting(wanted map[string]string, s settingChange) error {
	setting, ok := a.brokerSetting(s.name)
	switch {
	case s.op == kmsg.IncrementalAlterConfigOpDelete && (!ok || setting.Parse != nil):
		delete(wanted, s.name) // also what another version left
		return nil
	case !ok:
		return refuse(kerr.InvalidRequest, "Unknown or unsupported broker setting: %s", s.name)
	case setting.Parse == nil:
		return refuse(kerr.InvalidRequest, "Cannot update these configs dynamically: [%s]", s.name)
	}
	value := *s.value
	if s.op != kmsg.IncrementalAlterConfigOpSet {
		have, ok := wanted[s.name]
		if !ok {
			have = setting.Value
		}
		var err error
		if value, err = changeList(setting.Type, have, s); err != nil {
			return err
		}
	}
	canonical, err := setting.Parse(value)
	if err != nil {
		return refuse(kerr.InvalidRequest, "%v", brokerNamed(err, s.name))
	}
	wanted[s.name] = canonical
	return nil
}

// brokerNamed makes an error about a topic setting one about the broker's.
func brokerNamed(err error, name string) error {
	if invalid, ok := err.(*topicconfig.InvalidError); ok {
		return &topicconfig.InvalidError{Name: name, Value: invalid.Value, Reason: invalid.Reason}
	}
	return err
}

// checkTopicDefaults checks the defaults of topic settings against each other, as they would be with the settings wanted.
func (a *API) checkTopicDefaults(name string, wanted map[string]string) error {
	d := topicconfig.Dynamic{Cluster: a.topicDefaults(a.configs.Config(metadata.BrokerConfigs, metadata.AllBrokers))}
	if name == metadata.AllBrokers {
		d.Cluster = a.topicDefaults(wanted)
	} else {
		d.Broker = a.topicDefaults(wanted)
	}
	if err := a.schema.CheckDynamic(d); err != nil {
		return refuse(kerr.InvalidRequest, "%v", err)
	}
	return nil
}

// topicDefaults picks the defaults of topic settings out of a broker's settings, by the topic setting's name.
func (a *API) topicDefaults(broker map[string]string) map[string]string {
	defaults := map[string]string{}
	for name, value := range broker {
		if s, ok := a.schema.BrokerSetting(name); ok {
			defaults[s.Name] = value
		}
	}
	return defaults
}
