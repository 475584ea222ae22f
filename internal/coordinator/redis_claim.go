package coordinator

import (
	"context"
	"errors"
	"fmt"
	"strconv"
)

// claim is what claiming a group's offsets gave.
type claim struct {
	token      string
	life       string // the first token of the group since it was deleted last
	generation string // empty: none
	isNew      bool   // there was no such group
}

// Claim claims a group's offsets and then its members, and loads both: from then on they change by this claim only. The
// generation it returns may be newer than the members, when a Save was cut short between its two steps: nobody was given an
// answer of that generation, the members are those of an older one, and no generation up to it may be given again.
// ErrStale: another coordinator claimed the group meanwhile.
func (s *RedisStore) Claim(ctx context.Context, name string) (Token, Loaded, error) {
	c, err := s.claim(ctx, name)
	if err != nil {
		return 0, Loaded{}, fmt.Errorf("claim group %q: %w", name, err)
	}
	token, err := strconv.ParseUint(c.token, 10, 64)
	if err != nil {
		return 0, Loaded{}, fmt.Errorf("claim group %q: token: %w", name, err)
	}
	loaded, err := s.load(ctx, name, c.generation)
	if err != nil {
		return 0, Loaded{}, fmt.Errorf("load group %q: %w", name, err)
	}
	return Token(token), loaded, nil
}

func (s *RedisStore) claim(ctx context.Context, name string) (claim, error) {
	if err := s.addName(ctx, name); err != nil {
		return claim{}, err
	}
	c, err := s.claimCommits(ctx, name, "", "0")
	if err != nil {
		return claim{}, err
	}
	if c.isNew { // the deletion of the life before may have taken the name off since
		if err := s.addName(ctx, name); err != nil {
			return claim{}, err
		}
	}
	for range 10 {
		answer, err := s.run(ctx, s.scripts.claimGroup, s.groupKey(name), c.token, c.life)
		if err != nil {
			return claim{}, fmt.Errorf("claim members: %w", refused(err))
		}
		if word(answer, 0) == "OK" {
			return c, nil
		}
		// A higher token is a newer claim's, or Redis's clock was set back since an earlier life was deleted.
		if c, err = s.claimCommits(ctx, name, c.token, word(answer, 1)); err != nil {
			return claim{}, err
		}
	}
	return claim{}, errors.New("claim members: their token rose ten times meanwhile")
}

// addName puts a group on the list. A full Redis refuses only a name that is not there.
func (s *RedisStore) addName(ctx context.Context, name string) error {
	r, err := s.do(ctx, s.client.B().Sismember().Key(s.namesKey()).Member(name).Build())
	if err != nil {
		return fmt.Errorf("look for its name: %w", err)
	}
	if there, err := r.AsBool(); err != nil || there {
		return err
	}
	if _, err := s.do(ctx, s.client.B().Sadd().Key(s.namesKey()).Member(name).Build()); err != nil {
		return fmt.Errorf("add its name: %w", err)
	}
	return nil
}

// claimCommits gives a group's offsets a token above floor. If expected is not empty, it must be the token that is there.
func (s *RedisStore) claimCommits(ctx context.Context, name, expected, floor string) (claim, error) {
	answer, err := s.run(ctx, s.scripts.claimCommits, s.commitsKey(name), s.owner, expected, floor)
	if err != nil {
		return claim{}, fmt.Errorf("claim offsets: %w", refused(err))
	}
	if word(answer, 0) != "OK" {
		return claim{}, ErrStale
	}
	return claim{word(answer, 1), word(answer, 2), word(answer, 3), word(answer, 4) == "new"}, nil
}
