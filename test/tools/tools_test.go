package tools

import (
	"context"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/korvet-io/korvet/test/harness"
)

var update = flag.Bool("update", false, "write what the tools print now")

// TestToolsPrintWhatTheScriptsSay runs the scripts in the order of their names: each makes what it needs.
func TestToolsPrintWhatTheScriptsSay(t *testing.T) {
	scripts, err := filepath.Glob("testdata/*.txt")
	if err != nil || len(scripts) == 0 {
		t.Fatalf("scripts: %v, %v", scripts, err)
	}
	broker := harness.Start(t, harness.Options{Args: []string{"--korvet.broker.id=1", "--korvet.broker.auto-create-topics-enable=false", "--korvet.storage.remote.path=file://" + t.TempDir()}})
	tools := startJVM(t)
	prepare(t, broker.Addr)
	for _, path := range scripts {
		t.Run(strings.TrimSuffix(filepath.Base(path), ".txt"), func(t *testing.T) {
			raw, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			got := play(t, tools, broker.Addr, string(raw))
			if *update {
				if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			if got != string(raw) && !*update {
				t.Errorf("%s: %s", path, difference(string(raw), got))
			}
		})
	}
}

// prepare makes what scripts share: kept and cut have three records in partition 0, group shown has committed
// offset 1 of kept, and group live has a member.
func prepare(t *testing.T, addr string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	client, err := kgo.NewClient(kgo.SeedBrokers(addr), kgo.RecordPartitioner(kgo.ManualPartitioner()))
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	for _, topic := range []string{"kept", "cut"} {
		if resp, err := kadm.NewClient(client).CreateTopic(ctx, 2, 1, nil, topic); err != nil || resp.Err != nil {
			t.Fatalf("create %s: %v, %v", topic, err, resp.Err)
		}
		for i := range 3 {
			record := &kgo.Record{Topic: topic, Value: []byte("v"), Timestamp: time.UnixMilli(int64(1000 * (i + 1)))}
			if err := client.ProduceSync(ctx, record).FirstErr(); err != nil {
				t.Fatalf("produce to %s: %v", topic, err)
			}
		}
	}
	offsets := kadm.Offsets{}
	offsets.AddOffset("kept", 0, 1, -1)
	if err := kadm.NewClient(client).CommitAllOffsets(ctx, "shown", offsets); err != nil {
		t.Fatalf("commit: %v", err)
	}
	join(ctx, t, addr)
}

// join makes a member of group live, which has read and committed all of kept, and stays until the test ends.
func join(ctx context.Context, t *testing.T, addr string) {
	t.Helper()
	member, err := kgo.NewClient(kgo.SeedBrokers(addr), kgo.ClientID("app"), kgo.ConsumerGroup("live"), kgo.ConsumeTopics("kept"),
		kgo.Balancers(kgo.RangeBalancer()), kgo.DisableAutoCommit(), kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(member.Close)
	for read := 0; read < 3; {
		fetched := member.PollFetches(ctx)
		if err := fetched.Err(); err != nil {
			t.Fatalf("read as a member: %v", err)
		}
		read += fetched.NumRecords()
	}
	if err := member.CommitUncommittedOffsets(ctx); err != nil {
		t.Fatalf("commit as a member: %v", err)
	}
}

// play runs a script's commands and returns the script as it should be.
func play(t *testing.T, tools *jvm, addr, script string) string {
	t.Helper()
	var out strings.Builder
	for line := range strings.Lines(script) {
		command, ok := strings.CutPrefix(line, "$ ")
		switch {
		case ok:
			printed, code := tools.run(t, words(strings.ReplaceAll(strings.TrimSpace(command), "HOST:PORT", addr)))
			fmt.Fprintf(&out, "%s%s", line, mask(printed, addr))
			if code != 0 {
				fmt.Fprintf(&out, "exit %d\n", code)
			}
			out.WriteString("\n")
		case strings.HasPrefix(line, "#"):
			out.WriteString(line)
		}
	}
	return strings.TrimSuffix(out.String(), "\n")
}

// words splits a command at its blanks; single quotes keep them.
func words(command string) []string {
	var list []string
	for i, part := range strings.Split(command, "'") {
		if i%2 == 1 {
			list = append(list, part)
			continue
		}
		list = append(list, strings.Fields(part)...)
	}
	return list
}

// masks replace what differs from run to run or is the JVM's own.
var masks = []struct {
	find *regexp.Regexp
	put  string
}{
	{regexp.MustCompile(`(?m)^\s+at .*\n|^\s+\.\.\. \d+ more\n`), ""},
	{regexp.MustCompile(`(TopicId: )\S+`), "${1}ID"},
	{regexp.MustCompile(`(Cluster ID: )\S+`), "${1}ID"},
	{regexp.MustCompile(`\b\d+/\d+/\d+ \d+:\d+:\d+\b`), "TIME"},
	{regexp.MustCompile(`\bapp-[0-9a-f-]{36}`), "app-ID"},
	{regexp.MustCompile(`("size":)[1-9]\d*`), "${1}SIZE"},
	{regexp.MustCompile(`(?m)[ \t]+$`), ""},
	{regexp.MustCompile(` {2,}`), "  "},
}

func mask(printed, addr string) string {
	host, port, _ := strings.Cut(addr, ":")
	printed = strings.ReplaceAll(printed, addr, "HOST:PORT")
	printed = regexp.MustCompile(regexp.QuoteMeta(host)+`(\s+)`+port+`\b`).ReplaceAllString(printed, "HOST${1}PORT")
	for _, m := range masks {
		printed = m.find.ReplaceAllString(printed, m.put)
	}
	if printed != "" && !strings.HasSuffix(printed, "\n") {
		printed += "\n"
	}
	return printed
}

// difference shows the first line that differs.
func difference(want, got string) string {
	w, g := strings.Split(want, "\n"), strings.Split(got, "\n")
	command := ""
	for i := range max(len(w), len(g)) {
		line := func(list []string) string {
			if i < len(list) {
				return list[i]
			}
			return "(nothing)"
		}
		if strings.HasPrefix(line(w), "$ ") {
			command = line(w)
		}
		if line(w) != line(g) {
			return fmt.Sprintf("after %s\n got %s\nwant %s", command, line(g), line(w))
		}
	}
	return "none"
}
