// Package harness runs the korvet binary against a real redis-server for tests that need the whole program: clients, faults, conformance.
//
// The environment decides what is tested:
//
//	KORVET_TEST_BOOTSTRAP  host:port of a broker that runs already; nothing is built or started
//	KORVET_TEST_BINARY     a korvet binary to run; without it the one of this checkout is built
//
// and package redistest's variables say which Redis.
package harness

import (
	"fmt"
	"net"
	"net/http"
	"os"
	"strconv"
	"testing"
	"time"

	"github.com/korvet-io/korvet/internal/redistest"
)

// startTimeout bounds the wait for a process to become ready. It is generous because tests share few cores; it is no expectation.
const startTimeout = 60 * time.Second

// stopTimeout is how long a process may take from SIGTERM to its end before the test fails.
const stopTimeout = 30 * time.Second

// Options say how a broker is started. The zero value starts one broker on a Redis of its own with AOF always.
type Options struct {
	// Args are further arguments of `korvet server`. They come last, so that they win.
	Args []string
	// Env are further environment variables, "NAME=value".
	Env []string
	// Redis is the server to use. Nil starts one with AOF and appendfsync always.
	Redis *redistest.Server
	// RedisArgs are further settings of the server that is started when Redis is nil, as on redis-server's command line.
	RedisArgs []string
	// Own makes the test need a broker that it may kill: with KORVET_TEST_BOOTSTRAP set it is built and started all the same.
	Own bool
}

// Broker is a running korvet, or with KORVET_TEST_BOOTSTRAP a broker that somebody else runs. Its methods are not safe for concurrent use.
type Broker struct {
	// Addr is the Kafka listener, host:port. It stays the same over restarts.
	Addr string
	// HTTPAddr serves /livez, /readyz and /metrics. Empty for an external broker.
	HTTPAddr string
	// RedisAddr is the Redis in use, host:port. Empty for an external broker.
	RedisAddr string
	// Redis is that server, to be killed, paused and restarted. Nil for an external broker.
	Redis *redistest.Server

	t    testing.TB
	proc *process
}

// Start returns a ready broker that ends with the test. It fails the test when there is none.
func Start(t testing.TB, o Options) *Broker {
	t.Helper()
	if addr := os.Getenv("KORVET_TEST_BOOTSTRAP"); addr != "" && !o.Own {
		return &Broker{Addr: addr, t: t}
	}
	binary, err := build()
	if err != nil {
		t.Fatalf("build korvet: %v", err)
	}
	redis := o.Redis
	if redis == nil {
		redis = redistest.Start(t, append([]string{"--appendonly", "yes", "--appendfsync", "always"}, o.RedisArgs...)...)
	}
	kafkaPort, httpPort := freePort(t), freePort(t)
	b := &Broker{
		Addr:      loopback(kafkaPort),
		HTTPAddr:  loopback(httpPort),
		RedisAddr: redis.Addr(),
		Redis:     redis,
		t:         t,
	}
	args := append([]string{
		"server",
		"--korvet.broker.host=127.0.0.1",
		"--korvet.broker.port=" + strconv.Itoa(kafkaPort),
		"--korvet.http.host=127.0.0.1",
		"--korvet.http.port=" + strconv.Itoa(httpPort),
		"--korvet.redis.uri=" + redis.URI(),
	}, o.Args...)
	b.proc = newProcess(t, "korvet", binary, args, o.Env)
	b.proc.start(t, b.ready)
	return b
}

// External tells whether the broker belongs to somebody else, so that it cannot be killed or restarted.
func (b *Broker) External() bool { return b.proc == nil }

// Kill9 ends the broker with SIGKILL and returns when it is gone.
func (b *Broker) Kill9() { b.own("kill").kill(b.t) }

// Stop ends the broker with SIGTERM and returns when it is gone. A broker that does not end fails the test.
func (b *Broker) Stop() { b.own("stop").stop(b.t) }

// Restart starts the broker again on the same addresses, stopping it first if it runs, and returns when it is ready.
func (b *Broker) Restart() {
	p := b.own("restart")
	p.stop(b.t)
	p.start(b.t, b.ready)
}

// Pid is the process id of the running broker, or 0.
func (b *Broker) Pid() int { return b.own("find").pid() }

// Logs returns what the broker has written to standard output and error in all its lives.
func (b *Broker) Logs() string { return b.own("read the log of").logs() }

func (b *Broker) own(verb string) *process {
	b.t.Helper()
	if b.External() {
		b.t.Fatalf("cannot %s a broker of somebody else (KORVET_TEST_BOOTSTRAP)", verb)
	}
	return b.proc
}

// ready asks the broker itself: it serves requests when /readyz says so.
func (b *Broker) ready() error {
	client := http.Client{Timeout: time.Second}
	resp, err := client.Get("http://" + b.HTTPAddr + "/readyz")
	if err != nil {
		return fmt.Errorf("ask for readiness: %w", err)
	}
	defer func() { _ = resp.Body.Close() }()
	if resp.StatusCode != http.StatusOK {
		return fmt.Errorf("ask for readiness: status %s", resp.Status)
	}
	return nil
}

// freePort returns a port that was free a moment ago.
func freePort(t testing.TB) int {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatalf("find a free port: %v", err)
	}
	defer func() { _ = l.Close() }()
	return l.Addr().(*net.TCPAddr).Port
}

func loopback(port int) string { return net.JoinHostPort("127.0.0.1", strconv.Itoa(port)) }
