package remote

import (
	"cmp"
	"context"
	"math"
	"slices"

	"github.com/korvet-io/korvet/internal/iceberg/tables"
	"github.com/korvet-io/korvet/internal/partition"
	"github.com/korvet-io/korvet/internal/record"
)

// none is the answer of a search that found nothing.
var none = partition.TimeOffset{Offset: -1, Timestamp: -1, LeaderEpoch: -1}

// SeekTime implements partition.Remote. Files that have no such timestamp are not read.
func (r *Reader) SeekTime(ctx context.Context, ref partition.Ref, ms, from, end int64) (partition.TimeOffset, error) {
	files, err := r.between(ctx, ref, from, end)
	if err != nil {
		return none, err
	}
	found := none
	for _, f := range files {
		if f.Timed && f.MaxTimestamp < ms {
			continue
		}
		_, err := r.Read(ctx, ref, part(&f, from, end), func(rec *record.Record, _ int64) bool {
			if rec.Timestamp < ms {
				return true
			}
			found.Offset, found.Timestamp = rec.Offset, rec.Timestamp
			return false
		})
		if err != nil || found.Offset >= 0 {
			return found, err
		}
	}
	return none, nil
}

// part asks for a file's records in [from, end).
func part(f *tables.File, from, end int64) partition.RemoteRead {
	return partition.RemoteRead{From: max(from, f.First), End: min(end, f.Last+1)}
}

// between are the files that have offsets in [from, end).
func (r *Reader) between(ctx context.Context, ref partition.Ref, from, end int64) ([]tables.File, error) {
	if from >= end {
		return nil, nil
	}
	x, err := r.index(ref.ID)
	if err != nil {
		return nil, r.wrap(ref, "", err)
	}
	s, err := x.covering(ctx, ref.Partition, end-1, r.Stale)
	if err != nil {
		return nil, r.wrap(ref, "", err)
	}
	files := s.from(ref.Partition, from)
	n, _ := slices.BinarySearchFunc(files, end, func(f tables.File, o int64) int { return cmp.Compare(f.First, o) })
	return files[:n], nil
}

// Largest implements partition.Remote. The files that claim the largest timestamps are read, until none claims more than was
// found: the records behind a claim may have been deleted.
func (r *Reader) Largest(ctx context.Context, ref partition.Ref, from, end int64) (partition.TimeOffset, error) {
	files, err := r.between(ctx, ref, from, end)
	if err != nil {
		return none, err
	}
	files = slices.Clone(files)
	slices.SortStableFunc(files, func(a, b tables.File) int { return cmp.Compare(claim(&b), claim(&a)) })
	best := none
	for i := range files {
		f := &files[i]
		if best.Offset >= 0 && (claim(f) < best.Timestamp || claim(f) == best.Timestamp && f.First > best.Offset) {
			continue
		}
		_, err := r.Read(ctx, ref, part(f, from, end), func(rec *record.Record, _ int64) bool {
			if best.Offset < 0 || rec.Timestamp > best.Timestamp || rec.Timestamp == best.Timestamp && rec.Offset < best.Offset {
				best.Offset, best.Timestamp = rec.Offset, rec.Timestamp
			}
			return best.Timestamp < claim(f) || best.Offset > rec.Offset
		})
		if err != nil {
			return none, err
		}
	}
	return best, nil
}

// claim is what no timestamp of a file is above.
func claim(f *tables.File) int64 {
	if !f.Timed {
		return math.MaxInt64
	}
	return f.MaxTimestamp
}

// SeekAppend finds the first offset at or after one whose record was appended at ms or later, in ms since the epoch; append
// times rise with the offsets. Where the table has none it is the table's end.
func (r *Reader) SeekAppend(ctx context.Context, ref partition.Ref, ms, from int64) (int64, error) {
	s, err := r.known(ctx, ref)
	if err != nil {
		return 0, err
	}
	end := max(from, s.ends[ref.Partition])
	for _, f := range s.from(ref.Partition, from) {
		if f.MaxAppendMs < ms {
			continue
		}
		found := int64(-1)
		_, err := r.Read(ctx, ref, part(&f, from, end), func(rec *record.Record, appendMs int64) bool {
			if appendMs >= ms {
				found = rec.Offset
			}
			return found < 0
		})
		if err != nil || found >= 0 {
			return found, err
		}
	}
	return end, nil
}

// known is what is known of a partition's table.
func (r *Reader) known(ctx context.Context, ref partition.Ref) (*snapshot, error) {
	x, err := r.index(ref.ID)
	if err != nil {
		return nil, r.wrap(ref, "", err)
	}
	s, err := x.look(ctx, r.Stale)
	if err != nil {
		return nil, r.wrap(ref, "", err)
	}
	return s, nil
}

// Bytes tells the bytes of a partition's data files that have an offset or one after it.
func (r *Reader) Bytes(ctx context.Context, ref partition.Ref, from int64) (int64, error) {
	s, err := r.known(ctx, ref)
	if err != nil {
		return 0, err
	}
	bytes := int64(0)
	for _, f := range s.from(ref.Partition, from) {
		bytes += f.Bytes
	}
	return bytes, nil
}

// Range tells the first offset of a partition that the table has, and the one after the last that it ever had. Where it has
// none they are the same.
func (r *Reader) Range(ctx context.Context, ref partition.Ref) (start, end int64, err error) {
	s, err := r.known(ctx, ref)
	if err != nil {
		return 0, 0, err
	}
	end = s.ends[ref.Partition]
	if f, ok := s.file(ref.Partition, 0); ok {
		return f.First, end, nil
	}
	return end, end, nil
}
