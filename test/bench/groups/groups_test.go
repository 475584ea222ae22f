package groups

import (
	"fmt"
	"io"
	"net"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"
)

func TestTheLeaderSharesOutEveryPartitionOnce(t *testing.T) {
	for _, c := range []struct{ members, partitions int }{{1, 7}, {3, 7}, {7, 7}, {9, 7}} {
		members := make([]kmsg.JoinGroupResponseMember, c.members)
		for i := range members {
			members[i].MemberID = fmt.Sprint(i)
		}
		var all []int32
		for _, a := range assign(members, Topic{"t", int32(c.partitions)}) {
			var assignment kmsg.ConsumerMemberAssignment
			if err := assignment.ReadFrom(a.MemberAssignment); err != nil {
				t.Fatal(err)
			}
			all = append(all, assignment.Topics[0].Partitions...)
		}
		slices.Sort(all)
		if len(all) != c.partitions || len(slices.Compact(all)) != c.partitions {
			t.Errorf("%d members of %d partitions: %v", c.members, c.partitions, all)
		}
	}
}

// answering is a caller whose broker answers each heartbeat when it is told to.
func answering(t *testing.T, goOn <-chan struct{}) *caller {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	c, err := dial(t.Context(), listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	broker, err := listener.Accept()
	if err != nil {
		t.Fatal(err)
	}
	var serving sync.WaitGroup
	serving.Go(func() { serve(broker, goOn) })
	t.Cleanup(func() { c.close(); serving.Wait() })
	m := &member{conn: c, group: "g", id: "m"}
	req, resp := m.heartbeatRequest(), &kmsg.HeartbeatResponse{Version: 4}
	return &caller{conn: c, answer: resp, request: func() kmsg.Request { return req }, check: func() error { return refusal("heartbeat", resp.ErrorCode) }}
}

// serve answers every frame with an empty heartbeat response.
func serve(nc net.Conn, goOn <-chan struct{}) {
	defer nc.Close()
	for {
		var prefix [4]byte
		if _, err := io.ReadFull(nc, prefix[:]); err != nil {
			return
		}
		frame := make([]byte, int(prefix[2])<<8|int(prefix[3]))
		if _, err := io.ReadFull(nc, frame); err != nil {
			return
		}
		<-goOn
		answer := append([]byte{0, 0, 0, 0}, frame[4:8]...) // the correlation id
		answer = (&kmsg.HeartbeatResponse{Version: 4}).AppendTo(append(answer, 0))
		answer[3] = byte(len(answer) - 4)
		if _, err := nc.Write(answer); err != nil {
			return
		}
	}
}

func TestRequestsThatFallDueWhileOneWaitsCountFromThen(t *testing.T) {
	goOn := make(chan struct{})
	c := answering(t, goOn)
	began := time.Now()
	for i := range 3 {
		if err := c.enqueue(began.Add(-time.Duration(i+1) * time.Hour)); err != nil {
			t.Fatal(err)
		}
	}
	done := make(chan error, 1)
	go func() { done <- c.readAnswers(began.Add(time.Hour)) }()
	goOn <- struct{}{}
	goOn <- struct{}{}
	c.finish(began) // the third may be on its way, or was never sent
	close(goOn)
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	for i, took := range c.latencies {
		if hours := time.Duration(took) / time.Hour; hours < 1 || hours > 3 {
			t.Errorf("latency %d is %v", i, time.Duration(took))
		}
	}
	if len(c.latencies) != 3 {
		t.Errorf("%d latencies of 3 requests", len(c.latencies))
	}
}

func TestALoopThatIsPacedSendsWhatFallsDue(t *testing.T) {
	goOn := make(chan struct{})
	close(goOn)
	callers := []*caller{answering(t, goOn), answering(t, goOn)}
	if _, err := openLoop(t.Context(), callers, 1000, 100*time.Millisecond); err != nil {
		t.Fatal(err)
	}
	if sent := len(callers[0].latencies) + len(callers[1].latencies); sent != 100 {
		t.Errorf("%d requests, want 100", sent)
	}
}
