package metadata

import (
	"errors"
	"fmt"
	"maps"
	"sync"
	"testing"

	"github.com/korvet-io/korvet/internal/redistest"
)

// set returns a change that sets one setting.
func set(name, value string) func(map[string]string) (map[string]string, error) {
	return func(have map[string]string) (map[string]string, error) {
		if have == nil {
			have = map[string]string{}
		}
		have[name] = value
		return have, nil
	}
}

func alterConfig(t *testing.T, s *Store, kind ConfigKind, name string, change func(map[string]string) (map[string]string, error)) {
	t.Helper()
	if err := s.AlterConfig(t.Context(), kind, name, change); err != nil {
		t.Fatal(err)
	}
}

func expectConfig(t *testing.T, s *Store, kind ConfigKind, name string, want map[string]string) {
	t.Helper()
	if got := s.Config(kind, name); !maps.Equal(got, want) {
		t.Errorf("%s %q has %v, want %v", kind, name, got, want)
	}
}

func TestSettingsReachTheOtherBrokersWithTheirNextHeartbeatAndSurvive(t *testing.T) {
	redis := redistest.Start(t)
	a, b := open(t, redis, options(t, 1)), open(t, redis, options(t, 2))
	alterConfig(t, a, GroupConfigs, "a:b", set("x", "1"))
	alterConfig(t, a, BrokerConfigs, "7", set("y", "2"))
	expectConfig(t, a, GroupConfigs, "a:b", map[string]string{"x": "1"})
	expectConfig(t, b, GroupConfigs, "a:b", nil)
	if err := b.Heartbeat(t.Context()); err != nil {
		t.Fatal(err)
	}
	expectConfig(t, b, GroupConfigs, "a:b", map[string]string{"x": "1"})
	expectConfig(t, b, BrokerConfigs, "7", map[string]string{"y": "2"})
	alterConfig(t, b, GroupConfigs, "a:b", func(map[string]string) (map[string]string, error) { return nil, nil })
	again := open(t, redis, options(t, 3))
	expectConfig(t, again, GroupConfigs, "a:b", nil)
	if got := again.Configured(BrokerConfigs); len(got) != 1 || got[0] != "7" {
		t.Errorf("brokers with settings: %v", got)
	}
}

func TestChangesOfTheSameSettingsByTwoBrokersAreNotLost(t *testing.T) {
	redis := redistest.Start(t)
	stores := []*Store{open(t, redis, options(t, 1)), open(t, redis, options(t, 2))}
	var wg sync.WaitGroup
	for i, s := range stores {
		wg.Go(func() {
			for n := range 20 {
				err := errors.ErrUnsupported
				for err != nil {
					if err = s.AlterConfig(t.Context(), BrokerConfigs, AllBrokers, set(fmt.Sprintf("%d-%d", i, n), "v")); err != nil && !errors.Is(err, ErrVersionConflict) {
						t.Error(err)
						return
					}
				}
			}
		})
	}
	wg.Wait()
	if err := stores[0].Heartbeat(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got := stores[0].Config(BrokerConfigs, AllBrokers); len(got) != 40 {
		t.Errorf("%d of 40 settings are there", len(got))
	}
}

func TestDynamicDefaultsReachTopicsWithoutTheirOwnSetting(t *testing.T) {
	redis := redistest.Start(t)
	a, b := open(t, redis, options(t, 1)), open(t, redis, options(t, 2))
	plain, err := a.Create(t.Context(), "plain", 1, nil)
	if err != nil {
		t.Fatal(err)
	}
	create(t, a, "own")
	changes := 0
	a.OnConfigs(func() { changes++ })
	alterConfig(t, a, BrokerConfigs, AllBrokers, set("log.retention.ms", "77"))
	alterConfig(t, a, BrokerConfigs, "2", set("log.retention.ms", "88"))
	alterConfig(t, a, BrokerConfigs, "1", set("log.segment.bytes", "not a number"))
	if err := b.Heartbeat(t.Context()); err != nil {
		t.Fatal(err)
	}
	for store, want := range map[*Store]int64{a: 77, b: 88} {
		for name, want := range map[string]int64{"plain": want, "own": 5} {
			if got, err := store.Topic(t.Context(), name); err != nil || got.Config.RetentionMs != want || got.Config.SegmentBytes != 128<<20 {
				t.Errorf("%s on broker %d: %+v, %v, want %d ms", name, store.Self().ID, got, err, want)
			}
		}
	}
	if plain.Config.RetentionMs != 604800000 {
		t.Error("the topic handed out before was changed")
	}
	if changes != 4 { // the first call is at once
		t.Errorf("told of %d changes", changes)
	}
}

func TestAChangeThatFailsChangesNothing(t *testing.T) {
	s := open(t, redistest.Start(t), options(t, 1))
	refused := errors.New("refused")
	if err := s.AlterConfig(t.Context(), GroupConfigs, "g", func(map[string]string) (map[string]string, error) { return nil, refused }); !errors.Is(err, refused) {
		t.Errorf("got %v", err)
	}
	expectConfig(t, s, GroupConfigs, "g", nil)
}

func TestAnEntryThatIsNoSettingsIsLeftOutAndCanBeReplaced(t *testing.T) {
	redis := redistest.Start(t)
	open(t, redis, options(t, 1)) // makes the namespace ours
	redis.Do("HSET", "korvet:configs", "group:g", "not JSON", ":rev", "x")
	s := open(t, redis, options(t, 1))
	expectConfig(t, s, GroupConfigs, "g", nil)
	alterConfig(t, s, GroupConfigs, "g", set("x", "1"))
	expectConfig(t, s, GroupConfigs, "g", map[string]string{"x": "1"})
}
