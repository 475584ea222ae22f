// Package cut is a TCP proxy that cuts connections after a random number of bytes in a random direction, so that every
// place inside a request or an answer is hit sooner or later. It can also change its upstream, as an address does that
// moves at a failover.
package cut

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"sync"
	"sync/atomic"
)

// direction of bytes through the proxy.
type direction int

const (
	toUpstream direction = iota
	toClient
)

// Proxy forwards connections. All methods are safe for concurrent use.
type Proxy struct {
	listener net.Listener
	wg       sync.WaitGroup
	cuts     atomic.Int64

	mu       sync.Mutex
	rnd      *rand.Rand
	upstream string
	links    map[*link]struct{}
	closed   bool
	armed    int // the largest number of bytes between two cuts; 0 while disarmed
	left     int // bytes that still pass in dir before the next cut, over all connections
	dir      direction
}

// link is a client's connection and its counterpart.
type link struct{ client, upstream net.Conn }

// Start listens on a free loopback port and forwards to upstream, host:port.
func Start(upstream string, seed uint64) (*Proxy, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("listen: %w", err)
	}
	p := &Proxy{listener: l, upstream: upstream, links: map[*link]struct{}{}, rnd: rand.New(rand.NewPCG(seed, 0x637574))}
	p.wg.Add(1)
	go p.accept()
	return p, nil
}

// Addr is where clients connect to.
func (p *Proxy) Addr() string { return p.listener.Addr().String() }

// Cuts tells how many connections were cut by Arm so far.
func (p *Proxy) Cuts() int { return int(p.cuts.Load()) }

// Arm begins to cut: always after at most maxBytes bytes, over all connections, in one direction drawn each time.
func (p *Proxy) Arm(maxBytes int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.armed = maxBytes
	p.draw()
}

// Disarm lets everything pass again.
func (p *Proxy) Disarm() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.armed = 0
}

// SetUpstream sends new connections to another address and cuts those there are.
func (p *Proxy) SetUpstream(addr string) {
	p.mu.Lock()
	p.upstream = addr
	p.mu.Unlock()
	p.CutAll()
}

// CutAll cuts every connection now.
func (p *Proxy) CutAll() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for l := range p.links {
		l.close(false)
	}
}

// Close cuts everything, stops listening and returns when nothing is left.
func (p *Proxy) Close() {
	p.mu.Lock()
	p.closed = true
	p.mu.Unlock()
	_ = p.listener.Close() // it may be closed already
	p.CutAll()
	p.wg.Wait()
}

func (p *Proxy) accept() {
	defer p.wg.Done()
	for {
		c, err := p.listener.Accept()
		if errors.Is(err, net.ErrClosed) {
			return
		}
		if err != nil {
			continue // the client went away, or files ran out for a moment
		}
		p.wg.Add(1)
		go p.serve(c)
	}
}

func (p *Proxy) serve(c net.Conn) {
	defer p.wg.Done()
	p.mu.Lock()
	addr := p.upstream
	p.mu.Unlock()
	u, err := net.Dial("tcp", addr)
	if err != nil {
		_ = c.Close() // refused upstream shows as a connection that ends at once
		return
	}
	l := &link{c, u}
	if !p.add(l) {
		l.close(false)
		return
	}
	var both sync.WaitGroup
	both.Add(2)
	go func() { defer both.Done(); p.pump(l, u, c, toUpstream) }()
	go func() { defer both.Done(); p.pump(l, c, u, toClient) }()
	both.Wait()
	p.mu.Lock()
	delete(p.links, l)
	p.mu.Unlock()
}

// add keeps the link for CutAll. It refuses one that was dialled before the upstream changed or the proxy closed.
func (p *Proxy) add(l *link) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed || l.upstream.RemoteAddr().String() != p.upstream {
		return false
	}
	p.links[l] = struct{}{}
	return true
}

// pump forwards one direction until either side ends or it is this link's turn to be cut.
func (p *Proxy) pump(l *link, dst, src net.Conn, dir direction) {
	buf := make([]byte, 32<<10)
	for {
		n, err := src.Read(buf)
		pass, cut, hard := p.take(dir, n)
		if _, werr := dst.Write(buf[:pass]); werr != nil {
			err = werr
		}
		if cut {
			p.cuts.Add(1)
		}
		if cut || err != nil {
			l.close(hard)
			return
		}
	}
}

// take tells how many of n bytes may pass, whether the link is to be cut after them, and whether by a reset.
func (p *Proxy) take(dir direction, n int) (pass int, cut, hard bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.armed == 0 || dir != p.dir {
		return n, false, false
	}
	if n < p.left {
		p.left -= n
		return n, false, false
	}
	pass = p.left
	p.draw()
	return pass, true, p.rnd.IntN(2) == 0
}

// draw chooses the next cut: every order of magnitude up to the largest is as likely as the others.
func (p *Proxy) draw() {
	p.dir = direction(p.rnd.IntN(2))
	magnitude := 1
	for magnitude < p.armed && p.rnd.IntN(8) != 0 {
		magnitude *= 4
	}
	p.left = 1 + p.rnd.IntN(max(1, min(magnitude, p.armed)))
}

// close ends both sides; hard resets them, so that even bytes that were forwarded may get lost.
func (l *link) close(hard bool) {
	for _, c := range []net.Conn{l.client, l.upstream} {
		if tcp, ok := c.(*net.TCPConn); ok && hard {
			_ = tcp.SetLinger(0) // without it the end is only softer
		}
		_ = c.Close() // the other direction may have closed it
	}
}
