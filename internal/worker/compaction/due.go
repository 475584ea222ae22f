package compaction

import (
	"slices"

	"github.com/korvet-io/korvet/internal/redisstream"
	"github.com/korvet-io/korvet/internal/topicconfig"
	"github.com/korvet-io/korvet/internal/worker/tick"
)

// state is what a tick knows of a partition's compaction without asking Redis again. Offsets below clean were
// looked at by a pass; those from there on are dirty.
type state struct {
	cfg    *topicconfig.Effective
	now    uint64
	start  int64 // log start offset
	clean  int64
	end    int64
	kept   int64  // records below clean
	since  uint64 // all records appended before this are clean
	cutoff uint64 // records appended before this may be compacted now
	stones []redisstream.Tombstones
}

func newState(t *tick.Target) state {
	g := &t.Glance
	s := state{
		cfg: t.Config, now: g.Now, start: g.LogStart, clean: max(g.Clean.To, g.LogStart), end: redisstream.EndOffset(g.LastSeq),
		kept: g.Clean.Kept, since: g.Clean.Ms, stones: g.Clean.Tombstones,
	}
	switch {
	case g.Clean.To < g.LogStart: // all of the clean part was trimmed
		s.kept = 0
	case len(g.Segments) == 0: // some of it may have been
		s.kept = max(0, g.Length-(s.end-s.clean))
	}
	// The newest append is left alone, whole: a fence must find it. Its records share their ms, with others maybe.
	s.cutoff = g.Last.Ms
	if g.Length == 0 && len(g.Segments) > 0 {
		s.cutoff = g.Segments[len(g.Segments)-1].LastMs
	}
	if lag := uint64(t.Config.MinCompactionLagMs); lag > 0 {
		s.cutoff = min(s.cutoff, g.Now-min(g.Now, lag)+1)
	}
	return s
}

// mayBeDue tells whether it is worth asking Redis how much is dirty and may be compacted: an idle log costs no question.
func (s *state) mayBeDue() bool {
	return s.cutoff > s.since && s.clean < s.end && (s.dirtyEnough(s.end) || s.overdue(s.since))
}

// dirtyEnough tells whether so much is dirty below an offset, of what lies below it, that a pass is due. As in Kafka the
// ratio must be above min.cleanable.dirty.ratio. It is one of records: they stand for bytes by their mean.
func (s *state) dirtyEnough(to int64) bool {
	dirty := float64(to - s.clean)
	return dirty > 0 && dirty/(dirty+float64(s.kept)) > s.cfg.MinCleanableDirtyRatio
}

// overdue tells whether a record of this append time was dirty for max.compaction.lag.ms.
func (s *state) overdue(ms uint64) bool {
	return s.now > ms && s.now-ms > uint64(s.cfg.MaxCompactionLagMs)
}

// expired tells whether tombstones that became clean at ms may go: consumers had delete.retention.ms to see them.
func (s *state) expired(ms uint64) bool {
	return s.now > ms && s.now-ms > uint64(s.cfg.DeleteRetentionMs)
}

// tombstonesDue tells whether a pass is due only for tombstones: as in Kafka once the newest of them may go. Until then
// the passes that are due anyway take those that may.
func (s *state) tombstonesDue() bool {
	for _, t := range slices.Backward(s.stones) {
		if t.Count > 0 && t.To > s.start {
			return s.expired(t.Ms)
		}
	}
	return false
}
