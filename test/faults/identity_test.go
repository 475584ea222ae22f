package faults

import (
	"net"
	"strings"
	"testing"
	"time"

	"github.com/korvet-io/korvet/test/faults/cut"
	"github.com/korvet-io/korvet/test/faults/load"
	"github.com/korvet-io/korvet/test/faults/probe"
	"github.com/korvet-io/korvet/test/harness"
)

// pair is a broker under load that is known to its clients, and advertised, under an address that moves to its successor,
// started later with the same id.
type pair struct {
	*world
	front *cut.Proxy
}

func newPair(t *testing.T) *pair {
	t.Helper()
	front, err := cut.Start("127.0.0.1:1", seed())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(front.Close)
	p := &pair{newWorld(t, harness.Options{Args: advertise(t, front)}), front}
	front.SetUpstream(p.broker.Addr)
	p.topic("direct", nil)
	p.start(func(c *load.Config) { c.Brokers = []string{front.Addr()} })
	p.progress(20)
	return p
}

func advertise(t *testing.T, front *cut.Proxy) []string {
	t.Helper()
	host, port, err := net.SplitHostPort(front.Addr())
	if err != nil {
		t.Fatal(err)
	}
	return []string{"--korvet.broker.advertised-host=" + host, "--korvet.broker.advertised-port=" + port}
}

// succeed starts a second broker with the first one's id, moves clients there, and returns the first one.
func (p *pair) succeed() (older *harness.Broker) {
	p.t.Helper()
	older = p.broker
	p.broker = harness.Start(p.t, harness.Options{Own: true, Redis: p.redis, Args: advertise(p.t, p.front)})
	p.keepLog("newer", p.broker.Logs)
	p.front.SetUpstream(p.broker.Addr)
	p.faults++
	return older
}

// Two brokers with one id: the newer one wins, the older one stops by itself and says why, and there is no moment at
// which the older one accepts a write after the newer one did.
func TestNewerBrokerWithTheSameIDReplacesTheOlder(t *testing.T) {
	p := newPair(t)
	older := p.succeed()
	begin := time.Now()
	overtaken := p.overlap(older, false)
	t.Logf("the older broker was gone %v after the newer one was ready; overtaken before that: %v",
		time.Since(begin).Round(time.Millisecond), overtaken)
	requireReplaced(t, older)
	p.progress(50)
	p.verdict()
}

// overlap writes to both brokers until the older one is gone, and tells whether the newer one wrote before that.
func (p *pair) overlap(older *harness.Broker, overtaken bool) bool {
	p.t.Helper()
	for deadline := time.Now().Add(patience); older.Pid() != 0; {
		if time.Now().After(deadline) {
			p.t.Fatalf("the older broker still runs after %v", patience)
		}
		if _, err := p.probe().Produce("direct", "newer", -1); err == nil {
			overtaken = true
		}
		if offset, err := probe.Broker(older.Addr).Produce("direct", "older", -1); err == nil && overtaken {
			p.t.Errorf("the older broker wrote offset %d after the newer one had written", offset)
		}
	}
	return overtaken
}

// What clients sent to a broker that was frozen meanwhile must not land when it wakes up beside its successor.
func TestBrokerThatWakesUpBesideItsSuccessorWritesNothing(t *testing.T) {
	p := newPair(t)
	p.broker.Pause()
	older := p.succeed()
	p.progress(50)
	eventually(t, "write to the successor", func() error { _, err := p.probe().Produce("direct", "newer", -1); return err })
	older.Resume()
	p.overlap(older, true)
	requireReplaced(t, older)
	p.progress(20)
	p.verdict()
}

func requireReplaced(t *testing.T, b *harness.Broker) {
	t.Helper()
	if code := b.AwaitExit(); code <= 0 {
		t.Errorf("the older broker ended with exit code %d, want a failure", code)
	}
	if !strings.Contains(b.Logs(), "a newer broker runs under this id") {
		t.Error("the older broker does not say that a newer one runs under its id")
	}
}
