package remote

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/google/uuid"

	"github.com/korvet-io/korvet/internal/epoch"
	"github.com/korvet-io/korvet/internal/iceberg/tables"
)

// snapshot is what is known of a table: which file has which offsets.
type snapshot struct {
	at   time.Duration // when its reading began
	ends map[int32]int64
	// epochs are the leader epochs that the records were written under.
	epochs map[int32]epoch.History
	files  *tables.Files
	// clusters are the data files by partition and rising offsets.
	clusters map[int32][]cluster
}

// index is what is known of one table. Of several who want to know it anew, one reads it.
type index struct {
	table *tables.Table
	now   func() time.Duration

	mu      sync.Mutex
	current *snapshot
	flight  *flight

	asking chan struct{} // is held by who reads held
	held   held
}

// flight is a reading of the table's state.
type flight struct {
	began time.Duration
	done  chan struct{}
	got   *snapshot
	err   error
	late  bool // the table changed since: it is not kept
}

// index is that of a topic's table.
func (r *Reader) index(id uuid.UUID) (*index, error) {
	e, ok := r.tier.Registry.TableOf(id)
	if !ok {
		return nil, fmt.Errorf("%w: no table of topic %s is known", errNoTable, id)
	}
	table := r.tier.Table(e)
	r.mu.Lock()
	defer r.mu.Unlock()
	x := r.indexes[e.Location]
	if x == nil || x.table != table {
		if len(r.indexes) >= maxIndexes {
			clear(r.indexes)
		}
		x = &index{table: table, now: r.now, asking: make(chan struct{}, 1)}
		r.indexes[e.Location] = x
	}
	return x, nil
}

// maxIndexes is how many tables are known at once: beyond, all are read anew when they are needed.
const maxIndexes = 10_000

// look returns what is known, or reads it first. What is older than stale is read anew on the side.
func (x *index) look(ctx context.Context, stale time.Duration) (*snapshot, error) {
	x.mu.Lock()
	s := x.current
	if s == nil {
		x.mu.Unlock()
		return x.renew(ctx, nil)
	}
	if x.flight == nil && x.now()-s.at >= stale {
		x.begin()
	}
	x.mu.Unlock()
	return s, nil
}

// renew returns a snapshot that was read after the one given.
func (x *index) renew(ctx context.Context, old *snapshot) (*snapshot, error) {
	x.mu.Lock()
	if x.current != old && x.current != nil {
		defer x.mu.Unlock()
		return x.current, nil
	}
	f := x.flight
	if f == nil {
		f = x.begin()
	}
	x.mu.Unlock()
	select {
	case <-f.done:
		return f.got, f.err
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

// begin starts to read the table. The lock is held.
func (x *index) begin() *flight {
	f := &flight{began: x.now(), done: make(chan struct{})}
	x.flight = f
	go func() {
		ctx, cancel := context.WithTimeout(context.Background(), loadTimeout)
		defer cancel()
		f.got, f.err = x.read(ctx, f.began)
		x.mu.Lock()
		if !f.late {
			x.flight = nil
			if f.err == nil {
				x.current = f.got
			}
		}
		x.mu.Unlock()
		close(f.done)
	}()
	return f
}

func (x *index) read(ctx context.Context, began time.Duration) (*snapshot, error) {
	state, err := x.table.State(ctx)
	if err != nil {
		return nil, err
	}
	files, err := x.table.Files(ctx, state)
	if err != nil {
		return nil, err
	}
	s := &snapshot{at: began, ends: state.Ends, epochs: state.Epochs, files: files, clusters: make(map[int32][]cluster, len(files.Data))}
	for p, list := range files.Data {
		s.clusters[p] = clusters(list)
	}
	return s, nil
}

// covering returns a snapshot in which the table has had a partition's records up to an offset. One that says otherwise was
// read before they came, so it is read again.
func (x *index) covering(ctx context.Context, partition int32, offset int64, stale time.Duration) (*snapshot, error) {
	asked := x.now()
	s, err := x.look(ctx, stale)
	for err == nil && s.ends[partition] <= offset {
		if s.at > asked {
			return nil, fmt.Errorf("%w: the table ends at %d, below offset %d", errNotCovered, s.ends[partition], offset)
		}
		s, err = x.renew(ctx, s)
	}
	return s, err
}
