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

// What README.md tells newcomers to type, on a broker of the test's own, prints what it says.
func TestTheReadmesFirstTopic(t *testing.T) {
	b := harness.Start(t, harness.Options{Own: true})
	_, redisPort, err := net.SplitHostPort(b.RedisAddr)
	if err != nil {
		t.Fatal(err)
	}
	readme := read(t, "../../README.md")
	blocks := regexp.MustCompile("(?s)```(?:sh)?\n(.*?)```").FindAllStringSubmatch(readme, -1)
	var commands, want string
	for _, block := range blocks {
		switch {
		case strings.Contains(block[1], "kcat -P") && strings.Contains(block[1], "XRANGE"):
			commands = block[1]
		case strings.Contains(block[1], `1) "`):
			want = block[1]
		}
	}
	_, commands, found := strings.Cut(commands, "localhost:8080/readyz\n")
	if !found || want == "" {
		t.Fatal("README.md has no first topic with its outcome")
	}
	commands = strings.ReplaceAll(commands, "localhost:9092", b.Addr)
	commands = strings.ReplaceAll(commands, "redis-cli", "redis-cli --no-raw -p "+redisPort)
	out, err := exec.Command("bash", "-euo", "pipefail", "-c", commands).Output()
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	// kcat tells on stderr that it reached the end; times differ.
	if got, want := plain(string(out)), plain(want); got != want {
		t.Errorf("got\n%s\nwhere the page has\n%s", got, want)
	}
}

func TestTheReadmesGroup(t *testing.T) {
	b := harness.Start(t, harness.Options{Own: true, Args: []string{"--korvet.broker.rebalance-delay=0"}})
	_, redisPort, err := net.SplitHostPort(b.RedisAddr)
	if err != nil {
		t.Fatal(err)
	}
	readme := read(t, "../../README.md")
	blocks := regexp.MustCompile("(?s)```sh\n(kcat -G .*?)```\n\n```\n(.*?)```").FindStringSubmatch(readme)
	if blocks == nil {
		t.Fatal("README.md has no group with its outcome")
	}
	korvet := filepath.Join(t.TempDir(), "korvet")
	if out, err := exec.Command("go", "build", "-o", korvet, "../../cmd/korvet").CombinedOutput(); err != nil {
		t.Fatalf("build korvet: %v: %s", err, out)
	}
	commands := strings.NewReplacer("localhost:9092", b.Addr, "redis-cli", "redis-cli --no-raw -p "+redisPort,
		"bin/korvet groups", korvet+" groups --bootstrap-server "+b.Addr).Replace(blocks[1])
	out, err := exec.Command("bash", "-euo", "pipefail", "-c", `echo 'o-17:{"amount":42}' | kcat -P -b `+b.Addr+" -t orders -K :\n"+commands).Output()
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	id := regexp.MustCompile(`[0-9a-f]{8}-[0-9a-f-]{27}`)
	if got, want := id.ReplaceAllString(plain(string(out)), "<id>"), id.ReplaceAllString(plain(blocks[2]), "<id>"); got != want {
		t.Errorf("got\n%s\nwhere the page has\n%s", got, want)
	}
}

// The README's topic becomes a table. What DuckDB says of tables is shown by test/readers.
func TestTheReadmesTable(t *testing.T) {
	t.Setenv("KORVET_STORAGE_REMOTE_PATH", "file://"+t.TempDir())
	b := harness.Start(t, harness.Options{Own: true, Args: []string{"--korvet.storage.worker.tick-interval=1s", "--korvet.storage.worker.lease-duration=5s"}})
	run := runner(t, b)
	block := regexp.MustCompile("(?s)```sh\nexport KORVET_STORAGE_REMOTE_PATH=[^\n]*\nbin/korvet server [^\n]*\ncurl [^\n]*\n(.*?)duckdb ").FindStringSubmatch(read(t, "../../README.md"))
	if block == nil {
		t.Fatal("README.md has no table")
	}
	if out, err := run(block[1]); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	redistest.Eventually(t, "the table to have the records", func() bool {
		out, err := run("bin/korvet tables list")
		return err == nil && regexp.MustCompile(`trips +trips +live +1 +1 +3 `).MatchString(out)
	})
}

// plain leaves out empty lines and makes every time in ms the same.
func plain(text string) string {
	text = regexp.MustCompile(`\b1[0-9]{12}\b`).ReplaceAllString(text, "<ms>")
	return strings.TrimSpace(regexp.MustCompile(`\n\n+`).ReplaceAllString(text, "\n"))
}
