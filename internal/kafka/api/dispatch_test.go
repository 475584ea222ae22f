package api

import (
	"context"
	"encoding/binary"
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"
)

func TestUnknownRequestsCloseTheConnection(t *testing.T) {
	b := newBroker(t, nil)
	for _, c := range [][2]int16{{999, 0}, {-1, 0}, {4, 0}, {10, 4}, {0, 14}, {0, -1}, {1, 3}, {1, 19}, {2, 0}, {23, 1}} {
		if a := b.await(b.start(c[0], c[1], nil)); a.err == nil || a.body != nil {
			t.Errorf("key %d version %d: %x, %v", c[0], c[1], a.body, a.err)
		}
	}
}

func TestControlRequestsAreBounded(t *testing.T) {
	b := newBroker(t, func(s *Settings) { s.MaxControlRequestBytes = 1000 })
	if a := b.await(b.start(3, 1, make([]byte, 1001))); a.err == nil {
		t.Fatal("a request above the limit was served")
	}
	if a := b.await(b.start(1, 4, make([]byte, 1001))); a.err == nil {
		t.Fatal("a Fetch above the limit was served")
	}
	body := append([]byte{0, 0, 0, 0}, make([]byte, 996)...)
	if a := b.await(b.start(3, 1, body)); a.err != nil {
		t.Fatalf("a request at the limit: %v", a.err)
	}
}

func TestLyingArraysAreRefused(t *testing.T) {
	b := newBroker(t, nil)
	for key, r := range b.api.routes {
		for version := r.min; version <= r.max; version++ {
			for at := range 40 {
				body := binary.BigEndian.AppendUint32(make([]byte, at), 1<<31-1)
				body = append(body, 0xff, 0xff, 0xff, 0xff, 0x0f)
				b.await(b.start(key, version, body)) // answered or closed, never out of memory
			}
		}
	}
}

func TestUnknownTagsAndTrailingBytesAreIgnored(t *testing.T) {
	b := newBroker(t, nil)
	req := apiVersionsRequest()
	req.SetVersion(3)
	body := req.AppendTo(nil)
	tagged := append(append([]byte{}, body[:len(body)-1]...), 1, 99, 2, 'x', 'y')
	for _, body := range [][]byte{tagged, append(body, "more"...)} {
		if resp := b.decode(req, b.await(b.start(18, 3, body))).(*kmsg.ApiVersionsResponse); resp.ErrorCode != 0 {
			t.Errorf("%+v", resp)
		}
	}
	produce := produceOf("t", valuesOf("a"))
	produce.SetVersion(9)
	body = produce.AppendTo(nil)
	tagged = append(append([]byte{}, body[:len(body)-1]...), 2, 1, 1, 'x', 99, 0, 'e', 'n', 'd')
	if resp := b.decode(produce, b.await(b.start(0, 9, tagged))).(*kmsg.ProduceResponse); resp.Topics[0].Partitions[0].ErrorCode != 0 {
		t.Errorf("%+v", resp)
	}
}

func TestSizeBudgetMakesLargeRequestsTakeTurns(t *testing.T) {
	b := newSizeBudget(100<<10, smallControl)
	ctx, cancel := context.WithCancel(t.Context())
	if err := b.acquire(ctx, 80<<10); err != nil {
		t.Fatal(err)
	}
	if err := b.acquire(ctx, smallControl); err != nil {
		t.Fatal("a small request waited")
	}
	got := make(chan error)
	go func() { got <- b.acquire(t.Context(), 90<<10) }()
	b.release(80 << 10)
	if err := <-got; err != nil {
		t.Fatal(err)
	}
	cancel()
	if err := b.acquire(ctx, 80<<10); err == nil {
		t.Fatal("it did not give up with its connection")
	}
}
