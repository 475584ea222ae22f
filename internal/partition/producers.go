package partition

import (
	"encoding/binary"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/korvet-io/korvet/internal/batch"
	"github.com/korvet-io/korvet/internal/redisstream"
)

// windowSize is how many batches of a producer are remembered, as in Kafka: a client has at most five in flight.
const windowSize = 5

// sent is one batch an idempotent producer got appended.
type sent struct {
	first, last int32 // sequence numbers
	base        int64 // offset of the first record
	ms          int64 // Redis's time of the append; -1: not known
}

// count is the number of the batch's records: sequences wrap at 2^31.
func (s *sent) count() int64 { return int64((s.last-s.first)&0x7fffffff) + 1 }

// producer is what is remembered of one producer id.
type producer struct {
	epoch  int16
	n      uint8            // valid entries of window
	window [windowSize]sent // oldest first
	usedMs int64            // Redis's time of the last append
}

// verdict is what to do with a producer's batch.
type verdict struct {
	duplicate bool
	of        sent // the batch it repeats
	err       error
}

// check compares a batch with what was appended before it.
func (p *producer) check(b *batch.Batch) verdict {
	last := lastSequence(b)
	switch {
	case b.ProducerEpoch < p.epoch:
		return verdict{err: fmt.Errorf("%w: epoch %d after %d", ErrInvalidProducerEpoch, b.ProducerEpoch, p.epoch)}
	case b.ProducerEpoch > p.epoch:
		if b.BaseSequence != 0 {
			return verdict{err: fmt.Errorf("%w: %d begins a new epoch", ErrOutOfOrderSequence, b.BaseSequence)}
		}
		return verdict{}
	}
	for _, s := range p.window[:p.n] {
		if s.first == b.BaseSequence && s.last == last {
			return verdict{duplicate: true, of: s}
		}
	}
	if p.n > 0 {
		if next := nextSequence(p.window[p.n-1].last); b.BaseSequence != next {
			return verdict{err: fmt.Errorf("%w: %d where %d is next", ErrOutOfOrderSequence, b.BaseSequence, next)}
		}
	}
	return verdict{}
}

// add remembers an appended batch.
func (p *producer) add(b *batch.Batch, base, nowMs int64) {
	if b.ProducerEpoch != p.epoch {
		*p = producer{epoch: b.ProducerEpoch}
	}
	if p.n == windowSize {
		copy(p.window[:], p.window[1:])
		p.n--
	}
	p.window[p.n] = sent{b.BaseSequence, lastSequence(b), base, nowMs}
	p.n++
	p.usedMs = nowMs
}

// dropVoid forgets batches in a void. It tells whether any is left.
func (p *producer) dropVoid(v void) bool {
	kept := uint8(0)
	for _, s := range p.window[:p.n] {
		if s.base < v.from || s.base >= v.to {
			p.window[kept] = s
			kept++
		}
	}
	p.n = kept
	return kept > 0
}

func lastSequence(b *batch.Batch) int32 { return (b.BaseSequence + b.Count - 1) & 0x7fffffff }

// after tells whether sequence a comes after b; sequences wrap at 2^31.
func after(a, b int32) bool { return a != b && uint32(a-b)&0x7fffffff < 1<<30 }

func nextSequence(last int32) int32 { return (last + 1) & 0x7fffffff }

// producerFormat is the first byte of a stored producer state. The first format had a batch's number of records where this one
// has its age.
const (
	producerFormat   = 2
	producerFormerly = 1
)

// ageUnknown is stored for a batch of which it is not known when it was appended, or more than 49 days before the last one.
const ageUnknown = 1<<32 - 1

// producerPrefix begins the names of the state fields that hold producers.
const producerPrefix = "p:"

func producerField(id int64) string { return producerPrefix + strconv.FormatInt(id, 10) }

// encode gives the stored form, 12 bytes and 20 per batch: at most 112.
func (p *producer) encode() string {
	b := make([]byte, 0, 12+windowSize*20)
	b = append(b, producerFormat, p.n)
	b = binary.BigEndian.AppendUint16(b, uint16(p.epoch))
	b = binary.BigEndian.AppendUint64(b, uint64(p.usedMs))
	for _, s := range p.window[:p.n] {
		b = binary.BigEndian.AppendUint32(b, uint32(s.first))
		b = binary.BigEndian.AppendUint32(b, uint32(s.last))
		b = binary.BigEndian.AppendUint64(b, uint64(s.base))
		age := uint32(ageUnknown)
		if older := p.usedMs - s.ms; s.ms >= 0 && older >= 0 && older < ageUnknown {
			age = uint32(older)
		}
		b = binary.BigEndian.AppendUint32(b, age)
	}
	return string(b)
}

func decodeProducer(field, value string) (id int64, p producer, err error) {
	id, err = strconv.ParseInt(strings.TrimPrefix(field, producerPrefix), 10, 64)
	if err != nil {
		return 0, p, fmt.Errorf("producer field %q: %w", field, err)
	}
	b := []byte(value)
	if len(b) < 12 || b[0] != producerFormat && b[0] != producerFormerly || b[1] > windowSize || len(b) != 12+int(b[1])*20 {
		return 0, p, fmt.Errorf("producer %d: %d bytes of an unknown format", id, len(b))
	}
	p.n = b[1]
	p.epoch = int16(binary.BigEndian.Uint16(b[2:]))
	p.usedMs = int64(binary.BigEndian.Uint64(b[4:]))
	for i := range p.window[:p.n] {
		e := b[12+20*i:]
		p.window[i] = sent{
			first: int32(binary.BigEndian.Uint32(e)), last: int32(binary.BigEndian.Uint32(e[4:])),
			base: int64(binary.BigEndian.Uint64(e[8:])), ms: -1,
		}
		if age := binary.BigEndian.Uint32(e[16:]); b[0] == producerFormat && age != ageUnknown {
			p.window[i].ms = max(p.usedMs-int64(age), -1)
		}
	}
	return id, p, nil
}

// producers are those of one partition.
type producers struct {
	known map[int64]producer
	// refused has, for ids that have nothing appended yet, the first sequence that failed: later ones wait until it was
	// tried again, or the batches behind it would be taken as the first.
	refused map[int64]int32
	max     int
}

func newProducers(limit int) producers {
	return producers{known: map[int64]producer{}, refused: map[int64]int32{}, max: limit}
}

// check compares a batch with what was appended and with what is in the group being built.
func (ps *producers) check(b *batch.Batch, group map[int64]*producer) verdict {
	if p := group[b.ProducerID]; p != nil {
		return p.check(b)
	}
	if p, ok := ps.known[b.ProducerID]; ok {
		return p.check(b)
	}
	if first, ok := ps.refused[b.ProducerID]; ok && after(b.BaseSequence, first) {
		return verdict{err: fmt.Errorf("%w: %d before %d, which failed, was tried again", ErrOutOfOrderSequence, b.BaseSequence, first)}
	}
	return verdict{}
}

// failed notes that a batch was not appended.
func (ps *producers) failed(b *batch.Batch) {
	if _, known := ps.known[b.ProducerID]; known || b.ProducerID < 0 {
		return
	}
	if first, noted := ps.refused[b.ProducerID]; noted && !after(first, b.BaseSequence) {
		return
	}
	if len(ps.refused) >= ps.max {
		clear(ps.refused)
	}
	ps.refused[b.ProducerID] = b.BaseSequence
}

// commit makes a group's producers the known ones.
func (ps *producers) commit(group map[int64]*producer) {
	for id, p := range group {
		ps.known[id] = *p
		delete(ps.refused, id)
	}
}

// expire forgets producers not used since before, and the longest idle beyond the limit. It returns their fields.
func (ps *producers) expire(beforeMs int64) []string {
	var gone []string
	for id, p := range ps.known {
		if p.usedMs < beforeMs {
			delete(ps.known, id)
			gone = append(gone, producerField(id))
		}
	}
	excess := len(ps.known) - ps.max
	if excess <= 0 {
		return gone
	}
	type idle struct{ id, usedMs int64 }
	all := make([]idle, 0, len(ps.known))
	for id, p := range ps.known {
		all = append(all, idle{id, p.usedMs})
	}
	slices.SortFunc(all, func(a, b idle) int { return int(min(max(a.usedMs-b.usedMs, -1), 1)) })
	for _, p := range all[:excess] {
		delete(ps.known, p.id)
		gone = append(gone, producerField(p.id))
	}
	return gone
}

// dropVoid forgets batches in a void.
func (ps *producers) dropVoid(v void) {
	for id, p := range ps.known {
		if p.dropVoid(v) {
			ps.known[id] = p
		} else {
			delete(ps.known, id)
		}
	}
}

// voidPrefix begins the names of the state fields that hold voids.
const voidPrefix = "void:"

// void are offsets [from, to) that an owner claimed, and that a stranger's entry kept it from writing. They are skipped.
type void struct{ from, to int64 }

// decodeVoid reads "void:<last sequence claimed>" -> "<last sequence there>", which is empty when there was none.
func decodeVoid(name, value string) (void, error) {
	last, err := strconv.ParseUint(strings.TrimPrefix(name, voidPrefix), 10, 64)
	if err != nil {
		return void{}, fmt.Errorf("void field %q: %w", name, err)
	}
	v := void{to: redisstream.EndOffset(last)}
	if value == "" {
		return v, nil
	}
	there, err := strconv.ParseUint(value, 10, 64)
	if err != nil {
		return void{}, fmt.Errorf("void value %q: %w", value, err)
	}
	v.from = redisstream.EndOffset(there)
	return v, nil
}
