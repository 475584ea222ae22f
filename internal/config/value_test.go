package config

import (
	"testing"
	"time"
)

func TestParseBytes(t *testing.T) {
	for text, want := range map[string]Bytes{
		"0": 0, "-1": -1, "1048576": 1 << 20, "512KB": 512 << 10, "10GB": 10 << 30, "10 gb": 10 << 30, "1MiB": 1 << 20, "2TB": 2 << 40, "3k": 3 << 10, "7B": 7,
	} {
		if got, err := ParseBytes(text); err != nil || got != want {
			t.Errorf("%q: got %d, %v, want %d", text, got, err, want)
		}
	}
	for _, text := range []string{"", "MB", "1.5GB", "1XB", "1e3", "9223372036854775808", "8388608TB", "--1", "1 2"} {
		if got, err := ParseBytes(text); err == nil {
			t.Errorf("%q: got %d, want an error", text, got)
		}
	}
}

func TestParseDuration(t *testing.T) {
	for text, want := range map[string]time.Duration{
		"0": 0, "-1": -time.Millisecond, "1500": 1500 * time.Millisecond, "500ms": 500 * time.Millisecond, "3s": 3 * time.Second, "1m": time.Minute, "7d": 168 * time.Hour, "1h30m": 90 * time.Minute,
	} {
		if got, err := ParseDuration(text); err != nil || got != want {
			t.Errorf("%q: got %v, %v, want %v", text, got, err, want)
		}
	}
	for _, text := range []string{"", "s", "1.5s", "1 s", "1us", "-1s", "99999999999999999999d", "106752d", "106751d106751d", "9223372036854775807"} {
		if got, err := ParseDuration(text); err == nil {
			t.Errorf("%q: got %v, want an error", text, got)
		}
	}
}

func TestParseLevels(t *testing.T) {
	all, components, err := ParseLevels("warn, server=debug,partition=error")
	if err != nil || all.String() != "WARN" || len(components) != 2 || components["server"].String() != "DEBUG" {
		t.Errorf("got %v, %v, %v", all, components, err)
	}
	for _, text := range []string{"", "server=debug", "info,debug", "info,=debug", "info,server=loud", "verbose"} {
		if _, _, err := ParseLevels(text); err == nil {
			t.Errorf("%q: want an error", text)
		}
	}
}

func TestMaskURIHidesPasswords(t *testing.T) {
	for text, want := range map[string]string{
		"redis://localhost:6379":                      "redis://localhost:6379",
		"redis://app:secret@h:1/2":                    "redis://app:********@h:1/2",
		"redis://:secret@h":                           "redis://:********@h",
		"redis://secret@h":                            "redis://********@h",
		"redis://app:se@cr@et@h":                      "redis://app:********@h",
		"redis://app:se/cret@h":                       "redis://app:********@h",
		"redis://a:secret@h1:1,rediss://b:secret@h:2": "redis://a:********@h1:1,rediss://b:********@h:2",
		"plain": "plain",
	} {
		if got := maskURI(text); got != want {
			t.Errorf("%s: got %s, want %s", text, got, want)
		}
	}
}

func FuzzParseFile(f *testing.F) {
	f.Add([]byte("korvet:\n  broker: {port: 1}\n  topics: [{name: a}, b]\n"))
	f.Add([]byte("a: &x [*x]\n---\n- 1"))
	f.Add([]byte("? [a, b]\n: c"))
	f.Fuzz(func(t *testing.T, data []byte) {
		entries, _ := parseFile("f.yml", data)
		for _, e := range entries {
			if e.name == "" && e.text == "" && len(data) == 0 {
				t.Error("an entry out of nothing")
			}
		}
	})
}

func FuzzValues(f *testing.F) {
	f.Add("7d")
	f.Add("512KB")
	f.Add("redis://a:b@c:1/0")
	f.Add("info,a=debug")
	f.Fuzz(func(t *testing.T, text string) {
		for i := range settings() {
			row := &settings()[i]
			if row.wrong(text) == "" && row.field != nil {
				if err := assign(row.field(&Config{}), text); err != nil {
					t.Errorf("%s=%q is not wrong, yet: %v", row.name, text, err)
				}
			}
		}
	})
}
