// Package suites_test runs the test suites that clients have of their own, unchanged, against the broker: those of franz-go's packages kgo and kadm.
//
// They run out of the module cache, in the version that this module uses. What does not run is in testdata/not-run.txt, with the reason; a test that does
// not run and is not in that file is a failure, and so is one that is in it and passes.
//
// KORVET_TEST_BOOTSTRAP names a broker that runs already, of any make; without it korvet is built and started. KORVET_TEST_LONG=1 takes the number of
// records that the suites have by default.
package suites_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/korvet-io/korvet/test/harness"
)

const (
	kgoPackage  = "github.com/twmb/franz-go/pkg/kgo"
	kadmPackage = "github.com/twmb/franz-go/pkg/kadm"
)

// listedTimeout bounds the attempt of the tests that are listed as not running: some try for ever.
const listedTimeout = 30 * time.Second

func TestFranzGo(t *testing.T) {
	broker := harness.Start(t, harness.Options{})
	records, timeout := "2000", 10*time.Minute
	if os.Getenv("KORVET_TEST_LONG") == "1" {
		records, timeout = "500000", time.Hour
	}
	env := append(os.Environ(), "KGO_SEEDS="+broker.Addr, "KGO_TEST_RF=1", "KGO_TEST_RECORDS="+records, "KGO_TEST_MAX_TOPIC_PARTS=7", "KGO_LOG_LEVEL=none")
	listed, err := readNotRun("testdata/not-run.txt")
	if err != nil {
		t.Fatal(err)
	}
	t.Run("suite", func(t *testing.T) {
		r, err := runTests(t.Context(), env, timeout, "-skip", listed.pattern())
		if err != nil {
			t.Error(err)
		}
		r.report(t, listed)
	})
	t.Run("tests that are listed", func(t *testing.T) {
		r, err := runTests(t.Context(), env, listedTimeout, "-parallel=99", "-run", listed.pattern())
		var exit *exec.ExitError
		if err != nil && !errors.As(err, &exit) {
			t.Fatal(err)
		}
		for _, name := range listed.names() {
			if outcome := r.outcome[name]; outcome == "pass" && !broker.External() { // another make of broker may do more
				t.Errorf("%s passes now: take it off testdata/not-run.txt", name)
			} else {
				t.Logf("%s: not run: %s (%s)", name, listed[name], outcome)
			}
		}
	})
}

// results are what a run of tests came to.
type results struct {
	// outcome is pass, fail or skip, by the test's name.
	outcome map[string]string
	// output is what a test has printed.
	output map[string]*bytes.Buffer
}

// report fails for each test that has failed, and for each that was skipped without being listed.
func (r results) report(t *testing.T, listed notRun) {
	passed := 0
	for name, outcome := range r.outcome {
		switch {
		case outcome == "pass":
			passed++
		case outcome == "fail":
			t.Errorf("%s failed:\n%s", name, lastBytes(r.output[name], 4<<10))
		case listed[name] == "":
			t.Errorf("%s was skipped and is not listed:\n%s", name, lastBytes(r.output[name], 1<<10))
		}
	}
	if passed == 0 {
		t.Error("no test has passed")
	}
	t.Logf("%d tests and parts of tests passed", passed)
}

func lastBytes(b *bytes.Buffer, n int) []byte {
	if b == nil {
		return nil
	}
	return b.Bytes()[max(0, b.Len()-n):]
}

// runTests runs the packages' tests. The error is that of the command, which tells of failed tests, or of reading its output.
func runTests(ctx context.Context, env []string, timeout time.Duration, args ...string) (results, error) {
	words := append([]string{"test", "-json", "-count=1", "-timeout", timeout.String()}, args...)
	cmd := exec.CommandContext(ctx, "go", append(words, kgoPackage, kadmPackage)...)
	cmd.Env = env
	cmd.SysProcAttr = harness.EndWithParent()
	var complaints bytes.Buffer
	cmd.Stderr = &complaints
	out, err := cmd.StdoutPipe()
	if err != nil {
		return results{}, fmt.Errorf("connect to go test: %w", err)
	}
	if err := cmd.Start(); err != nil {
		return results{}, fmt.Errorf("start go test: %w", err)
	}
	r, readErr := readResults(out)
	if err := errors.Join(readErr, cmd.Wait()); err != nil {
		return r, fmt.Errorf("go test: %w: %s", err, lastBytes(&complaints, 2<<10))
	}
	return r, nil
}

// readResults reads the output of go test -json.
func readResults(out io.Reader) (results, error) {
	r := results{outcome: map[string]string{}, output: map[string]*bytes.Buffer{}}
	lines := bufio.NewScanner(out)
	lines.Buffer(nil, 16<<20)
	for lines.Scan() {
		var event struct{ Action, Package, Test, Output string }
		if err := json.Unmarshal(lines.Bytes(), &event); err != nil {
			return r, fmt.Errorf("read %q: %w", lines.Text(), err)
		}
		name := strings.TrimPrefix(event.Package, "github.com/twmb/franz-go/pkg/") + "." + event.Test
		switch event.Action {
		case "pass", "fail", "skip":
			if event.Test != "" {
				r.outcome[name] = event.Action
			}
		case "output":
			if r.output[name] == nil {
				r.output[name] = &bytes.Buffer{}
			}
			r.output[name].WriteString(event.Output)
		}
	}
	return r, lines.Err()
}

// notRun is why a test does not run, by its name: kgo.TestTxnEtl.
type notRun map[string]string

// readNotRun reads lines of a test's name, a blank and the reason. Lines that begin with # are comments.
func readNotRun(file string) (notRun, error) {
	b, err := os.ReadFile(file)
	if err != nil {
		return nil, fmt.Errorf("read tests that do not run: %w", err)
	}
	listed := notRun{}
	for line := range strings.Lines(string(b)) {
		line = strings.TrimSpace(line)
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		name, why, _ := strings.Cut(line, " ")
		if why == "" {
			return nil, fmt.Errorf("read %s: %s has no reason", file, name)
		}
		listed[name] = why
	}
	return listed, nil
}

func (l notRun) names() []string {
	names := make([]string, 0, len(l))
	for name := range l {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// pattern is what -run and -skip want. The packages have no names in common.
func (l notRun) pattern() string {
	var tests []string
	for _, name := range l.names() {
		_, test, _ := strings.Cut(name, ".")
		tests = append(tests, "^"+test+"$")
	}
	return strings.Join(tests, "|")
}
