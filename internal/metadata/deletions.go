package metadata

import (
	"context"
	"errors"
	"fmt"
	"strconv"

	"github.com/redis/rueidis"
)

// Delete commits the end of this life of a topic; the worker removes its records. ErrUnknownTopic, ErrSuperseded,
// ErrUnavailable (then it may have been deleted).
func (s *Store) Delete(ctx context.Context, t *Topic) error {
	if err := s.ready(); err != nil {
		return fmt.Errorf("delete topic %s: %w", t.Name, err)
	}
	if err := s.delete(ctx, t); err != nil {
		return fmt.Errorf("delete topic %s: %w", t.Name, err)
	}
	s.wakeDeletions()
	return nil
}

func (s *Store) wakeDeletions() {
	select {
	case s.deleted <- struct{}{}:
	default: // it is awake already
	}
}

// delete lists a topic that is there and takes it off the topics. The worker may do the latter as soon as it is listed.
func (s *Store) delete(ctx context.Context, t *Topic) error {
	there, err := s.exists(ctx, t)
	if err != nil {
		return err
	}
	if !there {
		s.forget(t)
		return ErrUnknownTopic
	}
	_, outcome, err := s.commitDeletion(ctx, t)
	if err == nil && outcome == deletedByOthers {
		err = ErrUnknownTopic
	}
	return err
}

// exists asks Redis whether this life of a topic is among the topics.
func (s *Store) exists(ctx context.Context, t *Topic) (bool, error) {
	r, err := s.do(ctx, s.redis.B().Hget().Key(s.topicsKey()).Field(t.Name).Build())
	if err != nil {
		return false, err
	}
	encoded, err := r.ToString()
	if rueidis.IsRedisNil(err) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("%w: %w", ErrUnavailable, err)
	}
	have, err := s.decode(t.Name, encoded)
	if err != nil {
		return false, err
	}
	return have.ID == t.ID, nil
}

// deletion tells whose a topic's deletion is.
type deletion int

const (
	deletedByOthers deletion = iota
	deletedHere              // this call took it off the topics, or listed it for whoever did
)

// CommitDeletion makes sure that a listed life of a topic is off the topics, and returns it with all the partitions that
// it ever had. ErrUnavailable.
func (s *Store) CommitDeletion(ctx context.Context, t *Topic) (*Topic, error) {
	final, _, err := s.commitDeletion(ctx, t)
	if err != nil {
		return nil, fmt.Errorf("commit deletion of topic %s: %w", t.Name, err)
	}
	return final, nil
}

// commitDeletion writes a topic to the list of deletions and then takes it off the topics: two keys of two slots, so
// whoever finds it on the list repeats both. Once it is off the topics its entry on the list does not change any more.
func (s *Store) commitDeletion(ctx context.Context, t *Topic) (final *Topic, by deletion, err error) {
	for {
		var first bool
		if t, first, err = s.list(ctx, t); err != nil {
			return nil, by, err
		}
		if first {
			by = deletedHere
		}
		revision, err := s.newRevision()
		if err != nil {
			return nil, by, err
		}
		answer, err := s.run(ctx, s.scripts.topicRemove, s.topicsKey(), t.Name, t.ID.String(), strconv.FormatInt(t.Version, 10), revision)
		if err != nil {
			return nil, by, err
		}
		switch text(answer, 0) {
		case "OK":
			s.removed(t, text(answer, 1), revision)
			return t, deletedHere, nil
		case "CONFLICT": // it was altered meanwhile: the list must name all its partitions
			if t, err = s.decode(t.Name, text(answer, 1)); err != nil {
				return nil, by, err
			}
		default: // somebody else took it off, maybe in a newer version than the one listed above
			s.forget(t)
			t, _, err = s.list(ctx, t)
			return t, by, err
		}
	}
}

// list writes a topic to the list of deletions unless a newer version is there, and returns the one that is. first tells
// that this life of it was not listed before.
func (s *Store) list(ctx context.Context, t *Topic) (listed *Topic, first bool, err error) {
	encoded, err := encode(t)
	if err != nil {
		return nil, false, err
	}
	answer, err := s.run(ctx, s.scripts.deletionList, s.deletingKey(), t.ID.String(), strconv.FormatInt(t.Version, 10), encoded)
	if err != nil {
		return nil, false, err
	}
	listed, err = s.decode(t.Name, text(answer, 0))
	return listed, integer(answer, 1) == 1, err
}

// removed takes this life of a topic out of memory.
func (s *Store) removed(t *Topic, before, revision string) {
	if have := s.snap.Load().byName[t.Name]; have != nil && have.ID != t.ID {
		return // the next life is known already
	}
	s.put(t.Name, nil, before, revision)
}

// Deletions lists the lives of topics that wait for the worker. Entries that are not ours are errors beside the list.
func (s *Store) Deletions(ctx context.Context) ([]*Topic, error) {
	r, err := s.do(ctx, s.redis.B().Hvals().Key(s.deletingKey()).Build())
	if err != nil {
		return nil, fmt.Errorf("read deletions: %w", err)
	}
	entries, err := r.AsStrSlice()
	if err != nil {
		return nil, fmt.Errorf("read deletions: %w", err)
	}
	var topics []*Topic
	var problems []error
	for _, encoded := range entries {
		t, err := s.decodeAny(encoded)
		if err != nil {
			problems = append(problems, err)
			continue
		}
		topics = append(topics, t)
	}
	return topics, errors.Join(problems...)
}

// DeletionDone takes a topic off the list of deletions once nothing of it is left.
func (s *Store) DeletionDone(ctx context.Context, t *Topic) error {
	if _, err := s.do(ctx, s.redis.B().Hdel().Key(s.deletingKey()).Field(t.ID.String()).Build()); err != nil {
		return fmt.Errorf("unlist deletion of %s: %w", t.Name, err)
	}
	return nil
}
