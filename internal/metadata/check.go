package metadata

import (
	"context"
	"fmt"
	"log/slog"

	"github.com/redis/rueidis"

	"github.com/korvet-io/korvet/internal/redischeck"
)

// CheckServer refuses a Redis that would lose data, or that is too old, and warns of one that keeps nothing on disk. role
// says in messages what the Redis is for. `korvet redis check` looks at more.
func CheckServer(ctx context.Context, client rueidis.Client, namespace, role string, log *slog.Logger) error {
	for addr, node := range client.Nodes() {
		facts, err := redischeck.ReadStart(ctx, node, namespace)
		if err != nil {
			return fmt.Errorf("check the Redis for %s at %s: %w: %w", role, addr, ErrUnavailable, err)
		}
		for _, f := range redischeck.JudgeStart(facts) {
			switch f.Level {
			case redischeck.Error:
				return fmt.Errorf("check the Redis for %s at %s: %s", role, addr, f.Brief())
			case redischeck.Warning:
				log.Warn("Redis: "+f.Seen, "role", role, "redis", addr, "why", f.Why, "cure", f.Remedy())
			case redischeck.OK:
			}
		}
	}
	return nil
}
