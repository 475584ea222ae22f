package documents

import (
	"net"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/korvet-io/korvet/internal/redistest"
	"github.com/korvet-io/korvet/test/harness"
)

// typed is a command of a page, and what its answer must have.
type typed struct{ command, answer string }

// commandsOf are those that a page has in tables, in their order: `command`, or `command`: `part of its answer`.
func commandsOf(page string) []typed {
	var all []typed
	form := regexp.MustCompile("`((?:redis-cli|bin/korvet) [^`]+)`(?:: `([^`]+)`)?")
	for line := range strings.Lines(page) {
		if !strings.HasPrefix(line, "|") {
			continue
		}
		for _, found := range form.FindAllStringSubmatch(line, -1) {
			all = append(all, typed{command: found[1], answer: found[2]})
		}
	}
	return all
}

// Every command of docs/storage.md answers, and what the page says of its answer is in it.
func TestEveryCommandOfTheStoragePageShowsWhatItSays(t *testing.T) {
	b := harness.Start(t, harness.Options{Own: true, Args: []string{"--korvet.storage.worker.tick-interval=1s", "--korvet.storage.worker.lease-duration=5s"}})
	_, redisPort, err := net.SplitHostPort(b.RedisAddr)
	if err != nil {
		t.Fatal(err)
	}
	korvet := filepath.Join(t.TempDir(), "korvet")
	if out, err := exec.Command("go", "build", "-o", korvet, "../../cmd/korvet").CombinedOutput(); err != nil {
		t.Fatalf("build korvet: %v: %s", err, out)
	}
	run := func(script string) (string, error) {
		script = strings.NewReplacer(
			"bin/korvet topics trim", korvet+" topics trim --bootstrap-server "+b.Addr, "bin/korvet topics stats", korvet+" topics stats --bootstrap-server "+b.Addr,
			"bin/korvet topics", korvet+" topics --bootstrap-server "+b.Addr, "bin/korvet migrate", korvet+" migrate --bootstrap-server "+b.Addr, "bin/korvet", korvet,
			"redis://localhost:6379", "redis://"+b.RedisAddr, "localhost:9092", b.Addr, "redis-cli", "redis-cli -e -p "+redisPort,
		).Replace(script)
		out, err := exec.Command("bash", "-euo", "pipefail", "-c", script).CombinedOutput()
		return string(out), err
	}
	page := read(t, "../../docs/storage.md")
	blocks := regexp.MustCompile("(?s)```sh\n(.*?)```").FindAllStringSubmatch(page, -1)
	if len(blocks) == 0 {
		t.Fatal("the page has nothing to begin with")
	}
	for _, block := range blocks {
		if out, err := run(block[1]); err != nil {
			t.Fatalf("%s: %v: %s", block[1], err, out)
		}
	}
	redistest.Eventually(t, "a sealed segment", func() bool {
		reply := b.Redis.Do("EXISTS", "korvet:storage:segment:{"+stream+"}:0")
		n, err := reply.ToInt64()
		return err == nil && n == 1
	})
	commands := commandsOf(page)
	if len(commands) < 20 {
		t.Fatalf("found only %d commands", len(commands))
	}
	for _, c := range commands {
		out, err := run(c.command)
		if c.answer == "" && err != nil || strings.TrimSpace(out) == "" || !strings.Contains(out, c.answer) {
			t.Errorf("%s: %v, said %s where the page has %q", c.command, err, out, c.answer)
		}
	}
}
