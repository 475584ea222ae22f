package metadata

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/google/uuid"
	"github.com/redis/rueidis"
)

// Topic finds a topic by name: in memory, else in Redis, which is asked at most once in Options.MissInterval for one
// name. ErrUnknownTopic, ErrUnavailable.
func (s *Store) Topic(ctx context.Context, name string) (*Topic, error) {
	if t := s.snap.Load().byName[name]; t != nil {
		return t, nil
	}
	if name == "" || len(name) > maxTopicName || strings.HasPrefix(name, ":") {
		return nil, ErrUnknownTopic
	}
	err := s.misses.once(ctx, "name:"+name, func() error { return s.fetch(ctx, name) })
	if err != nil {
		return nil, fmt.Errorf("find topic %s: %w", name, err)
	}
	if t := s.snap.Load().byName[name]; t != nil {
		return t, nil
	}
	return nil, ErrUnknownTopic
}

// TopicByID finds a topic by id in the same way. ErrUnknownTopicID, ErrUnavailable.
func (s *Store) TopicByID(ctx context.Context, id uuid.UUID) (*Topic, error) {
	if t := s.snap.Load().byID[id]; t != nil {
		return t, nil
	}
	if id == uuid.Nil {
		return nil, ErrUnknownTopicID
	}
	err := s.misses.once(ctx, "id:"+id.String(), func() error {
		if err := s.ready(); err != nil {
			return err
		}
		return s.refresh(ctx)
	})
	if err != nil {
		return nil, fmt.Errorf("find topic id %s: %w", id, err)
	}
	if t := s.snap.Load().byID[id]; t != nil {
		return t, nil
	}
	return nil, ErrUnknownTopicID
}

// fetch reads one topic from Redis into memory.
func (s *Store) fetch(ctx context.Context, name string) error {
	if err := s.ready(); err != nil {
		return err
	}
	r, err := s.do(ctx, s.redis.B().Hget().Key(s.topicsKey()).Field(name).Build())
	if err != nil {
		return err
	}
	encoded, err := r.ToString()
	if rueidis.IsRedisNil(err) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("%w: %w", ErrUnavailable, err)
	}
	_, err = s.changed(name, encoded, "", "")
	return err
}

// maxTopicName is the length of the longest name that a topic can have.
const maxTopicName = 249

// maxMisses bounds the names that misses remembers.
const maxMisses = 4096

// misses makes concurrent readers of one missing thing share one look at Redis, and later ones wait for their turn.
type misses struct {
	interval time.Duration
	now      func() time.Time

	mu   sync.Mutex
	byID map[string]*miss
}

type miss struct {
	at   time.Time
	done chan struct{} // closed when err is set
	err  error
}

func (m *misses) init(interval time.Duration, now func() time.Time) {
	m.interval, m.now, m.byID = interval, now, map[string]*miss{}
}

// once calls look unless somebody did within the interval, and returns the outcome of the call that counts.
func (m *misses) once(ctx context.Context, what string, look func() error) error {
	m.mu.Lock()
	now := m.now()
	cur := m.byID[what]
	if cur != nil && now.Sub(cur.at) < m.interval {
		m.mu.Unlock()
		select {
		case <-cur.done:
		case <-ctx.Done():
			return fmt.Errorf("%w: %w", ErrUnavailable, ctx.Err())
		}
		if !errors.Is(cur.err, context.Canceled) { // that caller hung up: it says nothing about Redis
			return cur.err
		}
		return look()
	}
	if len(m.byID) >= maxMisses {
		m.dropOld(now)
	}
	cur = &miss{at: now, done: make(chan struct{})}
	m.byID[strings.Clone(what)] = cur
	m.mu.Unlock()
	cur.err = look()
	close(cur.done)
	return cur.err
}

// dropOld forgets what may be asked again anyway, or everything when that is nothing.
func (m *misses) dropOld(now time.Time) {
	for what, cur := range m.byID {
		if now.Sub(cur.at) >= m.interval {
			delete(m.byID, what)
		}
	}
	if len(m.byID) >= maxMisses {
		clear(m.byID)
	}
}
