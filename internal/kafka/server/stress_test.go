package server

import (
	"context"
	"encoding/binary"
	"io"
	"math/rand"
	"net"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// TestNothingIsLeftOfConnectionsThatEndAnyhow lets many clients send, cut frames, stop reading and hang up at random
// moments, while answers come from everywhere; in the end nothing is counted or held any more.
func TestNothingIsLeftOfConnectionsThatEndAnyhow(t *testing.T) {
	var taken, released atomic.Int32
	f := start(t, handlerFunc(func(_ context.Context, req *Request, reply func(Response, error)) {
		switch req.CorrelationID % 5 {
		case 0:
			reply(text(req.Body), nil)
		case 1:
			go reply(nil, nil)
		case 2:
			go reply(text("x"), nil)
		default:
			taken.Add(1)
			go reply(parcel{parts: net.Buffers{make([]byte, 100_000)}, released: &released}, nil)
		}
	}), func(s *Settings) {
		s.MaxInFlight, s.MaxPendingBytes, s.ResumePendingBytes = 4, 200_000, 100_000
	})
	var clients sync.WaitGroup
	for seed := range int64(40) {
		clients.Add(1)
		go func() {
			defer clients.Done()
			misbehave(f, rand.New(rand.NewSource(seed)))
		}()
	}
	clients.Wait()
	f.await("all connections to end", func() bool { return f.srv.connections() == 0 })
	f.await("all requests to be answered", func() bool { return f.pendingBytes() == 0 })
	f.await("all answers to be released", func() bool { return taken.Load() == released.Load() })
	f.srv.quota.mu.Lock()
	defer f.srv.quota.mu.Unlock()
	if f.srv.quota.total != 0 || f.srv.large.used != 0 {
		t.Fatalf("%d connections, %d bytes of large frames are still counted", f.srv.quota.total, f.srv.large.used)
	}
}

// misbehave opens some connections one after the other, and ends each at a random moment.
func misbehave(f *fixture, random *rand.Rand) {
	for range 10 {
		nc, err := net.Dial("tcp", f.addr)
		if err != nil {
			f.t.Error(err)
			return
		}
		_ = nc.SetDeadline(time.Now().Add(patience))
		if random.Intn(2) == 0 {
			go func() { _, _ = io.Copy(io.Discard, nc) }() // ends with the connection
		}
		for id := range int32(random.Intn(20)) {
			b := frame(id, strings.Repeat("b", random.Intn(5000)))
			if random.Intn(20) == 0 {
				binary.BigEndian.PutUint32(b, largeFrame+uint32(random.Intn(1000)))
			}
			if random.Intn(10) == 0 {
				b = b[:random.Intn(len(b))]
			}
			if _, err := nc.Write(b); err != nil {
				break // the server ended it first
			}
		}
		nc.Close()
	}
}
