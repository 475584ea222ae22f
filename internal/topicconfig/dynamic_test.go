package topicconfig

import "testing"

func TestDynamicDefaultsStandBetweenPatternsAndTheServersSettings(t *testing.T) {
	s, problems := New(Options{
		Defaults: map[string]string{retentionMs: "1"},
		Patterns: []Pattern{{Name: "p*", Configs: map[string]string{retentionMs: "2"}}},
	})
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	expect := func(topic string, own map[string]string, want string, source Source) {
		t.Helper()
		setting, _ := s.BrokerSetting("log.retention.ms")
		if got := s.Resolve(topic, own, setting)[0]; got.Value != want || got.Source != source {
			t.Errorf("%s %v: %+v, want %s", topic, own, got, want)
		}
	}
	expect("t", nil, "1", FromServer)
	s.SetDynamic(Dynamic{Cluster: map[string]string{retentionMs: "3"}})
	expect("t", nil, "3", FromCluster)
	s.SetDynamic(Dynamic{Cluster: map[string]string{retentionMs: "3"}, Broker: map[string]string{retentionMs: "4"}})
	expect("t", nil, "4", FromBroker)
	expect("p1", nil, "2", FromPattern)
	expect("t", map[string]string{retentionMs: "5"}, "5", FromTopic)
	if e := s.Effective("t", nil); e.RetentionMs != 4 {
		t.Errorf("in force is %d", e.RetentionMs)
	}
	s.SetDynamic(Dynamic{})
	expect("t", nil, "1", FromServer)
}

func TestDynamicDefaultsAreCheckedAgainstEachOther(t *testing.T) {
	s, _ := New(Options{})
	low := map[string]string{minCompactionLagMs: "10"}
	if err := s.CheckDynamic(Dynamic{Cluster: low}); err != nil {
		t.Error(err)
	}
	if err := s.CheckDynamic(Dynamic{Cluster: low, Broker: map[string]string{maxCompactionLagMs: "9"}}); err == nil {
		t.Error("a minimum above the maximum is accepted")
	}
}
