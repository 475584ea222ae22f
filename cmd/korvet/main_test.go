package main

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// asKorvet makes the test binary the korvet command.
const asKorvet = "KORVET_TEST_MAIN"

// patience bounds every wait. Reaching it fails the test.
const patience = 60 * time.Second

func TestMain(m *testing.M) {
	if os.Getenv(asKorvet) != "" {
		main()
	}
	os.Exit(m.Run())
}

// home is a machine of its own for the commands of one test: its folders, no settings.
type home struct {
	t   *testing.T
	dir string
}

func newHome(t *testing.T) home { return home{t: t, dir: t.TempDir()} }

// command is korvet with arguments, in a process group of its own as a shell would start it.
func (h home) command(args ...string) *exec.Cmd {
	cmd := exec.Command(os.Args[0], args...)
	cmd.Dir = h.dir
	cmd.Env = []string{asKorvet + "=1", "PATH=" + os.Getenv("PATH"), "HOME=" + h.dir, "XDG_DATA_HOME=" + filepath.Join(h.dir, "data"), "XDG_CACHE_HOME=" + filepath.Join(h.dir, "cache")}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	return cmd
}

// run executes korvet and returns its exit code and what it said.
func (h home) run(args ...string) (code int, out, stderr string) {
	h.t.Helper()
	var o, e bytes.Buffer
	ctx, cancel := context.WithTimeout(h.t.Context(), patience)
	defer cancel()
	cmd := h.command(args...)
	cmd.Stdout, cmd.Stderr = &o, &e
	if err := cmd.Start(); err != nil {
		h.t.Fatal(err)
	}
	stop := context.AfterFunc(ctx, func() { _ = cmd.Process.Kill() })
	defer stop()
	if err := cmd.Wait(); err != nil {
		var exit *exec.ExitError
		if !errors.As(err, &exit) {
			h.t.Fatalf("korvet %v: %v", args, err)
		}
		code = exit.ExitCode()
	}
	return code, o.String(), e.String()
}

// running is a korvet in the background.
type running struct {
	t    *testing.T
	cmd  *exec.Cmd
	out  *output
	done chan struct{}
}

// output collects what a process says.
type output struct {
	mu   sync.Mutex
	text strings.Builder
}

func (o *output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.Write(p)
}

func (o *output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.String()
}

func (h home) start(args ...string) *running {
	h.t.Helper()
	r := &running{t: h.t, cmd: h.command(args...), out: &output{}, done: make(chan struct{})}
	r.cmd.Stdout, r.cmd.Stderr = r.out, r.out
	if err := r.cmd.Start(); err != nil {
		h.t.Fatal(err)
	}
	go func() {
		_ = r.cmd.Wait() // tests ask for the exit code
		close(r.done)
	}()
	h.t.Cleanup(func() {
		_ = r.cmd.Process.Signal(syscall.SIGTERM)
		select {
		case <-r.done:
		case <-time.After(patience):
			_ = r.cmd.Process.Kill()
		}
	})
	return r
}

// says waits until the process has printed text.
func (r *running) says(text string) {
	r.t.Helper()
	eventually(r.t, strconv.Quote(text)+" in:\n", r.out, func() bool { return strings.Contains(r.out.String(), text) })
}

// interrupt sends a signal to the whole process group, as a terminal does, and returns the exit code.
func (r *running) interrupt(s syscall.Signal) int {
	r.t.Helper()
	if err := syscall.Kill(-r.cmd.Process.Pid, s); err != nil {
		r.t.Fatal(err)
	}
	select {
	case <-r.done:
	case <-time.After(patience):
		r.t.Fatalf("it does not end; it said:\n%s", r.out)
	}
	return r.cmd.ProcessState.ExitCode()
}

func eventually(t *testing.T, what string, detail *output, condition func() bool) {
	t.Helper()
	for deadline := time.Now().Add(patience); !condition(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("waited for %s%s", what, detail)
		}
	}
}

func freePort(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return strconv.Itoa(l.Addr().(*net.TCPAddr).Port)
}

// get returns the status, 0 when nobody answers, and the body.
func get(url string) (int, string) {
	client := http.Client{Timeout: 5 * time.Second}
	resp, err := client.Get(url)
	if err != nil {
		return 0, err.Error()
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		return 0, err.Error()
	}
	return resp.StatusCode, string(body)
}
