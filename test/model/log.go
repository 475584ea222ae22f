package model

import (
	"bytes"
	"cmp"
	"fmt"
	"math"
	"slices"
)

// Record is one record as consumers see it, and when it was appended.
type Record struct {
	Offset    int64
	Timestamp int64  // ms
	Key       []byte // nil is null
	Value     []byte
	Headers   []Header
	AppendMs  uint64 // in Redis's time
	Clean     uint64 // when compaction worked on it first; 0: never
	// Ghost is a record that was compacted, or trimmed by hand: a broker's cache may show it for a while.
	Ghost bool
	// Deleted is a record that an engine has deleted from the remote tier's table. It is a ghost once Redis has it no more.
	Deleted bool
	Led     int32 // leader epoch of its append, plus 1; 0: not seen yet
}

// Header is one header of a record.
type Header struct {
	Key   string
	Value []byte // nil is null
}

// Log is a partition's log as Kafka defines it, without anything that makes one fast.
type Log struct {
	Start   int64    // log start offset
	End     int64    // log end offset
	Records []Record // by rising offset, all of them in [Start, End)
	Past    []Record // those that were below the log start when it rose, by rising offset: tables may have them for a while
}

// Append adds records at the end; base is the offset that the first one was acknowledged with.
func (l *Log) Append(base int64, records []Record) error {
	if base != l.End {
		return fmt.Errorf("appended at offset %d, the log ends at %d", base, l.End)
	}
	for _, r := range records {
		r.Offset = l.End
		l.Records = append(l.Records, r)
		l.End++
	}
	return nil
}

// StartAt raises the log start.
func (l *Log) StartAt(offset int64) {
	l.Start = max(l.Start, offset)
	living := l.From(l.Start)
	l.Past = append(l.Past, l.Records[:len(l.Records)-len(living)]...)
	l.Records = living
}

// From returns the records at and after an offset.
func (l *Log) From(offset int64) []Record {
	i, _ := slices.BinarySearchFunc(l.Records, offset, func(r Record, o int64) int { return cmp.Compare(r.Offset, o) })
	return l.Records[i:]
}

// Solid is the log without ghosts.
func (l *Log) Solid() *Log {
	solid := *l
	solid.Records = slices.DeleteFunc(slices.Clone(l.Records), func(r Record) bool { return r.Ghost })
	return &solid
}

// First is the offset of the first record that retention must leave, or the log end offset.
func (l *Log) First() int64 {
	for _, r := range l.Records {
		if !r.Ghost && !r.Deleted {
			return r.Offset
		}
	}
	return l.End
}

// Expired is the offset after the last record that was appended before a time.
func (l *Log) Expired(ms uint64) int64 {
	for _, r := range slices.Backward(l.Records) {
		if r.AppendMs < ms && !r.Ghost {
			return r.Offset + 1
		}
	}
	return l.Start
}

// Young is the offset of the first record that was appended at a time or later, or the log end offset.
func (l *Log) Young(ms uint64) int64 {
	i := slices.IndexFunc(l.Records, func(r Record) bool { return r.AppendMs >= ms && !r.Ghost && !r.Deleted })
	if i < 0 {
		return l.End
	}
	return l.Records[i].Offset
}

// At finds the first record with a timestamp at or after ms, as ListOffsets does, and the ghosts before it.
func (l *Log) At(ms int64) (found []Record) {
	for _, r := range l.Records {
		if r.Timestamp >= ms {
			found = append(found, r)
			if !r.Ghost {
				break
			}
		}
	}
	return found
}

// Newest is the first record of the largest timestamp, and the ghosts with as large ones.
func (l *Log) Newest() (found []Record) {
	largest := int64(math.MinInt64)
	for _, r := range l.Solid().Records {
		largest = max(largest, r.Timestamp)
	}
	for _, r := range l.Records {
		if r.Timestamp >= largest && (r.Ghost || !slices.ContainsFunc(found, func(f Record) bool { return !f.Ghost })) {
			found = append(found, r)
		}
	}
	return found
}

// Trim makes ghosts of records.
func (l *Log) Trim(offsets map[int64]bool) {
	for i := range l.Records {
		l.Records[i].Ghost = l.Records[i].Ghost || offsets[l.Records[i].Offset]
	}
}

// Latitude is what a step leaves open. The zero one leaves nothing open.
type Latitude struct {
	StartMin int64              // the log start must have risen at least to here
	StartMax int64              // it may have risen up to here
	Start    func(int64) error  // what else it must be; nil: nothing
	MayLack  func(*Record) bool // records that may be gone; nil: none
	MustLack func(*Record) bool // records that must be; nil: none
}

// Settle compares what was seen after a step with the log, and takes what the step left open as it was seen.
func (l *Log) Settle(open Latitude, start, end int64, seen []Record) error {
	if end != l.End {
		return fmt.Errorf("log end offset is %d, want %d", end, l.End)
	}
	if lo, hi := max(l.Start, open.StartMin), max(l.Start, open.StartMin, open.StartMax); start < lo || start > hi {
		return fmt.Errorf("log start offset is %d, want %d to %d", start, lo, hi)
	}
	if start > l.Start && open.Start != nil {
		if err := open.Start(start); err != nil {
			return err
		}
	}
	l.StartAt(start)
	return agree(l.Records, seen, open)
}

// agree compares records with those wanted. Of these, some may be missing: they are ghosts from then on.
func agree(want, seen []Record, open Latitude) error {
	for i := range want {
		r := &want[i]
		switch {
		case len(seen) > 0 && seen[0].Offset < r.Offset:
			return fmt.Errorf("there is a record too many:\n  %v", &seen[0])
		case len(seen) > 0 && seen[0].Offset == r.Offset:
			if err := r.same(&seen[0]); err != nil {
				return err
			}
			if open.MustLack != nil && open.MustLack(r) {
				return fmt.Errorf("a record should be compacted:\n  %v", r)
			}
			seen = seen[1:]
		case r.Ghost || open.MayLack != nil && open.MayLack(r):
			r.Ghost = true
		default:
			return fmt.Errorf("a record is missing:\n  %v", r)
		}
	}
	if len(seen) > 0 {
		return fmt.Errorf("there are %d records too many, the first is\n  %v", len(seen), &seen[0])
	}
	return nil
}

// same tells what a consumer would see differ.
func (r *Record) same(seen *Record) error {
	equal := r.Offset == seen.Offset && r.Timestamp == seen.Timestamp && sameBytes(r.Key, seen.Key) && sameBytes(r.Value, seen.Value) &&
		slices.EqualFunc(r.Headers, seen.Headers, func(a, b Header) bool { return a.Key == b.Key && sameBytes(a.Value, b.Value) })
	if !equal {
		return fmt.Errorf("a record differs: it is\n  %v\nwant\n  %v", seen, r)
	}
	if r.Led == 0 {
		r.Led = seen.Led
	}
	if r.Led != seen.Led && seen.Led != 0 {
		return fmt.Errorf("a record is in leader epoch %d, it was in %d:\n  %v", seen.Led-1, r.Led-1, r)
	}
	return nil
}

// sameBytes tells null from empty.
func sameBytes(a, b []byte) bool { return bytes.Equal(a, b) && (a == nil) == (b == nil) }

func (r *Record) String() string {
	text := fmt.Sprintf("offset %d, timestamp %d, key %s, value %s, headers", r.Offset, r.Timestamp, brief(r.Key), brief(r.Value))
	for _, h := range r.Headers {
		text += fmt.Sprintf(" %s=%s", h.Key, brief(h.Value))
	}
	if r.AppendMs > 0 {
		text += fmt.Sprintf(", appended at %d", r.AppendMs)
	}
	return text
}

// brief shows the start of long fields.
func brief(b []byte) string {
	switch {
	case b == nil:
		return "null"
	case len(b) > 40:
		return fmt.Sprintf("%q... (%d bytes)", b[:40], len(b))
	}
	return fmt.Sprintf("%q", b)
}
