package migrate

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
)

// Status is how far a migration is.
type Status struct {
	Source  string        `json:"source"`
	Target  string        `json:"target"`
	Runs    int           `json:"runs"`
	LastRun time.Time     `json:"last_run"`
	Rounds  int64         `json:"rounds"`
	Cutover *time.Time    `json:"cutover"` // nil: not yet
	Groups  []string      `json:"groups"`  // whose offsets were translated
	Copied  []SourceState `json:"partitions"`
	Ends    []int64       `json:"target_ends"`
}

// SourceState is how far a partition of the source was copied.
type SourceState struct {
	Partition int32 `json:"partition"`
	From      int64 `json:"from"`   // where the copy began
	Copied    int64 `json:"copied"` // everything below is in the target, or announced for it
	End       int64 `json:"end"`
	Behind    int64 `json:"behind"` // after a cutover: what was written too late, and is not in the target
}

// seen is what somebody who only looks has of a migration.
type seen struct {
	source, target *topic
	journal        *topic
	state          *state
	ends           []int64 // of the target
}

// ErrNoMigration tells that a target has no journal.
var ErrNoMigration = errors.New("there is no such migration")

// look reads a journal and passes on the batches that are in the target. It changes nothing and may be called while
// another process copies.
func look(ctx context.Context, from, to *Cluster, target string, each func(landed) error) (*seen, error) {
	j, err := openJournal(ctx, to, target)
	if errors.Is(err, kerr.UnknownTopicOrPartition) {
		return nil, fmt.Errorf("migration to %s: %w", target, ErrNoMigration)
	}
	if err != nil {
		return nil, err
	}
	s := &seen{journal: j.topic, state: newState(each)}
	if err := j.read(ctx, s.state.apply); err != nil {
		return nil, err
	}
	if s.state.begin == nil || s.state.targetID == "" {
		return nil, fmt.Errorf("migration to %s: %w: it has not begun", target, ErrNoMigration)
	}
	if s.source, err = from.lookUp(ctx, s.state.begin.Source); err != nil {
		return nil, err
	}
	if s.target, err = to.lookUp(ctx, target); err != nil {
		return nil, err
	}
	if s.source.idText() != s.state.begin.SourceID || s.target.idText() != s.state.targetID {
		return nil, fmt.Errorf("migration to %s: a topic was deleted and created again", target)
	}
	s.ends, err = to.offsets(ctx, s.target, logEnd)
	return s, err
}

// ReadStatus tells how far the migration to a target is.
func ReadStatus(ctx context.Context, from, to *Cluster, target string) (*Status, error) {
	s, err := look(ctx, from, to, target, func(landed) error { return nil })
	if err != nil {
		return nil, err
	}
	ends, err := from.offsets(ctx, s.source, logEnd)
	if err != nil {
		return nil, err
	}
	b := s.state.begin
	status := &Status{Source: b.Source, Target: target, Runs: s.state.runs, LastRun: s.state.lastRun.At, Rounds: s.state.rounds, Groups: append([]string{}, s.state.groups...), Ends: s.ends}
	if s.state.cutover != nil {
		status.Cutover = &s.state.cutover.At
	}
	for p, at := range s.state.pos {
		status.Copied = append(status.Copied, SourceState{Partition: int32(p), From: b.Starts[p], Copied: at, End: ends[p], Behind: max(0, ends[p]-at)})
	}
	return status, nil
}

// Verify compares what is in the target with the source. It changes nothing and may be called while another process
// copies, and after the cutover as long as the source is there.
func Verify(ctx context.Context, from, to *Cluster, target string) ([]Checked, error) {
	s, err := look(ctx, from, to, target, func(landed) error { return nil })
	if err != nil {
		return nil, err
	}
	v, err := newVerifier(ctx, from, to, s.source, s.target, s.journal)
	if err != nil {
		return nil, err
	}
	if err := v.advance(ctx); err != nil {
		return nil, err
	}
	ends, err := to.offsets(ctx, s.target, logEnd)
	if err != nil {
		return nil, err
	}
	for t, end := range ends {
		for _, one := range v.state.resolver.held[int32(t)] {
			if one.part.Base+one.part.Count == end {
				if err := v.check(ctx, one); err != nil {
					return nil, err
				}
				break
			}
		}
	}
	return v.result()
}
