package topicconfig

import (
	"maps"
	"strings"
	"testing"
)

func schema(t testing.TB, opt Options) *Schema {
	t.Helper()
	s, problems := New(opt)
	if len(problems) > 0 {
		t.Fatalf("New: %v", problems)
	}
	return s
}

func TestDefaultsAreValidAndSorted(t *testing.T) {
	last := ""
	for _, s := range table() {
		if s.Name <= last {
			t.Errorf("%s follows %s", s.Name, last)
		}
		last = s.Name
		if v, err := s.Parse(s.Default); err != nil || v != s.Default {
			t.Errorf("default of %s: canonical %q, error %v, want %q", s.Name, v, err, s.Default)
		}
		if s.Doc == "" {
			t.Errorf("%s has no documentation", s.Name)
		}
	}
}

func TestValuesAreParsedAsKafkaDoes(t *testing.T) {
	for _, c := range []struct{ name, value, want, reason string }{
		{"retention.ms", " 5 ", "5", ""},
		{"retention.ms", "+5", "5", ""},
		{"retention.ms", "-1", "-1", ""},
		{"retention.ms", "-2", "", "Value must be at least -1"},
		{"retention.ms", "9223372036854775808", "", "Not a number of type LONG"},
		{"retention.ms", "1.5", "", "Not a number of type LONG"},
		{"retention.ms", "", "", "Not a number of type LONG"},
		{"retention.bytes", "-7", "-7", ""},
		{"segment.bytes", "1048576", "1048576", ""},
		{"segment.bytes", "1048575", "", "Value must be at least 1048576"},
		{"segment.bytes", "-1", "-1", ""},
		{"segment.bytes", "2147483648", "", "Not a number of type INT"},
		{"segment.ms", "0", "", "Value must be at least 1"},
		{"max.message.bytes", "-1", "", "Value must be at least 0"},
		{"max.decompressed.message.bytes", "2147483640", "", "Value must be no more than 2147483639"},
		{"min.insync.replicas", "0", "", "Value must be at least 1"},
		{"min.cleanable.dirty.ratio", "0.25", "0.25", ""},
		{"min.cleanable.dirty.ratio", "1.1", "", "Value must be no more than 1"},
		{"min.cleanable.dirty.ratio", "NaN", "", "Not a number of type DOUBLE"},
		{"min.cleanable.dirty.ratio", "half", "", "Not a number of type DOUBLE"},
		{"preallocate", "TRUE", "true", ""},
		{"preallocate", "yes", "", "Expected value to be either true or false"},
		{"cleanup.policy", "", "", ""},
		{"cleanup.policy", "compact , delete", "compact,delete", ""},
		{"cleanup.policy", "remove", "", "String must be one of: compact, delete"},
		{"cleanup.policy", "delete,delete", "delete", ""},
		{"cleanup.policy", "delete,", "", "String must be one of: compact, delete"},
		{"compression.type", "none", "uncompressed", ""},
		{"compression.type", "brotli", "", "String must be one of: uncompressed, zstd, lz4, snappy, gzip, producer"},
		{"compression.gzip.level", "0", "", "Value must be at least 1"},
		{"compression.gzip.level", "-1", "-1", ""},
		{"compression.lz4.level", "18", "", "Value must be no more than 17"},
		{"compression.zstd.level", "-131072", "-131072", ""},
		{"message.timestamp.type", "createTime", "", "String must be one of: CreateTime, LogAppendTime"},
		{"leader.replication.throttled.replicas", "*", "*", ""},
		{"leader.replication.throttled.replicas", "0:1, 1:0", "0:1,1:0", ""},
		{"leader.replication.throttled.replicas", "0", "", "must be the literal '*' or a list of replicas in the form [partitionId]:[brokerId],[partitionId]:[brokerId],..."},
		{"local.retention.ms", "-3", "", "Value must be at least -2"},
		{"storage.compression.type", "brotli", "", "String must be one of: none, gzip, snappy, lz4, zstd"},
		{"log.append.timestamp.header", "true", "true", ""},
	} {
		s := schema(t, Options{})
		setting, _ := s.Setting(c.name)
		got, err := setting.Parse(c.value)
		if c.reason == "" {
			if err != nil || got != c.want {
				t.Errorf("%s=%q: got %q, %v, want %q", c.name, c.value, got, err, c.want)
			}
			continue
		}
		want := "Invalid value " + c.value + " for configuration " + c.name + ": " + c.reason
		if err == nil || err.Error() != want {
			t.Errorf("%s=%q: error %v, want %s", c.name, c.value, err, want)
		}
	}
}

func TestSettingsAreCheckedAgainstEachOther(t *testing.T) {
	tiered := func(more ...string) map[string]string {
		m := map[string]string{"remote.storage.enable": "true"}
		for i := 0; i < len(more); i += 2 {
			m[more[i]] = more[i+1]
		}
		return m
	}
	for _, c := range []struct {
		given  map[string]string
		remote bool
		want   string // part of the error, empty: accepted
	}{
		{given: map[string]string{"no.such": "1"}, want: "Unknown topic config name: no.such"},
		{given: map[string]string{"local.retention.ms": "2", "retention.ms": "1"}},
		{given: map[string]string{"min.compaction.lag.ms": "5", "max.compaction.lag.ms": "4"}, want: "conflict"},
		{given: map[string]string{"storage.compression.dictionary.enabled": "true"}, want: "needs storage.compression.type=zstd"},
		{given: map[string]string{"storage.compression.dictionary.enabled": "true", "storage.compression.type": "zstd"}},
		{given: tiered(), want: "korvet.storage.remote.path"},
		{given: tiered(), remote: true},
		{given: tiered("cleanup.policy", "compact,delete"), remote: true, want: "cleanup.policy=delete"},
		{given: tiered("cleanup.policy", ""), remote: true},
		{given: tiered("local.retention.ms", "-1"), remote: true, want: "Value must not be -1"},
		{given: tiered("local.retention.ms", "604800001"), remote: true, want: "must not be more than retention.ms property value: 604800000"},
		{given: tiered("local.retention.bytes", "2", "retention.bytes", "1"), remote: true, want: "must not be more than retention.bytes"},
		{given: tiered("local.retention.ms", "-1", "retention.ms", "-1"), remote: true},
		{given: tiered("remote.log.copy.disable", "true", "local.retention.ms", "1"), remote: true, want: "Value must equal retention.ms"},
		{given: tiered("remote.copy.lag.ms", "10", "local.retention.ms", "9"), remote: true, want: "Value must not exceed local.retention.ms (effective value: 9)"},
	} {
		_, err := schema(t, Options{RemoteStorage: c.remote}).Create("t", c.given)
		if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%v: error %v, want %q", c.given, err, c.want)
		}
	}
}

func TestStorageCodecIsStoredAtCreationAndKept(t *testing.T) {
	s := schema(t, Options{Defaults: map[string]string{"storage.compression.type": "lz4"}})
	own, err := s.Create("t", nil)
	if err != nil || own["storage.compression.type"] != "lz4" {
		t.Fatalf("created with %v, %v, want the server's codec", own, err)
	}
	if got, err := s.Alter("t", own, map[string]string{"retention.ms": "1"}); err != nil || !maps.Equal(got, map[string]string{"retention.ms": "1", "storage.compression.type": "lz4"}) {
		t.Errorf("a full set without the codec: %v, %v, want the codec kept", got, err)
	}
	if _, err := s.Alter("t", own, map[string]string{"storage.compression.type": "lz4"}); err != nil {
		t.Errorf("naming the same codec again: %v", err)
	}
	if _, err := s.Alter("t", own, map[string]string{"storage.compression.type": "zstd"}); err == nil || err.Error() != "storage.compression.type cannot be altered after topic creation" {
		t.Errorf("another codec: %v, want a refusal", err)
	}
}

func TestRemoteStorageIsTurnedOffOnlyWithItsData(t *testing.T) {
	s := schema(t, Options{RemoteStorage: true})
	on := map[string]string{"remote.storage.enable": "true"}
	if _, err := s.Alter("t", on, nil); err == nil {
		t.Error("turned off without remote.log.delete.on.disable")
	}
	if _, err := s.Alter("t", on, map[string]string{"remote.log.delete.on.disable": "true"}); err != nil {
		t.Errorf("turned off with remote.log.delete.on.disable: %v", err)
	}
	if _, err := s.Alter("t", nil, on); err != nil {
		t.Errorf("turned on: %v", err)
	}
}

func FuzzParse(f *testing.F) {
	for _, s := range table() {
		f.Add(s.Name, s.Default)
	}
	f.Add("cleanup.policy", ",,")
	f.Add("leader.replication.throttled.replicas", "1:2:3")
	s := schema(f, Options{})
	f.Fuzz(func(t *testing.T, name, value string) {
		setting, ok := s.Setting(name)
		if !ok {
			return
		}
		canonical, err := setting.Parse(value)
		if err != nil {
			return
		}
		if again, err := setting.Parse(canonical); err != nil || again != canonical {
			t.Errorf("%s=%q: canonical %q is parsed as %q, %v", name, value, canonical, again, err)
		}
		s.Effective("t", map[string]string{name: value})
	})
}
