package migrate

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
)

// GroupPosition is how far a group is in the source.
type GroupPosition struct {
	Name    string     `json:"group"`
	State   string     `json:"state"`
	Offsets []Position `json:"offsets"`
}

// Position is a committed offset.
type Position struct {
	Partition int32  `json:"partition"`
	Offset    int64  `json:"offset"`
	Metadata  string `json:"metadata,omitempty"`
}

// Active tells whether a group has members, so that nobody else may commit for it.
func (g *GroupPosition) Active() bool { return g.State != "Empty" && g.State != "Dead" }

// GroupResult is what became of a group's offsets.
type GroupResult struct {
	Name    string        `json:"group"`
	Done    string        `json:"done"` // "translated", "translated before", or why not
	Offsets []NewPosition `json:"offsets,omitempty"`
	From    []Position    `json:"from,omitempty"`
	err     error         // why it was not
	plan    *translator   // nil: it is left alone
}

// NewPosition is where a group goes on.
type NewPosition struct {
	Position
	Again int64 `json:"again"` // records at or above the offset that the group has processed already
}

// groupsOf lists the groups that have committed offsets of the source.
func groupsOf(ctx context.Context, c *Cluster, source string) ([]GroupPosition, error) {
	listed, err := c.Admin.ListGroups(ctx)
	if err != nil {
		return nil, fmt.Errorf("list groups: %w", err)
	}
	var names []string
	for _, g := range listed.Sorted() {
		if g.GroupType != "share" { // those commit no offsets
			names = append(names, g.Group)
		}
	}
	groups := []GroupPosition{}
	if len(names) == 0 {
		return groups, nil
	}
	fetched := c.Admin.FetchManyOffsets(ctx, names...)
	for _, name := range names {
		one := fetched[name]
		if errors.Is(one.Err, kerr.GroupIDNotFound) { // gone since
			continue
		}
		if one.Err != nil {
			return nil, fmt.Errorf("fetch offsets of group %s: %w", name, one.Err)
		}
		g := GroupPosition{Name: name, State: listed[name].State}
		for _, p := range slices.Sorted(maps.Keys(one.Fetched[source])) {
			if o := one.Fetched[source][p]; o.Err == nil && o.At >= 0 {
				g.Offsets = append(g.Offsets, Position{Partition: p, Offset: o.At, Metadata: o.Metadata})
			}
		}
		if len(g.Offsets) > 0 {
			groups = append(groups, g)
		}
	}
	return groups, nil
}

// translateGroups commits, for each group that has none of it yet, where it goes on in the target.
func (m *Migration) translateGroups(ctx context.Context, groups []GroupPosition) ([]GroupResult, error) {
	results := make([]GroupResult, len(groups))
	same := len(m.source.leaders) == len(m.target.leaders)
	for i, g := range groups {
		r := &results[i]
		r.Name, r.From = g.Name, g.Offsets
		switch {
		case slices.Contains(m.state.groups, g.Name):
			r.Done = "translated before"
		case g.Active():
			r.err = fmt.Errorf("group %s is %s: stop its members, then repeat the cutover", g.Name, g.State)
		default:
			committed := map[int32]int64{}
			for _, o := range g.Offsets {
				committed[o.Partition] = o.Offset
			}
			r.plan = newTranslator(same, committed)
		}
	}
	if err := m.aim(ctx, results); err != nil {
		return nil, err
	}
	return results, m.commitAll(ctx, results)
}

// aim finds the new positions. It reads the journal twice, so that no more than a few entries of it are in memory.
func (m *Migration) aim(ctx context.Context, results []GroupResult) error {
	for _, pass := range []func(*translator, Piece){(*translator).find, (*translator).count} {
		s := newState(func(one landed) error {
			for _, p := range one.pieces {
				for i := range results {
					if results[i].plan != nil {
						pass(results[i].plan, p)
					}
				}
			}
			return nil
		})
		reader := &journal{cluster: m.o.To, topic: m.journal.topic}
		if err := reader.read(ctx, s.apply); err != nil {
			return err
		}
	}
	return nil
}

func (m *Migration) commitAll(ctx context.Context, results []GroupResult) error {
	starts, err := m.o.To.offsets(ctx, m.target, logStart)
	if err != nil {
		return err
	}
	var problems []error
	for i := range results {
		r := &results[i]
		if r.plan != nil {
			r.err = m.commit(ctx, r, starts)
		}
		if r.err != nil {
			r.Done = r.err.Error()
			problems = append(problems, r.err)
		}
	}
	return errors.Join(problems...)
}

// commit stores a group's new offsets as one without members does, and notes that it has.
func (m *Migration) commit(ctx context.Context, r *GroupResult, starts []int64) error {
	at := r.plan.positions(starts, m.state.cutover.Target)
	offsets := kadm.Offsets{}
	for _, target := range slices.Sorted(maps.Keys(at)) {
		one := NewPosition{Position: Position{Partition: target, Offset: at[target], Metadata: metadata(r.From, target, r.plan.same)}, Again: r.plan.again[target]}
		r.Offsets = append(r.Offsets, one)
		offsets.Add(kadm.Offset{Topic: m.target.name, Partition: target, At: one.Offset, LeaderEpoch: -1, Metadata: one.Metadata})
	}
	if err := m.o.To.Admin.CommitAllOffsets(ctx, r.Name, offsets); err != nil {
		if errors.Is(err, kerr.UnknownMemberID) {
			err = errors.New("it has members, stop them, then repeat the cutover")
		}
		return fmt.Errorf("commit offsets of group %s: %w", r.Name, err)
	}
	r.Done = "translated"
	return m.note(ctx, Entry{Group: &GroupDone{Name: r.Name}})
}

// metadata is that of the same partition's commit, or where partitions are mixed, what all commits have.
func metadata(from []Position, target int32, same bool) string {
	for _, p := range from {
		switch {
		case same && p.Partition == target:
			return p.Metadata
		case !same && p.Metadata != from[0].Metadata:
			return ""
		}
	}
	if same {
		return ""
	}
	return from[0].Metadata
}
