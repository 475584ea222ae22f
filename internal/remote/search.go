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

// SeekTime implements partition.Remote. What has no such timestamp is not read, as far as files and their pages tell.
func (r *Reader) SeekTime(ctx context.Context, ref partition.Ref, ms int64, q partition.RemoteRead) (partition.TimeOffset, error) {
	found := none
	later := &filter{
		file:    func(f *tables.File) bool { return claim(f) >= ms },
		stretch: func(s *stretch) bool { return s.MostTimestamp >= ms },
	}
	_, err := r.read(ctx, ref, q, later, func(rec *record.Record, _ int64) bool {
		if rec.Timestamp < ms {
			return true
		}
		found.Offset, found.Timestamp = rec.Offset, rec.Timestamp
		return false
	})
	return found, err
}

// Largest implements partition.Remote. The files that claim the largest timestamps are read first: then the others that claim
// no more than was found are not. The records behind a claim may have been deleted.
func (r *Reader) Largest(ctx context.Context, ref partition.Ref, q partition.RemoteRead) (partition.TimeOffset, error) {
	if q.From >= q.End {
		return none, nil
	}
	x, err := r.index(ref.ID)
	if err != nil {
		return none, r.failed(ref, err)
	}
	s, _, err := x.ofLog(ctx, ref.Partition, &q, q.End-1, r.Stale)
	if err != nil {
		return none, r.failed(ref, err)
	}
	list := slices.Clone(s.from(ref.Partition, q.From))
	slices.SortStableFunc(list, func(a, b cluster) int { return cmp.Compare(b.claim(), a.claim()) })
	best := none
	above := func(ms, offset int64) bool {
		return best.Offset < 0 || ms > best.Timestamp || ms == best.Timestamp && offset < best.Offset
	}
	more := &filter{
		file:    func(f *tables.File) bool { return above(claim(f), f.First) },
		stretch: func(s *stretch) bool { return above(s.MostTimestamp, s.Least) },
	}
	for i := range list {
		c := &list[i]
		if c.first >= q.End || !above(c.claim(), c.first) {
			continue
		}
		of := partition.RemoteRead{From: max(q.From, c.first), End: min(q.End, c.last+1), Epochs: q.Epochs}
		_, err := r.read(ctx, ref, of, more, func(rec *record.Record, _ int64) bool {
			if above(rec.Timestamp, rec.Offset) {
				best.Offset, best.Timestamp = rec.Offset, rec.Timestamp
			}
			return true
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

func (c *cluster) claim() int64 {
	most := int64(math.MinInt64)
	for i := range c.files {
		most = max(most, claim(&c.files[i]))
	}
	return most
}

// SeekAppend finds the first offset at or after one whose record was appended at ms or later, in ms since the epoch; append
// times rise with the offsets. Where the table has none it is the table's end.
func (r *Reader) SeekAppend(ctx context.Context, ref partition.Ref, ms, from int64) (int64, error) {
	s, err := r.known(ctx, ref)
	if err != nil {
		return 0, err
	}
	found := max(from, s.ends[ref.Partition])
	later := &filter{
		file:    func(f *tables.File) bool { return f.MaxAppendMs >= ms },
		stretch: func(s *stretch) bool { return s.MostAppend >= ms },
	}
	_, err = r.read(ctx, ref, partition.RemoteRead{From: from, End: found}, later, func(rec *record.Record, appendMs int64) bool {
		if appendMs < ms {
			return true
		}
		found = rec.Offset
		return false
	})
	return found, err
}

// known is what is known of a partition's table.
func (r *Reader) known(ctx context.Context, ref partition.Ref) (*snapshot, error) {
	x, err := r.index(ref.ID)
	if err != nil {
		return nil, r.failed(ref, err)
	}
	s, err := x.look(ctx, r.Stale)
	if err != nil {
		return nil, r.failed(ref, err)
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
	for _, c := range s.from(ref.Partition, from) {
		for i := range c.files {
			if c.files[i].Last >= from {
				bytes += c.files[i].Bytes
			}
		}
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
	if list := s.clusters[ref.Partition]; len(list) > 0 {
		return list[0].first, end, nil
	}
	return end, end, nil
}
