package sim

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"slices"

	"github.com/korvet-io/korvet/internal/batch"
	"github.com/korvet-io/korvet/internal/partition"
	"github.com/korvet-io/korvet/internal/record"
)

// producer is what an idempotent producer puts into a batch's header.
type producer struct {
	id  int64 // -1: none
	seq int32
}

// newBatch builds what a client sends.
func newBatch(values []string, p producer) *batch.Batch {
	var b batch.Builder
	b.Reset(nil, batch.BuildOptions{})
	for i, v := range values {
		b.Put(&record.Record{Offset: int64(i), Timestamp: 1, Value: []byte(v)})
	}
	raw := b.Finish()
	if p.id >= 0 { // producer id, epoch and base sequence are at 43, 51 and 53; the CRC at 17 covers all from 21 on
		binary.BigEndian.PutUint64(raw[43:], uint64(p.id))
		binary.BigEndian.PutUint16(raw[51:], 0)
		binary.BigEndian.PutUint32(raw[53:], uint32(p.seq))
		binary.BigEndian.PutUint32(raw[17:], crc32.Checksum(raw[21:], crc32.MakeTable(crc32.Castagnoli)))
	}
	parsed, err := batch.Parse(raw, batch.Limits{})
	if err != nil {
		panic(err)
	}
	return parsed
}

// plainClient sends every value once, and takes an error as it comes.
type plainClient struct {
	w    *world
	sent int
}

func (c *plainClient) send(b *broker) {
	life := b.life
	values := make([]string, 1+c.w.rnd.IntN(4))
	for i := range values {
		c.sent++
		values[i] = fmt.Sprintf("%d.p.%d", life, c.sent)
	}
	opt := b.appendOptions()
	b.Append(b.ref(), newBatch(values, producer{id: -1}), opt, func(a partition.Appended, err error) {
		c.w.trace("answer", values, a, err)
		c.w.acknowledged(life, values, a, err)
	})
}

// appendOptions are the topic's. Where segments are rolled, brokers roll them, too: by age or when there is more than a little.
func (b *broker) appendOptions() partition.AppendOptions {
	opt := partition.AppendOptions{AllReplicas: true, MinReplicas: 1}
	if b.w.opt.Replicas {
		opt.MinReplicas = 2
	}
	if b.w.opt.Roll {
		opt.Segment = partition.SegmentPolicy{Bytes: 2000, Ms: 60}
	}
	return opt
}

// acknowledged notes a client's answer.
func (w *world) acknowledged(life int, values []string, a partition.Appended, err error) {
	if err != nil {
		w.stats.Failed++
		return
	}
	w.stats.Acked += len(values)
	if life != len(w.lives)-1 {
		return // that life is over
	}
	for i, v := range values {
		w.acked[v] = a.BaseOffset + int64(i)
	}
}

// idempotentClient sends batches with sequence numbers, at most three in flight to one broker, and sends what failed again,
// maybe to another one.
type idempotentClient struct {
	w        *world
	id       int64
	life     int
	next     int32 // sequence of the next new value
	unacked  []*sentBatch
	inFlight int
	failed   bool // something in flight failed: wait for the rest, then start again from the first
	at       *broker
}

type sentBatch struct {
	seq    int32
	values []string
	flying bool
}

func newIdempotentClient(w *world, id int64) *idempotentClient {
	return &idempotentClient{w: w, id: id}
}

// reset begins with a new producer id, as clients do when the broker does not know their sequence any more.
func (c *idempotentClient) reset(life int) {
	c.id++
	c.life, c.next, c.unacked, c.failed, c.at = life, 0, nil, false, nil
}

func (c *idempotentClient) step() {
	if c.failed && c.inFlight > 0 {
		return
	}
	c.failed = false
	if c.inFlight == 0 {
		c.at = c.w.brokers[c.w.rnd.IntN(len(c.w.brokers))]
		if c.at.life != c.life {
			c.reset(c.at.life)
			c.at = nil
			return
		}
	}
	for _, s := range slices.Clone(c.unacked) {
		if !s.flying && c.inFlight < 3 && !c.failed && c.at != nil {
			c.w.stats.Retries++
			c.send(s)
		}
	}
	if c.at != nil && c.inFlight < 3 && len(c.unacked) < 3 && !c.failed {
		s := &sentBatch{seq: c.next}
		for range 1 + c.w.rnd.IntN(3) {
			s.values = append(s.values, fmt.Sprintf("%d.i%d.%d", c.life, c.id, c.next))
			c.next++
		}
		c.unacked = append(c.unacked, s)
		c.send(s)
	}
}

func (c *idempotentClient) send(s *sentBatch) {
	s.flying = true
	c.inFlight++
	id, life := c.id, c.life
	opt := c.at.appendOptions()
	b := newBatch(s.values, producer{id, s.seq})
	c.w.trace("send", c.at.name, s.values)
	c.at.Append(c.w.lives[life], b, opt, func(a partition.Appended, err error) {
		c.inFlight--
		s.flying = false
		c.w.trace("answer", s.values, a, err)
		c.w.acknowledged(life, s.values, a, err)
		if c.id != id {
			return
		}
		c.answered(s, a, err)
	})
}

func (c *idempotentClient) answered(s *sentBatch, a partition.Appended, err error) {
	if err == nil {
		if a.Duplicate {
			c.w.stats.Duplicates++
		}
		c.unacked = remove(c.unacked, s)
		return
	}
	first := len(c.unacked) > 0 && c.unacked[0] == s
	c.failed = true
	if first && c.inFlight == 0 && errors.Is(err, partition.ErrOutOfOrderSequence) {
		if c.w.stats.Failovers == 1 && c.w.stats.Strangers == 0 {
			c.w.complain("an idempotent producer's sequence was forgotten")
		}
		c.reset(c.life)
	}
}

func remove(list []*sentBatch, s *sentBatch) []*sentBatch {
	for i := range list {
		if list[i] == s {
			return append(list[:i:i], list[i+1:]...)
		}
	}
	return list
}
