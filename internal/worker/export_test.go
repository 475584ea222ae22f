package worker

import (
	"context"

	"github.com/korvet-io/korvet/internal/partition"
)

// BeginTick looks at all partitions, and does not wait for copies and passes.
func (s *Storage) BeginTick(ctx context.Context) error { return s.tick(ctx, nil) }

// Leave has the worker lose its lease.
func (s *Storage) Leave() { s.leave() }

// KeepCopies ends copies of what is not to be copied any more.
func (s *Storage) KeepCopies() { s.keepCopies() }

// EndCopies waits for copies and tells what ended them.
func (s *Storage) EndCopies() error { return s.copies.collect() }

// Sizes are what is known of the bytes of a partition.
func (s *Storage) Sizes(ref partition.Ref) (open int64, sealed map[int64]int64) {
	z := s.sizes[ref]
	return z.open, z.sealed
}
