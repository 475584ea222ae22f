package harness

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"
)

// pollInterval is the pause between two looks at a condition.
const pollInterval = 10 * time.Millisecond

// process is a child that can be started several times with the same arguments. Its output goes to one file.
type process struct {
	name    string
	binary  string
	args    []string
	env     []string
	logFile string

	cmd    *exec.Cmd
	exited chan struct{} // closed when cmd has ended; cmd.ProcessState is set then
}

// newProcess prepares a child that ends with the test at the latest. Its output is shown when the test fails.
func newProcess(t testing.TB, name, binary string, args, env []string) *process {
	t.Helper()
	p := &process{name: name, binary: binary, args: args, env: env, logFile: filepath.Join(t.TempDir(), name+".log")}
	t.Cleanup(func() {
		p.stop(t)
		if t.Failed() {
			t.Logf("output of %s:\n%s", name, tail(p.logs(), 16<<10))
		}
	})
	return p
}

// start runs the child and waits until ready returns nil. It fails the test when the child ends before that.
func (p *process) start(t testing.TB, ready func() error) {
	t.Helper()
	if err := p.spawn(); err != nil {
		t.Fatalf("start %s: %v", p.name, err)
	}
	p.awaitReady(t, ready)
}

// awaitReady waits until ready returns nil. It fails the test when the child ends before that.
func (p *process) awaitReady(t testing.TB, ready func() error) {
	t.Helper()
	deadline := time.Now().Add(startTimeout)
	for {
		err := ready()
		if err == nil {
			return
		}
		select {
		case <-p.exited:
			t.Fatalf("%s ended before it was ready: %v\n%s", p.name, p.cmd.ProcessState, tail(p.logs(), 4<<10))
		case <-time.After(pollInterval):
		}
		if time.Now().After(deadline) {
			t.Fatalf("%s is not ready after %v: %v", p.name, startTimeout, err)
		}
	}
}

func (p *process) spawn() error {
	out, err := os.OpenFile(p.logFile, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return fmt.Errorf("open its log: %w", err)
	}
	defer func() { _ = out.Close() }()
	cmd := exec.Command(p.binary, p.args...)
	cmd.Env = append(os.Environ(), p.env...)
	cmd.Stdout, cmd.Stderr = out, out
	cmd.SysProcAttr = EndWithParent()
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("run %s: %w", p.binary, err)
	}
	exited := make(chan struct{})
	p.cmd, p.exited = cmd, exited
	go func() {
		_ = cmd.Wait() // how it ended is read from cmd.ProcessState
		close(exited)
	}()
	return nil
}

// kill ends the child with SIGKILL; a child that does not run is left alone.
func (p *process) kill(t testing.TB) {
	t.Helper()
	if p.signal(t, syscall.SIGKILL) {
		<-p.exited
	}
}

// stop ends the child with SIGTERM; a child that does not run is left alone, one that does not obey is killed and fails the test.
func (p *process) stop(t testing.TB) {
	t.Helper()
	if !p.signal(t, syscall.SIGTERM) {
		return
	}
	p.signal(t, syscall.SIGCONT) // a test may have frozen it
	select {
	case <-p.exited:
	case <-time.After(stopTimeout):
		t.Errorf("%s still runs %v after SIGTERM", p.name, stopTimeout)
		p.kill(t)
	}
}

// signal reports whether there was a child to be signalled.
func (p *process) signal(t testing.TB, s os.Signal) bool {
	t.Helper()
	if p.pid() == 0 {
		return false
	}
	if err := p.cmd.Process.Signal(s); err != nil && !errors.Is(err, os.ErrProcessDone) {
		t.Errorf("signal %s: %v", p.name, err)
		return false
	}
	return true
}

// pid is the child's process id, or 0 when it does not run.
func (p *process) pid() int {
	if p.cmd == nil {
		return 0
	}
	select {
	case <-p.exited:
		return 0
	default:
		return p.cmd.Process.Pid
	}
}

func (p *process) logs() string {
	b, err := os.ReadFile(p.logFile)
	if err != nil {
		return fmt.Sprintf("no output of %s: %v", p.name, err)
	}
	return string(b)
}

// tail returns the last n bytes of s.
func tail(s string, n int) string {
	if len(s) <= n {
		return s
	}
	return "..." + s[len(s)-n:]
}
