package worker

import (
	"github.com/korvet-io/korvet/internal/redisstream"
	"github.com/korvet-io/korvet/internal/worker/tick"
)

// What is due at a partition is decided here, from what a tick saw: nothing in this file asks Redis.

// defaultSegment is the size by which a sealed segment counts as too large where the topic has no segment.bytes.
const defaultSegment = 128 << 20

// rollDue tells whether the open segment is to be sealed: an idle one by its age, one whose owner does not roll by its
// size. An empty one never is.
func rollDue(t *tick.Target, openBytes int64) bool {
	c, g := t.Config, &t.Glance
	if !c.Segmented || g.Length == 0 {
		return false
	}
	old := c.SegmentMs >= 0 && g.Now >= g.First.Ms+uint64(c.SegmentMs)
	return old || c.SegmentBytes >= 0 && openBytes >= c.SegmentBytes
}

// expired tells where the log is to start by time: at start, or, when a segment holds records on both sides of the cutoff,
// at the first of its records that is not below it. straddling is that segment's number, -1 for the open one.
func expired(t *tick.Target, cutoff uint64) (start int64, straddling int64, search bool) {
	g := &t.Glance
	start = g.LogStart
	for _, seg := range g.Segments {
		if seg.LastMs >= cutoff {
			return start, seg.Number, seg.FirstMs < cutoff
		}
		start = max(start, seg.Last+1)
	}
	switch {
	case g.Length == 0 || g.First.Ms >= cutoff:
		return start, 0, false
	case g.Last.Ms < cutoff:
		return max(start, t.End()), 0, false
	}
	return start, -1, true
}

// oversize tells where the log is to start by retention.bytes: the oldest segments go while the rest has at least that
// many bytes. excess is what the rest has beyond it when it cannot be dropped whole: in the stream of segment number, -1 for
// the open one.
func oversize(t *tick.Target, z *size) (start int64, excess int64, number int64) {
	g, limit := &t.Glance, t.Config.RetentionBytes
	start = g.LogStart
	if !t.Config.Delete || limit < 0 {
		return start, 0, -1
	}
	rest, segments := z.open, untiered(t) // what the remote tier has, too, is the keeper's to weigh
	for _, seg := range segments {
		rest += t.Living(seg, z.sealed[seg.Number])
	}
	for _, seg := range segments {
		bytes := t.Living(seg, z.sealed[seg.Number])
		if rest-bytes < limit {
			if !huge(t, bytes) {
				return start, 0, -1
			}
			return start, rest - limit, seg.Number
		}
		rest -= bytes
		start = max(start, seg.Last+1)
	}
	return start, rest - limit, -1
}

// huge tells whether a sealed segment is far above segment.bytes, as an adopted unsegmented stream is: its head is trimmed.
func huge(t *tick.Target, bytes int64) bool { return bytes > 2*segmentBytes(t) }

func segmentBytes(t *tick.Target) int64 {
	if t.Config.SegmentBytes > 0 {
		return t.Config.SegmentBytes
	}
	return defaultSegment
}

// droppable lists the sealed segments that lie below the log start, and those that the remote tier has and local retention lets
// go: the oldest, while they are too old or the rest has at least local.retention.bytes.
func droppable(t *tick.Target, z *size) []redisstream.Segment {
	list := t.Glance.Segments
	n, rest := 0, z.total()
	for ; n < len(list); n++ {
		seg := list[n]
		rest -= z.sealed[seg.Number]
		if seg.Last >= t.Glance.LogStart && !localEnds(t, seg, rest) {
			break
		}
	}
	return list[:n]
}

// localEnds tells whether local retention lets a segment go that the remote tier has, while the rest has so many bytes. Where
// local retention is that of the log, the log start takes it along.
func localEnds(t *tick.Target, seg redisstream.Segment, rest int64) bool {
	c := t.Config
	if !c.RemoteStorage || !t.Compared || seg.Last >= t.Glance.TieredEnd {
		return false
	}
	if ms := c.LocalRetentionMs; ms >= 0 && ms != c.RetentionMs && t.Glance.Now > seg.LastMs+uint64(ms) {
		return true
	}
	bytes := c.LocalRetentionBytes
	return bytes >= 0 && bytes != c.RetentionBytes && rest >= bytes
}

// headDue names the stream whose head lies below the log start and is to be trimmed: the open one's, or that of a huge
// sealed segment of which as much as a usual segment may go.
func headDue(t *tick.Target, z *size) (number int64, due bool) {
	g := &t.Glance
	for _, seg := range g.Segments {
		if seg.Last < g.LogStart {
			continue
		}
		bytes := z.sealed[seg.Number]
		return seg.Number, huge(t, bytes) && bytes-t.Living(seg, bytes) >= segmentBytes(t)
	}
	return -1, g.Length > 0 && int64(g.First.Seq) < g.LogStart
}

// untiered lists the sealed segments of which the remote tier does not have every record.
func untiered(t *tick.Target) []redisstream.Segment {
	list := t.Glance.Segments
	for len(list) > 0 && list[0].Last < t.Glance.TieredEnd {
		list = list[1:]
	}
	return list
}
