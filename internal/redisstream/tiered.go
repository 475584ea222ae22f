package redisstream

import (
	"context"
	"errors"
	"fmt"
)

// ErrAhead means that the remote tier has offsets which were never sealed here: Redis lost the end of the log.
var ErrAhead = errors.New("the remote tier is ahead of the log")

// SetTiered notes that the remote tier has every record below an offset for good: sealed segments below it may be dropped. It
// returns what is noted, which only rises. ErrAhead: the end is above all that was sealed, and nothing is noted.
func (s *Shard) SetTiered(ctx context.Context, keys Keys, c Claim, end int64) (int64, error) {
	got, err := s.raise(ctx, tieredScript, keys, c, nil, []string{decimal(end), decimal(end - 1)})
	if err != nil {
		return 0, fmt.Errorf("note end of remote tier: %w", err)
	}
	return got, nil
}

// SetTieredBack takes back what SetTiered noted from an offset on: the remote tier does not have it any more. It returns what is
// noted now, which is not below the first record that Redis has.
func (s *Shard) SetTieredBack(ctx context.Context, keys Keys, c Claim, end int64) (int64, error) {
	got, err := s.raise(ctx, tieredBackScript, keys, c, nil, []string{decimal(end)})
	if err != nil {
		return 0, fmt.Errorf("take back end of remote tier: %w", err)
	}
	return got, nil
}

// Untier forgets the remote tier of a partition: the log starts at the first record that Redis has, which it returns. It may be
// repeated. The caller makes sure that no worker notes it again.
func (s *Shard) Untier(ctx context.Context, keys Keys, c Claim) (start int64, err error) {
	start, err = s.raise(ctx, untierScript, keys, c, []string{keys.Epochs}, nil)
	if err != nil {
		return 0, fmt.Errorf("forget remote tier: %w", err)
	}
	return start, nil
}
