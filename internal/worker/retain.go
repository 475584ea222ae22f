package worker

import (
	"context"
	"errors"
	"math"

	"github.com/korvet-io/korvet/internal/redisstream"
	"github.com/korvet-io/korvet/internal/worker/tick"
)

const (
	// maxRounds bounds the steps at one partition in one tick. What is left is due at the next.
	maxRounds = 64
	// nodeBytes is how large a node of a stream is by default.
	nodeBytes = 4096
	// slack is the part of retention.bytes beyond it that is not worth another round.
	slack = 0.01
)

// work does what is due at a partition, step by step: it looks again after each.
func (s *Storage) work(ctx context.Context, t *tick.Target) error {
	for range maxRounds {
		if more, err := s.step(ctx, t); err != nil || !more {
			return err
		}
		if err := s.again(ctx, t); err != nil {
			return err
		}
		if err := s.weigh(ctx, []tick.Target{*t}); err != nil {
			return err
		}
	}
	return nil
}

// step does the first thing that is due, and reports whether there was one.
func (s *Storage) step(ctx context.Context, t *tick.Target) (more bool, err error) {
	z := s.sizes.of(t)
	if t.Glance.Copied && !t.Config.Compact { // else the next pass drops it: one may be copying right now
		if err := s.hold(ctx); err != nil {
			return false, err
		}
		return true, s.Redis.DropCopy(ctx, t.Keys, t.Claim())
	}
	if err := s.measureLocal(ctx, t, z); err != nil {
		return false, err
	}
	if below := droppable(t, z); len(below) > 0 {
		return s.drop(ctx, t, z, below)
	}
	if number, due := headDue(t, z); due { // in a hole there may be nothing to trim, and then what follows is due
		if more, err := s.trim(ctx, t, z, number); err != nil || more {
			return more, err
		}
	}
	start, err := s.retained(ctx, t, z)
	if err != nil {
		return false, err
	}
	if start <= t.Glance.LogStart {
		return s.roll(ctx, t, z)
	}
	if err := s.hold(ctx); err != nil {
		return false, err
	}
	got, err := s.Redis.RaiseStart(ctx, t.Keys, t.Claim(), start)
	return got > t.Glance.LogStart, err
}

// roll seals the open segment if that is due. An owner that rolls or appends at the same moment comes first.
func (s *Storage) roll(ctx context.Context, t *tick.Target, z *size) (more bool, err error) {
	if limit := t.Config.SegmentBytes; limit >= 0 && z.open > limit/2 {
		if err := s.exactly(ctx, t); err != nil { // an estimate may be wrong by half
			return false, err
		}
	}
	if !rollDue(t, z.open) {
		return false, nil
	}
	if err := s.hold(ctx); err != nil {
		return false, err
	}
	_, rolled, err := s.Redis.Roll(ctx, t.Keys, t.Claim(), t.Glance.Open)
	if rolled {
		s.Observer.SegmentSealed()
	}
	if errors.Is(err, redisstream.ErrNotOpen) {
		err = nil
	}
	return rolled, err
}

// measureLocal measures the open segment where its size decides what local.retention.bytes lets go.
func (s *Storage) measureLocal(ctx context.Context, t *tick.Target, z *size) error {
	limit := t.Config.LocalRetentionBytes
	if !t.Config.RemoteStorage || limit < 0 || t.Glance.TieredEnd <= t.Glance.LocalStart || z.total() <= limit/2 {
		return nil
	}
	return s.exactly(ctx, t) // an estimate may be wrong by half
}

// drop removes sealed segments that may go, the oldest first.
func (s *Storage) drop(ctx context.Context, t *tick.Target, z *size, segments []redisstream.Segment) (more bool, err error) {
	for _, seg := range segments {
		if err := s.hold(ctx); err != nil {
			return false, err
		}
		dropped, err := s.Redis.DropSegment(ctx, t.Keys, t.Claim(), seg)
		if err != nil {
			return false, err
		}
		if dropped {
			more = true
			s.Observer.SegmentDropped()
			s.gained(z.sealed[seg.Number])
		}
	}
	return more, nil
}

// gained counts memory that Redis has back.
func (s *Storage) gained(bytes int64) {
	s.freed += bytes
	s.Observer.BytesFreed(bytes)
}

// retained is where the log is to start by the topic's retention.
func (s *Storage) retained(ctx context.Context, t *tick.Target, z *size) (start int64, err error) {
	start = t.Glance.LogStart
	if cutoff, ok := t.Cutoff(); ok {
		if start, err = s.byTime(ctx, t, z, cutoff); err != nil {
			return 0, err
		}
	}
	if limit := t.Config.RetentionBytes; limit >= 0 && t.Config.Delete && z.total() > limit/2 {
		if err := s.exactly(ctx, t); err != nil { // an estimate may be wrong by half
			return 0, err
		}
		bySize, err := s.bySize(ctx, t, z)
		if err != nil {
			return 0, err
		}
		start = max(start, bySize)
	}
	return min(start, t.End()), nil
}

// byTime finds the first offset that retention.ms keeps.
func (s *Storage) byTime(ctx context.Context, t *tick.Target, z *size, cutoff uint64) (int64, error) {
	start, straddling, search := expired(t, cutoff)
	if !search || z.kept.Ms >= cutoff && int64(z.kept.Seq) <= t.Glance.LogStart {
		return start, nil // also where the last search found a record that is still young enough
	}
	id, found, err := s.Redis.FirstAt(ctx, streamOf(t, straddling), cutoff)
	if err != nil || !found { // not found: it was trimmed or sealed meanwhile
		return start, err
	}
	if straddling < 0 {
		return max(start, int64(id.Seq)), nil
	}
	first, found, err := s.Redis.Seek(ctx, streamOf(t, straddling), start)
	if err != nil {
		return 0, err
	}
	if z.kept = id; found && first.Seq >= id.Seq { // compaction took what was before: the log start stays
		z.kept.Seq = uint64(start)
	}
	return max(start, int64(z.kept.Seq)), nil
}

// bySize finds the first offset that retention.bytes keeps. Within a stream the records to go are counted by the mean size
// of those at its head; what is left is measured again.
func (s *Storage) bySize(ctx context.Context, t *tick.Target, z *size) (int64, error) {
	start, excess, number := oversize(t, z)
	if start > t.Glance.LogStart || float64(excess) <= slack*float64(t.Config.RetentionBytes) {
		return start, nil
	}
	first, entries := extent(t, number)
	weights, err := s.Redis.Weigh(ctx, []string{streamOf(t, number)}, int(min(excess/nodeBytes+1, math.MaxInt32)))
	if err != nil || weights[0] == 0 {
		return start, err
	}
	count := int64(float64(excess) / float64(weights[0]) * float64(entries))
	return max(start, max(first, t.Glance.LogStart)+count), nil
}

// streamOf names the stream of a segment; -1: the open one.
func streamOf(t *tick.Target, number int64) string {
	if number < 0 {
		return t.Keys.Stream
	}
	return t.Keys.Segment(number)
}

// extent is the first offset of a segment's stream and how many entries it has.
func extent(t *tick.Target, number int64) (first, entries int64) {
	for _, seg := range t.Glance.Segments {
		if seg.Number == number {
			return seg.Base, seg.Last - seg.Base + 1
		}
	}
	return int64(t.Glance.First.Seq), t.Glance.Length
}

// trim removes the head of a stream below the log start, in bounded steps.
func (s *Storage) trim(ctx context.Context, t *tick.Target, z *size, number int64) (more bool, err error) {
	keep, found, err := s.Redis.Seek(ctx, streamOf(t, number), t.Glance.LogStart)
	if err != nil {
		return false, err
	}
	if !found { // all of it is below
		keep = redisstream.ID{Ms: t.Glance.Last.Ms, Seq: t.Glance.Last.Seq + 1}
	}
	weights, err := s.Redis.Weigh(ctx, []string{streamOf(t, number)}, estimateNodes)
	if err != nil {
		return false, err
	}
	_, entries := extent(t, number)
	mean := max(1, weights[0]/max(1, entries))
	head := redisstream.Head{Segment: number, Start: t.Glance.LogStart, Keep: keep, Step: redisstream.TrimStep(mean)}
	for {
		if err := s.hold(ctx); err != nil {
			return more, err
		}
		removed, first, err := s.Redis.TrimHead(ctx, t.Keys, t.Claim(), head)
		if err != nil {
			return more, err
		}
		if removed > 0 {
			more = true
			s.Observer.RecordsTrimmed(removed)
			s.gained(removed * mean)
		}
		if (first == redisstream.ID{}) || !keep.After(first) || head.Step == 0 {
			return more, nil
		}
		if removed == 0 {
			head.Widen(first)
		}
	}
}
