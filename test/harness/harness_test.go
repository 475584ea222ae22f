package harness

import (
	"net"
	"net/http"
	"testing"
	"time"
)

func TestBrokerComesBackOnItsAddressesAfterKill(t *testing.T) {
	b := Start(t, Options{Own: true})
	addr, pid := b.Addr, b.Pid()
	mustAccept(t, addr)
	b.Kill9()
	if c, err := net.DialTimeout("tcp", addr, time.Second); err == nil {
		_ = c.Close()
		t.Fatalf("%s accepts connections after its broker was killed", addr)
	}
	b.Restart()
	mustAccept(t, addr)
	if b.Pid() == pid {
		t.Errorf("process %d was not replaced", pid)
	}
	if b.Logs() == "" {
		t.Error("the broker's output was not kept")
	}
}

func TestBrokersOfOneTestDoNotShareAddresses(t *testing.T) {
	a, b := Start(t, Options{Own: true}), Start(t, Options{Own: true})
	if a.Addr == b.Addr || a.RedisAddr == b.RedisAddr {
		t.Errorf("brokers share an address: %v %v, Redis %v %v", a.Addr, b.Addr, a.RedisAddr, b.RedisAddr)
	}
}

func TestBrokerEndsWithTheTest(t *testing.T) {
	var addr string
	t.Run("inner", func(t *testing.T) { addr = Start(t, Options{Own: true}).HTTPAddr })
	client := http.Client{Timeout: time.Second}
	if resp, err := client.Get("http://" + addr + "/livez"); err == nil {
		_ = resp.Body.Close()
		t.Errorf("the broker still answers on %s", addr)
	}
}

func TestStartUsesTheBrokerOfTheEnvironment(t *testing.T) {
	t.Setenv("KORVET_TEST_BOOTSTRAP", "127.0.0.1:1")
	b := Start(t, Options{})
	if !b.External() || b.Addr != "127.0.0.1:1" {
		t.Errorf("Start gave %q, external %v", b.Addr, b.External())
	}
}

func mustAccept(t *testing.T, addr string) {
	t.Helper()
	c, err := net.DialTimeout("tcp", addr, time.Second)
	if err != nil {
		t.Fatalf("a ready broker accepts connections: %v", err)
	}
	_ = c.Close()
}
