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

// Room asks by a command that only a Redis with memory executes, and that changes nothing: the key is never there.
func (s *RedisStore) Room(ctx context.Context, name string) error {
	command := s.client.B().Setrange().Key(s.groupKey(name) + ":room").Offset(0).Value("").Build()
	if _, err := s.do(ctx, command); err != nil {
		return fmt.Errorf("look for room for group %q: %w", name, err)
	}
	return nil
}
