package remote

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/korvet-io/korvet/internal/epoch"
	"github.com/korvet-io/korvet/internal/iceberg/chain"
	"github.com/korvet-io/korvet/internal/iceberg/tables"
	"github.com/korvet-io/korvet/internal/partition"
	"github.com/korvet-io/korvet/internal/redisstream"
)

// A Redis that lost the end of a log, which the table has, gives its offsets to other records; the worker then takes the old ones
// out of the table. Until then, and until what is known of the table is read anew, leader epochs tell them apart.

// errOtherLog is a table that has another history of the log.
var errOtherLog = errors.New("the table has other records at this offset than the log")

// ofLog returns a snapshot that has a partition's records up to an offset, and up to where it has the log's: what is known of the
// table may be of before it was truncated.
func (x *index) ofLog(ctx context.Context, partition int32, q *partition.RemoteRead, offset int64, stale time.Duration) (*snapshot, int64, error) {
	asked := x.now()
	s, err := x.covering(ctx, partition, offset, stale)
	for err == nil {
		ends := s.ends[partition]
		fork := epoch.Fork(q.Epochs, q.End, s.epochs[partition], ends)
		if fork == min(q.End, ends) {
			return s, q.End, nil
		}
		if s.at > asked {
			if fork > offset {
				return s, fork, nil
			}
			return nil, 0, fmt.Errorf("%w: from %d on", errOtherLog, fork)
		}
		if s, err = x.renew(ctx, s); err == nil && s.ends[partition] <= offset {
			s, err = x.covering(ctx, partition, offset, stale)
		}
	}
	return nil, 0, err
}

// held is what a table was read to have last.
type held struct {
	began time.Duration
	state *tables.State // nil: there is no table on the store yet
}

// Holds implements partition.Remote. Of several who ask at once one reads the table.
func (r *Reader) Holds(ctx context.Context, ref partition.Ref) (*redisstream.Remote, error) {
	if _, ok := r.tier.Registry.TableOf(ref.ID); !ok {
		return nil, nil
	}
	asked := r.now()
	x, err := r.index(ref.ID)
	if err != nil {
		return nil, err
	}
	select {
	case x.asking <- struct{}{}:
		defer func() { <-x.asking }()
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
	if x.held.began <= asked {
		began := x.now()
		state, err := x.table.State(ctx)
		if err != nil && !errors.Is(err, chain.ErrNoTable) {
			return nil, fmt.Errorf("%w: %w", partition.ErrRemoteAway, err)
		}
		x.held = held{began, state}
	}
	s := x.held.state
	if s == nil || s.Deleting() {
		return nil, nil
	}
	return &redisstream.Remote{End: s.Ends[ref.Partition], Epochs: s.Epochs[ref.Partition]}, nil
}

// Expire has what is known of a table be read anew by whoever needs it next.
func (r *Reader) Expire(location string) {
	r.mu.Lock()
	x := r.indexes[location]
	r.mu.Unlock()
	if x == nil {
		return
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	x.current = nil
	if x.flight != nil { // it may have begun before: who waits for it gets it, nobody else does
		x.flight.late = true
		x.flight = nil
	}
}
