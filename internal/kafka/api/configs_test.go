package api

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/korvet-io/korvet/internal/topicconfig"
)

const (
	topicResource  = kmsg.ConfigResourceTypeTopic
	brokerResource = kmsg.ConfigResourceTypeBroker
	groupResource  = kmsg.ConfigResourceTypeGroupConfig
)

func (b *broker) describe(kind kmsg.ConfigResourceType, name string, settings ...string) kmsg.DescribeConfigsResponseResource {
	b.t.Helper()
	req := kmsg.NewPtrDescribeConfigsRequest()
	req.Resources = []kmsg.DescribeConfigsRequestResource{{ResourceType: kind, ResourceName: name, ConfigNames: settings}}
	req.IncludeSynonyms, req.IncludeDocumentation = true, true
	resp := do[*kmsg.DescribeConfigsResponse](b, req, 4)
	if len(resp.Resources) != 1 || resp.Resources[0].ResourceType != kind || resp.Resources[0].ResourceName != name {
		b.t.Fatalf("answers %+v", resp.Resources)
	}
	return resp.Resources[0]
}

func TestDescribeConfigsAnswersEachResource(t *testing.T) {
	b := newBroker(t, nil)
	for _, c := range []struct {
		kind     kmsg.ConfigResourceType
		name     string
		settings []string
		want     string
		count    int
	}{
		{topicResource, "t", nil, "OK", len(b.api.schema.Settings())},
		{topicResource, "t", []string{"retention.ms"}, "OK", 1},
		{topicResource, "t", []string{"no.such"}, "OK", 0},
		{topicResource, "none", nil, "UNKNOWN_TOPIC_OR_PARTITION", 0},
		{topicResource, "", nil, "INVALID_TOPIC_EXCEPTION", 0},
		{topicResource, "a/b", nil, "INVALID_TOPIC_EXCEPTION", 0},
		{brokerResource, "99", nil, "INVALID_REQUEST", 0},
		{brokerResource, "x", nil, "INVALID_REQUEST", 0},
		{brokerResource, "", nil, "OK", 0},
		{99, "t", nil, "INVALID_REQUEST", 0},
		{groupResource, "no-such-group", nil, "OK", len(groupSettings())},
		{groupResource, "", nil, "INVALID_REQUEST", 0},
	} {
		if got := b.describe(c.kind, c.name, c.settings...); codeName(got.ErrorCode) != c.want || len(got.Configs) != c.count {
			t.Errorf("%v %q %v: %s with %d settings, want %s with %d", c.kind, c.name, c.settings, codeName(got.ErrorCode), len(got.Configs), c.want, c.count)
		}
	}
}

func TestDescribeConfigsTellsSourceTypeAndSynonymsInOrder(t *testing.T) {
	b := newBroker(t, nil)
	b.api.schema, _ = topicconfig.New(topicconfig.Options{
		Defaults: map[string]string{"retention.ms": "3"},
		Patterns: []topicconfig.Pattern{{Name: "*", Configs: map[string]string{"retention.ms": "2"}}},
	})
	b.create("own", 1, map[string]string{"retention.ms": "604800000"})
	got := b.describe(topicResource, "own", "retention.ms").Configs[0]
	if *got.Value != "604800000" || got.Source != kmsg.ConfigSourceDynamicTopicConfig || got.ConfigType != 5 || got.ReadOnly || got.IsSensitive || *got.Documentation == "" {
		t.Errorf("retention.ms: %+v", got)
	}
	var synonyms []string
	for _, s := range got.ConfigSynonyms {
		synonyms = append(synonyms, fmt.Sprintf("%s=%s:%s", s.Name, *s.Value, s.Source))
	}
	want := "retention.ms=604800000:DYNAMIC_TOPIC_CONFIG log.retention.ms=2:STATIC_BROKER_CONFIG log.retention.ms=3:STATIC_BROKER_CONFIG log.retention.ms=604800000:DEFAULT_CONFIG"
	if strings.Join(synonyms, " ") != want {
		t.Errorf("synonyms %v, want %s", synonyms, want)
	}
	if got := b.describe(topicResource, "t", "segment.bytes").Configs[0]; *got.Value != "134217728" || got.Source != kmsg.ConfigSourceDefaultConfig {
		t.Errorf("segment.bytes: %+v", got)
	}
}

func TestDescribeConfigsInEveryVersion(t *testing.T) {
	b := newBroker(t, nil)
	for version := int16(0); version <= 4; version++ {
		req := kmsg.NewPtrDescribeConfigsRequest()
		req.Resources = []kmsg.DescribeConfigsRequestResource{{ResourceType: topicResource, ResourceName: "t"}}
		r := do[*kmsg.DescribeConfigsResponse](b, req, version).Resources[0]
		if len(r.Configs) != len(b.api.schema.Settings()) || len(r.Configs[0].ConfigSynonyms) != 0 || r.Configs[0].Documentation != nil {
			t.Errorf("v%d: %d settings, the first %+v", version, len(r.Configs), r.Configs[0])
		}
		if version == 0 && !r.Configs[0].IsDefault {
			t.Errorf("v0: %s is not told to be the default", r.Configs[0].Name)
		}
	}
}

func TestDescribeConfigsShowsTheBrokersSettingsButNoSecrets(t *testing.T) {
	b := newBroker(t, func(s *Settings) {
		s.Broker = []BrokerSetting{
			{Name: "num.partitions", Type: topicconfig.Int, Value: "3", Set: true},
			{Name: "background.threads", Type: topicconfig.Int, Value: "1048588"},
			{Name: "ssl.key.password", Type: topicconfig.String, Value: "secret", Set: true, Sensitive: true},
		}
	})
	got := b.describe(brokerResource, "1", "background.threads", "num.partitions", "ssl.key.password").Configs
	if len(got) != 3 || got[0].Name != "background.threads" || got[0].Source != kmsg.ConfigSourceDefaultConfig || !got[0].ReadOnly {
		t.Fatalf("settings %+v", got)
	}
	if *got[1].Value != "3" || got[1].Source != kmsg.ConfigSourceStaticBrokerConfig {
		t.Errorf("num.partitions: %+v", got[1])
	}
	if !got[2].IsSensitive || got[2].Value != nil || got[2].ConfigSynonyms[0].Value != nil {
		t.Errorf("ssl.key.password: %+v", got[2])
	}
}

func TestDescribeConfigsAnswersEachResourceOnceAndABoundedNumber(t *testing.T) {
	b := newBroker(t, nil)
	req := kmsg.NewPtrDescribeConfigsRequest()
	for i := range maxDescribedResources + 2 {
		name := fmt.Sprint("g", max(0, i-1)) // the first twice
		req.Resources = append(req.Resources, kmsg.DescribeConfigsRequestResource{ResourceType: groupResource, ResourceName: name, ConfigNames: []string{"no.such"}})
	}
	got := do[*kmsg.DescribeConfigsResponse](b, req, 4).Resources
	for i, want := range map[int]string{0: "OK", 1: "INVALID_REQUEST", 2: "OK", maxDescribedResources: "OK", maxDescribedResources + 1: "INVALID_REQUEST"} {
		if code := codeName(got[i].ErrorCode); code != want {
			t.Errorf("resource %d: %s, want %s", i, code, want)
		}
	}
}

const (
	opSet      = kmsg.IncrementalAlterConfigOpSet
	opDelete   = kmsg.IncrementalAlterConfigOpDelete
	opAppend   = kmsg.IncrementalAlterConfigOpAppend
	opSubtract = kmsg.IncrementalAlterConfigOpSubtract
)

func change(op kmsg.IncrementalAlterConfigOp, name, value string) kmsg.IncrementalAlterConfigsRequestResourceConfig {
	return kmsg.IncrementalAlterConfigsRequestResourceConfig{Name: name, Op: op, Value: &value}
}

func changes(c ...kmsg.IncrementalAlterConfigsRequestResourceConfig) []kmsg.IncrementalAlterConfigsRequestResourceConfig {
	return c
}

// alter sends one resource's changes and returns the outcome.
func (b *broker) alter(kind kmsg.ConfigResourceType, name string, c []kmsg.IncrementalAlterConfigsRequestResourceConfig) string {
	b.t.Helper()
	req := kmsg.NewPtrIncrementalAlterConfigsRequest()
	req.Resources = []kmsg.IncrementalAlterConfigsRequestResource{{ResourceType: kind, ResourceName: name, Configs: c}}
	return codeName(do[*kmsg.IncrementalAlterConfigsResponse](b, req, 1).Resources[0].ErrorCode)
}

func TestIncrementalAlterConfigsOfTopicsAnswersAsKafka(t *testing.T) {
	null := change(opSet, "retention.ms", "")
	null.Value = nil
	before := map[string]string{"retention.ms": "7", "cleanup.policy": "delete"}
	for _, c := range []struct {
		what    string
		topic   string
		changes []kmsg.IncrementalAlterConfigsRequestResourceConfig
		want    string
		after   map[string]string // nil: as before
	}{
		{"set", "x", changes(change(opSet, "segment.ms", "5")), "OK", map[string]string{"retention.ms": "7", "cleanup.policy": "delete", "segment.ms": "5"}},
		{"set to the default", "x", changes(change(opSet, "retention.ms", "604800000")), "OK", map[string]string{"retention.ms": "604800000", "cleanup.policy": "delete"}},
		{"blanks around a number", "x", changes(change(opSet, "retention.ms", " 8 ")), "OK", map[string]string{"retention.ms": "8", "cleanup.policy": "delete"}},
		{"null", "x", changes(null), "INVALID_REQUEST", nil},
		{"a setting twice", "x", changes(change(opSet, "retention.ms", "1"), change(opDelete, "retention.ms", "")), "INVALID_REQUEST", nil},
		{"unknown setting", "x", changes(change(opSet, "no.such", "1")), "INVALID_CONFIG", nil},
		{"wrong type", "x", changes(change(opSet, "retention.ms", "x")), "INVALID_CONFIG", nil},
		{"out of range", "x", changes(change(opSet, "segment.bytes", "1")), "INVALID_CONFIG", nil},
		{"unknown choice", "x", changes(change(opSet, "message.timestamp.type", "Never")), "INVALID_CONFIG", nil},
		{"one good, one bad", "x", changes(change(opSet, "segment.ms", "5"), change(opSet, "retention.ms", "x")), "INVALID_CONFIG", nil},
		{"delete a set one", "x", changes(change(opDelete, "retention.ms", "")), "OK", map[string]string{"cleanup.policy": "delete"}},
		{"delete an unset one", "x", changes(change(opDelete, "segment.ms", "")), "OK", before},
		{"delete an unknown one", "x", changes(change(opDelete, "no.such", "")), "OK", before},
		{"append", "x", changes(change(opAppend, "cleanup.policy", "compact")), "OK", map[string]string{"retention.ms": "7", "cleanup.policy": "delete,compact"}},
		{"append what is there", "x", changes(change(opAppend, "cleanup.policy", "delete")), "OK", before},
		{"subtract the last", "x", changes(change(opSubtract, "cleanup.policy", "delete")), "OK", map[string]string{"retention.ms": "7", "cleanup.policy": ""}},
		{"subtract what is not there", "x", changes(change(opSubtract, "cleanup.policy", "compact")), "OK", before},
		{"append to a number", "x", changes(change(opAppend, "retention.ms", "1")), "INVALID_CONFIG", nil},
		{"subtract from a number", "x", changes(change(opSubtract, "retention.ms", "1")), "INVALID_CONFIG", nil},
		{"append to an unknown one", "x", changes(change(opAppend, "no.such", "1")), "INVALID_CONFIG", nil},
		{"no changes", "x", nil, "OK", before},
		{"operation 9", "x", changes(change(9, "retention.ms", "1")), "INVALID_REQUEST", nil},
		{"for the creation only", "x", changes(change(opSet, "storage.compression.type", "zstd")), "INVALID_CONFIG", nil},
		{"tiered without a store", "x", changes(change(opSet, "remote.storage.enable", "true")), "INVALID_CONFIG", nil},
		{"unknown topic", "none", changes(change(opSet, "retention.ms", "1")), "UNKNOWN_TOPIC_OR_PARTITION", nil},
		{"empty name", "", changes(change(opSet, "retention.ms", "1")), "INVALID_REQUEST", nil},
		{"invalid name", "a/b", changes(change(opSet, "retention.ms", "1")), "INVALID_TOPIC_EXCEPTION", nil},
	} {
		b := newBroker(t, nil)
		b.create("x", 2, before)
		if got := b.alter(topicResource, c.topic, c.changes); got != c.want {
			t.Errorf("%s: %s, want %s", c.what, got, c.want)
		}
		want := c.after
		if want == nil {
			want = before
		}
		if got := b.topics.byName["x"]; !maps.Equal(got.Configs, want) || got.Partitions != 2 {
			t.Errorf("%s: afterwards %v and %d partitions, want %v and 2", c.what, got.Configs, got.Partitions, want)
		}
	}
}

func TestAppendStartsFromTheDefault(t *testing.T) {
	b := newBroker(t, nil)
	if got := b.alter(topicResource, "t", changes(change(opAppend, "cleanup.policy", "compact"))); got != "OK" {
		t.Fatal(got)
	}
	if got := b.topics.byName["t"].Configs["cleanup.policy"]; got != "delete,compact" {
		t.Errorf("cleanup.policy %q", got)
	}
}

func TestAlteredValueEqualToTheDefaultIsTheTopicsOwn(t *testing.T) {
	b := newBroker(t, nil)
	b.alter(topicResource, "t", changes(change(opSet, "retention.ms", "604800000")))
	if got := b.describe(topicResource, "t", "retention.ms").Configs[0]; got.Source != kmsg.ConfigSourceDynamicTopicConfig {
		t.Errorf("source %v", got.Source)
	}
}

func TestIncrementalAlterConfigsOfBrokersAndGroupsAnswersAsKafka(t *testing.T) {
	for _, c := range []struct {
		kind    kmsg.ConfigResourceType
		name    string
		changes []kmsg.IncrementalAlterConfigsRequestResourceConfig
		want    string
	}{
		{brokerResource, "99", changes(change(opSet, "log.retention.ms", "1")), "INVALID_REQUEST"},
		{brokerResource, "1", changes(change(opSet, "broker.id", "2")), "INVALID_REQUEST"},
		{brokerResource, "", changes(change(opSet, "broker.id", "2")), "INVALID_REQUEST"},
		{brokerResource, "1", nil, "OK"},
		{groupResource, "g", changes(change(opSet, "consumer.session.timeout.ms", "1")), "INVALID_CONFIG"},
		{groupResource, "g", changes(change(opSet, "consumer.session.timeout.ms", "x")), "INVALID_CONFIG"},
		{groupResource, "g", changes(change(opSet, "no.such", "1")), "INVALID_CONFIG"},
		{groupResource, "g", changes(change(opSet, "consumer.session.timeout.ms", "50000")), "OK"},
		{groupResource, "g", changes(change(opSet, "share.session.timeout.ms", "50000")), "INVALID_REQUEST"},
		{groupResource, strings.Repeat("g", 1025), changes(change(opSet, "consumer.session.timeout.ms", "50000")), "INVALID_REQUEST"},
		{groupResource, "g", changes(change(opDelete, "consumer.session.timeout.ms", "")), "OK"},
		{groupResource, "", changes(change(opSet, "consumer.session.timeout.ms", "50000")), "INVALID_REQUEST"},
		{99, "t", changes(change(opSet, "retention.ms", "1")), "INVALID_REQUEST"},
	} {
		if got := newBroker(t, nil).alter(c.kind, c.name, c.changes); got != c.want {
			t.Errorf("%v %q %v: %s, want %s", c.kind, c.name, c.changes, got, c.want)
		}
	}
}

func TestResourceNamedTwiceIsRefusedAndTheOthersAreServed(t *testing.T) {
	b := newBroker(t, nil)
	req := kmsg.NewPtrIncrementalAlterConfigsRequest()
	for i, name := range []string{"t", "t3", "t"} {
		req.Resources = append(req.Resources, kmsg.IncrementalAlterConfigsRequestResource{
			ResourceType: topicResource, ResourceName: name, Configs: changes(change(opSet, "retention.ms", fmt.Sprint(i))),
		})
	}
	var got []string
	for _, r := range do[*kmsg.IncrementalAlterConfigsResponse](b, req, 0).Resources {
		got = append(got, codeName(r.ErrorCode))
	}
	if !slices.Equal(got, []string{"INVALID_REQUEST", "OK", "INVALID_REQUEST"}) || b.topics.byName["t"].Version != 1 {
		t.Errorf("answers %v", got)
	}
	full := kmsg.NewPtrAlterConfigsRequest()
	full.Resources = []kmsg.AlterConfigsRequestResource{{ResourceType: topicResource, ResourceName: "t"}, {ResourceType: topicResource, ResourceName: "t"}}
	for _, r := range do[*kmsg.AlterConfigsResponse](b, full, 1).Resources {
		if codeName(r.ErrorCode) != "INVALID_REQUEST" {
			t.Errorf("AlterConfigs: %s", codeName(r.ErrorCode))
		}
	}
}

func TestValidateOnlyChangesNothing(t *testing.T) {
	b := newBroker(t, nil)
	req := kmsg.NewPtrIncrementalAlterConfigsRequest()
	req.ValidateOnly = true
	req.Resources = []kmsg.IncrementalAlterConfigsRequestResource{
		{ResourceType: topicResource, ResourceName: "t", Configs: changes(change(opSet, "retention.ms", "1"))},
		{ResourceType: topicResource, ResourceName: "t3", Configs: changes(change(opSet, "retention.ms", "x"))},
	}
	resp := do[*kmsg.IncrementalAlterConfigsResponse](b, req, 1)
	if codeName(resp.Resources[0].ErrorCode) != "OK" || codeName(resp.Resources[1].ErrorCode) != "INVALID_CONFIG" || b.topics.byName["t"].Version != 1 {
		t.Errorf("answers %+v", resp.Resources)
	}
}

func TestAlterConfigsReplacesAllSettings(t *testing.T) {
	value := func(v string) *string { return &v }
	for _, c := range []struct {
		what  string
		given []kmsg.AlterConfigsRequestResourceConfig
		want  string
		after map[string]string
	}{
		{"one", []kmsg.AlterConfigsRequestResourceConfig{{Name: "segment.ms", Value: value("5")}}, "OK", map[string]string{"segment.ms": "5", "storage.compression.type": "lz4"}},
		{"none", nil, "OK", map[string]string{"storage.compression.type": "lz4"}},
		{"the same codec", []kmsg.AlterConfigsRequestResourceConfig{{Name: "storage.compression.type", Value: value("lz4")}}, "OK", map[string]string{"storage.compression.type": "lz4"}},
		{"unknown", []kmsg.AlterConfigsRequestResourceConfig{{Name: "no.such", Value: value("5")}}, "INVALID_CONFIG", nil},
		{"null", []kmsg.AlterConfigsRequestResourceConfig{{Name: "segment.ms"}}, "INVALID_REQUEST", nil},
		{"twice", []kmsg.AlterConfigsRequestResourceConfig{{Name: "segment.ms", Value: value("5")}, {Name: "segment.ms", Value: value("6")}}, "INVALID_REQUEST", nil},
	} {
		for version := int16(0); version <= 2; version++ {
			b := newBroker(t, nil)
			before := map[string]string{"retention.ms": "7", "storage.compression.type": "lz4"}
			b.create("x", 1, before)
			req := kmsg.NewPtrAlterConfigsRequest()
			req.Resources = []kmsg.AlterConfigsRequestResource{{ResourceType: topicResource, ResourceName: "x", Configs: c.given}}
			if got := codeName(do[*kmsg.AlterConfigsResponse](b, req, version).Resources[0].ErrorCode); got != c.want {
				t.Errorf("%s, v%d: %s, want %s", c.what, version, got, c.want)
			}
			want := c.after
			if want == nil {
				want = before
			}
			if got := b.topics.byName["x"].Configs; !maps.Equal(got, want) {
				t.Errorf("%s, v%d: afterwards %v, want %v", c.what, version, got, want)
			}
		}
	}
}

func TestChangesThatMeetAnotherAreRepeated(t *testing.T) {
	b := newBroker(t, nil)
	b.api.topics = &racingTopics{fakeTopics: b.topics, races: 3}
	if got := b.alter(topicResource, "t", changes(change(opSet, "retention.ms", "1"))); got != "OK" {
		t.Fatalf("answer %s", got)
	}
	want := map[string]string{"retention.ms": "1", "segment.ms": "3"}
	if got := b.topics.byName["t"].Configs; !maps.Equal(got, want) {
		t.Errorf("settings %v, want both changes: %v", got, want)
	}
	b.api.topics = &racingTopics{fakeTopics: b.topics, races: 1000}
	if got := b.alter(topicResource, "t", changes(change(opSet, "retention.ms", "2"))); got != "REQUEST_TIMED_OUT" {
		t.Errorf("answer %s after losing every race", got)
	}
}
