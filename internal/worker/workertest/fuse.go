package workertest

import (
	"bufio"
	"io"
	"net"
	"strconv"
	"strings"
	"sync"
	"testing"
)

// Fuse is a way to Redis that is cut for good after so many commands.
type Fuse struct {
	listener net.Listener
	redis    string
	Before   func() // each command, if it is set
	Blown    func() // is called when it blows, if it is set
	mu       sync.Mutex
	left     int
	used     int
	conns    []net.Conn
}

// NewFuse makes one before the Redis at an address.
func NewFuse(t testing.TB, redis string, commands int) *Fuse {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	f := &Fuse{listener: l, redis: redis, left: commands}
	t.Cleanup(f.Blow)
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go f.serve(c)
		}
	}()
	return f
}

// URI is how the Redis behind it is reached.
func (f *Fuse) URI() string { return "redis://" + f.listener.Addr().String() }

// Dead tells whether it has blown.
func (f *Fuse) Dead() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.left == 0
}

// Blow ends every connection.
func (f *Fuse) Blow() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.left = 0
	_ = f.listener.Close()
	for _, c := range f.conns {
		_ = c.Close()
	}
}

// serve passes a connection's commands on, one at a time: Redis has run each before the next is looked at.
func (f *Fuse) serve(c net.Conn) {
	up, err := net.Dial("tcp", f.redis)
	if err != nil {
		_ = c.Close()
		return
	}
	f.mu.Lock()
	f.conns = append(f.conns, c, up)
	f.mu.Unlock()
	go func() { _, _ = io.Copy(c, up); _ = c.Close() }()
	in := bufio.NewReader(c)
	for {
		command, err := readCommand(in)
		if err != nil {
			_ = up.Close()
			return
		}
		f.mu.Lock()
		over := f.left == 0
		if !over {
			f.left--
			f.used++
		}
		f.mu.Unlock()
		if over {
			if f.Blown != nil {
				f.Blown()
			}
			f.Blow()
			return
		}
		if f.Before != nil {
			f.Before()
		}
		_, _ = up.Write(command)
	}
}

// readCommand reads one command's bytes.
func readCommand(in *bufio.Reader) ([]byte, error) {
	line, err := in.ReadBytes('\n')
	if err != nil {
		return nil, err
	}
	n, _ := strconv.Atoi(strings.TrimSpace(string(line[1:])))
	for range n {
		head, err := in.ReadBytes('\n')
		if err != nil {
			return nil, err
		}
		size, _ := strconv.Atoi(strings.TrimSpace(string(head[1:])))
		body := make([]byte, size+2)
		if _, err := io.ReadFull(in, body); err != nil {
			return nil, err
		}
		line = append(append(line, head...), body...)
	}
	return line, nil
}
