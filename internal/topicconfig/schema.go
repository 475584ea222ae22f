package topicconfig

import (
	"fmt"
	"path"
	"slices"
	"strconv"
	"sync/atomic"
)

// Options are what a server gives to its topics. They are plain data.
type Options struct {
	// Defaults are values of topic settings that the server's own settings give, by the topic setting's name.
	Defaults map[string]string
	// Patterns are those of korvet.topics, in order.
	Patterns []Pattern
	// RemoteStorage tells that a remote tier is configured; without one remote.storage.enable=true is refused.
	RemoteStorage bool
}

// Pattern gives settings to the topics whose names match a glob (* and ? and [a-z]). A nil field gives nothing.
type Pattern struct {
	Name       string
	AutoCreate *bool
	Partitions *int32
	Configs    map[string]string // topic settings by name
}

// Schema validates and resolves topic settings for one server. It is safe for concurrent use; only the dynamic defaults
// change.
type Schema struct {
	settings []Setting
	byName   map[string]*Setting
	byBroker map[string]*Setting // by the broker setting that gives the default
	dynamic  atomic.Pointer[Dynamic]
	defaults map[string]string
	patterns []Pattern
	remote   bool
}

// New checks the server's defaults and patterns and returns every problem, each as an error of the list.
func New(opt Options) (*Schema, []error) {
	s := &Schema{settings: table(), byName: map[string]*Setting{}, byBroker: map[string]*Setting{}, remote: opt.RemoteStorage}
	s.dynamic.Store(&Dynamic{})
	for i := range s.settings {
		setting := &s.settings[i]
		s.byName[setting.Name] = setting
		if setting.BrokerName != "" {
			s.byBroker[setting.BrokerName] = setting
		}
	}
	var problems []error
	s.defaults, problems = s.parseAll(opt.Defaults)
	for i, p := range opt.Patterns {
		if _, err := path.Match(p.Name, "x"); err != nil || p.Name == "" {
			problems = append(problems, fmt.Errorf("topics[%d]: name %q is not a pattern", i, p.Name))
		}
		if p.Partitions != nil && *p.Partitions < 1 {
			problems = append(problems, fmt.Errorf("topics[%d]: partitions %d is below 1", i, *p.Partitions))
		}
		configs, errs := s.parseAll(p.Configs)
		for _, err := range errs {
			problems = append(problems, fmt.Errorf("topics[%d]: %w", i, err))
		}
		p.Configs = configs
		s.patterns = append(s.patterns, p)
	}
	return s, problems
}

// Internal reports whether a name is that of one of Kafka's own topics.
func Internal(topic string) bool {
	switch topic {
	case "__consumer_offsets", "__transaction_state", "__share_group_state", "__remote_log_metadata":
		return true
	}
	return false
}

// parseAll returns the canonical values, in the order of their names, and the errors of those that have none.
func (s *Schema) parseAll(values map[string]string) (map[string]string, []error) {
	out := make(map[string]string, len(values))
	var problems []error
	for _, name := range sortedKeys(values) {
		setting := s.byName[name]
		if setting == nil {
			problems = append(problems, &InvalidError{Name: name})
			continue
		}
		v, err := setting.Parse(values[name])
		if err != nil {
			problems = append(problems, err)
			continue
		}
		out[name] = v
	}
	return out, problems
}

// Settings returns all settings in the order of their names. They must not be changed.
func (s *Schema) Settings() []Setting { return s.settings }

// Setting finds one.
func (s *Schema) Setting(name string) (*Setting, bool) {
	setting, ok := s.byName[name]
	return setting, ok
}

// AutoCreate tells what the first matching pattern with an opinion says about creating a topic on demand.
func (s *Schema) AutoCreate(topic string) (create, decided bool) {
	for p := range s.matching(topic) {
		if p.AutoCreate != nil {
			return *p.AutoCreate, true
		}
	}
	return false, false
}

// Partitions is the first matching pattern's partition count, else otherwise.
func (s *Schema) Partitions(topic string, otherwise int32) int32 {
	for p := range s.matching(topic) {
		if p.Partitions != nil {
			return *p.Partitions
		}
	}
	return otherwise
}

// matching yields the patterns that match, in order.
func (s *Schema) matching(topic string) func(yield func(*Pattern) bool) {
	return func(yield func(*Pattern) bool) {
		for i := range s.patterns {
			if ok, _ := path.Match(s.patterns[i].Name, topic); ok && !yield(&s.patterns[i]) {
				return
			}
		}
	}
}

// Source tells where a value comes from.
type Source int8

const (
	FromTopic Source = iota
	FromPattern
	FromBroker  // a dynamic default of this broker
	FromCluster // a dynamic default of all brokers
	FromServer
	FromDefault
)

// Value is a setting's value and its source.
type Value struct {
	Value  string
	Source Source
}

// Resolve returns the values that a topic has for a setting in order of precedence. The first one is in force, the last
// one is the table's default.
func (s *Schema) Resolve(topic string, own map[string]string, setting *Setting) []Value {
	var values []Value
	if v, ok := own[setting.Name]; ok {
		values = append(values, Value{v, FromTopic})
	}
	if setting.CreationOnly || setting.AtCreation { // what others give counted when the topic was created
		return append(values, Value{setting.Default, FromDefault})
	}
	return append(values, s.inherited(topic, setting)...)
}

// Shown returns the values in order of precedence as clients are told them: first the one that holds. A tiered topic that asks for
// one stream has the default segments (resolveRetention), and what it asks for comes second.
func (s *Schema) Shown(topic string, own map[string]string, setting *Setting) []Value {
	values := s.Resolve(topic, own, setting)
	if setting.Name != segmentBytes && setting.Name != segmentMs {
		return values
	}
	e := s.Effective(topic, own)
	if !e.RemoteStorage || e.SegmentBytes < 0 && e.SegmentMs < 0 {
		return values
	}
	holds := map[string]int64{segmentBytes: e.SegmentBytes, segmentMs: e.SegmentMs}[setting.Name]
	if values[0].Value != "-1" || holds < 0 {
		return values
	}
	return append([]Value{{strconv.FormatInt(holds, 10), FromDefault}}, values...)
}

// inherited are the values that a topic without its own has, in order of precedence.
func (s *Schema) inherited(topic string, setting *Setting) (values []Value) {
	for p := range s.matching(topic) {
		if v, ok := p.Configs[setting.Name]; ok {
			values = append(values, Value{v, FromPattern})
			break
		}
	}
	return append(values, s.ResolveBroker(setting)...)
}

// value is the one in force.
func (s *Schema) value(topic string, own map[string]string, name string) string {
	return s.Resolve(topic, own, s.byName[name])[0].Value
}

// isSet reports whether anybody but the table gives the setting.
func (s *Schema) isSet(topic string, own map[string]string, name string) bool {
	return s.Resolve(topic, own, s.byName[name])[0].Source != FromDefault
}

func (s *Schema) number(topic string, own map[string]string, name string) int64 {
	n, _ := strconv.ParseInt(s.value(topic, own, name), 10, 64) // canonical: checked when it was set
	return n
}

func (s *Schema) flag(topic string, own map[string]string, name string) bool {
	return s.value(topic, own, name) == "true"
}

func sortedKeys(m map[string]string) []string {
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}
