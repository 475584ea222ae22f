package redisstream

import (
	"context"
	"errors"
	"fmt"
	"strconv"

	"github.com/korvet-io/korvet/internal/epoch"
)

// Restored is a partition as its table of the remote tier knows it.
type Restored struct {
	TopicID string
	Start   int64         // the first offset that may be read
	End     int64         // the offset that the next record gets
	LastMs  uint64        // when the last of them was appended; 0: not known
	Epochs  epoch.History // that the records were written under; none: not known
	Epoch   int32         // the leader epoch is at least this one, and that of the first fence above it
	Fence   int64         // the highest number of a worker's lease that the table has seen
}

// ErrOccupied means that something else is where a partition was to be restored. Nothing was changed.
var ErrOccupied = errors.New("redis has something else there")

// Restore rebuilds a partition of which Redis has nothing. restored is false where this life of it is there: it is left as it
// is. No broker may run meanwhile. ErrOccupied.
func (s *Shard) Restore(ctx context.Context, keys Keys, r Restored) (restored bool, err error) {
	args := []string{
		r.TopicID, decimal(r.Start), decimal(r.End), strconv.FormatUint(SeqBefore(r.Start), 10), strconv.FormatUint(SeqBefore(r.End), 10),
		strconv.FormatUint(r.LastMs, 10), strconv.Itoa(int(r.Epoch)), decimal(r.Fence),
	}
	for _, e := range r.Epochs {
		args = append(args, strconv.Itoa(int(e.Epoch)), strconv.FormatUint(SeqBefore(e.Start), 10))
	}
	v, err := s.script(ctx, restoreScript, []string{keys.Stream, keys.Leader, keys.Segments, keys.Epochs}, args)
	if err == nil {
		err = v.Err()
	}
	if err != nil {
		return false, scriptError("restore partition", err)
	}
	if len(v.Elems) == 2 && v.Elems[0].Str == "OTHER" {
		return false, fmt.Errorf("restore partition %s: %w: %s", keys.Stream, ErrOccupied, v.Elems[1].Str)
	}
	return len(v.Elems) == 2, nil
}

// RestoreLease sees that the storage worker's next fence number is above one that a table has seen. key is the lease's.
func (s *Shard) RestoreLease(ctx context.Context, key string, fence int64) error {
	v, err := s.script(ctx, restoreLeaseScript, []string{key}, []string{decimal(fence)})
	if err == nil {
		err = v.Err()
	}
	if err != nil {
		return scriptError("restore the worker's fence", err)
	}
	return nil
}
