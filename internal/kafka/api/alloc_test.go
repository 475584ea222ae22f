package api

import (
	"context"
	"strings"
	"testing"

	"github.com/korvet-io/korvet/internal/batch"
	"github.com/korvet-io/korvet/internal/kafka/server"
	"github.com/korvet-io/korvet/internal/partition"
)

// nowhere is a log that keeps nothing and has one answer to every read.
type nowhere struct {
	*fakeLogs
	batches []byte
	end     int64
}

func (n *nowhere) Append(_ partition.Ref, b *batch.Batch, _ partition.AppendOptions, done func(partition.Appended, error)) {
	b.Release()
	done(partition.Appended{AppendTime: -1}, nil)
}

func (n *nowhere) Read(_ context.Context, _ partition.Ref, _ partition.ReadRequest, dst []byte) (partition.ReadResult, error) {
	return partition.ReadResult{Bounds: partition.Bounds{HighWatermark: n.end, LogEnd: n.end}, Batches: append(dst, n.batches...)}, nil
}

// allocations counts what serving a request allocates.
func allocations(b *broker, key, version int16, body []byte) float64 {
	done := make(chan server.Response, 1)
	out := make([]byte, 0, 1<<20)
	return testing.AllocsPerRun(50, func() {
		b.api.Serve(context.Background(), &server.Request{Key: key, Version: version, Body: body, Conn: b.conn}, func(r server.Response, err error) {
			if err != nil {
				b.t.Error(err)
			}
			done <- r
		})
		r := <-done
		if e, ok := r.(server.Encoded); ok {
			e.Release()
			return
		}
		r.AppendTo(out)
	})
}

func manyValues(n int) []string {
	values := make([]string, n)
	for i := range values {
		values[i] = strings.Repeat("x", 20)
	}
	return values
}

func TestProduceAllocatesNothingPerRecord(t *testing.T) {
	b := newBroker(t, nil)
	b.api.logs = &nowhere{fakeLogs: b.logs}
	body := func(records int) []byte {
		req := produceOf("t", valuesOf(manyValues(records)...))
		req.SetVersion(9)
		return req.AppendTo(nil)
	}
	few, many := allocations(b, 0, 9, body(1)), allocations(b, 0, 9, body(5000))
	t.Logf("%v allocations a request", few)
	if many > few {
		t.Errorf("%v allocations with 5000 records, %v with one", many, few)
	}
}

func TestFetchAllocatesNothingPerRecord(t *testing.T) {
	b := newBroker(t, nil)
	log := &nowhere{fakeLogs: b.logs}
	b.api.logs = log
	req := fetchOf("t", 0)
	req.SetVersion(12)
	body := req.AppendTo(nil)
	count := func(records int) float64 {
		log.batches, log.end = valuesOf(manyValues(records)...), int64(records)
		return allocations(b, 1, 12, body)
	}
	few, many := count(1), count(5000)
	t.Logf("%v allocations a request", few)
	if many > few+1 { // the buffer's own growth, when the pool was emptied meanwhile
		t.Errorf("%v allocations with 5000 records, %v with one", many, few)
	}
}
