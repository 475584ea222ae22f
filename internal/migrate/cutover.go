package migrate

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
)

// CutoverOptions say how a cutover goes.
type CutoverOptions struct {
	Quiet      time.Duration // how long nothing may be written to the source
	Timeout    time.Duration // how long to wait for that
	SkipActive bool          // leave groups that have members as they are
	Ready      func()        // called when all that there was is copied and verified: the producers may stop now
}

// CutoverResult is what a cutover has done.
type CutoverResult struct {
	Source  string        `json:"source"`
	Target  string        `json:"target"`
	At      time.Time     `json:"at,omitzero"` // zero: it was not cut over
	Records int64         `json:"records"`     // copied by this run
	Checked []Checked     `json:"partitions,omitempty"`
	Groups  []GroupResult `json:"groups"`
}

// Cutover ends a migration: it copies the rest, waits until nobody writes to the source, verifies the target, and commits
// where each group goes on. Up to the entry that it notes then, everything can go on as before; after it the target may
// be written to. A cutover that is repeated takes the groups along that were left.
func (m *Migration) Cutover(ctx context.Context, o CutoverOptions) (*CutoverResult, error) {
	result := &CutoverResult{Source: m.source.name, Target: m.target.name, Groups: []GroupResult{}}
	if m.state.cutover == nil {
		if err := m.refuseActive(ctx, o); err != nil {
			return nil, err
		}
		checked, err := m.closeSource(ctx, o)
		result.Checked = checked
		if err != nil {
			return result, err
		}
	}
	result.At, result.Records = m.state.cutover.At, m.done.Records
	groups, err := groupsOf(ctx, m.o.From, m.source.name)
	if err != nil {
		return result, err
	}
	result.Groups, err = m.translateGroups(ctx, groups)
	if o.SkipActive {
		err = m.otherProblems(result.Groups, groups)
	}
	return result, err
}

// otherProblems are those of groups without members.
func (m *Migration) otherProblems(results []GroupResult, groups []GroupPosition) error {
	var problems []error
	for i, r := range results {
		if r.err != nil && !groups[i].Active() {
			problems = append(problems, r.err)
		}
	}
	return errors.Join(problems...)
}

// refuseActive names the groups whose members still read the source.
func (m *Migration) refuseActive(ctx context.Context, o CutoverOptions) error {
	groups, err := groupsOf(ctx, m.o.From, m.source.name)
	if err != nil || o.SkipActive {
		return err
	}
	var active []string
	for _, g := range groups {
		if g.Active() {
			active = append(active, g.Name)
		}
	}
	if len(active) > 0 {
		return fmt.Errorf("groups %s have members, and offsets can only be committed for groups without: stop them, or leave them out", strings.Join(active, ", "))
	}
	return nil
}

// closeSource copies and verifies until the source is quiet and everything is there, and notes that.
func (m *Migration) closeSource(ctx context.Context, o CutoverOptions) ([]Checked, error) {
	v, err := newVerifier(ctx, m.o.From, m.o.To, m.source, m.target, m.journal.topic)
	if err != nil {
		return nil, err
	}
	if err := m.Copy(ctx, false); err != nil {
		return nil, err
	}
	if err := v.advance(ctx); err != nil { // what takes long comes before the producers must stand still
		return nil, err
	}
	if o.Ready != nil {
		o.Ready()
	}
	if err := m.quiet(ctx, o); err != nil {
		return nil, err
	}
	if err := v.advance(ctx); err != nil {
		return nil, err
	}
	if err := v.state.settleAll(m.ends); err != nil {
		return nil, err
	}
	checked, err := v.result()
	if err != nil {
		return checked, err
	}
	ends, err := m.o.From.offsets(ctx, m.source, logHigh)
	if err != nil {
		return checked, err
	}
	if moving := m.moving(ends); len(moving) > 0 {
		return checked, m.stillWritten(moving)
	}
	return checked, m.note(ctx, Entry{Cutover: &Cutover{Source: slices.Clone(m.state.pos), Target: slices.Clone(m.ends), At: time.Now().UTC()}})
}

// quiet copies until the source's logs have ended at the same offsets for a while, and no transaction is open there.
func (m *Migration) quiet(ctx context.Context, o CutoverOptions) error {
	timeout := time.NewTimer(o.Timeout)
	defer timeout.Stop()
	for {
		if err := m.Copy(ctx, false); err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(o.Quiet):
		}
		fresh, err := m.o.From.lookUp(ctx, m.source.name)
		if err != nil {
			return err
		}
		m.source = fresh
		if err := m.checkSource(); err != nil {
			return err
		}
		ends, err := m.o.From.offsets(ctx, m.source, logHigh)
		if err != nil {
			return err
		}
		moving := m.moving(ends)
		if len(moving) == 0 {
			return nil
		}
		select {
		case <-timeout.C:
			return m.stillWritten(moving)
		default:
		}
	}
}

func (m *Migration) stillWritten(moving []int32) error {
	return fmt.Errorf("partitions %v of %s are still written to, or have a transaction open: nothing was cut over, all can go on", moving, m.source.name)
}

// moving lists the partitions of the source that have more than was copied.
func (m *Migration) moving(ends []int64) []int32 {
	var list []int32
	for p, end := range ends {
		if end > m.state.pos[p] {
			list = append(list, int32(p))
		}
	}
	return list
}
