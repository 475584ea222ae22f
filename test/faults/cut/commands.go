package cut

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net"
	"strconv"
	"strings"
	"sync"
)

// Commands is a proxy to a Redis that counts commands and dies with the first one too many, as a process does between two
// of them: those before are carried out, nothing after them is sent. All methods are safe for concurrent use.
type Commands struct {
	listener net.Listener
	upstream string
	wg       sync.WaitGroup
	died     chan struct{}

	mu     sync.Mutex
	passed int
	limit  int // -1: none
	gate   *gate
	dead   bool
	links  map[*link]struct{}
}

// StartCommands listens on a free loopback port and forwards to a Redis at upstream, host:port.
func StartCommands(upstream string) (*Commands, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("listen: %w", err)
	}
	c := &Commands{listener: l, upstream: upstream, died: make(chan struct{}), limit: -1, links: map[*link]struct{}{}}
	c.wg.Go(c.accept)
	return c, nil
}

// Addr is where clients connect to.
func (c *Commands) Addr() string { return c.listener.Addr().String() }

// Limit lets n more commands pass, and counts from here.
func (c *Commands) Limit(n int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.passed, c.limit = 0, n
}

// gate is where a paused process stands.
type gate struct {
	after      int // commands that pass before
	held, open chan struct{}
	once       sync.Once
}

// Hold lets n more commands pass, counts from here, and then holds all back until release is called, as from a process that is
// paused and wakes up. held is closed when one is held back.
func (c *Commands) Hold(n int) (held <-chan struct{}, release func()) {
	g := &gate{after: n, held: make(chan struct{}), open: make(chan struct{})}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.passed, c.gate = 0, g
	return g.held, sync.OnceFunc(func() { close(g.open) })
}

// wait holds a command back while the process is paused.
func (c *Commands) wait() {
	c.mu.Lock()
	g := c.gate
	holds := g != nil && c.passed >= g.after
	c.mu.Unlock()
	if !holds {
		return
	}
	g.once.Do(func() { close(g.held) })
	select {
	case <-g.open:
	case <-c.died:
	}
}

// Passed tells how many commands passed since the last Limit.
func (c *Commands) Passed() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.passed
}

// Died is closed when a command was one too many.
func (c *Commands) Died() <-chan struct{} { return c.died }

// Close ends all connections and returns when Redis has carried out what passed.
func (c *Commands) Close() {
	c.die()
	c.wg.Wait()
}

// die lets nothing pass any more. Redis still reads what passed, and ends its connections itself.
func (c *Commands) die() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.dead {
		return
	}
	c.dead = true
	close(c.died)
	_ = c.listener.Close() // nobody is there any more
	for l := range c.links {
		l.hangUp()
	}
}

// hangUp ends the client's side now, and the other one when Redis has read all.
func (l *link) hangUp() {
	_ = l.client.Close() // it may be closed already
	if tcp, ok := l.upstream.(*net.TCPConn); ok {
		_ = tcp.CloseWrite() // as may this one
	}
}

func (c *Commands) accept() {
	for {
		client, err := c.listener.Accept()
		if errors.Is(err, net.ErrClosed) {
			return
		}
		if err == nil {
			c.wg.Go(func() { c.serve(client) })
		}
	}
}

func (c *Commands) serve(client net.Conn) {
	upstream, err := net.Dial("tcp", c.upstream)
	if err != nil {
		_ = client.Close() // an upstream that refuses shows as a connection that ends at once
		return
	}
	defer upstream.Close()
	l := &link{client, upstream}
	c.mu.Lock()
	if c.dead {
		l.hangUp()
	}
	c.links[l] = struct{}{}
	c.mu.Unlock()
	var both sync.WaitGroup
	both.Go(func() { c.forward(l) })
	both.Go(func() {
		_, _ = io.Copy(client, upstream)     // until one of them ends
		_, _ = io.Copy(io.Discard, upstream) // a client that is gone hears nothing, but Redis goes on until it has read all
		_ = client.Close()
	})
	both.Wait()
	c.mu.Lock()
	delete(c.links, l)
	c.mu.Unlock()
}

// forward passes commands on until there are no more or one is too many.
func (c *Commands) forward(l *link) {
	defer l.hangUp()
	r := bufio.NewReader(l.client)
	for {
		command, err := readCommand(r)
		if err != nil {
			return
		}
		if !c.pass(l, command) {
			c.die()
			return
		}
	}
}

// pass sends one command on unless it is one too many.
func (c *Commands) pass(l *link, command []byte) bool {
	c.wait()
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.dead || c.limit >= 0 && c.passed >= c.limit {
		return false
	}
	c.passed++
	_, err := l.upstream.Write(command)
	return err == nil
}

// readCommand reads one command, an array of bulk strings, as it is.
func readCommand(r *bufio.Reader) ([]byte, error) {
	head, err := r.ReadString('\n')
	if err != nil {
		return nil, err
	}
	words, err := count(head, '*')
	if err != nil {
		return nil, err
	}
	command := []byte(head)
	for range words {
		if head, err = r.ReadString('\n'); err != nil {
			return nil, err
		}
		size, err := count(head, '$')
		if err != nil {
			return nil, err
		}
		command = append(command, head...)
		at := len(command)
		command = append(command, make([]byte, size+2)...)
		if _, err := io.ReadFull(r, command[at:]); err != nil {
			return nil, err
		}
	}
	return command, nil
}

// count reads the number of a line such as *3 or $5.
func count(line string, kind byte) (int, error) {
	if line[0] != kind {
		return 0, fmt.Errorf("read command: a line starts with %q, want %q", line[0], kind)
	}
	n, err := strconv.Atoi(strings.TrimSpace(line[1:]))
	if err != nil || n < 0 {
		return 0, fmt.Errorf("read command: %q is no size", line)
	}
	return n, nil
}
