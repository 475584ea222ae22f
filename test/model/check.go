package model

import (
	"errors"
	"fmt"

	"github.com/korvet-io/korvet/internal/batch"
	"github.com/korvet-io/korvet/internal/partition"
)

// settle reads the whole log through a broker, takes what the step left open as it is, and compares the rest.
func (w *world) settle(b *broker, open Latitude) error {
	bounds, err := b.Bounds(w.ctx, w.ref)
	if err != nil {
		return fmt.Errorf("ask for the ends: %w", err)
	}
	if bounds.HighWatermark != bounds.LogEnd {
		return fmt.Errorf("the high watermark is %d, the log end offset %d", bounds.HighWatermark, bounds.LogEnd)
	}
	if err := w.checkTiers(b, bounds); err != nil {
		return err
	}
	seen, err := w.readAll(b, bounds.LogStart, bounds.LogEnd)
	if err != nil {
		return err
	}
	if err := w.log.Settle(open, bounds.LogStart, bounds.LogEnd, seen); err != nil || !b.fresh {
		return err
	}
	return agree(w.log.Solid().Records, seen, Latitude{}) // nobody remembers ghosts
}

// readAll reads as a consumer does, with fetches of a random size.
func (w *world) readAll(b *broker, from, end int64) ([]Record, error) {
	var all []Record
	size := 1 << (12 + w.rnd.IntN(9))
	for from < end {
		records, err := w.read(b, from, size)
		if err != nil {
			return all, fmt.Errorf("read from offset %d: %w", from, err)
		}
		if len(records) == 0 { // the rest is a hole
			break
		}
		all = append(all, records...)
		from = records[len(records)-1].Offset + 1
	}
	return all, nil
}

// read is one fetch: the records at and after an offset, as a client sees them.
func (w *world) read(b *broker, from int64, bytes int) ([]Record, error) {
	got, err := b.Read(w.ctx, w.ref, partition.ReadRequest{Offset: from, MaxBytes: bytes, AtLeastOne: true, Codec: batch.None, Values: w.values(), LogAppendTime: w.topic.Config.LogAppendTime}, nil)
	if err != nil {
		return nil, err
	}
	records, err := decode(got.Batches)
	for len(records) > 0 && records[0].Offset < from { // a batch begins before what was asked for: clients skip that
		records = records[1:]
	}
	return records, err
}

// check compares everything that a broker says of the log with the model, which takes what the step left open as it is.
func (w *world) check(b *broker, open Latitude) error {
	if err := errors.Join(w.settle(b, open), b.log.err()); err != nil {
		return err
	}
	for range 4 {
		if err := w.checkRead(b, w.log.Start+w.rnd.Int64N(w.log.End-w.log.Start+1)); err != nil {
			return err
		}
	}
	for _, outside := range []int64{w.log.Start - 1, w.log.End + 1} {
		if _, err := w.read(b, outside, 1000); !errors.Is(err, partition.ErrOffsetOutOfRange) {
			return fmt.Errorf("read from offset %d outside of [%d, %d]: %w, want %w", outside, w.log.Start, w.log.End, err, partition.ErrOffsetOutOfRange)
		}
	}
	if err := w.checkEdges(b); err != nil {
		return err
	}
	if err := w.checkTimes(b); err != nil {
		return err
	}
	return w.checkEpochs(b)
}

// checkEpochs compares the leader epochs that go with the log's ends.
func (w *world) checkEpochs(b *broker) error {
	bounds, err := b.Bounds(w.ctx, w.ref)
	if err != nil {
		return fmt.Errorf("ask for the ends: %w", err)
	}
	var problems []error
	at := func(what string, offset int64, epoch int32) {
		if list := w.log.From(offset); len(list) > 0 && list[0].Offset == offset {
			problems = append(problems, epochIs(what, epoch, &list[0]))
		}
	}
	at("the log start", bounds.LogStart, bounds.StartEpoch)
	at("the local start", bounds.LocalStart, bounds.LocalEpoch)
	if bounds.TieredEnd > 0 {
		at("the latest tiered offset", bounds.TieredEnd-1, bounds.TieredEpoch)
		at("the earliest pending upload", max(bounds.TieredEnd, bounds.LogStart), bounds.PendingEpoch)
	}
	return errors.Join(problems...)
}

// epochIs compares the leader epoch of an answer with that of the record.
func epochIs(what string, epoch int32, r *Record) error {
	if r.Led > 0 && epoch != r.Led-1 {
		return fmt.Errorf("look up %s: leader epoch %d, want %d of\n  %v", what, epoch, r.Led-1, r)
	}
	return nil
}

// checkRead compares one fetch from anywhere.
func (w *world) checkRead(b *broker, from int64) error {
	seen, err := w.read(b, from, 1<<w.rnd.IntN(18))
	if err != nil {
		return fmt.Errorf("read from offset %d: %w", from, err)
	}
	want := w.known(b).From(from)
	for n := len(want); n > 0 && (len(seen) == 0 && want[n-1].Ghost || len(seen) > 0 && want[n-1].Offset > seen[len(seen)-1].Offset); n-- {
		want = want[:n-1] // not read yet
	}
	if err := agree(want, seen, Latitude{}); err != nil {
		return fmt.Errorf("read from offset %d: %w", from, err)
	}
	return nil
}

// known is the log as a broker may know it.
func (w *world) known(b *broker) *Log {
	if b.fresh {
		return w.log.Solid()
	}
	return &w.log
}

// checkTimes compares lookups by time.
func (w *world) checkTimes(b *broker) error {
	log := w.known(b)
	wanted := log.Newest()
	got, err := b.MaxTimestamp(w.ctx, w.ref)
	if err := sameTime("the largest timestamp", got, err, wanted); err != nil {
		return err
	}
	times := []int64{-1, 0}
	for _, r := range wanted {
		times = append(times, r.Timestamp, r.Timestamp+1)
	}
	for range 3 {
		if n := len(log.Records); n > 0 {
			times = append(times, log.Records[w.rnd.IntN(n)].Timestamp+int64(w.rnd.IntN(3))-1)
		}
	}
	for _, ms := range times {
		got, err := b.OffsetForTime(w.ctx, w.ref, ms)
		if err := sameTime(fmt.Sprint("timestamp ", ms), got, err, log.At(ms)); err != nil {
			return err
		}
	}
	return nil
}

// sameTime compares an answer with those that are right: there may be ghosts among them.
func sameTime(what string, got partition.TimeOffset, err error, right []Record) error {
	if err != nil {
		return fmt.Errorf("look up %s: %w", what, err)
	}
	for i := range right {
		if got.Offset == right[i].Offset && got.Timestamp == right[i].Timestamp {
			return epochIs(what, got.LeaderEpoch, &right[i])
		}
	}
	if n := len(right); n > 0 && (!right[n-1].Ghost || got.Offset != -1) {
		return fmt.Errorf("look up %s: offset %d, timestamp %d, want\n  %v", what, got.Offset, got.Timestamp, &right[n-1])
	}
	if got.Offset != -1 {
		return fmt.Errorf("look up %s: offset %d, timestamp %d, want none", what, got.Offset, got.Timestamp)
	}
	return nil
}
