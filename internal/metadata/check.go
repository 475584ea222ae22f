package metadata

import (
	"bufio"
	"context"
	"fmt"
	"log/slog"
	"strconv"
	"strings"

	"github.com/redis/rueidis"
)

// CheckServer refuses a Redis whose settings would lose data, or that is too old, and warns of one that keeps nothing on
// disk. role says in messages what the Redis is for.
func CheckServer(ctx context.Context, client rueidis.Client, role string, log *slog.Logger) error {
	for addr, node := range client.Nodes() {
		text, err := node.Do(ctx, node.B().Info().Build()).ToString()
		if err != nil {
			return fmt.Errorf("read settings of the Redis for %s: %w: %w", role, ErrUnavailable, err)
		}
		info := parseInfo(text)
		if v := info["redis_version"]; v != "" && olderThan(v, 6, 2) {
			return fmt.Errorf("check the Redis for %s at %s: version %s is too old: 6.2 or later is needed", role, addr, v)
		}
		if p := info["maxmemory_policy"]; strings.HasPrefix(p, "allkeys-") {
			return fmt.Errorf("check the Redis for %s at %s: maxmemory-policy %s would evict acknowledged records: set it to noeviction", role, addr, p)
		}
		if info["aof_enabled"] == "0" {
			log.Warn("Redis keeps no append-only file: what it acknowledged since its last snapshot is lost when it stops",
				"role", role, "redis", addr, "cure", "appendonly yes")
		}
	}
	return nil
}

// parseInfo reads INFO's name:value lines.
func parseInfo(text string) map[string]string {
	info := map[string]string{}
	for sc := bufio.NewScanner(strings.NewReader(text)); sc.Scan(); {
		if name, value, ok := strings.Cut(strings.TrimRight(sc.Text(), "\r"), ":"); ok {
			info[name] = value
		}
	}
	return info
}

// olderThan compares a dotted version's first two numbers. What is no number counts as new.
func olderThan(version string, major, minor int) bool {
	a, rest, _ := strings.Cut(version, ".")
	b, _, _ := strings.Cut(rest, ".")
	x, err1 := strconv.Atoi(a)
	y, err2 := strconv.Atoi(b)
	if err1 != nil || err2 != nil {
		return false
	}
	return x < major || x == major && y < minor
}
