package api

import (
	"fmt"
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/korvet-io/korvet/internal/metadata"
	"github.com/korvet-io/korvet/internal/topicconfig"
)

const loggerResource = kmsg.ConfigResourceTypeBrokerLogger

// shown describes one setting as "value source, synonyms".
func (b *broker) shown(kind kmsg.ConfigResourceType, name, setting string) string {
	b.t.Helper()
	list := b.describe(kind, name, setting).Configs
	if len(list) != 1 {
		return fmt.Sprintf("%d settings", len(list))
	}
	words := []string{fmt.Sprintf("%s %s", *list[0].Value, list[0].Source)}
	for _, s := range list[0].ConfigSynonyms {
		words = append(words, fmt.Sprintf("%s:%s=%s", s.Source, s.Name, *s.Value))
	}
	return strings.Join(words, ", ")
}

func (b *broker) expectShown(kind kmsg.ConfigResourceType, name, setting, want string) {
	b.t.Helper()
	if got := b.shown(kind, name, setting); got != want {
		b.t.Errorf("%s of %s %q:\n got %s\nwant %s", setting, kind, name, got, want)
	}
}

// expectAlter makes one change.
func (b *broker) expectAlter(kind kmsg.ConfigResourceType, name string, op kmsg.IncrementalAlterConfigOp, setting, value, want string) {
	b.t.Helper()
	if got := b.alter(kind, name, changes(change(op, setting, value))); got != want {
		b.t.Errorf("%s %s=%s of %s %q: %s, want %s", op, setting, value, kind, name, got, want)
	}
}

func withBrokerSettings(s *Settings) {
	s.Broker = []BrokerSetting{
		{Name: "max.connections", Type: topicconfig.Int, Value: "10", Set: true, Parse: func(v string) (string, error) {
			if v == "bad" {
				return "", &topicconfig.InvalidError{Name: "max.connections", Value: v, Reason: "no"}
			}
			return v, nil
		}},
		{Name: "num.partitions", Type: topicconfig.Int, Value: "1"},
	}
}

func TestDynamicBrokerSettingsAreShownWithTheirSources(t *testing.T) {
	b := newBroker(t, withBrokerSettings)
	b.expectShown(brokerResource, "1", "max.connections", "10 STATIC_BROKER_CONFIG, STATIC_BROKER_CONFIG:max.connections=10")
	b.expectAlter(brokerResource, "", opSet, "max.connections", "20", "OK")
	b.expectAlter(brokerResource, "1", opSet, "max.connections", "30", "OK")
	b.expectShown(brokerResource, "1", "max.connections", "30 DYNAMIC_BROKER_CONFIG, DYNAMIC_BROKER_CONFIG:max.connections=30, DYNAMIC_DEFAULT_BROKER_CONFIG:max.connections=20, STATIC_BROKER_CONFIG:max.connections=10")
	b.expectShown(brokerResource, "", "max.connections", "20 DYNAMIC_DEFAULT_BROKER_CONFIG, DYNAMIC_DEFAULT_BROKER_CONFIG:max.connections=20")
	b.expectAlter(brokerResource, "1", opDelete, "max.connections", "", "OK")
	b.expectAlter(brokerResource, "", opDelete, "max.connections", "", "OK")
	b.expectShown(brokerResource, "1", "max.connections", "10 STATIC_BROKER_CONFIG, STATIC_BROKER_CONFIG:max.connections=10")
	b.expectShown(brokerResource, "", "max.connections", "0 settings")
}

func TestBrokerSettingsThatCannotChangeAreRefused(t *testing.T) {
	b := newBroker(t, withBrokerSettings)
	b.expectAlter(brokerResource, "1", opSet, "num.partitions", "2", "INVALID_REQUEST")
	b.expectAlter(brokerResource, "1", opDelete, "num.partitions", "", "INVALID_REQUEST")
	b.expectAlter(brokerResource, "1", opSet, "no.such", "2", "INVALID_REQUEST")
	b.expectAlter(brokerResource, "1", opDelete, "no.such", "", "OK")
	b.expectAlter(brokerResource, "1", opSet, "max.connections", "bad", "INVALID_REQUEST")
	b.expectAlter(brokerResource, "1", opAppend, "max.connections", "1", "INVALID_CONFIG")
	b.expectAlter(brokerResource, "", opSet, "log.retention.ms", "soon", "INVALID_REQUEST")
	if got := b.describe(brokerResource, "1", "num.partitions").Configs[0]; !got.ReadOnly {
		t.Error("num.partitions is not read-only")
	}
	if got := b.api.configs.Configured(metadata.BrokerConfigs); len(got) > 0 {
		t.Errorf("something was stored for %q", got)
	}
}

// What Kafka 4.4.0 answers, with 10 threads in its configuration.
func TestNumbersOfThreadsChangeByHalfOrToDoubleAtATime(t *testing.T) {
	const threads = "remote.log.manager.copier.thread.pool.size"
	b := newBroker(t, func(s *Settings) {
		s.Broker = []BrokerSetting{
			{Name: threads, Type: topicconfig.Int, Value: "10", Pool: true, Parse: func(v string) (string, error) { return v, nil }},
			{Name: "max.connections", Type: topicconfig.Int, Value: "10", Parse: func(v string) (string, error) { return v, nil }},
		}
	})
	for _, c := range []struct{ of, op, value, want string }{
		{"1", "set", "4", "INVALID_REQUEST"},
		{"1", "set", "21", "INVALID_REQUEST"},
		{"", "set", "4", "INVALID_REQUEST"},
		{"", "set", "21", "INVALID_REQUEST"},
		{"1", "set", "10", "OK"},
		{"1", "set", "20", "OK"},
		{"", "set", "1", "OK"}, // this broker has its own
		{"1", "delete", "", "INVALID_REQUEST"},
		{"1", "set", "10", "OK"},
		{"1", "set", "5", "OK"},
		{"1", "set", "1", "INVALID_REQUEST"},
		{"1", "set", "2", "OK"}, // half, without what is beyond the point
		{"1", "delete", "", "OK"},
		{"", "set", "3", "INVALID_REQUEST"},
		{"", "set", "2", "OK"},
		{"", "delete", "", "INVALID_REQUEST"},
		{"", "set", "4", "OK"},
		{"", "set", "8", "OK"},
		{"", "delete", "", "OK"},
	} {
		op := opSet
		if c.op == "delete" {
			op = opDelete
		}
		b.expectAlter(brokerResource, c.of, op, threads, c.value, c.want)
	}
	b.expectShown(brokerResource, "1", threads, "10 DEFAULT_CONFIG, DEFAULT_CONFIG:"+threads+"=10")
	b.expectAlter(brokerResource, "1", opSet, "max.connections", "1000", "OK") // no pool
}

func TestDefaultsOfTopicSettingsCanBeChangedForAllBrokers(t *testing.T) {
	b := newBroker(t, nil)
	b.expectShown(brokerResource, "1", "log.cleanup.policy", "delete DEFAULT_CONFIG, DEFAULT_CONFIG:log.cleanup.policy=delete")
	b.expectAlter(brokerResource, "", opAppend, "log.cleanup.policy", "compact", "OK")
	b.expectShown(brokerResource, "", "log.cleanup.policy", "delete,compact DYNAMIC_DEFAULT_BROKER_CONFIG, DYNAMIC_DEFAULT_BROKER_CONFIG:log.cleanup.policy=delete,compact")
	b.expectAlter(brokerResource, "", opSubtract, "log.cleanup.policy", "delete", "OK")
	b.expectShown(brokerResource, "1", "log.cleanup.policy", "compact DYNAMIC_DEFAULT_BROKER_CONFIG, DYNAMIC_DEFAULT_BROKER_CONFIG:log.cleanup.policy=compact, DEFAULT_CONFIG:log.cleanup.policy=delete")
	b.expectAlter(brokerResource, "", opSet, "log.cleaner.min.compaction.lag.ms", "10", "OK")
	b.expectAlter(brokerResource, "1", opSet, "log.cleaner.max.compaction.lag.ms", "9", "INVALID_REQUEST")
}

func TestAlterConfigsReplacesAllDynamicSettingsOfABroker(t *testing.T) {
	b := newBroker(t, withBrokerSettings)
	b.expectAlter(brokerResource, "1", opSet, "max.connections", "20", "OK")
	retention := "5"
	req := kmsg.NewPtrAlterConfigsRequest()
	req.Resources = []kmsg.AlterConfigsRequestResource{{
		ResourceType: brokerResource, ResourceName: "1", Configs: []kmsg.AlterConfigsRequestResourceConfig{{Name: "log.retention.ms", Value: &retention}},
	}}
	for _, dry := range []bool{true, false} {
		req.ValidateOnly = dry
		if resp := do[*kmsg.AlterConfigsResponse](b, req, 2); resp.Resources[0].ErrorCode != 0 {
			t.Fatalf("%+v", resp.Resources[0])
		}
		if _, still := b.api.configs.Config(metadata.BrokerConfigs, "1")["max.connections"]; still != dry {
			t.Errorf("dry run %v: the setting is there: %v", dry, still)
		}
	}
	if got := b.api.configs.Config(metadata.BrokerConfigs, "1"); len(got) != 1 || got["log.retention.ms"] != "5" {
		t.Errorf("broker 1 has %v", got)
	}
}

func TestLevelsOfLoggersChangeWhileTheBrokerRuns(t *testing.T) {
	b := newBroker(t, nil)
	b.expectShown(loggerResource, "1", "server", "INFO DYNAMIC_BROKER_LOGGER_CONFIG")
	b.expectAlter(loggerResource, "1", opSet, "server", "DEBUG", "OK")
	b.expectShown(loggerResource, "1", "server", "DEBUG DYNAMIC_BROKER_LOGGER_CONFIG")
	b.expectAlter(loggerResource, "1", opDelete, "server", "", "OK")
	b.expectShown(loggerResource, "1", "server", "INFO DYNAMIC_BROKER_LOGGER_CONFIG")
	b.expectAlter(loggerResource, "1", opSet, RootLogger, "WARN", "OK")
	b.expectShown(loggerResource, "1", RootLogger, "WARN DYNAMIC_BROKER_LOGGER_CONFIG")
	for _, c := range []struct {
		broker        string
		op            kmsg.IncrementalAlterConfigOp
		logger, level string
		want          string
	}{
		{"1", opSet, "no.such", "DEBUG", "INVALID_CONFIG"},
		{"1", opSet, "server", "debug", "INVALID_CONFIG"},
		{"1", opSet, "server", "OFF", "INVALID_CONFIG"},
		{"1", opAppend, "server", "DEBUG", "INVALID_REQUEST"},
		{"1", opDelete, RootLogger, "", "INVALID_REQUEST"},
		{"2", opSet, "server", "DEBUG", "INVALID_REQUEST"},
		{"", opSet, "server", "DEBUG", "INVALID_REQUEST"},
	} {
		b.expectAlter(loggerResource, c.broker, c.op, c.logger, c.level, c.want)
	}
	if got := b.alter(loggerResource, "1", changes(change(opSet, "server", "DEBUG"), change(opSet, "no.such", "DEBUG"))); got != "INVALID_CONFIG" || b.api.loggers.Levels()["server"] == "DEBUG" {
		t.Errorf("one good and one bad change: %s, and the level is %s", got, b.api.loggers.Levels()["server"])
	}
}

func TestSettingsOfAGroupAreKeptAndListed(t *testing.T) {
	b := newBroker(t, func(s *Settings) {
		s.Broker = []BrokerSetting{{Name: "group.consumer.session.timeout.ms", Value: "50000", Set: true}}
	})
	b.expectShown(groupResource, "g", "consumer.session.timeout.ms", "50000 STATIC_BROKER_CONFIG, STATIC_BROKER_CONFIG:group.consumer.session.timeout.ms=50000")
	b.expectAlter(groupResource, "g", opSet, "consumer.session.timeout.ms", " 60000 ", "OK")
	b.expectShown(groupResource, "g", "consumer.session.timeout.ms", "60000 GROUP_CONFIG, GROUP_CONFIG:consumer.session.timeout.ms=60000, STATIC_BROKER_CONFIG:group.consumer.session.timeout.ms=50000")
	b.expectAlter(groupResource, "g", opAppend, "consumer.session.timeout.ms", "1", "INVALID_CONFIG")
	if got := b.listedResources(1, int8(groupResource)); got != "OK g" {
		t.Errorf("listed: %s", got)
	}
	b.expectAlter(groupResource, "g", opDelete, "consumer.session.timeout.ms", "", "OK")
	if got := b.listedResources(1, int8(groupResource)); got != "OK" {
		t.Errorf("listed after the removal: %s", got)
	}
}

func (b *broker) listedResources(version int16, kinds ...int8) string {
	b.t.Helper()
	req := kmsg.NewPtrListConfigResourcesRequest()
	req.ResourceTypes = kinds
	resp := do[*kmsg.ListConfigResourcesResponse](b, req, version)
	words := []string{codeName(resp.ErrorCode)}
	for _, r := range resp.ConfigResources {
		words = append(words, r.Name)
	}
	return strings.Join(words, " ")
}

func TestListConfigResourcesListsTheKindsAskedFor(t *testing.T) {
	b := newBroker(t, nil)
	for _, c := range []struct {
		version int16
		kinds   []int8
		want    string
	}{
		{0, nil, "OK"},
		{1, nil, "OK t t3 1 1"},
		{1, []int8{int8(topicResource)}, "OK t t3"},
		{1, []int8{int8(brokerResource), int8(brokerResource)}, "OK 1"},
		{1, []int8{int8(loggerResource)}, "OK 1"},
		{1, []int8{int8(kmsg.ConfigResourceTypeClientMetrics)}, "OK"},
		{1, []int8{int8(topicResource), 99}, "UNSUPPORTED_VERSION"},
	} {
		if got := b.listedResources(c.version, c.kinds...); got != c.want {
			t.Errorf("version %d, kinds %v: %s, want %s", c.version, c.kinds, got, c.want)
		}
	}
}

func TestClientMetricsHaveNoSubscriptions(t *testing.T) {
	b := newBroker(t, nil)
	kind := kmsg.ConfigResourceTypeClientMetrics
	if got := b.describe(kind, "m"); got.ErrorCode != 0 || len(got.Configs) > 0 {
		t.Errorf("described: %+v", got)
	}
	b.expectAlter(kind, "m", opSet, "interval.ms", "1000", "INVALID_REQUEST")
}
