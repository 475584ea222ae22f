package coordinator

import (
	"context"
	"fmt"
	"strconv"

	"github.com/korvet-io/korvet/internal/group"
)

// Commit sets and removes offsets by one script, all or none. A full Redis refuses to set any, and removes them.
// A partition must not be in both.
func (s *RedisStore) Commit(ctx context.Context, name string, t Token, set []Offset, gone []TopicPartition) error {
	if len(set)+len(gone) == 0 {
		return nil
	}
	w := newWrite(t, len(set), len(gone))
	for i := range set {
		w.set(offsetField(set[i].TopicPartition), offsetValue(&set[i]))
	}
	w.frees = len(set) == 0
	for _, p := range gone {
		w.remove(offsetField(p))
	}
	stale, err := s.write(ctx, s.commitsKey(name), w)
	if err == nil && stale {
		err = ErrStale
	}
	if err != nil {
		return fmt.Errorf("commit offsets of group %q: %w", name, refused(err))
	}
	return nil
}

// Save stores the generation beside the offsets, and then the changes beside the members. What is cut short in between
// leaves the newer generation to the next Claim, so errors of the second step are neither ErrStale nor ErrRefused. A full
// Redis refuses changes that set members, and takes those that only remove some. A nil Group leaves the group's own line.
func (s *RedisStore) Save(ctx context.Context, name string, t Token, c *group.Changes) error {
	generation := strconv.FormatInt(int64(c.Generation), 10)
	w := newWrite(t, 1, 0)
	w.frees = len(c.Members) == 0
	w.set(fieldGeneration, generation)
	stale, err := s.write(ctx, s.commitsKey(name), w)
	if err == nil && stale {
		err = ErrStale
	}
	if err != nil {
		return fmt.Errorf("save generation of group %q: %w", name, refused(err))
	}

	w = newWrite(t, 2+len(c.Members), len(c.Gone))
	w.frees = len(c.Members) == 0
	w.set(fieldGeneration, generation)
	if c.Group != nil {
		w.set(fieldGroup, string(c.Group))
	}
	for id, member := range c.Members {
		w.set(memberPrefix+id, string(member))
	}
	for _, id := range c.Gone {
		w.remove(memberPrefix + id)
	}
	stale, err = s.write(ctx, s.groupKey(name), w)
	if err == nil && stale {
		err = fmt.Errorf("claimed by another coordinator after generation %s was stored", generation)
	}
	if err != nil {
		return fmt.Errorf("save members of group %q: %w", name, err)
	}
	return nil
}

// Delete removes a group: its offsets first, and with them the group. Failing later leaves members that the next claim
// of the name removes, and the name: that is logged and no error.
func (s *RedisStore) Delete(ctx context.Context, name string, t Token) error {
	token := strconv.FormatUint(uint64(t), 10)
	answer, err := s.run(ctx, s.scripts.remove, s.commitsKey(name), token)
	if err == nil && word(answer, 0) != "OK" {
		err = ErrStale
	}
	if err != nil {
		return fmt.Errorf("delete group %q: %w", name, refused(err))
	}
	if err := s.deleteRest(ctx, name, token); err != nil {
		s.Log.Warn("a deleted group's members or name are left in Redis until it is claimed again", "group", name, "error", err)
	}
	return nil
}

// deleteRest removes what is left of a group without offsets. Nothing of a newer life goes.
func (s *RedisStore) deleteRest(ctx context.Context, name, token string) error {
	if _, err := s.run(ctx, s.scripts.remove, s.groupKey(name), token); err != nil {
		return fmt.Errorf("delete members: %w", err)
	}
	if _, err := s.do(ctx, s.client.B().Srem().Key(s.namesKey()).Member(name).Build()); err != nil {
		return fmt.Errorf("remove name: %w", err)
	}
	// A new life's claim adds the name before and after it makes the key: either it finds this removal done, or its key is
	// found here.
	r, err := s.do(ctx, s.client.B().Exists().Key(s.commitsKey(name)).Build())
	if err != nil {
		return fmt.Errorf("look for a new life: %w", err)
	}
	if alive, err := r.AsBool(); err != nil || !alive {
		return err
	}
	return s.addName(ctx, name)
}

// write is what one script sets and removes under a token.
type write struct {
	frees bool     // it is also done when Redis is full
	args  []string // of the script: three of its own, then what is set and, after that, removed
	pairs int      // arguments with what is set
}

// scriptArgs are those of the script before what is set.
const scriptArgs = 3

func newWrite(t Token, pairs, gone int) *write {
	w := &write{args: make([]string, scriptArgs, scriptArgs+2*pairs+gone)}
	w.args[0] = strconv.FormatUint(uint64(t), 10)
	return w
}

// set sets a field. All that is set comes before what is removed.
func (w *write) set(field, value string) {
	w.args = append(w.args, field, value)
	w.pairs += 2
}

func (w *write) remove(field string) { w.args = append(w.args, field) }

// write tells whether the key was another claim's. Its errors are not marked: the caller knows whether this is its first.
func (s *RedisStore) write(ctx context.Context, key string, w *write) (stale bool, err error) {
	w.args[1], w.args[2] = "0", strconv.Itoa(w.pairs)
	if w.frees {
		w.args[1] = "1"
	}
	answer, err := s.run(ctx, s.scripts.write, key, w.args...)
	return err == nil && word(answer, 0) != "OK", err
}
