package server

import (
	"errors"
	"net"
	"net/netip"
	"sync"
)

var errTooManyFromIP = errors.New("too many connections from this address")

// quota counts connections: in total, where a new one waits for its turn (max.connections), and by address, where it is
// closed (max.connections.per.ip).
type quota struct {
	mu            sync.Mutex
	max, maxPerIP int // 0: no limit
	total         int
	byIP          map[netip.Addr]int
	freed         chan struct{} // closed when a connection ended that others wait for
}

func newQuota(max, maxPerIP int) *quota {
	return &quota{max: max, maxPerIP: maxPerIP, byIP: make(map[netip.Addr]int)}
}

// acquire counts a connection. When the broker is full it returns a channel to wait for before asking again.
func (q *quota) acquire(ip netip.Addr) (<-chan struct{}, error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.maxPerIP > 0 && q.byIP[ip] >= q.maxPerIP {
		return nil, errTooManyFromIP
	}
	if q.max > 0 && q.total >= q.max {
		if q.freed == nil {
			q.freed = make(chan struct{})
		}
		return q.freed, nil
	}
	q.total++
	q.byIP[ip]++
	return nil, nil
}

// limit changes the limits. Connections that are there stay; those that wait are looked at again.
func (q *quota) limit(max, maxPerIP int) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.max, q.maxPerIP = max, maxPerIP
	q.wake()
}

// wake lets those that wait ask again. q.mu is held.
func (q *quota) wake() {
	if q.freed != nil {
		close(q.freed)
		q.freed = nil
	}
}

// limits tells them.
func (q *quota) limits() (max, maxPerIP int) {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.max, q.maxPerIP
}

func (q *quota) release(ip netip.Addr) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.total--
	if q.byIP[ip]--; q.byIP[ip] == 0 {
		delete(q.byIP, ip)
	}
	q.wake()
}

// addrOf returns the address without its port; the zero Addr stands for what is not an IP address.
func addrOf(a net.Addr) netip.Addr {
	if t, ok := a.(*net.TCPAddr); ok {
		ip, _ := netip.AddrFromSlice(t.IP)
		return ip.Unmap()
	}
	return netip.Addr{}
}
