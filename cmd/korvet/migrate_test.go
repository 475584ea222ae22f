package main

import (
	"encoding/json"
	"strings"
	"syscall"
	"testing"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/korvet-io/korvet/internal/migrate"
)

func (w *groupsWorld) migrate(args ...string) (code int, out, stderr string) {
	w.t.Helper()
	return w.home.run(append([]string{"migrate", "--bootstrap-server", w.broker}, args...)...)
}

func TestAMigrationIsPlannedKilledResumedAndCutOver(t *testing.T) {
	w := newGroupsWorld(t)
	w.commit("billing", 3, 2, 0)
	w.join("busy")
	copying := strings.Fields("--topic orders --to orders-v2 --partitions 2 --config storage.compression.type=gzip")
	code, out, stderr := w.migrate(append(copying, "--plan")...)
	for _, want := range []string{"orders-v2, 2 partitions, which will be created", "storage.compression.type=gzip  (not as in the source)", "group billing (Empty)", "partition 0 at 3"} {
		if code != exitOK || !strings.Contains(out, want) {
			t.Fatalf("plan: exit %d, said %s%s, want %q", code, out, stderr, want)
		}
	}
	run := w.home.start(append(append([]string{"migrate", "--bootstrap-server", w.broker}, copying...), "--run")...)
	status := func() (s migrate.Status) {
		if _, out, _ := w.migrate("--status", "--to", "orders-v2", "--json"); json.Unmarshal([]byte(out), &s) != nil {
			return migrate.Status{}
		}
		return s
	}
	copied := func(runs int, offsets int64) func() bool {
		return func() bool {
			s := status()
			return s.Runs == runs && len(s.Copied) == 3 && s.Copied[0].Copied == offsets
		}
	}
	eventually(t, "the copy: ", run.out, copied(1, 5))
	run.interrupt(syscall.SIGKILL)
	if err := w.client.ProduceSync(t.Context(), &kgo.Record{Topic: "orders", Value: []byte("late")}).FirstErr(); err != nil {
		t.Fatal(err)
	}
	run = w.home.start(append(append([]string{"migrate", "--bootstrap-server", w.broker}, copying...), "--run")...)
	eventually(t, "the copy to go on: ", run.out, copied(2, 6))
	if code, out, stderr := w.migrate("--verify", "--to", "orders-v2"); code != exitOK {
		t.Errorf("verify: exit %d, said %s%s", code, out, stderr)
	}
	code, out, stderr = w.migrate(strings.Fields("--cutover --topic orders --to orders-v2 --quiet 1ms --json")...)
	var result migrate.CutoverResult
	if err := json.Unmarshal([]byte(out), &result); code != exitOK || err != nil || len(result.Groups) != 1 || result.Groups[0].Done != "translated" {
		t.Fatalf("cutover: exit %d, %v, said %s%s", code, err, out, stderr)
	}
	<-run.done
	if code := run.cmd.ProcessState.ExitCode(); code != exitOK || !strings.Contains(run.out.String(), "has taken over") {
		t.Errorf("the run that was taken over: exit %d, said %s", code, run.out)
	}
}

func TestMigrateRefusesWhatDoesNotGoTogether(t *testing.T) {
	h := newHome(t)
	for line, want := range map[string]string{
		"":                                   "needs one of",
		"--plan --run --topic a --to b":      "needs one of",
		"--run --topic a":                    "--to is missing",
		"--run --to b":                       "--topic is missing",
		"--run --topic a --to a":             "must be another topic",
		"--status --to b --partitions 2":     "go with --plan and --run",
		"--run --topic a --to b --quiet 1s":  "go with --cutover",
		"--run --topic a --to b --config x":  "want name=value",
		"--cutover --topic a --to b --quick": "goes with --plan",
	} {
		code, _, stderr := h.run(append([]string{"migrate"}, strings.Fields(line)...)...)
		if code != exitUsage || !strings.Contains(stderr, want) {
			t.Errorf("%s: exit %d, said %s", line, code, stderr)
		}
	}
}
