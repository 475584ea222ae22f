package demo

import (
	"fmt"
	"slices"
	"time"
)

// Segment is a part of a partition's log that is a stream of its own in Redis.
type Segment struct {
	Number      int64
	First, Next int64         // its first offset, and the one after its last
	Values      int64         // bytes of its records' values as they were produced, about; 0: not known
	Stored      int64         // bytes of them as they are in Redis
	Bytes       int64         // of Redis's memory, with keys, headers and all that Redis needs
	Age         time.Duration // of its first record
}

// Log is how Redis keeps a partition.
type Log struct {
	Sealed []Segment // by rising number; segments are numbered from 0 on
	Open   Segment
}

// oldest is the first segment that is left: its number says how many are gone.
func (l Log) oldest() Segment {
	if len(l.Sealed) > 0 {
		return l.Sealed[0]
	}
	return l.Open
}

// Tier is how Redis keeps the topic.
type Tier struct {
	Codec      string // of the values
	Dictionary bool   // whether there is one
	Logs       []Log  // by partition; nil: not known
}

// tierSums are sums over all partitions.
type tierSums struct {
	sealed, dropped       int64 // segments
	values, stored, bytes int64 // as in Segment, of the segments whose values are known
}

func (t Tier) sums() (s tierSums) {
	for _, l := range t.Logs {
		s.sealed += int64(len(l.Sealed))
		s.dropped += l.oldest().Number
		for _, one := range append(slices.Clone(l.Sealed), l.Open) {
			if one.Values > 0 {
				s.values += one.Values
				s.stored += one.Stored
				s.bytes += one.Bytes
			}
		}
	}
	return s
}

// codec names the codec as people do.
func (t Tier) codec() string {
	if t.Dictionary {
		return t.Codec + " + dictionary"
	}
	return t.Codec
}

const (
	tierLines  = 5 // a heading for all, one for the table, the open segment, sealed ones, those that were dropped
	tierFormat = "  %-10s %23s %9s %8s %8s %8s %5s"
)

// lines renders the topic's segments in at least tierLines lines: all in one, then the first partition's, newest first.
func (t Tier) lines(room int) []string {
	if len(t.Logs) == 0 {
		return []string{"  local tier  Redis does not answer"}
	}
	all := t.sums()
	heading := fmt.Sprintf("  local tier  %d open, %s sealed, %s dropped segments  %s", len(t.Logs), grouped(all.sealed), grouped(all.dropped), t.codec())
	if all.stored > 0 {
		heading += fmt.Sprintf(" %.1fx", float64(all.values)/float64(all.stored))
	}
	l := t.Logs[0]
	out := []string{heading, fmt.Sprintf(tierFormat, Topic+"-0", "offsets", "records", "values", "stored", "in redis", "age"), l.Open.line("open")}
	own := len(l.Sealed) // so many have a line of their own
	if free := max(room, tierLines) - tierLines + 1; own > free {
		own = free - 1 // the others share the last one
	}
	older := l.Sealed[:len(l.Sealed)-own]
	for _, s := range slices.Backward(l.Sealed[len(older):]) {
		out = append(out, s.line(fmt.Sprintf("sealed %d", s.Number)))
	}
	if len(older) > 0 {
		out = append(out, together(older).line(fmt.Sprintf("%d older", len(older))))
	}
	if s := l.oldest(); s.Number > 0 {
		out = append(out, fmt.Sprintf("  %-10s %23s %9s  by retention", "dropped", span(0, s.First), grouped(s.First)))
	}
	return out
}

func (s Segment) line(name string) string {
	values, stored := "-", "-"
	if s.Values > 0 {
		values, stored = memory(s.Values), memory(s.Stored)
	}
	return fmt.Sprintf(tierFormat, name, span(s.First, s.Next), grouped(s.Next-s.First), values, stored, memory(s.Bytes), age(s.Age))
}

// together makes one of segments that follow each other. Its values are known only if those of all are.
func together(segments []Segment) Segment {
	all := Segment{First: segments[0].First, Next: segments[len(segments)-1].Next, Age: segments[0].Age}
	known := true
	for _, s := range segments {
		known = known && s.Values > 0
		all.Values += s.Values
		all.Stored += s.Stored
		all.Bytes += s.Bytes
	}
	if !known {
		all.Values = 0
	}
	return all
}

// span writes the offsets from one to below another.
func span(first, next int64) string {
	if next <= first {
		return "-"
	}
	return grouped(first) + "-" + grouped(next-1)
}

// age writes how old something is, in one unit.
func age(d time.Duration) string {
	switch {
	case d < 100*time.Second:
		return fmt.Sprintf("%d s", d/time.Second)
	case d < 100*time.Minute:
		return fmt.Sprintf("%d m", d/time.Minute)
	default:
		return fmt.Sprintf("%d h", d/time.Hour)
	}
}

// plain renders the sums of the topic's segments as words of a line.
func (t Tier) plain() string {
	s := t.sums()
	return fmt.Sprintf("codec=%s sealed=%d dropped=%d values=%s stored_as=%s in_redis=%s",
		word(t.codec()), s.sealed, s.dropped, word(memory(s.values)), word(memory(s.stored)), word(memory(s.bytes)))
}
