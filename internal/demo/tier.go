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

// Log is how a partition is kept.
type Log struct {
	Sealed []Segment // those that Redis has, by rising number; segments are numbered from 0 on
	Open   Segment
	Start  int64 // its first offset
	Tiered int64 // the offset below which the topic's table has all; 0: it has none
}

// oldest is the first segment that Redis has: its number says how many are gone.
func (l Log) oldest() Segment {
	if len(l.Sealed) > 0 {
		return l.Sealed[0]
	}
	return l.Open
}

// remote is how many records the table alone has.
func (l Log) remote() int64 { return max(0, min(l.Tiered, l.oldest().First)-l.Start) }

// dropped is the offset below which retention has let records go.
func (l Log) dropped() int64 {
	if l.Tiered == 0 {
		return l.oldest().First
	}
	return min(l.Start, l.oldest().First)
}

// Tier is how the topic is kept.
type Tier struct {
	Codec      string // of the values
	Dictionary bool   // whether there is one
	Logs       []Log  // by partition; nil: not known
}

// tierSums are sums over all partitions.
type tierSums struct {
	sealed, gone          int64 // segments; gone from Redis
	table, remote         int64 // records that the table has, and that it alone has
	values, stored, bytes int64 // as in Segment, of the segments whose values are known
}

func (t Tier) sums() (s tierSums) {
	for _, l := range t.Logs {
		s.sealed += int64(len(l.Sealed))
		s.gone += l.oldest().Number
		s.table += max(0, l.Tiered-l.Start)
		s.remote += l.remote()
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
	tierLines  = 6 // a heading for all, one for the columns, the open segment, sealed ones, what is remote, what was dropped
	tierFormat = "  %-10s %23s %9s %8s %8s %8s %5s"
)

// lines renders the topic's segments in at least tierLines lines: all in one, then the first partition's, newest first.
func (t Tier) lines(room int) []string {
	if len(t.Logs) == 0 {
		return []string{"  tiers  Redis does not answer"}
	}
	l := t.Logs[0]
	out := []string{t.heading(), fmt.Sprintf(tierFormat, Topic+"-0", "offsets", "records", "values", "stored", "in redis", "age"), l.Open.line("open")}
	own := len(l.Sealed) // so many have a line of their own
	need := tierLines
	if l.remote() == 0 {
		need--
	}
	if free := max(room, need) - need + 1; own > free {
		own = free - 1 // the others share the last one
	}
	older := l.Sealed[:len(l.Sealed)-own]
	for _, s := range slices.Backward(l.Sealed[len(older):]) {
		out = append(out, s.line(l.state(s)))
	}
	if len(older) > 0 {
		out = append(out, together(older).line(fmt.Sprintf("%d older", len(older))))
	}
	if n := l.remote(); n > 0 {
		out = append(out, fmt.Sprintf("  %-10s %23s %9s  in the table alone", "remote", span(l.Start, l.Start+n), grouped(n)))
	}
	if end := l.dropped(); end > 0 {
		out = append(out, fmt.Sprintf("  %-10s %23s %9s  by retention", "dropped", span(0, end), grouped(end)))
	}
	return out
}

// state names a sealed segment: copied, when the table has it, too.
func (l Log) state(s Segment) string {
	if s.Next <= l.Tiered {
		return fmt.Sprintf("copied %d", s.Number)
	}
	return fmt.Sprintf("sealed %d", s.Number)
}

// heading tells of all partitions.
func (t Tier) heading() string {
	all := t.sums()
	text := fmt.Sprintf("  redis  %d open, %s sealed, %s gone  %s", len(t.Logs), grouped(all.sealed), grouped(all.gone), t.codec())
	if all.stored > 0 {
		text += fmt.Sprintf(" %.1fx", float64(all.values)/float64(all.stored))
	}
	if all.table > 0 {
		text += fmt.Sprintf("  table %s", grouped(all.table))
	}
	return text
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
	return fmt.Sprintf("codec=%s sealed=%d gone=%d values=%s stored_as=%s in_redis=%s in_table=%d only_in_table=%d",
		word(t.codec()), s.sealed, s.gone, word(memory(s.values)), word(memory(s.stored)), word(memory(s.bytes)), s.table, s.remote)
}
