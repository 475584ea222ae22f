package sim

import (
	"context"
	"encoding/binary"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/korvet-io/korvet/internal/batch"
	"github.com/korvet-io/korvet/internal/partition"
)

// reader consumes the present life of the topic through whatever broker, from the start on.
type reader struct {
	w    *world
	life int
	next int64
}

// step reads once and checks what came.
func (r *reader) step() {
	w := r.w
	b := w.brokers[w.rnd.IntN(len(w.brokers))]
	if b.life != len(w.lives)-1 {
		return
	}
	if r.life != b.life {
		r.life, r.next = b.life, 0
	}
	limit := 1 + w.rnd.IntN(400)
	res, err := b.Read(context.Background(), b.ref(), partition.ReadRequest{Offset: r.next, MaxBytes: limit, AtLeastOne: true}, nil)
	if err != nil {
		return
	}
	for rest := res.Batches; len(rest) > 0; {
		h, ok := batch.Peek(rest)
		if !ok {
			w.complain("a read gave a part of a batch")
			return
		}
		for _, rec := range decode(rest[:h.Size]) {
			r.take(rec, res.Bounds)
		}
		rest = rest[h.Size:]
	}
}

func (r *reader) take(rec seenRecord, bounds partition.Bounds) {
	w := r.w
	if rec.offset < r.next {
		return // the first batch may begin before the offset asked for
	}
	w.stats.Reads++
	if rec.offset != r.next && w.stats.Strangers == 0 {
		w.complain("a reader saw a gap")
	}
	if rec.offset >= bounds.HighWatermark {
		w.complain("a reader saw a record above the high watermark")
	}
	if w.opt.Replicas && rec.offset >= w.confirmed {
		w.complain("a reader saw a record that the replicas do not have")
	}
	if before, ok := w.seen[rec.offset]; ok && before != rec.value {
		w.trace("read", rec.offset, rec.value, "before", before)
		w.complain("a reader saw another record at an offset")
	}
	w.seen[rec.offset] = rec.value
	r.next = rec.offset + 1
}

type seenRecord struct {
	offset int64
	value  string
}

// decode reads a batch with a decoder that is not korvet's.
func decode(raw []byte) []seenRecord {
	var b kmsg.RecordBatch
	if err := b.ReadFrom(raw); err != nil {
		panic(err)
	}
	var out []seenRecord
	for rest := b.Records; len(rest) > 0; {
		length, n := binary.Varint(rest)
		var rec kmsg.Record
		if err := rec.ReadFrom(rest[:n+int(length)]); err != nil {
			panic(err)
		}
		rest = rest[n+int(length):]
		out = append(out, seenRecord{b.FirstOffset + int64(rec.OffsetDelta), string(rec.Value)})
	}
	return out
}
