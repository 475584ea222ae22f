package metadata

import (
	"context"
	"errors"
	"fmt"
	"strconv"
)

// Delete commits the end of this life of a topic; the worker removes its records. ErrUnknownTopic, ErrSuperseded,
// ErrUnavailable (then it may have been deleted).
func (s *Store) Delete(ctx context.Context, t *Topic) error {
	if err := s.ready(); err != nil {
		return fmt.Errorf("delete topic %s: %w", t.Name, err)
	}
	if err := s.CommitDeletion(ctx, t); err != nil {
		return fmt.Errorf("delete topic %s: %w", t.Name, err)
	}
	select {
	case s.deleted <- struct{}{}:
	default: // it is awake already
	}
	return nil
}

// CommitDeletion writes a topic to the list of deletions and then takes it off the topics: two keys of two slots, so a
// worker repeats both for every entry of the list that it finds. ErrUnknownTopic when it was off the topics before.
func (s *Store) CommitDeletion(ctx context.Context, t *Topic) error {
	for {
		encoded, revision, err := s.encode(t)
		if err != nil {
			return err
		}
		if _, err := s.do(ctx, s.redis.B().Hset().Key(s.deletingKey()).FieldValue().FieldValue(t.ID.String(), encoded).Build()); err != nil {
			return fmt.Errorf("list deletion: %w", err)
		}
		answer, err := s.run(ctx, s.scripts.topicRemove, s.topicsKey(), t.Name, t.ID.String(), strconv.FormatInt(t.Version, 10), revision)
		if err != nil {
			return fmt.Errorf("remove topic: %w", err)
		}
		switch text(answer, 0) {
		case "OK":
			s.removed(t, text(answer, 1), revision)
			return nil
		case "CONFLICT": // it was altered meanwhile: the list must name all its partitions
			if t, err = s.decode(t.Name, text(answer, 1)); err != nil {
				return err
			}
		default:
			s.Forget(t)
			return ErrUnknownTopic
		}
	}
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
