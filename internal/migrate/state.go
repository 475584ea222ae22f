package migrate

import (
	"fmt"
	"slices"
)

// state is what a journal tells of a migration.
type state struct {
	begin    *Begin
	targetID string
	runs     int
	lastRun  Run
	pos      []int64 // by source partition: everything below is in a round
	rounds   int64
	records  int64 // in rounds, those sent again included
	cutover  *Cutover
	groups   []string // whose offsets were translated
	resolver *resolver
	moved    func(landed) error // called for each batch that is known to be in the target
}

func newState(moved func(landed) error) *state {
	return &state{resolver: newResolver(), moved: moved}
}

// apply takes the next entry of the journal.
func (s *state) apply(offset int64, e Entry) error {
	if err := s.take(e); err != nil {
		return fmt.Errorf("journal at offset %d: %w", offset, err)
	}
	return nil
}

func (s *state) take(e Entry) error {
	switch {
	case e.Run != nil:
		s.runs++
		s.lastRun = *e.Run
	case e.Begin != nil && s.begin != nil, e.Begin == nil && s.begin == nil:
		return fmt.Errorf("it must begin once, before all else")
	case e.Begin != nil:
		s.begin = e.Begin
		s.pos = slices.Clone(e.Begin.Starts)
	case e.Target != nil:
		s.targetID = e.Target.ID
	case e.Cutover != nil:
		return s.cut(e.Cutover)
	case e.Group != nil:
		s.groups = append(s.groups, e.Group.Name)
	case e.Round != nil:
		return s.round(e.Round)
	}
	return nil
}

// round moves on. The slices of a round begin where those before it ended, or nothing of the source would be known to be
// copied.
func (s *state) round(r *Round) error {
	for _, slice := range r.Slices {
		if int(slice.Partition) >= len(s.pos) {
			return fmt.Errorf("partition %d of the source, which had %d", slice.Partition, len(s.pos))
		}
		if !r.Replaces && slice.From != s.pos[slice.Partition] {
			return fmt.Errorf("partition %d of the source goes on at %d, not at %d", slice.Partition, slice.From, s.pos[slice.Partition])
		}
		s.pos[slice.Partition] = max(s.pos[slice.Partition], slice.To)
	}
	for _, p := range r.Parts {
		if p.Target >= s.begin.Partitions {
			return fmt.Errorf("partition %d of the target, which has %d", p.Target, s.begin.Partitions)
		}
		s.records += p.Count
	}
	s.rounds++
	return s.resolver.add(r, s.moved)
}

func (s *state) cut(c *Cutover) error {
	if len(c.Target) != int(s.begin.Partitions) || len(c.Source) != len(s.pos) {
		return fmt.Errorf("a cutover of other topics")
	}
	s.cutover = c
	return s.settleAll(c.Target)
}

// settleAll tells which of the last batches are in the target, whose logs end there.
func (s *state) settleAll(ends []int64) error {
	for t, end := range ends {
		held := s.resolver.held[int32(t)]
		if len(held) == 0 {
			continue
		}
		if err := s.resolver.settle(int32(t), end, s.moved); err != nil {
			return err
		}
	}
	return nil
}
