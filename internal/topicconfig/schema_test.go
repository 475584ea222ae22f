package topicconfig

import (
	"slices"
	"testing"
)

func TestFirstPatternThatSetsAFieldWins(t *testing.T) {
	yes, no, five := true, false, int32(5)
	s := schema(t, Options{
		Defaults: map[string]string{"retention.ms": "4", "segment.ms": "7"},
		Patterns: []Pattern{
			{Name: "logs.*", Configs: map[string]string{"retention.ms": "2"}},
			{Name: "logs.audit?", AutoCreate: &no, Configs: map[string]string{"retention.ms": "3", "retention.bytes": "9"}},
			{Name: "*", AutoCreate: &yes, Partitions: &five},
		},
	})
	setting, _ := s.Setting("retention.ms")
	want := []Value{{"1", FromTopic}, {"2", FromPattern}, {"4", FromServer}, {"604800000", FromDefault}}
	if got := s.Resolve("logs.audit1", map[string]string{"retention.ms": "1"}, setting); !slices.Equal(got, want) {
		t.Errorf("retention.ms: %v, want %v", got, want)
	}
	if e := s.Effective("logs.audit1", nil); e.RetentionMs != 2 || e.RetentionBytes != 9 || e.SegmentMs != 7 {
		t.Errorf("retention %d ms, %d bytes, segment %d ms, want 2, 9 and 7", e.RetentionMs, e.RetentionBytes, e.SegmentMs)
	}
	if create, decided := s.AutoCreate("logs.audit1"); create || !decided {
		t.Errorf("auto-create logs.audit1: %v, %v, want a decided no", create, decided)
	}
	if create, decided := s.AutoCreate("other"); !create || !decided {
		t.Errorf("auto-create other: %v, %v, want a decided yes", create, decided)
	}
	if n := s.Partitions("logs.audit1", 1); n != 5 {
		t.Errorf("partitions %d, want 5", n)
	}
}

func TestServerProblemsAreAllReported(t *testing.T) {
	zero := int32(0)
	_, problems := New(Options{
		Defaults: map[string]string{"retention.ms": "x"},
		Patterns: []Pattern{{Name: "[", Partitions: &zero, Configs: map[string]string{"no.such": "1"}}, {Name: ""}},
	})
	if len(problems) != 5 {
		t.Errorf("problems %v, want 5", problems)
	}
}

func TestEffectiveResolvesWhatDependsOnOtherSettings(t *testing.T) {
	s := schema(t, Options{RemoteStorage: true})
	for _, c := range []struct {
		name      string
		own       map[string]string
		segmented bool
		bytes, ms int64
	}{
		{"defaults", nil, true, 128 << 20, 86400000},
		{"one stream", map[string]string{"segment.bytes": "-1"}, false, -1, -1},
		{"by age only", map[string]string{"segment.bytes": "-1", "segment.ms": "5"}, true, -1, 5},
		{"short retention", map[string]string{"retention.ms": "1000"}, true, 128 << 20, -1},
		{"compacted", map[string]string{"cleanup.policy": "compact"}, false, 128 << 20, 86400000},
		{"tiered", map[string]string{"segment.bytes": "-1", "remote.storage.enable": "true"}, true, 128 << 20, 86400000},
	} {
		e := s.Effective("t", c.own)
		if e.Segmented != c.segmented || e.SegmentBytes != c.bytes || e.SegmentMs != c.ms {
			t.Errorf("%s: segmented %v, %d bytes, %d ms, want %v, %d, %d", c.name, e.Segmented, e.SegmentBytes, e.SegmentMs, c.segmented, c.bytes, c.ms)
		}
	}
	if e := s.Effective("t", map[string]string{"retention.ms": "5", "retention.bytes": "6"}); e.LocalRetentionMs != 5 || e.LocalRetentionBytes != 6 {
		t.Errorf("local retention %d ms, %d bytes, want the total's 5 and 6", e.LocalRetentionMs, e.LocalRetentionBytes)
	}
}

func TestUnknownStoredSettingsLeaveATopicUsable(t *testing.T) {
	e := schema(t, Options{}).Effective("t", map[string]string{"of.a.newer.version": "1", "retention.ms": "soon", "max.message.bytes": "7"})
	if e.RetentionMs != 604800000 || e.MaxMessageBytes != 7 {
		t.Errorf("retention %d, max.message.bytes %d, want the default and 7", e.RetentionMs, e.MaxMessageBytes)
	}
}
