package readers_test

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/korvet-io/korvet/test/harness"
)

// engineSettings are what a session is told of the place.
type engineSettings struct {
	URI    string `json:"uri"`    // of the catalog; empty: read by path only
	Token  string `json:"token"`  // of the catalog
	Vended bool   `json:"vended"` // the catalog tells how its store is reached
	S3     *keys  `json:"s3"`     // of a store that is read without a catalog
	Server string `json:"server"` // endpoint of the S3 store, for Trino, which takes none from a catalog
	Home   string `json:"home"`   // where install.sh put what engines need
}

// keys are how an engine reaches a store by itself.
type keys struct {
	Endpoint string `json:"endpoint"`
	ID       string `json:"id"`
	Secret   string `json:"secret"`
}

// engine is one behind python/session.py, which runs for the whole test, one command at a time.
type engine struct {
	t      testing.TB
	name   string
	cmd    *exec.Cmd
	stdin  io.WriteCloser
	stdout *bufio.Reader
	stderr string // a file
}

// answer is what a session says to a command.
type answer struct {
	Error   string    `json:"error"`
	Version string    `json:"version"`
	Found   [][]int64 `json:"found"` // partition, offset
	summary
}

// patience bounds one command and every wait. It is generous because engines share few cores, and Trino starts with the first
// one; it is no expectation.
const patience = 10 * time.Minute

// install brings the engines and returns their folder.
func install(t testing.TB, what string) string {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), "./install.sh", what).Output()
	if err != nil {
		t.Fatalf("install %s: %v\n%s", what, err, errorText(err))
	}
	lines := strings.Split(strings.TrimSpace(string(out)), "\n")
	return lines[len(lines)-1]
}

func errorText(err error) string {
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		return string(exit.Stderr)
	}
	return ""
}

// newEngine starts a session of an engine, which ends with the test.
func newEngine(t testing.TB, name string, s engineSettings) *engine {
	t.Helper()
	settings, err := json.Marshal(s)
	if err != nil {
		t.Fatal(err)
	}
	script, err := filepath.Abs(filepath.Join("python", "session.py"))
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	e := &engine{t: t, name: name, stderr: filepath.Join(dir, "stderr")}
	stderr, err := os.Create(e.stderr)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = stderr.Close() }()
	e.cmd = exec.Command(filepath.Join(s.Home, "python", "bin", "python"), "-B", script, name, string(settings))
	e.cmd.Dir, e.cmd.Stderr, e.cmd.SysProcAttr = dir, stderr, harness.EndWithParent()
	stdout, err := e.cmd.StdoutPipe()
	if err == nil {
		e.stdin, err = e.cmd.StdinPipe()
	}
	if err == nil {
		err = e.cmd.Start()
	}
	if err != nil {
		t.Fatalf("start %s: %v", name, err)
	}
	e.stdout = bufio.NewReaderSize(stdout, 1<<20)
	t.Cleanup(e.end)
	return e
}

// end lets the session end; one that does not is killed.
func (e *engine) end() {
	_ = e.stdin.Close()
	kill := time.AfterFunc(30*time.Second, func() { _ = e.cmd.Process.Kill() })
	defer kill.Stop()
	_ = e.cmd.Wait()
	if said, err := os.ReadFile(e.stderr); e.t.Failed() && err == nil {
		e.t.Logf("%s said: %s", e.name, said[max(0, len(said)-4000):])
	}
}

// try sends a command and returns its answer; what the engine refused is an error.
func (e *engine) try(do string, arguments map[string]any) (answer, error) {
	command := map[string]any{"do": do}
	for k, v := range arguments {
		command[k] = v
	}
	line, err := json.Marshal(command)
	if err != nil {
		return answer{}, fmt.Errorf("encode command: %w", err)
	}
	kill := time.AfterFunc(patience, func() { _ = e.cmd.Process.Kill() })
	defer kill.Stop()
	if _, err := fmt.Fprintf(e.stdin, "%s\n", line); err != nil {
		return answer{}, fmt.Errorf("send to %s: %w", e.name, err)
	}
	reply, err := e.stdout.ReadBytes('\n')
	if err != nil {
		return answer{}, fmt.Errorf("%s has ended: %w", e.name, err)
	}
	var a answer
	if err := json.Unmarshal(reply, &a); err != nil {
		return answer{}, fmt.Errorf("%s said %q: %w", e.name, reply, err)
	}
	if a.Error != "" {
		return a, errors.New(a.Error)
	}
	return a, nil
}

// do sends a command that must succeed.
func (e *engine) do(t testing.TB, do string, arguments map[string]any) answer {
	t.Helper()
	a, err := e.try(do, arguments)
	if err != nil {
		t.Fatalf("%s: %s %v: %v", e.name, do, arguments, err)
	}
	return a
}
