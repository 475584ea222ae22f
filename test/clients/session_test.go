package clients_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/korvet-io/korvet/test/harness"
)

// session talks to one of the programs in python, node or java, which runs for the whole test, one command at a time:
//
//	version
//	produce TOPIC FILE [codec=C] [acks=A] [idempotent=true] [api=0.9]
//	consume TOPIC PARTITION COUNT
//	since TOPIC MS COUNT
//	member GROUP TOPIC OPTION...
//	admin VERB WORD...
//
// FILE holds records as record.line has them. "member" has no answer: member_test.go tells what follows. Otherwise the answer is lines (a version; an offset per record, -1 for unknown; a record per line), then "ok",
// or "error" and why.
type session struct {
	program string
	args    []string
	files   string // a folder for what goes to the program
	stderr  string // a file

	mu     sync.Mutex
	cmd    *exec.Cmd // nil when the program does not run
	stdin  io.Writer
	stdout *bufio.Reader
}

// newSession prepares a program that is started when it is first asked something and runs until the test ends.
func newSession(t *testing.T, program string, args ...string) *session {
	t.Helper()
	dir := t.TempDir()
	s := &session{program: program, args: args, files: dir, stderr: filepath.Join(dir, "stderr")}
	t.Cleanup(func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.end()
	})
	return s
}

// start runs the program if it does not run.
func (s *session) start() error {
	if s.cmd != nil {
		return nil
	}
	stderr, err := os.Create(s.stderr)
	if err != nil {
		return fmt.Errorf("create file for errors: %w", err)
	}
	defer func() { _ = stderr.Close() }()
	cmd := exec.Command(s.program, s.args...)
	cmd.Stderr = stderr
	cmd.SysProcAttr = harness.EndWithParent()
	stdin, err := cmd.StdinPipe()
	if err != nil {
		return fmt.Errorf("connect to %s: %w", s.program, err)
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		return fmt.Errorf("connect to %s: %w", s.program, err)
	}
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("start %s: %w", s.program, err)
	}
	s.cmd, s.stdin, s.stdout = cmd, stdin, bufio.NewReaderSize(stdout, 1<<20)
	return nil
}

// end kills the program, whatever it is doing.
func (s *session) end() {
	if s.cmd == nil {
		return
	}
	_ = s.cmd.Process.Kill() // it may have ended by itself
	_ = s.cmd.Wait()         // "signal: killed" is what was asked for
	s.cmd = nil
}

// call sends a command and returns the lines of the answer. A program that does not answer in time is killed; the next call starts another.
func (s *session) call(ctx context.Context, words ...string) ([]string, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.start(); err != nil {
		return nil, err
	}
	cmd := s.cmd
	stop := context.AfterFunc(ctx, func() { _ = cmd.Process.Kill() }) // reading its output then fails
	defer stop()
	if _, err := fmt.Fprintln(s.stdin, strings.Join(words, " ")); err != nil {
		s.end()
		return nil, fmt.Errorf("%s: send: %w", words[0], err)
	}
	var lines []string
	for {
		line, err := s.stdout.ReadString('\n')
		if err != nil {
			s.end()
			return lines, fmt.Errorf("%s: no answer after %d lines: %w %w; %s", words[0], len(lines), err, context.Cause(ctx), s.complaints())
		}
		line = strings.TrimSuffix(line, "\n")
		if line == "ok" {
			return lines, nil
		}
		if why, failed := strings.CutPrefix(line, "error "); failed {
			return lines, fmt.Errorf("%s: %s; %s", words[0], why, s.complaints())
		}
		lines = append(lines, line)
	}
}

// complaints is the end of what the program wrote to standard error.
func (s *session) complaints() string {
	b, err := os.ReadFile(s.stderr)
	if err != nil {
		return err.Error()
	}
	return string(b[max(0, len(b)-1000):])
}

func (s *session) version(ctx context.Context) (string, error) {
	lines, err := s.call(ctx, "version")
	if err != nil || len(lines) != 1 {
		return "", fmt.Errorf("ask for version: %d lines: %w", len(lines), err)
	}
	return lines[0], nil
}

func (s *session) produce(ctx context.Context, r produceRequest) ([]int64, error) {
	file, err := s.write(r.records)
	if err != nil {
		return nil, err
	}
	defer func() { _ = os.Remove(file) }()
	words := []string{"produce", r.topic, file, "codec=" + r.codec, "acks=" + r.acks}
	if r.idempotent {
		words = append(words, "idempotent=true")
	}
	if r.oldFormat != "" {
		words = append(words, "api="+r.oldFormat)
	}
	lines, err := s.call(ctx, words...)
	if err != nil {
		return nil, err
	}
	var p fieldParser
	offsets := make([]int64, len(lines))
	for i, line := range lines {
		offsets[i] = p.number(line)
	}
	return offsets, p.err
}

func (s *session) admin(ctx context.Context, verb string, words ...string) ([]string, error) {
	return s.call(ctx, append([]string{"admin", verb}, words...)...)
}

func (s *session) write(records []record) (string, error) {
	f, err := os.CreateTemp(s.files, "records-*")
	if err != nil {
		return "", fmt.Errorf("create file of records: %w", err)
	}
	w := bufio.NewWriter(f)
	for _, r := range records {
		_, _ = fmt.Fprintln(w, r.line()) // Flush reports
	}
	if err := w.Flush(); err != nil {
		return "", fmt.Errorf("write file of records: %w", err)
	}
	if err := f.Close(); err != nil {
		return "", fmt.Errorf("close file of records: %w", err)
	}
	return f.Name(), nil
}

func (s *session) consume(ctx context.Context, topic string, partition int32, count int) ([]record, error) {
	return s.records(s.call(ctx, "consume", topic, fmt.Sprint(partition), fmt.Sprint(count)))
}
