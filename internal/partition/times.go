package partition

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/korvet-io/korvet/internal/redisstream"
)

// timesEvery is how many records one entry of the time index covers at least.
const timesEvery = 1000

// timesPrefix begins the names of the state fields that hold the time index, tailField is what follows its last entry.
const (
	timesPrefix = "t:"
	tailField   = "tail"
)

const unread = redisstream.UnreadTimestamp

// interval is one entry of the time index: the largest timestamp of the records after the entry before, up to last.
type interval struct {
	last  int64 // offset
	maxMs int64
}

// times is a partition's sparse time index. The records after its last entry are its tail.
type times struct {
	entries []interval
	from    int64 // offset of the tail's first record
	count   int64 // records in the tail
	maxMs   int64 // their largest timestamp
}

// add notes count more records up to offset last. A tail that is long enough becomes an entry.
func (t *times) add(last, count, maxMs int64) {
	if t.count == 0 || maxMs > t.maxMs {
		t.maxMs = maxMs
	}
	t.count += count
	if t.count >= timesEvery {
		t.close(last)
	}
}

// close makes the tail an entry that ends at offset last.
func (t *times) close(last int64) {
	t.entries = append(t.entries, interval{last, t.maxMs})
	t.from, t.count = last+1, 0
}

// fields are what the state hash has to say after t grew out of before: the new entry, if there is one, and the tail.
func (t *times) fields(before int) []field {
	fields := []field{{Name: tailField, Value: fmt.Sprintf("%d %d %d", t.from, t.count, t.maxMs)}}
	for _, e := range t.entries[before:] {
		fields = append(fields, field{Name: timesField(e.last), Value: strconv.FormatInt(e.maxMs, 10)})
	}
	return fields
}

// after finds where the first record at or after offset from with a timestamp at or after ms may be: in [first, end) of
// one interval. end is 0 for the tail. ok is false when there is none.
func (t *times) after(from, ms int64) (first, end int64, ok bool) {
	i, _ := slices.BinarySearchFunc(t.entries, from, func(e interval, o int64) int { return cmp.Compare(e.last, o) })
	for ; i < len(t.entries); i++ {
		if t.entries[i].maxMs >= ms {
			return max(from, t.begin(i)), t.entries[i].last + 1, true
		}
	}
	return max(from, t.from), 0, t.count > 0 && t.maxMs >= ms
}

// begin is the offset of the first record of interval i.
func (t *times) begin(i int) int64 {
	if i == 0 {
		return 0
	}
	return t.entries[i-1].last + 1
}

// largest is the largest timestamp of the intervals above offset from. Where it is unread, known is false.
func (t *times) largest(from int64) (ms int64, known bool) {
	ms = math.MinInt64
	for _, e := range t.entries {
		if e.last >= from {
			ms = max(ms, e.maxMs)
		}
	}
	if t.count > 0 {
		ms = max(ms, t.maxMs)
	}
	return ms, ms != unread
}

// claim is what the index says of the records in [first, end): none is above maxMs. An end of 0 is that of the log.
type claim struct {
	first, end int64
	maxMs      int64
}

// claims are those about the records at or after offset from, the largest first, then the first.
func (t *times) claims(from int64) []claim {
	var all []claim
	i, _ := slices.BinarySearchFunc(t.entries, from, func(e interval, o int64) int { return cmp.Compare(e.last, o) })
	for ; i < len(t.entries); i++ {
		all = append(all, claim{max(from, t.begin(i)), t.entries[i].last + 1, t.entries[i].maxMs})
	}
	if t.count > 0 {
		all = append(all, claim{max(from, t.from), 0, t.maxMs})
	}
	slices.SortStableFunc(all, func(a, b claim) int { return cmp.Compare(b.maxMs, a.maxMs) })
	return all
}

// dropBefore forgets entries below the log start and returns their fields. An append in flight has a copy of t that shares
// the array, which is therefore not changed.
func (t *times) dropBefore(logStart int64) []string {
	i, _ := slices.BinarySearchFunc(t.entries, logStart, func(e interval, o int64) int { return cmp.Compare(e.last, o) })
	fields := make([]string, 0, i)
	for _, e := range t.entries[:i] {
		fields = append(fields, timesField(e.last))
	}
	t.entries = slices.Clone(t.entries[i:])
	return fields
}

// load takes what was stored. It holds only as far as the stream bears it out: entries at or above end are dropped, and a
// tail that does not fit is unread.
func (t *times) load(entries []interval, tail times, end int64) {
	slices.SortFunc(entries, func(a, b interval) int { return cmp.Compare(a.last, b.last) })
	entries = slices.Compact(entries)
	for len(entries) > 0 && entries[len(entries)-1].last >= end {
		entries = entries[:len(entries)-1]
	}
	*t = times{entries: entries}
	if n := len(entries); n > 0 {
		t.from = entries[n-1].last + 1
	}
	if tail.from == t.from && tail.from+tail.count == end {
		t.count, t.maxMs = tail.count, tail.maxMs
	} else if t.from < end {
		t.count, t.maxMs = end-t.from, unread
	}
}

func timesField(last int64) string { return timesPrefix + strconv.FormatInt(last, 10) }

func decodeInterval(name, value string) (interval, error) {
	last, err := strconv.ParseInt(strings.TrimPrefix(name, timesPrefix), 10, 64)
	if err != nil {
		return interval{}, fmt.Errorf("time index field %q: %w", name, err)
	}
	maxMs, err := strconv.ParseInt(value, 10, 64)
	if err != nil {
		return interval{}, fmt.Errorf("time index value %q: %w", value, err)
	}
	return interval{last, maxMs}, nil
}

func decodeTail(value string) (times, error) {
	var t times
	if _, err := fmt.Sscanf(value, "%d %d %d", &t.from, &t.count, &t.maxMs); err != nil {
		return times{}, fmt.Errorf("time index tail %q: %w", value, err)
	}
	return t, nil
}
