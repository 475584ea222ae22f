package model

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/korvet-io/korvet/internal/partition"
)

// options are what the broker's API passes on of the topic's settings.
func (w *world) options() partition.AppendOptions {
	c := &w.topic.Config
	return partition.AppendOptions{
		AllReplicas: w.rnd.IntN(2) == 0, MinReplicas: c.MinInsyncReplicas, LogAppendTime: c.LogAppendTime, Values: w.values(), Segment: w.segment(),
	}
}

// produce has up to three producers send a batch each, at once.
func (w *world) produce() (Latitude, error) {
	type sending struct {
		producer *producer
		records  []Record
		done     <-chan outcome
		got      partition.Appended
	}
	var sent []sending
	opt := w.options()
	for _, n := range w.rnd.Perm(len(w.producers))[:1+w.rnd.IntN(3)] {
		s := sending{producer: w.producers[n], records: w.records()}
		w.say("produce %s by producer %d, sequence %d, all replicas %t", describe(s.records), s.producer.id, s.producer.sequence, opt.AllReplicas)
		var err error
		if s.done, err = w.broker().send(w.ref, s.records, s.producer.identity, opt); err != nil {
			return Latitude{}, err
		}
		sent = append(sent, s)
	}
	for i := range sent {
		s := &sent[i]
		o := <-s.done
		if o.err != nil && retriable(o.err) { // then the others may come first
			w.say("producer %d sends again: %v", s.producer.id, o.err)
			o.got, o.err = w.broker().deliver(w.ref, s.records, s.producer.identity, opt)
		}
		if o.err == nil && o.got.Duplicate {
			o.err = fmt.Errorf("a new batch is taken for a duplicate of that at %d", o.got.BaseOffset)
		}
		if o.err != nil {
			return Latitude{}, fmt.Errorf("producer %d: %w", s.producer.id, o.err)
		}
		s.got = o.got
	}
	slices.SortFunc(sent, func(a, b sending) int { return cmp.Compare(a.got.BaseOffset, b.got.BaseOffset) })
	for _, s := range sent {
		if err := w.acknowledged(s.producer, s.records, s.got); err != nil {
			return Latitude{}, err
		}
	}
	return Latitude{}, w.learnAppendTimes()
}

// acknowledged adds an acknowledged batch to the model.
func (w *world) acknowledged(p *producer, records []Record, got partition.Appended) error {
	if got.AppendTime >= 0 {
		setTime(records, got.AppendTime)
	} else if w.topic.Config.LogAppendTime { // a duplicate
		setTime(records, unknownTime)
	}
	if p.id >= 0 {
		p.sent = append(p.sent, sentBatch{p.identity, got.BaseOffset, records})
		p.sequence += int32(len(records))
	}
	return w.log.Append(got.BaseOffset, records)
}

// repeat sends one of the newest five batches of an idempotent producer again.
func (w *world) repeat() (Latitude, error) {
	p := w.producers[1+w.rnd.IntN(len(w.producers)-1)]
	if len(p.sent) == 0 {
		return w.produce()
	}
	const remembered = 5
	b := p.sent[max(0, len(p.sent)-1-w.rnd.IntN(remembered))]
	w.say("repeat the batch of producer %d with sequence %d, which is at offset %d", p.id, b.by.sequence, b.base)
	got, err := w.broker().deliver(w.ref, b.records, b.by, w.options())
	if err == nil && (!got.Duplicate || got.BaseOffset != b.base) {
		err = fmt.Errorf("a repeated batch is answered with %+v, want it to be a duplicate of that at offset %d", got, b.base)
	}
	return Latitude{}, err
}

// learnAppendTimes asks Redis when the newest records were appended: an entry's id says so.
func (w *world) learnAppendTimes() error {
	first := slices.IndexFunc(w.log.Records, func(r Record) bool { return r.AppendMs == 0 })
	if first < 0 {
		return nil
	}
	unknown := w.log.Records[first:]
	view, err := w.hands.Look(w.ctx, w.keys)
	if err != nil {
		return err
	}
	for _, stream := range slices.Backward(view.Streams(w.keys)) {
		if len(unknown) == 0 {
			break
		}
		ids, err := w.newestIDs(stream, len(unknown))
		if err != nil {
			return err
		}
		for _, id := range ids {
			n := len(unknown)
			if n == 0 || unknown[n-1].Offset != int64(id.Seq) {
				break
			}
			unknown[n-1].learn(id.Ms)
			unknown = unknown[:n-1]
		}
	}
	if len(unknown) > 0 {
		return fmt.Errorf("no stream has an entry of offset %d", unknown[len(unknown)-1].Offset)
	}
	for i := max(1, first); i < len(w.log.Records); i++ {
		if w.log.Records[i].AppendMs < w.log.Records[i-1].AppendMs {
			return fmt.Errorf("append times fall:\n  %v\n  %v", &w.log.Records[i-1], &w.log.Records[i])
		}
	}
	return nil
}

// unknownTime is the timestamp of a record that the broker stamped and whose producer was not told when.
const unknownTime = -2

// oddTimes are timestamps that producers may give although no clock shows them: none, and as far ahead as brokers accept.
var oddTimes = []int64{-1, 0, 1, 1 << 41, math.MaxInt64 / 1000}

func setTime(records []Record, ms int64) {
	for i := range records {
		records[i].Timestamp = ms
	}
}

func (r *Record) learn(appendMs uint64) {
	r.AppendMs = appendMs
	if r.Timestamp == unknownTime {
		r.Timestamp = int64(appendMs)
	}
}

func (w *world) anyProducer() *producer { return w.producers[w.rnd.IntN(len(w.producers))] }

// records makes a batch's records.
func (w *world) records() []Record {
	now, count := time.Now().UnixMilli(), 1+w.rnd.IntN(20)
	size := [...]int{0, 10, 10, 100, 100, 100, 1000, 1000, 1000, 10_000, 100_000}[w.rnd.IntN(11)]
	if size > 10_000 {
		count = 1 + w.rnd.IntN(4)
	}
	records, odd := make([]Record, count), w.rnd.IntN(8*len(oddTimes))
	for i := range records {
		r := &records[i]
		r.Timestamp = now + int64(w.rnd.IntN(2000)) - 1000
		if odd < len(oddTimes) {
			r.Timestamp = oddTimes[odd]
		}
		if w.topic.Config.Compact || w.rnd.IntN(4) > 0 {
			r.Key = fmt.Appendf(nil, "key-%d", w.rnd.IntN(12))
		}
		if w.rnd.IntN(8) > 0 {
			r.Value = w.value(size)
		}
		for h := range w.rnd.IntN(3) {
			r.Headers = append(r.Headers, Header{Key: fmt.Sprint("h", h), Value: [][]byte{nil, {}, []byte("x")}[w.rnd.IntN(3)]})
		}
	}
	return records
}

// value is text of at most so many bytes that compresses as events do, or does not.
func (w *world) value(size int) []byte {
	if size == 0 {
		return []byte{}
	}
	size = 1 + w.rnd.IntN(size)
	out := make([]byte, 0, size+64)
	incompressible := w.rnd.IntN(5) == 0
	for len(out) < size {
		if incompressible {
			out = append(out, byte(w.rnd.IntN(256)))
			continue
		}
		out = fmt.Appendf(out, `{"order":%d,"customer":"c%d","state":"%s"}`, w.rnd.IntN(1e6), w.rnd.IntN(50), [...]string{"open", "paid", "sent"}[w.rnd.IntN(3)])
	}
	return out[:size]
}

// describe says how many records of which sizes.
func describe(records []Record) string {
	bytes := 0
	keys := make([]string, len(records))
	for i, r := range records {
		bytes += len(r.Value)
		keys[i] = brief(r.Key)
	}
	return fmt.Sprintf("%d records of together %d B with keys %s", len(records), bytes, strings.Join(keys, " "))
}
