package ecosystem_test

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/korvet-io/korvet/test/harness"
)

// child is a process of the system under test. It ends with the test; its output is shown when the test fails.
type child struct {
	t      *testing.T
	name   string
	log    string // a file with what it printed
	cmd    *exec.Cmd
	exited chan struct{}

	stdin  io.WriteCloser // nil unless the child reads it
	stdout *bufio.Reader  // nil unless the child is asked things
}

// jvm are the options that make small Java programs start fast on few cores.
func jvm(heap string) []string {
	return []string{"-Xmx" + heap, "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-Dorg.slf4j.simpleLogger.defaultLogLevel=warn"}
}

// start runs a program whose output goes to a file.
func start(t *testing.T, name, program string, args ...string) *child {
	t.Helper()
	c := prepare(t, name, program, args...)
	c.run()
	return c
}

// listen runs a program that reads its standard input, and whose output goes to a file.
func listen(t *testing.T, name, program string, args ...string) *child {
	t.Helper()
	c := prepare(t, name, program, args...)
	c.openInput()
	c.run()
	return c
}

// converse runs a program that answers commands: lines, then "ok" or "error" and why.
func converse(t *testing.T, name, program string, args ...string) *child {
	t.Helper()
	c := prepare(t, name, program, args...)
	c.openInput()
	c.cmd.Stdout = nil
	stdout, err := c.cmd.StdoutPipe()
	if err != nil {
		t.Fatalf("connect to %s: %v", name, err)
	}
	c.stdout = bufio.NewReaderSize(stdout, 1<<20)
	c.run()
	return c
}

func (c *child) openInput() {
	c.t.Helper()
	stdin, err := c.cmd.StdinPipe()
	if err != nil {
		c.t.Fatalf("connect to %s: %v", c.name, err)
	}
	c.stdin = stdin
}

func prepare(t *testing.T, name, program string, args ...string) *child {
	t.Helper()
	dir := t.TempDir()
	c := &child{t: t, name: name, log: filepath.Join(dir, "log"), exited: make(chan struct{})}
	out, err := os.OpenFile(c.log, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		t.Fatalf("create log of %s: %v", name, err)
	}
	t.Cleanup(func() { _ = out.Close() })
	c.cmd = exec.Command(program, args...)
	c.cmd.Dir = dir
	c.cmd.Stdout, c.cmd.Stderr = out, out
	c.cmd.SysProcAttr = harness.EndWithParent()
	return c
}

func (c *child) run() {
	c.t.Helper()
	if err := c.cmd.Start(); err != nil {
		c.t.Fatalf("start %s: %v", c.name, err)
	}
	c.t.Cleanup(func() {
		c.kill()
		if c.t.Failed() {
			c.t.Logf("output of %s:\n%s", c.name, c.output())
		}
	})
	go func() {
		_ = c.cmd.Wait() // how it ended is read from cmd.ProcessState
		close(c.exited)
	}()
}

// kill ends the child at once.
func (c *child) kill() {
	c.signal(syscall.SIGKILL)
	<-c.exited
}

// stop asks the child to end and waits until it has.
func (c *child) stop() {
	c.t.Helper()
	c.signal(syscall.SIGTERM)
	c.awaitEnd("SIGTERM")
}

// endInput ends the child's standard input, which asks some to end, and waits until it has.
func (c *child) endInput() {
	c.t.Helper()
	if err := c.stdin.Close(); err != nil {
		c.t.Errorf("end the input of %s: %v", c.name, err)
	}
	c.awaitEnd("the end of its input")
}

// awaitEnd fails the test when the child does not end, and asks it where it stands: a Java program answers SIGQUIT with its threads' stacks.
func (c *child) awaitEnd(asked string) {
	c.t.Helper()
	select {
	case <-c.exited:
	case <-time.After(patience):
		c.t.Errorf("%s still runs %v after %s", c.name, patience, asked)
		c.signal(syscall.SIGQUIT)
		time.Sleep(time.Second) // for it to print them
		c.kill()
	}
}

func (c *child) signal(s syscall.Signal) {
	c.t.Helper()
	if err := c.cmd.Process.Signal(s); err != nil && !errors.Is(err, os.ErrProcessDone) {
		c.t.Errorf("signal %s: %v", c.name, err)
	}
}

// running returns an error once the child has ended.
func (c *child) running() error {
	select {
	case <-c.exited:
		return fmt.Errorf("%s has ended: %v", c.name, c.cmd.ProcessState)
	default:
		return nil
	}
}

// ask sends a command, unless it is empty, and returns the lines of the answer, or fails the test.
func (c *child) ask(words ...string) []string {
	c.t.Helper()
	lines, err := c.answer(words)
	if err != nil {
		c.t.Fatalf("ask %s to %s: %v", c.name, strings.Join(words, " "), err)
	}
	return lines
}

func (c *child) answer(words []string) ([]string, error) {
	deadline := time.AfterFunc(patience, func() { c.signal(syscall.SIGKILL) }) // reading its output then fails
	defer deadline.Stop()
	if len(words) > 0 {
		if _, err := fmt.Fprintln(c.stdin, strings.Join(words, " ")); err != nil {
			return nil, fmt.Errorf("send: %w", err)
		}
	}
	var lines []string
	for {
		line, err := c.stdout.ReadString('\n')
		if err != nil {
			return nil, fmt.Errorf("no answer after %d lines: %w", len(lines), err)
		}
		line = strings.TrimSuffix(line, "\n")
		if line == "ok" {
			return lines, nil
		}
		if why, failed := strings.CutPrefix(line, "error "); failed {
			return nil, errors.New(why)
		}
		lines = append(lines, line)
	}
}

// output is the end of what the child has printed.
func (c *child) output() string {
	b, err := os.ReadFile(c.log)
	if err != nil {
		return err.Error()
	}
	return string(b[max(0, len(b)-16<<10):])
}
