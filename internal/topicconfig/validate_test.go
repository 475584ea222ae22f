package topicconfig

import (
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
		{"remote.storage.iceberg.value.format", "json", "json", ""},
		{"remote.storage.iceberg.value.format", "JSON", "", "String must be one of: raw, json"},
		{"remote.storage.iceberg.value.format", "avro", "", "avro is not in this version: it comes with the schema registry"},
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
		{given: tiered(), want: "Tiered Storage functionality is disabled in the broker. Topic cannot be configured with remote log storage. (korvet.storage.remote.path is not set.)"},
		{given: tiered(), remote: true},
		{given: tiered("cleanup.policy", "compact,delete"), remote: true, want: "Remote log storage only supports topics with cleanup.policy=delete or cleanup.policy being an empty list."},
		{given: tiered("cleanup.policy", ""), remote: true},
		{given: tiered("local.retention.ms", "-1"), remote: true, want: "Value must not be -1"},
		{given: tiered("local.retention.ms", "604800001"), remote: true, want: "must not be more than retention.ms property value: 604800000"},
		{given: tiered("local.retention.bytes", "2", "retention.bytes", "1"), remote: true, want: "must not be more than retention.bytes"},
		{given: tiered("local.retention.ms", "-1", "retention.ms", "-1"), remote: true},
		{given: tiered("remote.log.copy.disable", "true", "local.retention.ms", "1"), remote: true, want: "When `remote.log.copy.disable` is set to true, the `local.retention.ms` and `retention.ms` must be set to the identical value because there will be no more logs copied to the remote storage."},
		{given: tiered("remote.log.copy.disable", "true", "local.retention.bytes", "1"), remote: true, want: "the `local.retention.bytes` and `retention.bytes` must be set to the identical value"},
		{given: tiered("remote.log.copy.disable", "true", "local.retention.ms", "604800000", "local.retention.bytes", "-1"), remote: true},
		{given: tiered("remote.log.copy.disable", "true", "local.retention.ms", "-2"), remote: true},
		{given: tiered("local.retention.ms", "0"), remote: true},
		{given: tiered("local.retention.ms", "0", "remote.copy.lag.ms", "1"), remote: true, want: "Invalid value 1 for configuration remote.copy.lag.ms: Value must not exceed local.retention.ms (effective value: 0)"},
		{given: tiered("local.retention.ms", "0", "remote.copy.lag.ms", "-1"), remote: true},
		{given: tiered("retention.bytes", "5", "remote.copy.lag.bytes", "6"), remote: true, want: "Value must not exceed local.retention.bytes (effective value: 5)"},
		{given: tiered("retention.bytes", "-1", "remote.copy.lag.bytes", "6"), remote: true},
		{given: tiered("local.retention.bytes", "3", "retention.bytes", "-7"), remote: true},
		{given: tiered("remote.copy.lag.ms", "10", "local.retention.ms", "9"), remote: true, want: "Value must not exceed local.retention.ms (effective value: 9)"},
	} {
		_, err := schema(t, Options{RemoteStorage: c.remote}).Create("t", c.given)
		if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%v: error %v, want %q", c.given, err, c.want)
		}
	}
}

func TestHowValuesAreStoredIsSetAtCreationAndKept(t *testing.T) {
	const codec, dictionary = "storage.compression.type", "storage.compression.dictionary.enabled"
	s := schema(t, Options{
		Defaults: map[string]string{codec: "lz4"},
		Patterns: []Pattern{{Name: "z*", Configs: map[string]string{codec: "zstd"}}},
	})
	for _, c := range []struct {
		topic string
		given map[string]string
		want  [2]string
	}{
		{"t", nil, [2]string{"lz4", "false"}},
		{"z", nil, [2]string{"zstd", "true"}},
		{"z", map[string]string{dictionary: "false"}, [2]string{"zstd", "false"}},
		{"z", map[string]string{codec: "gzip"}, [2]string{"gzip", "false"}},
		{"t", map[string]string{codec: "zstd"}, [2]string{"zstd", "true"}},
		{"t", map[string]string{codec: "none", dictionary: "false"}, [2]string{"none", "false"}},
	} {
		own, err := s.Create(c.topic, c.given)
		if err != nil || own[codec] != c.want[0] || own[dictionary] != c.want[1] {
			t.Errorf("%s created with %v: %v, %v, want %v", c.topic, c.given, own, err, c.want)
		}
		full := map[string]string{"retention.ms": "1"}
		got, err := s.Alter(c.topic, own, full)
		if err != nil || got[codec] != c.want[0] || got[dictionary] != c.want[1] {
			t.Errorf("a full set without them: %v, %v, want both kept", got, err)
		}
		if _, err := s.Alter(c.topic, own, own); err != nil {
			t.Errorf("naming the same again: %v", err)
		}
		for name, other := range map[string]string{codec: "snappy", dictionary: map[string]string{"true": "false", "false": "true"}[c.want[1]]} {
			if _, err := s.Alter(c.topic, own, map[string]string{name: other}); err == nil || err.Error() != name+" cannot be altered after topic creation" {
				t.Errorf("%s=%s: %v, want a refusal", name, other, err)
			}
		}
		if e := s.Effective(c.topic, own); e.StorageCompression != c.want[0] || e.StorageDictionary != (c.want[1] == "true") {
			t.Errorf("in force is %s, %v", e.StorageCompression, e.StorageDictionary)
		}
	}
}

func TestATopicOfAnEarlierVersionKeepsItsValuesPlain(t *testing.T) {
	s := schema(t, Options{Defaults: map[string]string{"storage.compression.type": "zstd"}})
	for _, own := range []map[string]string{nil, {"storage.compression.type": "zstd"}, {"storage.compression.type": "lz4"}} {
		if e := s.Effective("t", own); e.StorageCompression != "none" || e.StorageDictionary {
			t.Errorf("%v: %s, %v", own, e.StorageCompression, e.StorageDictionary)
		}
	}
	setting, _ := s.Setting("storage.compression.type")
	if got := s.Resolve("t", nil, setting); len(got) != 1 || got[0].Value != "none" {
		t.Errorf("it shows %v", got)
	}
}

func TestRemoteStorageIsTurnedOffOnlyWithItsData(t *testing.T) {
	s := schema(t, Options{RemoteStorage: true})
	on := map[string]string{"remote.storage.enable": "true"}
	if _, err := s.Alter("t", on, nil); err == nil || !strings.HasPrefix(err.Error(), "It is invalid to disable remote storage without deleting remote data.") {
		t.Errorf("turned off without remote.log.delete.on.disable: %v", err)
	}
	if _, err := s.Alter("t", on, map[string]string{"remote.log.delete.on.disable": "true"}); err != nil {
		t.Errorf("turned off with remote.log.delete.on.disable: %v", err)
	}
	if _, err := s.Alter("t", nil, on); err != nil {
		t.Errorf("turned on: %v", err)
	}
	if _, err := s.Alter("t", on, map[string]string{"remote.storage.enable": "true", "cleanup.policy": "compact"}); err == nil {
		t.Error("a tiered topic was made a compacted one")
	}
}

func TestAPatternTurnsRemoteStorageOnWhenATopicIsCreated(t *testing.T) {
	const enable = "remote.storage.enable"
	with := schema(t, Options{RemoteStorage: true, Patterns: []Pattern{
		{Name: "local*", Configs: map[string]string{enable: "false"}},
		{Name: "*", Configs: map[string]string{enable: "true", "local.retention.ms": "1000"}},
	}})
	without := schema(t, Options{RemoteStorage: true})
	for _, c := range []struct {
		topic string
		given map[string]string
		want  bool
	}{
		{"t", nil, true},
		{"t", map[string]string{enable: "false"}, false},
		{"local", nil, false},
		{"local", map[string]string{enable: "true"}, true},
		{"t", map[string]string{"cleanup.policy": "compact"}, false},
		{"t", map[string]string{"segment.bytes": "-1"}, true},
		{"__remote_log_metadata", nil, false},
	} {
		own, err := with.Create(c.topic, c.given)
		if err != nil {
			t.Errorf("%s created with %v: %v", c.topic, c.given, err)
			continue
		}
		for _, s := range []*Schema{with, without} { // what patterns say later does not count
			if e := s.Effective(c.topic, own); e.RemoteStorage != c.want || c.want && !e.Segmented {
				t.Errorf("%s created with %v: tiered %v, segmented %v", c.topic, c.given, e.RemoteStorage, e.Segmented)
			}
		}
	}
	if e := with.Effective("older", nil); e.RemoteStorage {
		t.Error("a topic that was created before the pattern is tiered")
	}
}

func TestTopicsThatCannotBeTieredAreNot(t *testing.T) {
	s := schema(t, Options{RemoteStorage: true})
	on := map[string]string{"remote.storage.enable": "true"}
	if _, err := s.Create("__consumer_offsets", on); err == nil {
		t.Error("an internal topic was created with it")
	}
	if s.Effective("__consumer_offsets", on).RemoteStorage {
		t.Error("an internal topic is tiered")
	}
	on["cleanup.policy"] = "compact" // by a newer default of the server, say
	if s.Effective("t", on).RemoteStorage {
		t.Error("a compacted topic is tiered")
	}
}

func TestTheCopyLagFollowsTheLocalRetention(t *testing.T) {
	s := schema(t, Options{RemoteStorage: true})
	for _, c := range []struct {
		own       map[string]string
		ms, bytes int64
	}{
		{nil, 0, -1},
		{map[string]string{"remote.copy.lag.ms": "-1", "retention.ms": "50"}, 50, -1},
		{map[string]string{"remote.copy.lag.ms": "-1", "retention.ms": "-1", "retention.bytes": "7"}, -1, 7},
		{map[string]string{"remote.copy.lag.ms": "5", "remote.copy.lag.bytes": "6", "local.retention.bytes": "8"}, 5, 6},
	} {
		if e := s.Effective("t", c.own); e.RemoteCopyLagMs != c.ms || e.RemoteCopyLagBytes != c.bytes {
			t.Errorf("%v: %d ms, %d bytes, want %d and %d", c.own, e.RemoteCopyLagMs, e.RemoteCopyLagBytes, c.ms, c.bytes)
		}
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
