package copying

import (
	"github.com/korvet-io/korvet/internal/redisstream"
	"github.com/korvet-io/korvet/internal/worker/tick"
)

// What is to be copied is decided here, by offsets: nothing in this file asks Redis or the store.

// stretchPlan is what of a partition is to be copied: the records from an offset on that adjacent sealed segments hold.
type stretchPlan struct {
	from     int64
	segments []redisstream.Segment
}

// end is the offset after the last that is to be copied.
func (p *stretchPlan) end() int64 { return p.segments[len(p.segments)-1].Last + 1 }

// uncopied lists the sealed segments with records that are in the log and not in the table, whose end this is.
func uncopied(t *tick.Target, end int64) []redisstream.Segment {
	return t.Glance.From(max(end, t.Glance.LogStart))
}

// planCopy tells what to copy of a partition whose table ends at an offset: segments that remote.copy.lag.ms or
// remote.copy.lag.bytes no longer holds back, oldest first. openBytes is what the open segment takes in Redis.
func planCopy(t *tick.Target, end, openBytes int64) (p stretchPlan, due bool) {
	p.from = max(end, t.Glance.LogStart)
	list := uncopied(t, end)
	behind := openBytes
	for _, seg := range list {
		behind += max(0, seg.Bytes)
	}
	for _, seg := range list {
		behind -= max(0, seg.Bytes)
		if !oldEnough(t, seg) && !farEnough(t, behind) {
			break
		}
		p.segments = append(p.segments, seg)
	}
	return p, len(p.segments) > 0
}

// oldEnough tells whether remote.copy.lag.ms lets a segment be copied: so long after its last append. 0 is at once: a leader that
// took over may give append times that are ahead of Redis's clock, by a lease at most.
func oldEnough(t *tick.Target, seg redisstream.Segment) bool {
	lag := t.Config.RemoteCopyLagMs
	return lag == 0 || lag > 0 && t.Glance.Now >= seg.LastMs+uint64(lag)
}

// farEnough tells whether remote.copy.lag.bytes lets a segment be copied behind which there are so many bytes.
func farEnough(t *tick.Target, behind int64) bool {
	lag := t.Config.RemoteCopyLagBytes
	return lag >= 0 && behind >= lag
}

// tellsBytes tells whether bytes decide what is copied.
func tellsBytes(t *tick.Target) bool {
	return t.Config.RemoteCopyLagMs != 0 && t.Config.RemoteCopyLagBytes > 0
}
