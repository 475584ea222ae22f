package worker

import (
	"context"

	"github.com/korvet-io/korvet/internal/partition"
	"github.com/korvet-io/korvet/internal/redisstream"
	"github.com/korvet-io/korvet/internal/worker/tick"
)

// estimateNodes is how many nodes of an open stream are looked at for an estimate of its size: some microseconds.
const estimateNodes = 64

// size is what is known of the bytes of one partition.
type size struct {
	topicID     string
	first, last redisstream.ID // of the open stream when it was weighed
	number      int64          // of the open segment then
	open        int64          // bytes of the open stream, estimated unless exact
	exact       bool
	sealed      map[int64]int64 // bytes by segment
	// kept is the first entry that retention by time kept when it last looked into a sealed segment, or the log start in the hole
	// before it.
	kept redisstream.ID
}

func (z *size) total() int64 {
	n := z.open
	for _, b := range z.sealed {
		n += b
	}
	return n
}

// sizes are those of the partitions that are there.
type sizes map[partition.Ref]*size

// of finds what is known of a target, nothing of another life.
func (all sizes) of(t *tick.Target) *size {
	z := all[t.Ref]
	if z == nil || z.topicID != t.TopicID {
		z = &size{topicID: t.TopicID, number: -1}
		all[t.Ref] = z
	}
	return z
}

// keepOnly forgets all but these.
func (all sizes) keepOnly(targets []tick.Target) {
	there := make(map[partition.Ref]bool, len(targets))
	for i := range targets {
		there[targets[i].Ref] = true
	}
	for ref := range all {
		if !there[ref] {
			delete(all, ref)
		}
	}
}

func (all sizes) byTopic() map[string]int64 {
	topics := map[string]int64{}
	for ref, z := range all {
		topics[ref.Topic] += z.total()
	}
	return topics
}

// changed tells whether the open stream is another one than was weighed.
func (z *size) changed(g *redisstream.Glance) bool {
	return z.number != g.Open || z.first != g.First || z.last != g.Last
}

func (z *size) weighed(g *redisstream.Glance, bytes int64, exact bool) {
	z.number, z.first, z.last, z.open, z.exact = g.Open, g.First, g.Last, bytes, exact
}

// weigh estimates the open streams that changed since they were weighed, and measures the sealed segments of which the
// registry does not tell the size, once.
func (s *Storage) weigh(ctx context.Context, targets []tick.Target) error {
	var open, sealed []string
	var takeOpen, takeSealed []func(bytes int64)
	for i := range targets {
		t := &targets[i]
		z := s.sizes.of(t)
		if z.changed(&t.Glance) {
			open = append(open, t.Keys.Stream)
			takeOpen = append(takeOpen, func(bytes int64) { z.weighed(&t.Glance, bytes, false) })
		}
		before := z.sealed
		z.sealed = make(map[int64]int64, len(t.Glance.Segments))
		for _, seg := range t.Glance.Segments {
			known, ok := before[seg.Number]
			if seg.Bytes >= 0 {
				known, ok = seg.Bytes, true
			}
			if ok {
				z.sealed[seg.Number] = known
				continue
			}
			sealed = append(sealed, t.Keys.Segment(seg.Number))
			takeSealed = append(takeSealed, func(bytes int64) { z.sealed[seg.Number] = bytes })
		}
	}
	if err := s.weighAll(ctx, open, estimateNodes, takeOpen); err != nil {
		return err
	}
	return s.weighAll(ctx, sealed, 0, takeSealed)
}

func (s *Storage) weighAll(ctx context.Context, streams []string, nodes int, take []func(int64)) error {
	if len(streams) == 0 {
		return nil
	}
	weights, err := s.Redis.Weigh(ctx, streams, nodes)
	if err != nil {
		return err
	}
	for i, bytes := range weights {
		take[i](bytes)
	}
	return nil
}

// exactly measures the open stream unless its size is known.
func (s *Storage) exactly(ctx context.Context, t *tick.Target) error {
	z := s.sizes.of(t)
	if z.exact && !z.changed(&t.Glance) {
		return nil
	}
	return s.weighAll(ctx, []string{t.Keys.Stream}, 0, []func(int64){func(bytes int64) { z.weighed(&t.Glance, bytes, true) }})
}
