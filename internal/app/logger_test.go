package app

import (
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
