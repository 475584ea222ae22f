package checker

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// Kinds of faults of consumer groups.
const (
	CommitLost    Kind = "commit lost"    // a committed offset is lower than one acknowledged before, or than one seen before
	CommitUnknown Kind = "commit unknown" // an offset is committed that nobody committed
	StaleAccepted Kind = "stale accepted" // a commit of an old generation, or of somebody who is no member, was acknowledged
	Rebalanced    Kind = "rebalanced"     // a member that did nothing but heartbeat and commit got another id, generation or assignment
)

// Commit is one attempt to commit an offset. Ticks are readings of one clock that all share.
type Commit struct {
	Who       string
	Partition int32
	Offset    int64
	Sent      int64   // tick before it was sent
	Heard     int64   // tick after the answer; with Acked only
	Outcome   Outcome // Unknown unless it was acknowledged
	// Stale tells that it must not be accepted: it is of an old generation or of no member.
	Stale bool
}

// Look is a committed offset as it was fetched. Fetches of one group do not overlap.
type Look struct {
	Partition    int32
	Offset       int64 // -1: none
	Began, Ended int64 // ticks
}

// Membership is what a member knew of itself at a moment.
type Membership struct {
	Who        string
	MemberID   string
	Generation int32 // or member epoch
}

// GroupRun is everything that is known of one group after a test, from the moment on at which its members were settled.
type GroupRun struct {
	Group    string
	Commits  []Commit
	Looks    []Look       // in the order in which they were made
	Settled  []Membership // of each member, in the beginning
	Known    []Membership // whatever they knew of themselves later, in any order and number
	Assigned []string     // what members were told of partitions given or taken after they were settled
}

// GroupReport is the verdict on a GroupRun.
type GroupReport struct {
	Group                         string
	Faults                        []GroupFault
	Acked, Unknown, Refused, Seen int // commits acknowledged and not, stale commits refused, offsets seen
}

// GroupFault is one broken promise to a group.
type GroupFault struct {
	Kind   Kind
	Detail string
}

// OK tells whether every promise was kept.
func (r *GroupReport) OK() bool { return len(r.Faults) == 0 }

func (r *GroupReport) add(k Kind, format string, args ...any) {
	r.Faults = append(r.Faults, GroupFault{k, fmt.Sprintf(format, args...)})
}

// String is the counts in one line and then the first faults.
func (r *GroupReport) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "group %s: %d commits acknowledged, %d unknown, %d stale ones refused, %d offsets seen", r.Group, r.Acked, r.Unknown, r.Refused, r.Seen)
	if n := len(r.Faults); n > 0 {
		fmt.Fprintf(&b, ", %d faults", n)
	}
	told := map[Kind]int{}
	for _, f := range r.Faults {
		if told[f.Kind]++; told[f.Kind] <= shown {
			fmt.Fprintf(&b, "\n  %s: %s", f.Kind, f.Detail)
		}
	}
	return b.String()
}

// CheckGroup names every promise to a group that was broken.
func CheckGroup(run GroupRun) *GroupReport {
	r := &GroupReport{Group: run.Group, Seen: len(run.Looks)}
	byPartition := map[int32]*progress{}
	for _, c := range run.Commits {
		switch {
		case c.Stale && c.Outcome == Acked:
			r.add(StaleAccepted, "%s committed %d in partition %d", c.Who, c.Offset, c.Partition)
		case c.Stale:
			r.Refused++
		case c.Outcome == Acked:
			r.Acked++
		default:
			r.Unknown++
		}
		if !c.Stale {
			of(byPartition, c.Partition).add(c)
		}
	}
	for _, p := range byPartition {
		slices.SortFunc(p.acked, func(a, b Commit) int { return cmp.Compare(a.Heard, b.Heard) })
	}
	for _, l := range run.Looks {
		of(byPartition, l.Partition).check(l, r)
	}
	checkMembers(run, r)
	return r
}

// progress is what is known of the commits of one partition.
type progress struct {
	sent  map[int64]int64 // the earliest tick at which an offset was sent
	acked []Commit        // in the order in which they were heard of
	least int64           // offset that must be there: the largest acknowledged, or seen, before the look
}

func of(all map[int32]*progress, partition int32) *progress {
	if all[partition] == nil {
		all[partition] = &progress{sent: map[int64]int64{}, least: -1}
	}
	return all[partition]
}

func (p *progress) add(c Commit) {
	if sent, ok := p.sent[c.Offset]; !ok || c.Sent < sent {
		p.sent[c.Offset] = c.Sent
	}
	if c.Outcome == Acked {
		p.acked = append(p.acked, c)
	}
}

// check compares what was fetched with what had been acknowledged, or fetched, before and with what had been sent.
func (p *progress) check(l Look, r *GroupReport) {
	for len(p.acked) > 0 && p.acked[0].Heard < l.Began {
		p.least = max(p.least, p.acked[0].Offset)
		p.acked = p.acked[1:]
	}
	if l.Offset < p.least {
		r.add(CommitLost, "partition %d is at %d, %d was acknowledged or seen before", l.Partition, l.Offset, p.least)
	}
	if sent, ok := p.sent[l.Offset]; l.Offset >= 0 && (!ok || sent > l.Ended) {
		r.add(CommitUnknown, "partition %d is at %d, which no member has committed", l.Partition, l.Offset)
		return // it may be far off
	}
	p.least = max(p.least, l.Offset)
}

func checkMembers(run GroupRun, r *GroupReport) {
	told := map[Membership]bool{}
	for _, m := range run.Known {
		i := slices.IndexFunc(run.Settled, func(s Membership) bool { return s.Who == m.Who })
		if i >= 0 && run.Settled[i] == m || told[m] {
			continue
		}
		told[m] = true
		r.add(Rebalanced, "%s is member %s of generation %d, it settled as %+v", m.Who, m.MemberID, m.Generation, run.Settled)
	}
	for _, text := range run.Assigned {
		r.add(Rebalanced, "%s", text)
	}
}
