// Package redisproc runs a Redis server as a child: found or installed, on a free loopback port, with AOF (everysec) in
// a data directory of its own. Whatever is killed when, at most one server uses a directory: the server itself holds a
// lock there, inherited open. One that outlived its parent is adopted by the next Start.
package redisproc

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"strconv"
	"sync"
	"sync/atomic"
	"time"
)

// restartPause is the pause before a server that ended by itself is started again.
const restartPause = time.Second

// slowStart is after how long a start is worth a line in the log.
const slowStart = 3 * time.Second

// Options say what to run where.
type Options struct {
	Dir    string
	Binary func(ctx context.Context) (string, error) // finds the server program; called only when one is to be started
	Log    *slog.Logger
}

// Process is a running server that is started again, on the same port, when it ends. It is safe for concurrent use.
type Process struct {
	opt   Options
	dir   string
	owner *os.File
	port  int
	first *child
	pid   atomic.Int64

	stopOnce sync.Once
	stopping context.CancelFunc
	force    chan struct{} // closed: do not wait for an orderly end
	done     chan struct{} // closed when the server is gone and the directory is free
}

// Start runs a server, or adopts the one that still runs in the directory, and returns when it answers. The error is an
// *InUseError when another korvet uses the directory.
func Start(ctx context.Context, opt Options) (*Process, error) {
	dir, err := prepare(opt.Dir)
	if err != nil {
		return nil, err
	}
	owner, err := lockOwner(dir)
	if err != nil {
		return nil, err
	}
	slow := time.AfterFunc(slowStart, func() { opt.Log.Info("waiting for Redis to load its data", "dir", dir) })
	defer slow.Stop()
	p := &Process{opt: opt, dir: dir, owner: owner, force: make(chan struct{}), done: make(chan struct{})}
	if p.first, err = p.begin(ctx); err != nil {
		_ = owner.Close()
		return nil, err
	}
	p.port = p.first.port
	p.pid.Store(int64(p.first.pid))
	running, cancel := context.WithCancel(context.Background())
	p.stopping = cancel
	go p.supervise(running, p.first)
	return p, nil
}

// Addr is the server's host:port. It stays the same.
func (p *Process) Addr() string { return net.JoinHostPort("127.0.0.1", strconv.Itoa(p.port)) }

// Adopted tells that Start found the server running.
func (p *Process) Adopted() bool { return p.first.adopted }

// PID is the server's process id at the moment.
func (p *Process) PID() int { return int(p.pid.Load()) }

// Dir is the data directory.
func (p *Process) Dir() string { return p.dir }

// Stop ends the server, writing out what it has, and returns when it is gone. When ctx ends first it is killed. Calls
// after the first wait, too.
func (p *Process) Stop(ctx context.Context) {
	p.stopping()
	select {
	case <-p.done:
	case <-ctx.Done():
		p.stopOnce.Do(func() { close(p.force) })
		<-p.done
	}
}

// begin adopts or starts a server.
func (p *Process) begin(ctx context.Context) (*child, error) {
	c, err := adopt(ctx, p.dir)
	if c != nil || err != nil {
		return c, err
	}
	binary, err := p.opt.Binary(ctx)
	if err != nil {
		return nil, err
	}
	if p.port != 0 {
		return spawn(ctx, binary, p.dir, p.port)
	}
	last, _ := readState(p.dir) // the same port as last time where it is free, for people's redis-cli
	var problem error
	for _, want := range []int{last.Port, 0, 0, 0} { // a free port may be taken before the server listens
		port, err := freePort(want)
		if err != nil {
			problem = errors.Join(problem, err)
			continue
		}
		if c, err = spawn(ctx, binary, p.dir, port); err == nil || ctx.Err() != nil || portFree(port) {
			return c, err // a server that ended although its port was free will do so on the next one
		}
		problem = errors.Join(problem, err)
	}
	return nil, problem
}

// supervise keeps the server running until ctx ends, then ends it.
func (p *Process) supervise(ctx context.Context, c *child) {
	defer close(p.done)
	defer p.owner.Close()
	for {
		select {
		case <-ctx.Done():
			p.end(c)
			return
		case <-c.exited:
		}
		for again := false; !again; {
			p.opt.Log.Error("the child Redis ended, starting it again", "dir", p.dir, "log", logFile)
			select {
			case <-ctx.Done():
				return
			case <-time.After(restartPause):
			}
			next, err := p.begin(ctx)
			if err != nil {
				p.opt.Log.Error("cannot start the child Redis", "error", err)
				continue
			}
			c, again = next, true
			p.pid.Store(int64(c.pid))
		}
	}
}

func (p *Process) end(c *child) {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	go func() {
		select {
		case <-p.force:
			cancel()
		case <-ctx.Done():
		}
	}()
	c.terminate(ctx)
}

// freePort returns want when it is free, or for 0 any port that is free at the moment.
func freePort(want int) (int, error) {
	l, err := net.Listen("tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(want)))
	if err != nil {
		return 0, fmt.Errorf("find a free port: %w", err)
	}
	port := l.Addr().(*net.TCPAddr).Port
	return port, l.Close()
}

func portFree(port int) bool {
	_, err := freePort(port)
	return err == nil
}
