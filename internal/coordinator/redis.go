package coordinator

import (
	"context"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"sync/atomic"
	"time"

	"github.com/redis/rueidis"

	"github.com/korvet-io/korvet/internal/metadata"
)

// Fields of both keys of a group that are no offsets and no members.
const (
	fieldOwner      = ":owner"
	fieldToken      = ":token"
	fieldLife       = ":life"
	fieldGeneration = ":gen"
	fieldGroup      = ":group"
	memberPrefix    = "m:"
)

// RedisStore is a Store in two hashes per group and a set of the groups' names. The hash of the offsets decides: a group is
// what has one, and it is claimed first and deleted first.
//
// Redis being full (maxmemory) refuses what needs memory: new groups, commits, members. Groups are still claimed and
// loaded, and what only removes offsets, members and groups goes through.
type RedisStore struct {
	// Log gets what is no error of a call: fields that cannot be read. It must not be changed once the store is used.
	Log *slog.Logger

	client     rueidis.Client
	namespace  string
	owner      string
	timeout    time.Duration
	scripts    scripts
	unreadable atomic.Uint64
}

var _ Store = (*RedisStore)(nil)

// NewRedisStore returns a store under a namespace, which is the prefix of every key without a colon. owner is noted in each
// group that is claimed, timeout bounds each call of Redis. The client stays the caller's. It may only send commands again
// that read.
func NewRedisStore(client rueidis.Client, namespace, owner string, timeout time.Duration) *RedisStore {
	return &RedisStore{
		Log: slog.Default(), client: client, namespace: namespace, owner: owner, timeout: timeout, scripts: newScripts(),
	}
}

// Unreadable counts the fields that were skipped since the start because they are no offsets.
func (s *RedisStore) Unreadable() uint64 { return s.unreadable.Load() }

func (s *RedisStore) namesKey() string               { return s.namespace + ":broker:groups" }
func (s *RedisStore) commitsKey(group string) string { return s.namespace + ":broker:commit:" + group }
func (s *RedisStore) groupKey(group string) string   { return s.namespace + ":broker:group:" + group }

// Names lists the groups that may exist, in ascending order. Names of groups whose deletion was cut short stay until they
// are claimed and deleted again.
func (s *RedisStore) Names(ctx context.Context) ([]string, error) {
	names := map[string]struct{}{} // SSCAN may give one twice
	for cursor := uint64(0); ; {
		r, err := s.do(ctx, s.client.B().Sscan().Key(s.namesKey()).Cursor(cursor).Count(1000).Build())
		if err != nil {
			return nil, fmt.Errorf("list groups: %w", err)
		}
		page, err := r.AsScanEntry()
		if err != nil {
			return nil, fmt.Errorf("list groups: %w", err)
		}
		for _, name := range page.Elements {
			names[name] = struct{}{}
		}
		if cursor = page.Cursor; cursor == 0 {
			return slices.Sorted(maps.Keys(names)), nil
		}
	}
}

// Exists tells whether a group has offsets or its own line stored. One that was only claimed has not.
func (s *RedisStore) Exists(ctx context.Context, name string) (bool, error) {
	ctx, cancel := context.WithTimeout(ctx, s.timeout)
	defer cancel()
	commits, b := s.commitsKey(name), s.client.B
	replies := s.client.DoMulti(ctx,
		b().Hmget().Key(commits).Field(fieldOwner, fieldToken, fieldLife, fieldGeneration).Build(),
		b().Hlen().Key(commits).Build(),
		b().Hmget().Key(s.groupKey(name)).Field(fieldLife, fieldGroup).Build())
	own, err := replies[0].ToArray()
	if err != nil {
		return false, fmt.Errorf("look for group %q: %w", name, refused(err))
	}
	fields, err := replies[1].AsInt64()
	if err != nil {
		return false, fmt.Errorf("look for group %q: %w", name, refused(err))
	}
	members, err := replies[2].ToArray()
	if err != nil {
		return false, fmt.Errorf("look for group %q: %w", name, refused(err))
	}
	for _, field := range own {
		if !field.IsNil() {
			fields--
		}
	}
	life := word(own, 2)
	return fields > 0 || life != "" && word(members, 0) == life && !members[1].IsNil(), nil
}

// run executes a script on its key. Its answer begins with a word.
func (s *RedisStore) run(ctx context.Context, script *rueidis.Lua, key string, args ...string) ([]rueidis.RedisMessage, error) {
	ctx, cancel := context.WithTimeout(ctx, s.timeout)
	defer cancel()
	return script.Exec(ctx, s.client, []string{key}, args).ToArray()
}

// do executes a command.
func (s *RedisStore) do(ctx context.Context, command rueidis.Completed) (rueidis.RedisResult, error) {
	ctx, cancel := context.WithTimeout(ctx, s.timeout)
	defer cancel()
	r := s.client.Do(ctx, command)
	if err := r.Error(); err != nil {
		return r, refused(err)
	}
	return r, nil
}

// refused marks the error of a call's first write: an answer of Redis means that nothing was changed. Scripts here fail
// before they write or not at all.
func refused(err error) error {
	if _, answer := rueidis.IsRedisErr(err); !answer {
		return err
	}
	if why := metadata.Refusal(err); why != nil {
		return fmt.Errorf("%w: %w: %w", ErrRefused, why, err)
	}
	return fmt.Errorf("%w: %w", ErrRefused, err)
}

// word reads the i-th element of a script's answer.
func word(answer []rueidis.RedisMessage, i int) string {
	if i >= len(answer) {
		return ""
	}
	v, _ := answer[i].ToString() // scripts answer strings where strings are read
	return v
}
