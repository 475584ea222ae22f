package metadata

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/redis/rueidis"

	"github.com/korvet-io/korvet/internal/topicconfig"
)

// ConfigKind is a kind of resource whose settings change while brokers run.
type ConfigKind string

const (
	BrokerConfigs ConfigKind = "broker" // of one broker, by its id; of all brokers: the empty name
	GroupConfigs  ConfigKind = "group"  // of a group
)

// AllBrokers is the name of the settings that hold for all brokers.
const AllBrokers = ""

// maxConfigResources bounds the resources that have settings: every broker holds them in memory.
const maxConfigResources = 10_000

// ErrTooManyConfigs is a resource too many with settings of its own.
var ErrTooManyConfigs = errors.New("too many resources have settings")

// resource is the field of a resource in korvet:configs. Free names come last.
func (k ConfigKind) resource(name string) string { return string(k) + ":" + name }

// configSnapshot is what this broker knows of korvet:configs. It is immutable; the map may be nil.
type configSnapshot struct {
	revision   string
	byResource map[string]resourceConfig
}

type resourceConfig struct {
	encoded string // as Redis has it
	values  map[string]string
}

// Config returns a resource's settings from memory. They must not be changed.
func (s *Store) Config(kind ConfigKind, name string) map[string]string {
	return s.configs.Load().byResource[kind.resource(name)].values
}

// Configured lists the resources of a kind that have settings, by name.
func (s *Store) Configured(kind ConfigKind) []string {
	var names []string
	for resource := range s.configs.Load().byResource {
		if name, ok := strings.CutPrefix(resource, kind.resource("")); ok {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// maxConfigTries is how often a change is tried again when others change the same settings.
const maxConfigTries = 10

// AlterConfig changes a resource's settings. change gets them as they are now and returns what they become, or an error,
// which ends it; it may be called several times. When AlterConfig returns this broker obeys, the others do after their next
// heartbeat. ErrTooManyConfigs, ErrVersionConflict, ErrSuperseded, ErrUnavailable (then they may have been changed).
func (s *Store) AlterConfig(ctx context.Context, kind ConfigKind, name string, change func(map[string]string) (map[string]string, error)) error {
	resource := kind.resource(name)
	if err := s.ready(); err != nil {
		return fmt.Errorf("alter settings of %s: %w", resource, err)
	}
	for range maxConfigTries {
		snap := s.configs.Load()
		before, known := snap.byResource[resource]
		wanted, err := change(maps.Clone(before.values))
		if err != nil {
			return err
		}
		if len(wanted) > 0 && !known && len(snap.byResource) >= maxConfigResources {
			return fmt.Errorf("alter settings of %s: %w", resource, ErrTooManyConfigs)
		}
		done, err := s.swapConfig(ctx, resource, before.encoded, wanted)
		if done || err != nil {
			return err
		}
	}
	return fmt.Errorf("alter settings of %s: %w", resource, ErrVersionConflict)
}

// swapConfig stores what a resource's settings become unless they changed meanwhile, and takes over what is there then.
func (s *Store) swapConfig(ctx context.Context, resource, before string, wanted map[string]string) (done bool, err error) {
	next := ""
	if len(wanted) > 0 {
		encoded, err := json.Marshal(wanted)
		if err != nil {
			return false, fmt.Errorf("encode settings of %s: %w", resource, err)
		}
		next = string(encoded)
	}
	revision, err := s.newRevision()
	if err != nil {
		return false, err
	}
	answer, err := s.run(ctx, s.scripts.configAlter, s.configsKey(), resource, before, next, revision)
	if err != nil {
		return false, fmt.Errorf("alter settings of %s: %w", resource, err)
	}
	if text(answer, 0) == "OK" {
		s.putConfig(resource, next, text(answer, 1), revision)
		return true, nil
	}
	s.putConfig(resource, text(answer, 1), "", "")
	return false, nil
}

// putConfig replaces one resource in memory. Like put it leaves an older revision when not all changes were seen, so that
// the next heartbeat reloads.
func (s *Store) putConfig(resource, encoded, before, revision string) {
	s.apply.Lock()
	defer s.apply.Unlock()
	cur := s.configs.Load()
	if before != cur.revision {
		revision = ""
	}
	next := &configSnapshot{revision: revision, byResource: maps.Clone(cur.byResource)}
	if next.byResource == nil {
		next.byResource = map[string]resourceConfig{}
	}
	delete(next.byResource, resource)
	if c, ok := s.decodeConfig(resource, encoded); ok {
		next.byResource[resource] = c
	}
	s.useConfigs(next)
}

// decodeConfig reads a resource's settings. An entry that is not ours is logged and left out.
func (s *Store) decodeConfig(resource, encoded string) (resourceConfig, bool) {
	c := resourceConfig{encoded: encoded}
	if encoded == "" {
		return c, false
	}
	if err := json.Unmarshal([]byte(encoded), &c.values); err != nil {
		s.opt.Log.Warn("leaving out an entry that is no settings", "key", s.configsKey(), "field", resource, "error", err)
		c.values = nil // kept, so that a change can replace it
	}
	return c, true
}

// useConfigs puts settings in force. s.apply is held.
func (s *Store) useConfigs(next *configSnapshot) {
	s.configs.Store(next)
	dynamic := topicconfig.Dynamic{
		Broker:  s.topicDefaults(s.Config(BrokerConfigs, strconv.Itoa(int(s.opt.BrokerID)))),
		Cluster: s.topicDefaults(s.Config(BrokerConfigs, AllBrokers)),
	}
	if !maps.Equal(dynamic.Broker, s.dynamic.Broker) || !maps.Equal(dynamic.Cluster, s.dynamic.Cluster) {
		s.dynamic = dynamic
		s.opt.Schema.SetDynamic(dynamic)
		s.snap.Store(s.snap.Load().resolved(s.opt.Schema))
	}
	if f := s.configsChanged.Load(); f != nil {
		(*f)()
	}
}

// topicDefaults picks the defaults of topic settings out of a broker's settings. What is not valid, of another version or
// changed by hand, is left out.
func (s *Store) topicDefaults(broker map[string]string) map[string]string {
	defaults := map[string]string{}
	for name, value := range broker {
		setting, ok := s.opt.Schema.BrokerSetting(name)
		if !ok {
			continue
		}
		if canonical, err := setting.Parse(value); err == nil {
			defaults[setting.Name] = canonical
		}
	}
	return defaults
}

// OnConfigs makes f be called now and after each change of settings. Only one f is called; it must not block or change
// settings.
func (s *Store) OnConfigs(f func()) {
	s.apply.Lock()
	defer s.apply.Unlock()
	s.configsChanged.Store(&f)
	f()
}

// refreshConfigs reloads the settings if any changed.
func (s *Store) refreshConfigs(ctx context.Context) error {
	r, err := s.do(ctx, s.redis.B().Hget().Key(s.configsKey()).Field(":rev").Build())
	if err != nil {
		return fmt.Errorf("read settings' revision: %w", err)
	}
	revision, err := r.ToString()
	if err != nil && !rueidis.IsRedisNil(err) {
		return fmt.Errorf("read settings' revision: %w", err)
	}
	if cur := s.configs.Load(); cur.revision == revision && (revision != "" || len(cur.byResource) == 0) {
		return nil
	}
	return s.reloadConfigs(ctx)
}

// reloadConfigs reads all settings, holding back other changes, as reload does.
func (s *Store) reloadConfigs(ctx context.Context) error {
	s.apply.Lock()
	defer s.apply.Unlock()
	r, err := s.do(ctx, s.redis.B().Hgetall().Key(s.configsKey()).Build())
	if err != nil {
		return fmt.Errorf("read settings: %w", err)
	}
	entries, err := r.AsStrMap()
	if err != nil {
		return fmt.Errorf("read settings: %w", err)
	}
	next := &configSnapshot{revision: entries[":rev"], byResource: make(map[string]resourceConfig, len(entries))}
	for resource, encoded := range entries {
		if strings.HasPrefix(resource, ":") {
			continue
		}
		if c, ok := s.decodeConfig(resource, encoded); ok {
			next.byResource[resource] = c
		}
	}
	s.useConfigs(next)
	return nil
}
