package app

import (
	"log/slog"
	"strings"
	"testing"

	"github.com/korvet-io/korvet/internal/config"
)

func TestLoggerKeepsTheLevelOfEachComponent(t *testing.T) {
	var out strings.Builder
	log, err := NewLogger(config.Log{Level: "warn,server=debug,partition=error", Format: "text"}, &out)
	if err != nil {
		t.Fatal(err)
	}
	server := log.With(componentKey, "server").WithGroup("g").With("a", 1)
	partition := log.With(componentKey, "partition")
	log.Info("quiet all")
	log.Warn("loud all")
	server.Debug("loud server")
	partition.Warn("quiet partition")
	partition.Error("loud partition")
	if got := out.String(); strings.Contains(got, "quiet") || strings.Count(got, "loud") != 3 {
		t.Errorf("got\n%s", got)
	}
}

func TestLoggerWritesJSON(t *testing.T) {
	var out strings.Builder
	log, err := NewLogger(config.Log{Level: "info", Format: "json"}, &out)
	if err != nil {
		t.Fatal(err)
	}
	log.Info("hello", "a", 1)
	if got := out.String(); !strings.HasPrefix(got, "{") || !strings.Contains(got, `"msg":"hello"`) {
		t.Errorf("got %s", got)
	}
}

func TestLevelsChangeWhileTheLoggerIsUsed(t *testing.T) {
	var out strings.Builder
	log, err := NewLogger(config.Log{Level: "info,server=warn", Format: "text"}, &out)
	if err != nil {
		t.Fatal(err)
	}
	server, worker := log.With(componentKey, "server"), log.With(componentKey, "worker").With("a", 1)
	levels := loggersOf(log)
	if got := levels.Levels(); len(got) != 3 || got["root"] != "INFO" || got["server"] != "WARN" || got["worker"] != "INFO" {
		t.Errorf("levels %v", got)
	}
	server.Info("quiet")
	levels.SetLevel("server", "TRACE")
	server.Debug("loud")
	levels.ResetLevel("server")
	server.Debug("quiet")
	levels.SetLevel("root", "FATAL")
	server.Error("quiet")
	worker.Error("quiet")
	levels.SetLevel("worker", "DEBUG")
	worker.Debug("loud")
	log.Log(t.Context(), levelFatal, "loud")
	if got := out.String(); strings.Contains(got, "quiet") || strings.Count(got, "loud") != 3 || !strings.Contains(got, "level=FATAL") {
		t.Errorf("got\n%s", got)
	}
	for _, name := range []string{"TRACE", "DEBUG", "INFO", "WARN", "ERROR", "FATAL"} {
		if got := levelName(levelOf(name)); got != name {
			t.Errorf("%s becomes %s", name, got)
		}
	}
}

func TestAnotherKindOfLoggerHasNoLevelsToChange(t *testing.T) {
	if got := loggersOf(slog.New(slog.DiscardHandler)).Levels(); len(got) != 1 {
		t.Errorf("levels %v", got)
	}
}
