package conformance

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/twmb/franz-go/pkg/kmsg"
)

const (
	topicResource  = kmsg.ConfigResourceTypeTopic
	brokerResource = kmsg.ConfigResourceTypeBroker
	groupResource  = kmsg.ConfigResourceTypeGroupConfig
)

func describeConfigsRows() []row {
	return []row{
		{name: "one setting, set", do: describedSet, want: "OK max.message.bytes=5000 DYNAMIC_TOPIC_CONFIG INT synonyms DYNAMIC_TOPIC_CONFIG DEFAULT_CONFIG"},
		{name: "one setting, not set", do: describedUnset, want: "OK max.message.bytes=1048588 DEFAULT_CONFIG INT synonyms DEFAULT_CONFIG"},
		{name: "list setting", do: describedAs("cleanup.policy", "cleanup.policy=compact"), want: "OK cleanup.policy=compact DYNAMIC_TOPIC_CONFIG LIST"},
		{name: "unknown setting", do: describedUnknown, want: "OK"},
		{name: "all settings of a topic", do: describedAll, want: "OK, missing: "},
		{name: "all settings of a broker", do: describedBroker, want: "OK, missing: , some read-only"},
		{name: "unknown topic", do: described(topicResource, newName()), want: "UNKNOWN_TOPIC_OR_PARTITION"},
		{name: "invalid topic name", do: described(topicResource, "a/b"), want: "INVALID_TOPIC_EXCEPTION"},
		{name: "empty topic name", do: described(topicResource, ""), want: "INVALID_TOPIC_EXCEPTION"},
		{name: "broker 99", do: described(brokerResource, "99"), want: "INVALID_REQUEST"},
		{name: "broker x", do: described(brokerResource, "x"), want: "INVALID_REQUEST"},
		{name: "resource type 99", do: described(kmsg.ConfigResourceType(99), "x"), want: "INVALID_REQUEST"},
		{name: "group that does not exist", do: described(groupResource, "no-such-group"), want: "OK"},
		{name: "empty group name", do: described(groupResource, ""), want: "INVALID_REQUEST"},
		{name: "broker without a name", do: described(brokerResource, ""), want: "OK"},
		{name: "client metrics", do: described(kmsg.ConfigResourceTypeClientMetrics, "m"), want: "OK"},
		{name: "one bad and one good resource", do: describedBadAndGood, want: "INVALID_REQUEST, OK"},
		{name: "documentation asked", do: describedDocumentation(true), want: "has documentation"},
		{name: "documentation not asked", do: describedDocumentation(false), want: "null"},
	}
}

func describeConfigs(version int16, kind kmsg.ConfigResourceType, name string, settings ...string) *kmsg.DescribeConfigsRequest {
	r := kmsg.NewDescribeConfigsRequestResource()
	r.ResourceType, r.ResourceName = kind, name
	r.ConfigNames = settings
	req := kmsg.NewPtrDescribeConfigsRequest()
	req.Version = version
	req.Resources = append(req.Resources, r)
	return req
}

func described(kind kmsg.ConfigResourceType, name string) func(*conn) string {
	return func(c *conn) string {
		resp := ask[*kmsg.DescribeConfigsResponse](c, describeConfigs(4, kind, name))
		return code(resp.Resources[0].ErrorCode)
	}
}

// setting describes one setting of a topic with value and source.
func (c *conn) setting(t topic, name string) string {
	c.t.Helper()
	r := ask[*kmsg.DescribeConfigsResponse](c, describeConfigs(4, topicResource, t.name, name)).Resources[0]
	s := code(r.ErrorCode)
	for _, config := range r.Configs {
		s += fmt.Sprintf(" %s=%s %v", config.Name, text(config.Value), config.Source)
	}
	return s
}

func describedAs(name string, settings ...string) func(*conn) string {
	return func(c *conn) string {
		t := c.newTopic(settings...)
		return c.setting(t, name) + " " + c.describeOne(t, name).ConfigType.String()
	}
}

func (c *conn) describeOne(t topic, name string) kmsg.DescribeConfigsResponseResourceConfig {
	c.t.Helper()
	req := describeConfigs(4, topicResource, t.name, name)
	req.IncludeSynonyms = true
	configs := ask[*kmsg.DescribeConfigsResponse](c, req).Resources[0].Configs
	if len(configs) != 1 {
		c.t.Fatalf("%d settings named %s", len(configs), name)
	}
	return configs[0]
}

func describedSet(c *conn) string   { return describedSynonyms(c, c.newTopic("max.message.bytes=5000")) }
func describedUnset(c *conn) string { return describedSynonyms(c, c.newTopic()) }

func describedSynonyms(c *conn, t topic) string {
	config := c.describeOne(t, "max.message.bytes")
	s := fmt.Sprintf("%s %v synonyms", c.setting(t, "max.message.bytes"), config.ConfigType)
	for _, synonym := range config.ConfigSynonyms {
		s += fmt.Sprintf(" %v", synonym.Source)
	}
	return s
}

func describedUnknown(c *conn) string { return c.setting(c.newTopic(), "no.such.setting") }

func describedAll(c *conn) string {
	return missing(c, topicResource, c.newTopic().name, slices.Collect(maps.Keys(topicDefaults)))
}

// describedBroker looks for settings that tools read. Kafka's names are used by korvet, too.
func describedBroker(c *conn) string {
	id := fmt.Sprint(c.metadata(12).Brokers[0].NodeID)
	s := missing(c, brokerResource, id, []string{"auto.create.topics.enable", "num.partitions", "broker.id"})
	for _, config := range ask[*kmsg.DescribeConfigsResponse](c, describeConfigs(4, brokerResource, id)).Resources[0].Configs {
		if config.ReadOnly {
			return s + ", some read-only"
		}
	}
	return s
}

func missing(c *conn, kind kmsg.ConfigResourceType, name string, wanted []string) string {
	r := ask[*kmsg.DescribeConfigsResponse](c, describeConfigs(4, kind, name)).Resources[0]
	seen := map[string]bool{}
	for _, config := range r.Configs {
		seen[config.Name] = true
	}
	var absent []string
	for _, w := range wanted {
		if !seen[w] {
			absent = append(absent, w)
		}
	}
	return code(r.ErrorCode) + ", missing: " + strings.Join(absent, " ")
}

func describedBadAndGood(c *conn) string {
	req := describeConfigs(4, brokerResource, "99")
	req.Resources = append(req.Resources, describeConfigs(4, topicResource, c.newTopic().name).Resources...)
	resp := ask[*kmsg.DescribeConfigsResponse](c, req)
	return code(resp.Resources[0].ErrorCode) + ", " + code(resp.Resources[1].ErrorCode)
}

func describedDocumentation(include bool) func(*conn) string {
	return func(c *conn) string {
		req := describeConfigs(4, topicResource, c.newTopic().name, "retention.ms")
		req.IncludeDocumentation = include
		d := ask[*kmsg.DescribeConfigsResponse](c, req).Resources[0].Configs[0].Documentation
		if d != nil && *d != "" {
			return "has documentation"
		}
		return text(d)
	}
}
