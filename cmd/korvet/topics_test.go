package main

import (
	"encoding/base64"
	"encoding/json"
	"strings"
	"testing"

	"github.com/korvet-io/korvet/internal/redistest"
)

// topicsOn starts a broker and returns a function that runs korvet topics on it.
func topicsOn(t *testing.T) func(args ...string) (int, string, string) {
	t.Helper()
	h := newHome(t)
	kafka := freePort(t)
	r := h.start(append(h.flags(kafka, freePort(t)), "--korvet.redis.uri="+redistest.Start(t).URI())...)
	r.says("serving Kafka clients")
	return func(args ...string) (int, string, string) {
		return h.run(append([]string{"topics", "--bootstrap-server", "127.0.0.1:" + kafka}, args...)...)
	}
}

func TestTopicsAreCreatedChangedAndDeleted(t *testing.T) {
	topics := topicsOn(t)
	steps := []struct {
		line string
		code int
		want string // part of what is said
	}{
		{"--list", 0, ""},
		{"--create --topic orders --partitions 3 --replication-factor 3 --config max.message.bytes=2000000", 0, "topic orders created, 3 partitions"},
		{"--create --topic orders", 1, "TOPIC_ALREADY_EXISTS"},
		{"--create --topic orders --if-not-exists", 0, "topic orders exists"},
		{"--create --topic bad/name", 1, "INVALID_TOPIC_EXCEPTION"},
		{"--create --topic other --config nonsense=1", 1, "nonsense"},
		{"--list", 0, "orders\n"},
		{"--describe --topic orders", 0, "max.message.bytes=2000000"},
		{"--describe --topic missing", 1, "UNKNOWN_TOPIC_OR_PARTITION"},
		{"--describe --topic missing --if-exists", 0, ""},
		{"--alter --topic orders --partitions 5 --delete-config max.message.bytes --config retention.ms=1000", 0, "topic orders altered"},
		{"--alter --topic orders --partitions 2", 1, "INVALID_PARTITIONS"},
		{"--alter --topic missing --partitions 2 --if-exists", 0, "does not exist"},
		{"--describe", 0, "topic orders, 5 partitions"},
		{"--delete --topic orders,missing", 1, "missing"},
		{"--delete --topic orders", 1, "UNKNOWN_TOPIC_OR_PARTITION"},
		{"--delete --topic orders --if-exists", 0, "does not exist"},
	}
	for _, s := range steps {
		code, out, stderr := topics(strings.Fields(s.line)...)
		if code != s.code || !strings.Contains(out+stderr, s.want) {
			t.Errorf("%s: exit %d, said %s%s, want exit %d and %q", s.line, code, out, stderr, s.code, s.want)
		}
	}
}

func TestTopicsAnswersInJSON(t *testing.T) {
	topics := topicsOn(t)
	var created, altered, deleted []topicDone
	var listed []struct {
		Topic      string
		Partitions int
	}
	var described []topicDescription
	for _, step := range []struct {
		line string
		into any
	}{
		{"--create --topic a --partitions 2 --json", &created}, {"--list --json", &listed}, {"--describe --json", &described},
		{"--alter --topic a --partitions 3 --json", &altered}, {"--delete --topic a --json", &deleted},
	} {
		code, out, stderr := topics(strings.Fields(step.line)...)
		if err := json.Unmarshal([]byte(out), step.into); err != nil || code != 0 {
			t.Fatalf("%s: exit %d, %v, said %s%s", step.line, code, err, out, stderr)
		}
	}
	if len(created) != 1 || created[0].Topic != "a" || created[0].Partitions != 2 || created[0].Done != "created" {
		t.Fatalf("created %+v", created)
	}
	if id, err := base64.RawURLEncoding.DecodeString(created[0].ID); err != nil || len(id) != 16 {
		t.Errorf("id %s: %v, %d bytes", created[0].ID, err, len(id))
	}
	if len(altered) != 1 || altered[0].Done != "altered" || len(deleted) != 1 || deleted[0].Done != "deleted" {
		t.Errorf("altered %+v, deleted %+v", altered, deleted)
	}
	if len(listed) != 1 || listed[0].Topic != "a" || listed[0].Partitions != 2 {
		t.Errorf("listed %+v", listed)
	}
	if len(described) != 1 || len(described[0].Partitions) != 2 || described[0].ID != created[0].ID {
		t.Errorf("described %+v", described)
	}
}

func TestTopicsNamesErrorsInJSON(t *testing.T) {
	topics := topicsOn(t)
	topics("--create", "--topic", "a")
	for _, line := range []string{"--create --topic a", "--alter --topic b --partitions 3", "--delete --topic b"} {
		code, out, stderr := topics(append(strings.Fields(line), "--json")...)
		var done []topicDone
		if err := json.Unmarshal([]byte(out), &done); err != nil || code != exitError || len(done) != 1 || done[0].Done != "" || !strings.Contains(stderr, done[0].Error) || done[0].Error == "" {
			t.Errorf("%s: exit %d, %v, said %s%s", line, code, err, out, stderr)
		}
	}
	if _, out, _ := topics("--describe", "--topic", "b", "--json"); strings.TrimSpace(out) != "[]" {
		t.Errorf("describe nothing: %s", out)
	}
}

func TestTopicsSaysThatNoBrokerAnswers(t *testing.T) {
	address := "127.0.0.1:" + freePort(t)
	code, _, stderr := newHome(t).run("topics", "--list", "--bootstrap-server", address)
	if code != exitError || !strings.Contains(stderr, "no broker answers on "+address) {
		t.Errorf("exit %d, said %s", code, stderr)
	}
}
