package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/korvet-io/korvet/internal/app"
	"github.com/korvet-io/korvet/internal/redischeck"
	"github.com/korvet-io/korvet/internal/redistest"
)

func TestRedisCheckTellsWhatIsWrongAndItsCure(t *testing.T) {
	redis := redistest.Start(t, "--maxmemory-policy", "allkeys-lru")
	code, out, stderr := newHome(t).run("redis", "check", "--redis-uri", redis.URI())
	if code != exitError || !strings.Contains(stderr, "1 error") {
		t.Errorf("exit %d, said %s", code, stderr)
	}
	for _, want := range []string{
		"Redis at " + redis.Addr() + ", for metadata and messages\nerror    eviction", "why: when memory ends", "now: CONFIG SET maxmemory-policy noeviction",
		"warning  persistence", "ok       trims", "1 error, ",
	} {
		if !strings.Contains(out, want) {
			t.Errorf("missing %q in\n%s", want, out)
		}
	}
	redis.Do("CONFIG", "SET", "maxmemory-policy", "noeviction")
	if code, out, stderr := newHome(t).run("redis", "check", "--redis-uri", redis.URI()); code != exitOK || !strings.Contains(out, "0 errors") {
		t.Errorf("once cured: exit %d, said %s%s", code, out, stderr)
	}
}

func TestRedisCheckGoesByTheBrokersSettings(t *testing.T) {
	metadata, messages := redistest.Start(t), redistest.Start(t)
	h := newHome(t)
	text := "korvet:\n  redis:\n    uri: " + metadata.URI() + "\n  storage:\n    local:\n      redis:\n        uri: " + messages.URI() + "\n        replicas: 2\n"
	if err := os.WriteFile(filepath.Join(h.dir, "korvet.yml"), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	code, out, stderr := h.run("redis", "check", "--json", "--korvet.redis.timeout=5s")
	var reports []app.RedisReport
	if err := json.Unmarshal([]byte(out), &reports); err != nil || code != exitOK || len(reports) != 2 {
		t.Fatalf("exit %d, %v, said %s%s", code, err, out, stderr)
	}
	for i, want := range []app.RedisReport{{Address: metadata.Addr(), UsedFor: "metadata"}, {Address: messages.Addr(), UsedFor: "messages"}} {
		if reports[i].Address != want.Address || reports[i].UsedFor != want.UsedFor {
			t.Errorf("report %d is of %s for %s", i, reports[i].Address, reports[i].UsedFor)
		}
	}
	for _, f := range reports[1].Findings {
		if f.Check == "replicas" && f.Level == redischeck.Warning && strings.Contains(f.Seen, "korvet.redis.replicas is 2") {
			return
		}
	}
	t.Errorf("the missing replicas are not told of: %+v", reports[1].Findings)
}

func TestRedisCheckSaysThatNoRedisAnswers(t *testing.T) {
	address := "127.0.0.1:" + freePort(t)
	code, out, stderr := newHome(t).run("redis", "check", "--redis-uri", "redis://user:hunter2@"+address)
	if code != exitError || out != "" || !strings.Contains(stderr, address) || strings.Contains(stderr, "hunter2") {
		t.Errorf("exit %d, said %s%s", code, out, stderr)
	}
}
