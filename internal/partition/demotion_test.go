package partition_test

import (
	"io"
	"log/slog"
	"net"
	"strconv"
	"sync/atomic"
	"testing"
	"time"

	"github.com/korvet-io/korvet/internal/batch"
	"github.com/korvet-io/korvet/internal/partition"
	"github.com/korvet-io/korvet/internal/redisstream"
	"github.com/korvet-io/korvet/internal/redistest"
)

// address leads new connections to a server that can be changed, as a name service does; those that are open stay.
type address struct {
	net.Listener
	target atomic.Pointer[redistest.Server]
}

func newAddress(t *testing.T, target *redistest.Server) *address {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	a := &address{Listener: l}
	a.target.Store(target)
	t.Cleanup(func() { _ = l.Close() })
	go a.serve()
	return a
}

func (a *address) serve() {
	for {
		c, err := a.Accept()
		if err != nil { // the test is over
			return
		}
		up, err := net.Dial("tcp", a.target.Load().Addr())
		if err != nil {
			_ = c.Close()
			continue
		}
		go forward(up, c)
		go forward(c, up)
	}
}

// forward copies until either end closes, and closes both.
func forward(to, from net.Conn) {
	_, _ = io.Copy(to, from)
	_ = to.Close()
	_ = from.Close()
}

// A master that is made a replica keeps its connections open and answers reads.
func TestADemotedMasterIsLeft(t *testing.T) {
	for name, refused := range map[string]func(old partition.Ref) partition.Ref{
		"append": func(old partition.Ref) partition.Ref { return old },
		"fence":  func(partition.Ref) partition.Ref { return newRef("new") },
	} {
		old, promoted := redistest.Start(t), (*redistest.Server)(nil)
		promoted = old.Replica()
		a := newAddress(t, old)
		o, err := redisstream.ParseURI("redis://" + a.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		given := options(t, old)
		o.WriteConnections, o.ReadConnections, o.DialTimeout, o.Breaker = 1, 1, given.DialTimeout, true
		f := newBrokerOn(t, redisstream.Open(o, slog.New(slog.DiscardHandler)), "1/a", func(s *partition.Settings) {
			s.Lease = time.Hour // else its end brings a fence, which leaves the old master, too
		}, partition.Dependencies{})
		ref := newRef("t")
		f.mustAppend(ref, "a")
		redistest.Eventually(t, "the replica to have the record", func() bool {
			m := promoted.Do("XLEN", "korvet:storage:local:t:0")
			n, err := m.AsInt64()
			return err == nil && n == 1
		})
		promoted.Do("REPLICAOF", "NO", "ONE")
		old.Do("REPLICAOF", "127.0.0.1", strconv.Itoa(promoted.Port))
		a.target.Store(promoted)
		f.produceUntil(refused(ref), func() *batch.Batch { return makeBatch(t, -1, -1, -1, 1000, "b") })
		f.produceUntil(ref, func() *batch.Batch { return makeBatch(t, -1, -1, -1, 1000, "c") })
		if got := f.readAll(ref, 0, 1000); len(got) < 2 || got[0] != "0=a" || got[len(got)-1] == "0=a" {
			t.Errorf("%s: the log is %v", name, got)
		}
	}
}
