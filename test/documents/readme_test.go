package documents

import (
	"net"
	"os/exec"
	"regexp"
	"strings"
	"testing"

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
		case strings.Contains(block[1], "kcat -P"):
			commands = block[1]
		case strings.Contains(block[1], `1) "`):
			want = block[1]
		}
	}
	_, commands, found := strings.Cut(commands, "bin/korvet server &\n")
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

// plain leaves out empty lines and makes every time in ms the same.
func plain(text string) string {
	text = regexp.MustCompile(`\b1[0-9]{12}\b`).ReplaceAllString(text, "<ms>")
	return strings.TrimSpace(regexp.MustCompile(`\n\n+`).ReplaceAllString(text, "\n"))
}
