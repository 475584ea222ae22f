package documents

import (
	"context"
	"net"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/korvet-io/korvet/internal/redistest"
	"github.com/korvet-io/korvet/test/harness"
)

// typed is a command of a page, and what its answer must have.
type typed struct{ command, answer string }

// commandsOf are those that a page has in tables, in their order: `command`, or `command`: `part of its answer`.
func commandsOf(page string) []typed {
	var all []typed
	form := regexp.MustCompile("`((?:redis-cli|bin/korvet|kcat|curl) [^`]+)`(?:: `([^`]+)`)?")
	for line := range strings.Lines(page) {
		if !strings.HasPrefix(line, "|") {
			continue
		}
		for _, found := range form.FindAllStringSubmatch(line, -1) {
			all = append(all, typed{command: strings.ReplaceAll(found[1], `\|`, "|"), answer: found[2]})
		}
	}
	return all
}

// Every command of docs/storage.md answers, and what the page says of its answer is in it.
func TestEveryCommandOfTheStoragePageShowsWhatItSays(t *testing.T) {
	b := harness.Start(t, harness.Options{Own: true, Args: []string{"--korvet.storage.worker.tick-interval=1s", "--korvet.storage.worker.lease-duration=5s"}})
	run := runner(t, b)
	page := read(t, "../../docs/storage.md")
	begin(t, page, run)
	redistest.Eventually(t, "a sealed segment", func() bool {
		reply := b.Redis.Do("EXISTS", "korvet:storage:segment:{"+stream+"}:0")
		n, err := reply.ToInt64()
		return err == nil && n == 1
	})
	try(t, page, 20, run)
}

// runner runs what pages tell people to type, against a broker.
func runner(t *testing.T, b *harness.Broker) func(script string) (string, error) {
	t.Helper()
	_, redisPort, err := net.SplitHostPort(b.RedisAddr)
	if err != nil {
		t.Fatal(err)
	}
	korvet := filepath.Join(t.TempDir(), "korvet")
	if out, err := exec.Command("go", "build", "-o", korvet, "../../cmd/korvet").CombinedOutput(); err != nil {
		t.Fatalf("build korvet: %v: %s", err, out)
	}
	tables := " --korvet.redis.uri=redis://" + b.RedisAddr
	return func(script string) (string, error) {
		script = strings.NewReplacer(
			"bin/korvet topics trim", korvet+" topics trim --bootstrap-server "+b.Addr, "bin/korvet topics stats", korvet+" topics stats --bootstrap-server "+b.Addr,
			"bin/korvet topics", korvet+" topics --bootstrap-server "+b.Addr, "bin/korvet migrate", korvet+" migrate --bootstrap-server "+b.Addr,
			"bin/korvet tables list", korvet+" tables list"+tables, "bin/korvet tables describe", korvet+" tables describe"+tables,
			"bin/korvet tables verify", korvet+" tables verify"+tables, "bin/korvet", korvet,
			"redis://localhost:6379", "redis://"+b.RedisAddr, "localhost:9092", b.Addr, "localhost:8080", b.HTTPAddr, "redis-cli", "redis-cli -e -p "+redisPort,
		).Replace(script)
		ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
		defer cancel()
		out, err := exec.CommandContext(ctx, "bash", "-euo", "pipefail", "-c", script).CombinedOutput()
		return string(out), err
	}
}

// begin runs the blocks of commands that a page begins with.
func begin(t *testing.T, page string, run func(string) (string, error)) {
	t.Helper()
	blocks := regexp.MustCompile("(?s)```sh\n(.*?)```").FindAllStringSubmatch(page, -1)
	if len(blocks) == 0 {
		t.Fatal("the page has nothing to begin with")
	}
	for _, block := range blocks {
		if out, err := run(block[1]); err != nil {
			t.Fatalf("%s: %v: %s", block[1], err, out)
		}
	}
}

// try runs the commands in a page's tables.
func try(t *testing.T, page string, atLeast int, run func(string) (string, error)) {
	t.Helper()
	commands := commandsOf(page)
	if len(commands) < atLeast {
		t.Fatalf("found only %d commands", len(commands))
	}
	for _, c := range commands {
		out, err := run(c.command)
		if c.answer == "" && err != nil || strings.TrimSpace(out) == "" || !strings.Contains(out, c.answer) {
			t.Errorf("%s: %v, said %s where the page has %q", c.command, err, out, c.answer)
		}
	}
}
