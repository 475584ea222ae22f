package tables

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/apache/iceberg-go/table"

	"github.com/korvet-io/korvet/internal/iceberg/chain"
)

// Errors of commits that engines ask for. After one of them nothing was changed. A commit that ends with another error may
// have happened.
var (
	// ErrRefused is a commit that would do to the table what only korvet does, or nobody. To repeat it is of no use.
	ErrRefused = errors.New("commit refused")
	// ErrConflict is a commit on a state that is not the newest. The engine reads the table again and plans anew.
	ErrConflict = chain.ErrConflict
)

// applyTries is how often a commit is tried whose requirements hold on a state that was followed by another meanwhile.
const applyTries = 5

// ApplyTimeout bounds the writing of a commit that was found to be one that may be made: Apply may take so long after the end of its
// context.
const ApplyTimeout = 25 * time.Second

// Apply commits what an engine asks for, if it keeps the log as it is: rows may go, and may move to other files, but none may
// come or change. What the commit does is told from the files before and after it, not from what it is called. When ctx ends
// before the commit is written, as with a client that is gone, nothing is.
func (t *Table) Apply(ctx context.Context, turns *Turns, requirements table.Requirements, updates table.Updates) (*State, error) {
	var err error
	for range applyTries {
		var s *State
		if s, err = t.apply(ctx, turns, requirements, updates); err == nil {
			return s, nil
		}
		if !errors.Is(err, chain.ErrStale) && !errors.Is(err, errRaced) {
			break
		}
	}
	return nil, fmt.Errorf("commit to table: %w", err)
}

// errRaced is a commit that came second although its requirements held.
var errRaced = fmt.Errorf("%w", chain.ErrConflict)

func (t *Table) apply(ctx context.Context, turns *Turns, requirements table.Requirements, updates table.Updates) (*State, error) {
	base, err := t.State(ctx)
	if errors.Is(err, chain.ErrNoTable) {
		return nil, err
	}
	if err != nil { // nothing was written
		return nil, fmt.Errorf("%w: the table cannot be read: %w", ErrConflict, err)
	}
	before := base.version.Metadata
	for _, r := range requirements {
		if err := r.Validate(before); err != nil {
			return nil, fmt.Errorf("%w: %w", ErrConflict, err)
		}
	}
	if err := permitted(updates); err != nil {
		return nil, err
	}
	if len(updates) == 0 { // nothing to write a version for
		return base, nil
	}
	after, err := update(before, updates, base.version.Location)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrRefused, err)
	}
	if err := t.judge(ctx, turns, before, after); err != nil {
		return nil, err
	}
	if ctx.Err() != nil {
		return nil, fmt.Errorf("%w: it took too long to look at: %w", ErrConflict, ctx.Err())
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), ApplyTimeout)
	defer cancel()
	v, err := t.chain.CommitUpdates(ctx, base.version, updates, after)
	if errors.Is(err, chain.ErrConflict) {
		return nil, fmt.Errorf("%w: %w", errRaced, err)
	}
	if err != nil {
		return nil, err
	}
	return parseState(v)
}

// update changes metadata. The library trusts what updates hold.
func update(before table.Metadata, updates table.Updates, location string) (after table.Metadata, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("malformed update: %v", p)
		}
	}()
	return table.UpdateTableMetadata(before, updates, location)
}

// permitted tells which kinds of updates engines may ask for. Schema, partitioning, order, place and identity are korvet's.
func permitted(updates table.Updates) error {
	for _, u := range updates {
		switch u.Action() {
		case table.UpdateAddSnapshot, table.UpdateSetSnapshotRef, table.UpdateRemoveSnapshotRef, table.UpdateRemoveSnapshots,
			table.UpdateSetProperties, table.UpdateRemoveProperties,
			table.UpdateSetStatistics, table.UpdateRemoveStatistics,
			table.UpdateSetPartitionStatistics, table.UpdateRemovePartitionStatistics,
			table.UpdateRemoveSchemas, table.UpdateRemoveSpec:
		default:
			return fmt.Errorf("%w: %s is not for engines to do: the table is a topic's log", ErrRefused, u.Action())
		}
	}
	return nil
}
