package api

import (
	"context"
	"slices"
	"strconv"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/korvet-io/korvet/internal/metadata"
	"github.com/korvet-io/korvet/internal/topicconfig"
)

// DescribeConfigs (key 32), versions 0 to 4.
//
// Topics, this broker, all brokers, loggers and groups. v1 tells sources and synonyms (KIP-226), v3 types and documentation (KIP-569). Each
// resource has its own answer. Version 0, which Kafka 4 dropped, is kept for old clients.

// maxDescribedResources bounds the resources of one request: an answer is up to a thousand times as long as what asks for it.
const maxDescribedResources = 10_000

// configs is the list of settings that the answer is made of.
type configs []kmsg.DescribeConfigsResponseResourceConfig

func (a *API) describeConfigs(c *call, req *kmsg.DescribeConfigsRequest) kmsg.Response {
	resp := kmsg.NewPtrDescribeConfigsResponse()
	seen := map[string]bool{}
	for i := range req.Resources {
		asked := &req.Resources[i]
		r := kmsg.NewDescribeConfigsResponseResource()
		r.ResourceType, r.ResourceName = asked.ResourceType, asked.ResourceName
		list, err := a.describeOnce(c.ctx, asked, seen)
		r.ErrorCode, r.ErrorMessage = errorCode(err), errorMessage(err)
		r.Configs = list.only(asked.ConfigNames)
		if !req.IncludeSynonyms {
			r.Configs = configs(r.Configs).without(func(s *kmsg.DescribeConfigsResponseResourceConfig) { s.ConfigSynonyms = nil })
		}
		if !req.IncludeDocumentation {
			r.Configs = configs(r.Configs).without(func(s *kmsg.DescribeConfigsResponseResourceConfig) { s.Documentation = nil })
		}
		resp.Resources = append(resp.Resources, r)
	}
	return resp
}

// only keeps the settings named; no names are all. Unknown names are left out, as Kafka does.
func (l configs) only(names []string) configs {
	if len(names) == 0 {
		return l
	}
	return slices.DeleteFunc(l, func(s kmsg.DescribeConfigsResponseResourceConfig) bool { return !slices.Contains(names, s.Name) })
}

func (l configs) without(drop func(*kmsg.DescribeConfigsResponseResourceConfig)) configs {
	for i := range l {
		drop(&l[i])
	}
	return l
}

// describeOnce describes a resource unless the request named it before, which only a request made to cost memory does, or
// names too many.
func (a *API) describeOnce(ctx context.Context, r *kmsg.DescribeConfigsRequestResource, seen map[string]bool) (configs, error) {
	key := resourceKey(r.ResourceType, r.ResourceName)
	if seen[key] {
		return nil, errResourceTwice()
	}
	if len(seen) == maxDescribedResources {
		return nil, refuse(kerr.InvalidRequest, "More than %d resources in one request.", maxDescribedResources)
	}
	seen[key] = true
	return a.describeResource(ctx, r)
}

func (a *API) describeResource(ctx context.Context, r *kmsg.DescribeConfigsRequestResource) (configs, error) {
	switch r.ResourceType {
	case kmsg.ConfigResourceTypeTopic:
		return a.topicConfigs(ctx, r.ResourceName)
	case kmsg.ConfigResourceTypeBroker:
		if r.ResourceName == metadata.AllBrokers {
			return a.allBrokersConfigs(), nil
		}
		if err := a.checkBroker(r.ResourceName); err != nil {
			return nil, err
		}
		return a.brokerConfigs(), nil
	case kmsg.ConfigResourceTypeBrokerLogger:
		return a.loggerConfigs(r.ResourceName)
	case kmsg.ConfigResourceTypeGroupConfig:
		return a.groupConfigs(r.ResourceName)
	case kmsg.ConfigResourceTypeClientMetrics: // there are no subscriptions
		return nil, nil
	}
	return nil, unsupportedResource(r.ResourceType)
}

// checkBroker refuses the name of another broker: its settings are in its own memory.
func (a *API) checkBroker(name string) error {
	id, err := strconv.ParseInt(name, 10, 32)
	if err != nil {
		return refuse(kerr.InvalidRequest, "Broker id must be an integer, but it is: %s", name)
	}
	if self := a.cluster.Self().ID; int32(id) != self {
		return refuse(kerr.InvalidRequest, "Unexpected broker id, expected %d or empty string, but received %d", self, id)
	}
	return nil
}

func unsupportedResource(t kmsg.ConfigResourceType) error {
	return refuse(kerr.InvalidRequest, "Unsupported resource type: %s (%d)", t, t)
}

func (a *API) topicConfigs(ctx context.Context, name string) (configs, error) {
	t, err := a.existingTopic(ctx, name)
	if err != nil {
		return nil, err
	}
	settings := a.schema.Settings()
	list := make(configs, 0, len(settings))
	for i := range settings {
		s := &settings[i]
		values := a.schema.Shown(t.Name, t.Configs, s)
		r := newConfig(s.Name, s.Type, values[0].Value, configSource(values[0].Source), s.Doc)
		for _, v := range values {
			r.ConfigSynonyms = append(r.ConfigSynonyms, synonym(s, v))
		}
		list = append(list, r)
	}
	return list, nil
}

// synonym is one place that a topic's setting may come from. What does not come from the topic bears the broker's name
// of the setting, where it has one.
func synonym(s *topicconfig.Setting, v topicconfig.Value) kmsg.DescribeConfigsResponseResourceConfigConfigSynonym {
	r := kmsg.NewDescribeConfigsResponseResourceConfigConfigSynonym()
	r.Name, r.Value, r.Source = s.Name, &v.Value, configSource(v.Source)
	if v.Source != topicconfig.FromTopic && s.BrokerName != "" {
		r.Name = s.BrokerName
	}
	return r
}

// configSource is Kafka's name of a source. Patterns and server settings are in the broker's configuration.
func configSource(s topicconfig.Source) kmsg.ConfigSource {
	switch s {
	case topicconfig.FromTopic:
		return kmsg.ConfigSourceDynamicTopicConfig
	case topicconfig.FromBroker:
		return kmsg.ConfigSourceDynamicBrokerConfig
	case topicconfig.FromCluster:
		return kmsg.ConfigSourceDynamicDefaultBrokerConfig
	case topicconfig.FromDefault:
		return kmsg.ConfigSourceDefaultConfig
	}
	return kmsg.ConfigSourceStaticBrokerConfig
}

func newConfig(name string, t topicconfig.Type, value string, source kmsg.ConfigSource, doc string) kmsg.DescribeConfigsResponseResourceConfig {
	r := kmsg.NewDescribeConfigsResponseResourceConfig()
	r.Name, r.Value, r.Source, r.ConfigType, r.Documentation = name, &value, source, kmsg.ConfigType(t), &doc
	r.IsDefault = source == kmsg.ConfigSourceDefaultConfig
	return r
}
