package redisproc

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/redis/rueidis"
)

// helperDir makes the test binary a korvet that starts a server in the directory and lives until it is killed.
const helperDir = "KORVET_TEST_REDISPROC_DIR"

func TestMain(m *testing.M) {
	if dir := os.Getenv(helperDir); dir != "" {
		p, err := Start(context.Background(), options(dir))
		fmt.Println(err, p != nil && p.Adopted())
		_, _ = io.Copy(io.Discard, os.Stdin) // until killed
		return
	}
	os.Exit(m.Run())
}

func options(dir string) Options {
	return Options{
		Dir:    dir,
		Binary: func(context.Context) (string, error) { return System(io.Discard).Find() },
		Log:    slog.New(slog.DiscardHandler),
	}
}

func start(t *testing.T, dir string) *Process {
	t.Helper()
	p, err := Start(t.Context(), options(dir))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { p.Stop(context.Background()) })
	return p
}

func do(t *testing.T, p *Process, command ...string) string {
	t.Helper()
	c, err := rueidis.NewClient(rueidis.ClientOption{InitAddress: []string{p.Addr()}, DisableCache: true, ForceSingleClient: true})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	m, err := c.Do(t.Context(), c.B().Arbitrary(command...).Build()).ToAny()
	if err != nil {
		t.Fatalf("%v: %v", command, err)
	}
	return fmt.Sprint(m)
}

// alive tells whether a process runs: one that has ended but whose exit code nobody has asked for does not.
func alive(pid int) bool {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	return syscall.Kill(pid, 0) == nil && (err != nil || !strings.Contains(string(stat), ") Z "))
}

func eventually(t *testing.T, what string, condition func() bool) {
	t.Helper()
	for deadline := time.Now().Add(30 * time.Second); !condition(); time.Sleep(pollPause) {
		if time.Now().After(deadline) {
			t.Fatalf("waited for %s", what)
		}
	}
}

// orphan starts a server through another process, kills that one and returns the server's process id.
func orphan(t *testing.T, dir string) int {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), helperDir+"="+dir)
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	line, _ := bufio.NewReader(out).ReadString('\n')
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait() // killed
	if line != "<nil> false\n" {
		t.Fatalf("the helper said %q", line)
	}
	s, err := readState(dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if childAlive(dir) {
			_ = syscall.Kill(s.PID, syscall.SIGKILL)
		}
	})
	return s.PID
}

func TestStartGoesOnWithTheDataAndThePortOfTheLastRun(t *testing.T) {
	dir := t.TempDir()
	p := start(t, dir)
	addr, pid := p.Addr(), p.PID()
	do(t, p, "SET", "a", "1")
	p.Stop(t.Context())
	if alive(pid) {
		t.Errorf("process %d lives after Stop", pid)
	}
	p = start(t, dir)
	if got := do(t, p, "GET", "a"); got != "1" || p.Addr() != addr || p.Adopted() {
		t.Errorf("got %s on %s, adopted %v; want 1 on %s", got, p.Addr(), p.Adopted(), addr)
	}
}

func TestServerListensOnLoopbackOnlyWithAOFEverySecond(t *testing.T) {
	p := start(t, t.TempDir())
	host, _, err := net.SplitHostPort(p.Addr())
	if err != nil || host != "127.0.0.1" {
		t.Errorf("address %s", p.Addr())
	}
	for setting, want := range map[string]string{"bind": "127.0.0.1", "appendonly": "yes", "appendfsync": "everysec", "maxmemory-policy": "noeviction"} {
		if got := do(t, p, "CONFIG", "GET", setting); !strings.Contains(got, want) {
			t.Errorf("%s: %s, want %s", setting, got, want)
		}
	}
}

func TestStartAdoptsAServerThatOutlivedItsParent(t *testing.T) {
	dir := t.TempDir()
	pid := orphan(t, dir)
	p := start(t, dir)
	if !p.Adopted() || p.PID() != pid {
		t.Fatalf("adopted %v, process %d, want %d", p.Adopted(), p.PID(), pid)
	}
	do(t, p, "SET", "a", "1")
	p.Stop(t.Context())
	eventually(t, "the adopted server to be gone", func() bool { return !alive(pid) })
}

func TestStartAdoptsAServerWhoseParentDiedBeforeItNotedTheProcess(t *testing.T) {
	dir := t.TempDir()
	pid := orphan(t, dir)
	s, err := readState(dir)
	if err == nil {
		err = writeState(dir, state{Port: s.Port})
	}
	if err != nil {
		t.Fatal(err)
	}
	if p := start(t, dir); p.PID() != pid {
		t.Errorf("process %d, want %d", p.PID(), pid)
	}
}

func TestStartNeverRunsASecondServerBesideOneThatDoesNotAnswer(t *testing.T) {
	dir := t.TempDir()
	pid := orphan(t, dir)
	if err := syscall.Kill(pid, syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	if _, err := Start(ctx, options(dir)); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("got %v, want that the server does not answer", err)
	}
	if err := syscall.Kill(pid, syscall.SIGCONT); err != nil {
		t.Fatal(err)
	}
	if p := start(t, dir); p.PID() != pid {
		t.Errorf("process %d, want %d", p.PID(), pid)
	}
}

func TestOfManyStartsAtOnceOneSucceeds(t *testing.T) {
	dir := t.TempDir()
	var wg sync.WaitGroup
	var mu sync.Mutex
	var running []*Process
	for range 8 {
		wg.Go(func() {
			p, err := Start(t.Context(), options(dir))
			var inUse *InUseError
			switch {
			case err == nil:
				mu.Lock()
				running = append(running, p)
				mu.Unlock()
			case !errors.As(err, &inUse):
				t.Errorf("got %v, want that the directory is in use", err)
			}
		})
	}
	wg.Wait()
	for _, p := range running {
		p.Stop(t.Context())
	}
	if len(running) != 1 {
		t.Errorf("%d servers on one directory", len(running))
	}
}

func TestStartNamesWhoUsesTheDirectory(t *testing.T) {
	p := start(t, t.TempDir())
	_, err := Start(t.Context(), options(p.Dir()))
	if err == nil || !strings.Contains(err.Error(), p.Dir()) || !strings.Contains(err.Error(), fmt.Sprint(os.Getpid())) {
		t.Errorf("got %v, want the directory and process %d", err, os.Getpid())
	}
}

func TestAServerThatEndsIsStartedAgainOnItsPort(t *testing.T) {
	p := start(t, t.TempDir())
	do(t, p, "SET", "a", "1")
	addr, pid := p.Addr(), p.PID()
	if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	eventually(t, "another server", func() bool { return p.PID() != pid })
	if got := do(t, p, "GET", "a"); got != "1" || p.Addr() != addr {
		t.Errorf("got %s on %s, want 1 on %s", got, p.Addr(), addr)
	}
}

func TestSignalsOfTheTerminalDoNotReachTheServer(t *testing.T) {
	p := start(t, t.TempDir())
	group, err := syscall.Getpgid(p.PID())
	if err != nil || group == syscall.Getpgrp() {
		t.Errorf("process group %d, %v; ours is %d", group, err, syscall.Getpgrp())
	}
}

func TestStopKillsAServerThatDoesNotEnd(t *testing.T) {
	p := start(t, t.TempDir())
	pid := p.PID()
	if err := syscall.Kill(pid, syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	p.Stop(ctx)
	if alive(pid) {
		t.Error("the server lives")
	}
}

func TestStartSaysWhyAServerDoesNotStart(t *testing.T) {
	dir := t.TempDir()
	opt := options(dir)
	opt.Binary = func(context.Context) (string, error) { return exec.LookPath("false") }
	if _, err := Start(t.Context(), opt); err == nil || !strings.Contains(err.Error(), "it ended") {
		t.Errorf("got %v", err)
	}
	start(t, dir) // and the directory is free again
}
