package checker

import (
	"fmt"
	"sort"
	"strings"
)

// Kind says which promise was broken.
type Kind string

// Kinds of faults.
const (
	Lost       Kind = "lost"       // acknowledged, not in the log
	Misplaced  Kind = "misplaced"  // acknowledged at an offset that holds another record
	Duplicated Kind = "duplicated" // an idempotent producer's record is there more than once
	Reordered  Kind = "reordered"  // before a record that its producer sent earlier
	Changed    Kind = "changed"    // other content, or another partition, than was sent
	Unsent     Kind = "unsent"     // nobody sent it
	Gap        Kind = "gap"        // offsets of the log are not 0, 1, 2, ...

	LiveGap     Kind = "live gap"      // a consumer was led over offsets
	LiveRepeat  Kind = "live repeat"   // a consumer was given an offset again, or an earlier one
	LiveChanged Kind = "live changed"  // an offset held another record than in the end
	LiveGone    Kind = "live gone"     // a consumer saw a record at an offset that the log does not have in the end
	LiveShort   Kind = "live short"    // a consumer never reached the end although it had the time
	TwiceSent   Kind = "history twice" // the history itself is wrong: two records have one ID
)

// Fault is one broken promise.
type Fault struct {
	Kind      Kind
	Partition int32
	Offset    int64 // -1 where there is none
	ID        ID
	Detail    string
}

func (f Fault) String() string {
	return fmt.Sprintf("%s: partition %d offset %d producer %d seq %d: %s",
		f.Kind, f.Partition, f.Offset, f.ID.Producer, f.ID.Seq, f.Detail)
}

// Report is the verdict on a Run.
type Report struct {
	Faults []Fault

	Sent           int
	Acked          int
	Unknown        int
	UnknownPresent int // of Unknown, how many are in the log
	Duplicates     int // of plain producers: appearances beyond the first
	Entries        int // records in the log
	Seen           int // records that live consumers saw
}

// OK tells whether every promise was kept.
func (r *Report) OK() bool { return len(r.Faults) == 0 }

// Count tells how many faults of a kind there are.
func (r *Report) Count(k Kind) int {
	n := 0
	for _, f := range r.Faults {
		if f.Kind == k {
			n++
		}
	}
	return n
}

// shown bounds how many faults of a kind String lists: one cause often breaks a promise for thousands of records.
const shown = 5

// String is the counts in one line and then the first faults of each kind.
func (r *Report) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "sent %d, acknowledged %d, unknown %d (%d of them in the log), plain duplicates %d, log %d records, seen live %d",
		r.Sent, r.Acked, r.Unknown, r.UnknownPresent, r.Duplicates, r.Entries, r.Seen)
	byKind := map[Kind][]Fault{}
	for _, f := range r.Faults {
		byKind[f.Kind] = append(byKind[f.Kind], f)
	}
	kinds := make([]string, 0, len(byKind))
	for k := range byKind {
		kinds = append(kinds, string(k))
	}
	sort.Strings(kinds)
	for _, k := range kinds {
		faults := byKind[Kind(k)]
		fmt.Fprintf(&b, "\n%d %s", len(faults), k)
		for _, f := range faults[:min(shown, len(faults))] {
			fmt.Fprintf(&b, "\n  %s", f)
		}
	}
	return b.String()
}

func (r *Report) add(k Kind, partition int32, offset int64, id ID, format string, args ...any) {
	r.Faults = append(r.Faults, Fault{k, partition, offset, id, fmt.Sprintf(format, args...)})
}
