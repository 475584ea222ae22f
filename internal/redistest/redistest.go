// Package redistest starts real Redis servers for tests: on free loopback ports, with their files in the test's own
// folder, stopped when the test ends. It is imported by tests only.
//
// The server is the program that KORVET_TEST_REDIS_SERVER names, else redis-server or valkey-server of PATH.
package redistest

import (
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/redis/rueidis"
)

// patience bounds every wait for a server. Reaching it fails the test.
const patience = 30 * time.Second

// Server is a redis-server process. Its methods are for the test's own goroutine.
type Server struct {
	Port int

	t    testing.TB
	dir  string
	args []string
	cmd  *exec.Cmd     // nil when killed
	done chan struct{} // closed when cmd has ended
}

// Start runs a server without persistence unless args, which are settings as on redis-server's command line
// ("--appendonly", "yes"), say otherwise, and returns when it answers.
func Start(t testing.TB, args ...string) *Server {
	t.Helper()
	for range 10 {
		s := &Server{Port: freePort(t), t: t, dir: t.TempDir(), args: args}
		if s.run() {
			t.Cleanup(s.Kill)
			return s
		}
		t.Logf("redis-server did not start on port %d, its log ends:\n%s", s.Port, s.logTail())
	}
	t.Fatal("redis-server does not start")
	return nil
}

// Addr is the server's host:port.
func (s *Server) Addr() string { return net.JoinHostPort("127.0.0.1", strconv.Itoa(s.Port)) }

// URI is the server's redis:// address.
func (s *Server) URI() string { return "redis://" + s.Addr() }

// Dir is where the server keeps its files and its log, redis.log.
func (s *Server) Dir() string { return s.dir }

// Kill ends the process with SIGKILL, paused or not, and returns when it is gone. Killing a dead server does nothing.
func (s *Server) Kill() {
	if s.cmd == nil {
		return
	}
	_ = s.cmd.Process.Kill() // it may have ended by itself
	<-s.done
	s.cmd = nil
}

// Shutdown stops the process as an operator would: with SIGTERM, saving what its settings say.
func (s *Server) Shutdown() {
	s.t.Helper()
	s.signal(syscall.SIGTERM)
	<-s.done
	s.cmd = nil
}

// Restart kills the process if it runs and starts it again on the same port and files.
func (s *Server) Restart() {
	s.t.Helper()
	s.Kill()
	if !s.run() {
		s.t.Fatalf("redis-server does not start again, its log ends:\n%s", s.logTail())
	}
}

// Pause freezes the process: connections stay open and nothing is answered.
func (s *Server) Pause() {
	s.t.Helper()
	s.signal(syscall.SIGSTOP)
}

// Resume ends a Pause.
func (s *Server) Resume() {
	s.t.Helper()
	s.signal(syscall.SIGCONT)
}

// Replica starts a replica of s and returns when both see the link.
func (s *Server) Replica(args ...string) *Server {
	s.t.Helper()
	s.Do("CONFIG", "SET", "repl-diskless-sync-delay", "0")
	before := s.onlineReplicas()
	r := Start(s.t, append([]string{"--replicaof", "127.0.0.1", strconv.Itoa(s.Port)}, args...)...)
	Eventually(s.t, "the replica to be online", func() bool { return s.onlineReplicas() > before })
	return r
}

// Client returns a client of its own connections, closed when the test ends.
func (s *Server) Client() rueidis.Client {
	s.t.Helper()
	c, err := rueidis.NewClient(rueidis.ClientOption{InitAddress: []string{s.Addr()}, DisableCache: true, DisableRetry: true, ForceSingleClient: true})
	if err != nil {
		s.t.Fatalf("connect to redis: %v", err)
	}
	s.t.Cleanup(c.Close)
	return c
}

// Do runs one command and returns its answer. An error fails the test.
func (s *Server) Do(args ...string) rueidis.RedisMessage {
	s.t.Helper()
	c, err := rueidis.NewClient(rueidis.ClientOption{InitAddress: []string{s.Addr()}, DisableCache: true, DisableRetry: true, ForceSingleClient: true})
	if err != nil {
		s.t.Fatalf("connect to redis: %v", err)
	}
	defer c.Close()
	m, err := c.Do(s.t.Context(), c.B().Arbitrary(args...).Build()).ToMessage()
	if err != nil && !rueidis.IsRedisNil(err) {
		s.t.Fatalf("%s: %v", strings.Join(args, " "), err)
	}
	return m
}

// Eventually waits until the condition holds and fails the test when it does not within half a minute.
func Eventually(t testing.TB, what string, condition func() bool) {
	t.Helper()
	for deadline := time.Now().Add(patience); !condition(); time.Sleep(2 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("waited %v for %s", patience, what)
		}
	}
}

// launch starts the process and waits for nothing.
func (s *Server) launch(more ...string) {
	s.t.Helper()
	out, err := os.OpenFile(filepath.Join(s.dir, "redis.log"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		s.t.Fatalf("open redis log: %v", err)
	}
	defer out.Close()
	args := append([]string{"--port", strconv.Itoa(s.Port), "--bind", "127.0.0.1", "--dir", s.dir, "--save", "", "--appendonly", "no"}, append(slices.Clone(s.args), more...)...)
	s.cmd = exec.Command(binary(s.t), args...)
	s.cmd.Stdout, s.cmd.Stderr = out, out
	s.cmd.SysProcAttr = dieWithParent()
	if err := s.cmd.Start(); err != nil {
		s.t.Fatalf("start redis-server: %v", err)
	}
	s.done = make(chan struct{})
	go func(cmd *exec.Cmd, done chan struct{}) {
		_ = cmd.Wait() // "signal: killed" is what tests ask for
		close(done)
	}(s.cmd, s.done)
}

// run starts the process and reports whether it answers on its port.
func (s *Server) run() bool {
	s.t.Helper()
	s.launch()
	for deadline := time.Now().Add(patience); time.Now().Before(deadline); {
		if s.answers() {
			return true
		}
		select {
		case <-s.done: // the port was taken, or a setting is wrong: its log says
			s.cmd = nil
			return false
		case <-time.After(2 * time.Millisecond):
		}
	}
	s.Kill()
	return false
}

// answers reports whether this very process serves the port and has loaded its data.
func (s *Server) answers() bool {
	c, err := net.DialTimeout("tcp", s.Addr(), time.Second)
	if err != nil {
		return false
	}
	defer c.Close()
	_ = c.SetDeadline(time.Now().Add(time.Second)) // a failure shows in the reads below
	if _, err := fmt.Fprintf(c, "INFO\r\n"); err != nil {
		return false
	}
	var info strings.Builder
	buf := make([]byte, 4096)
	for !strings.Contains(info.String(), "keyspace_hits") {
		n, err := c.Read(buf)
		if err != nil {
			return false
		}
		info.Write(buf[:n])
	}
	text := info.String()
	return strings.Contains(text, fmt.Sprintf("process_id:%d\r\n", s.cmd.Process.Pid)) && strings.Contains(text, "\r\nloading:0\r\n")
}

func (s *Server) onlineReplicas() int {
	m := s.Do("INFO", "replication")
	info, err := m.ToString()
	if err != nil {
		s.t.Fatalf("read INFO replication: %v", err)
	}
	return strings.Count(info, "state=online")
}

func (s *Server) signal(sig syscall.Signal) {
	s.t.Helper()
	if s.cmd == nil {
		s.t.Fatalf("send %v: the server was killed", sig)
	}
	if err := s.cmd.Process.Signal(sig); err != nil {
		s.t.Fatalf("send %v to redis-server: %v", sig, err)
	}
}

func (s *Server) logTail() string {
	b, err := os.ReadFile(filepath.Join(s.dir, "redis.log"))
	if err != nil {
		return err.Error()
	}
	return string(b[max(0, len(b)-1000):])
}

func binary(t testing.TB) string {
	t.Helper()
	if path := os.Getenv("KORVET_TEST_REDIS_SERVER"); path != "" {
		return path
	}
	for _, name := range []string{"redis-server", "valkey-server"} {
		if path, err := exec.LookPath(name); err == nil {
			return path
		}
	}
	t.Fatal("this test needs redis-server or valkey-server in PATH, or KORVET_TEST_REDIS_SERVER")
	return ""
}

func freePort(t testing.TB) int {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatalf("find a free port: %v", err)
	}
	defer l.Close()
	return l.Addr().(*net.TCPAddr).Port
}
