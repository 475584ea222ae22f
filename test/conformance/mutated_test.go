package conformance

import (
	"bytes"
	"math/rand/v2"
	"net"
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// TestMutatedRequestsHarmNobody changes bytes in requests of every API and version. What the broker makes of them is its
// business; it must go on serving others, with bounded memory and without a panic.
func TestMutatedRequestsHarmNobody(t *testing.T) {
	to := startOwn(t, noRebalanceDelay)
	bystander := dial(t, to)
	topic := bystander.newTopic()
	bystander.must(topic, values("v"))
	random := rand.New(rand.NewPCG(1, 2)) // the same bytes in every run
	before := residentBytes(t, to.own.Pid())
	for _, k := range ask[*kmsg.ApiVersionsResponse](dial(t, to), apiVersions(3)).ApiKeys {
		s, known := sweepOf(kmsg.Key(k.ApiKey))
		if !known {
			t.Errorf("this test cannot ask %s", kmsg.NameForKey(k.ApiKey))
			continue
		}
		for v := k.MinVersion; v <= k.MaxVersion; v++ {
			req := s.good(bystander, v, topic)
			req.SetVersion(v)
			whole, _ := bystander.frame(req)
			header := len(whole) - len(req.AppendTo(nil))
			for range 20 {
				sendMutated(t, to, random, whole, header)
			}
			if !bystander.alive() {
				t.Fatalf("%s v%d: another connection was harmed\n%s", kmsg.NameForKey(k.ApiKey), v, to.own.Logs())
			}
		}
	}
	if logs := to.own.Logs(); strings.Contains(logs, "panic") {
		t.Errorf("the broker's log tells of a panic:\n%s", logs)
	}
	if grown := residentBytes(t, to.own.Pid()) - before; grown > 128<<20 {
		t.Errorf("resident memory grew by %d MiB", grown>>20)
	}
}

// sendMutated sends a request with one to four bytes of its body changed, on a connection of its own. It waits until the
// broker has closed it, so that what was sent was looked at.
func sendMutated(t *testing.T, to *target, random *rand.Rand, whole []byte, header int) {
	t.Helper()
	if header == len(whole) {
		return // no body
	}
	mutated := bytes.Clone(whole)
	for range 1 + random.IntN(4) {
		mutated[header+random.IntN(len(whole)-header)] = interesting[random.IntN(len(interesting))]
	}
	c := dial(t, to)
	c.write(mutated)
	if err := c.nc.(*net.TCPConn).CloseWrite(); err != nil {
		t.Fatalf("end the sending side: %v", err)
	}
	for {
		if _, err := c.readFrame(); err == errClosed {
			break
		} else if err != nil {
			t.Fatalf("connection is not closed after its last request: %v", err)
		}
	}
	c.nc.Close()
}

// interesting bytes are the ends of lengths, of varints and of signs.
var interesting = []byte{0, 1, 2, 0x7f, 0x80, 0xfe, 0xff}
