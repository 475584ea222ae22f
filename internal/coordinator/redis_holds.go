package coordinator

import (
	"context"
	"fmt"
	"strconv"

	"github.com/redis/rueidis"
)

// Holds returns nil while a claim is the newest, else ErrStale. Token 0 stands for: nobody claimed the group.
func (s *RedisStore) Holds(ctx context.Context, name string, t Token) error {
	r, err := s.do(ctx, s.client.B().Hget().Key(s.commitsKey(name)).Field(fieldToken).Build())
	if err != nil && !rueidis.IsRedisNil(err) {
		return fmt.Errorf("look at the claim of group %q: %w", name, err)
	}
	text, err := r.ToString()
	if rueidis.IsRedisNil(err) {
		text, err = "0", nil
	}
	if err != nil {
		return fmt.Errorf("look at the claim of group %q: %w", name, err)
	}
	if text != strconv.FormatUint(uint64(t), 10) {
		return ErrStale
	}
	return nil
}
