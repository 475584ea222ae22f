package cut

import (
	"bytes"
	"io"
	"net"
	"testing"
)

// echo serves connections that answer what they are sent, followed by its name.
func echo(t *testing.T, name string) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				defer func() { _ = c.Close() }()
				_, _ = c.Write([]byte(name))
				_, _ = io.Copy(c, c)
			}()
		}
	}()
	return l.Addr().String()
}

func start(t *testing.T, upstream string) *Proxy {
	t.Helper()
	p, err := Start(upstream, 1)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.Close)
	return p
}

func dial(t *testing.T, p *Proxy) net.Conn {
	t.Helper()
	c, err := net.Dial("tcp", p.Addr())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	return c
}

func TestDisarmedProxyPassesEverything(t *testing.T) {
	p := start(t, echo(t, "a"))
	c := dial(t, p)
	sent := bytes.Repeat([]byte("0123456789"), 100_000)
	go func() { _, _ = c.Write(sent) }()
	got := make([]byte, 1+len(sent))
	if _, err := io.ReadFull(c, got); err != nil || !bytes.Equal(got[1:], sent) {
		t.Errorf("not what was sent: %v", err)
	}
	if p.Cuts() != 0 {
		t.Errorf("%d cuts while disarmed", p.Cuts())
	}
}

func TestArmedProxyCutsAtManyPlacesInBothDirections(t *testing.T) {
	p := start(t, echo(t, "a"))
	p.Arm(1000)
	places := map[int]bool{}
	for range 200 {
		c, err := net.Dial("tcp", p.Addr())
		if err != nil { // the first byte to the client was cut, by a reset that came before Dial was done
			places[0] = true
			continue
		}
		go func() { _, _ = c.Write(make([]byte, 4000)) }()
		got, _ := io.ReadAll(c) // a reset is as good as an end
		if len(got) == 4001 {
			t.Fatal("4000 bytes passed both ways")
		}
		places[len(got)] = true
		_ = c.Close()
	}
	if p.Cuts() < 200 || len(places) < 30 {
		t.Errorf("%d cuts of 200 connections, at %d places", p.Cuts(), len(places))
	}
	p.Disarm()
	c := dial(t, p)
	if n, err := c.Write(make([]byte, 5000)); err != nil || n != 5000 {
		t.Errorf("wrote %d bytes after disarming: %v", n, err)
	}
	if _, err := io.ReadFull(c, make([]byte, 5001)); err != nil {
		t.Errorf("read after disarming: %v", err)
	}
}

func TestUpstreamMayMove(t *testing.T) {
	p := start(t, echo(t, "a"))
	old := dial(t, p)
	name := make([]byte, 1)
	if _, err := io.ReadFull(old, name); err != nil || string(name) != "a" {
		t.Fatalf("connected to %q: %v", name, err)
	}
	p.SetUpstream(echo(t, "b"))
	if _, err := old.Read(name); err == nil {
		t.Error("a connection to the old upstream lives on")
	}
	if _, err := io.ReadFull(dial(t, p), name); err != nil || string(name) != "b" {
		t.Errorf("connected to %q: %v", name, err)
	}
}
