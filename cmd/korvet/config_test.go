package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestConfigPrintsValuesWithTheirOriginAndMasksSecrets(t *testing.T) {
	h := newHome(t)
	if err := os.WriteFile(filepath.Join(h.dir, "my.yml"), []byte("korvet:\n  redis:\n    uri: redis://app:hunter2@localhost\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	code, out, stderr := h.run("config", "--config", "my.yml", "--korvet.broker.port=9999")
	if code != 0 {
		t.Fatalf("exit %d: %s", code, stderr)
	}
	got := strings.Join(strings.Fields(out), " ")
	for _, want := range []string{
		"korvet.broker.port 9999 # flag", "korvet.redis.uri redis://app:********@localhost # my.yml:3", "korvet.http.port 8080 # default",
		"korvet.storage.local.redis.uri redis://app:********@localhost # inherited from korvet.redis.uri",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("missing %q in\n%s", want, out)
		}
	}
	if strings.Contains(out, "hunter2") {
		t.Error("a password is printed")
	}
}

func TestWrongSettingsStopEveryCommandThatTakesSome(t *testing.T) {
	h := newHome(t)
	for _, command := range []string{"config", "server"} {
		code, out, stderr := h.run(command, "--korvet.broker.prot=1", "--korvet.http.port=ninety", "--korvet.ui.enabled=true")
		if code != exitError || out != "" {
			t.Errorf("%s: exit %d, said %s", command, code, out)
		}
		for _, want := range []string{"did you mean --korvet.broker.port?", `korvet.http.port="ninety"`, "not in this version"} {
			if !strings.Contains(stderr, want) {
				t.Errorf("%s: missing %q in\n%s", command, want, stderr)
			}
		}
	}
}

func TestCommandLinesThatAreWrongExitWith2(t *testing.T) {
	h := newHome(t)
	for _, line := range []string{
		"topics", "topics --create", "topics --create --list --topic a", "topics --create --topic a --config b", "topics --list --partitions 3",
		"topics --create --topic a --partitions 0", "topics --alter --topic a", "topics --delete --topic a --delete-config b",
		"config --nonsense", "config word", "version word", "topics --list --korvet.broker.port=1", "demo --rate -1", "demo word", "nonsense", "--nonsense",
	} {
		if code, _, stderr := h.run(strings.Fields(line)...); code != exitUsage || !strings.HasPrefix(stderr, "korvet: ") {
			t.Errorf("%s: exit %d, said %s", line, code, stderr)
		}
	}
}

func TestVersionIsPrinted(t *testing.T) {
	if code, out, _ := newHome(t).run("version"); code != 0 || !strings.HasPrefix(out, "korvet "+release) {
		t.Errorf("exit %d, said %s", code, out)
	}
}
