package metadata

import (
	"context"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	"github.com/google/uuid"
	"github.com/redis/rueidis"
)

// All lists the topics known to this broker by name, from memory. It must not be changed.
func (s *Store) All() []*Topic { return s.snap.Load().all }

// Create commits a new topic. When it returns every broker finds it. ErrTopicExists, ErrSuperseded, ErrUnavailable (then
// it may have been created, unless it is ErrFull or ErrNotSaved, too).
func (s *Store) Create(ctx context.Context, name string, partitions int32, configs map[string]string) (*Topic, error) {
	if err := s.ready(); err != nil {
		return nil, fmt.Errorf("create topic %s: %w", name, err)
	}
	t, err := s.create(ctx, name, partitions, configs)
	if err != nil {
		return nil, fmt.Errorf("create topic %s: %w", name, err)
	}
	return t, nil
}

func (s *Store) create(ctx context.Context, name string, partitions int32, configs map[string]string) (*Topic, error) {
	now, above, err := s.lookBeforeCreate(ctx, name)
	if err != nil {
		return nil, err
	}
	for {
		id, err := newID(now, s.opt.Random, above...)
		if err != nil {
			return nil, err
		}
		t := &Topic{Name: name, ID: id, Partitions: partitions, Configs: configs, Version: 1, CreatedMs: now}
		encoded, revision, err := s.encodeChange(t)
		if err != nil {
			return nil, err
		}
		answer, err := s.run(ctx, s.scripts.topicCreate, s.topicsKey(), name, id.String(), encoded, revision)
		if err != nil {
			return nil, err
		}
		switch text(answer, 0) {
		case "OK":
			return s.changed(name, encoded, text(answer, 1), revision)
		case "BEHIND": // another topic was created meanwhile, in this very ms or by a clock that was ahead
			last, err := uuid.Parse(text(answer, 1))
			if err != nil {
				return nil, fmt.Errorf("decode the last topic id in %s: %w", s.topicsKey(), err)
			}
			above = append(above, last)
		default:
			return nil, ErrTopicExists
		}
	}
}

// lookBeforeCreate returns Redis's time and the ids that a new topic's id must be above: the highest one ever given and
// those of the topics that are being deleted, which another shard may remember better after a failover.
func (s *Store) lookBeforeCreate(ctx context.Context, name string) (now int64, above []uuid.UUID, err error) {
	answer, err := s.run(ctx, s.scripts.topicLook, s.topicsKey(), name)
	if err != nil {
		return 0, nil, err
	}
	if text(answer, 2) != "" {
		return 0, nil, ErrTopicExists
	}
	deleting, err := s.do(ctx, s.redis.B().Hkeys().Key(s.deletingKey()).Build())
	if err != nil {
		return 0, nil, err
	}
	ids, err := deleting.AsStrSlice()
	if err != nil {
		return 0, nil, fmt.Errorf("read %s: %w", s.deletingKey(), err)
	}
	for _, id := range append(ids, text(answer, 1)) {
		if parsed, err := uuid.Parse(id); err == nil {
			above = append(above, parsed)
		}
	}
	return integer(answer, 0), above, nil
}

// Alter replaces partition count and settings of the version that t is. ErrVersionConflict when there is a newer one,
// ErrTableLeaving, ErrUnknownTopic when this life of the topic is over, ErrSuperseded, ErrUnavailable (then it may have been altered).
func (s *Store) Alter(ctx context.Context, t *Topic, partitions int32, configs map[string]string) (*Topic, error) {
	next, err := s.alter(ctx, t, partitions, configs)
	if err != nil {
		return nil, fmt.Errorf("alter topic %s: %w", t.Name, err)
	}
	return next, nil
}

func (s *Store) alter(ctx context.Context, t *Topic, partitions int32, configs map[string]string) (*Topic, error) {
	if err := s.ready(); err != nil {
		return nil, err
	}
	if err := s.checkTable(ctx, t, configs); err != nil {
		return nil, err
	}
	next := *t
	next.Partitions, next.Configs, next.Version = partitions, configs, t.Version+1
	encoded, revision, err := s.encodeChange(&next)
	if err != nil {
		return nil, err
	}
	answer, err := s.run(ctx, s.scripts.topicAlter, s.topicsKey(), t.Name, t.ID.String(), strconv.FormatInt(t.Version, 10), encoded, revision)
	if err != nil {
		return nil, err
	}
	switch text(answer, 0) {
	case "OK":
		return s.changed(t.Name, encoded, text(answer, 1), revision)
	case "CONFLICT":
		if _, err := s.changed(t.Name, text(answer, 1), "", ""); err != nil {
			return nil, err
		}
		return nil, ErrVersionConflict
	default:
		s.forget(t)
		return nil, ErrUnknownTopic
	}
}

// encodeChange returns a topic's JSON and a new revision of korvet:topics.
func (s *Store) encodeChange(t *Topic) (encoded, revision string, err error) {
	if encoded, err = encode(t); err != nil {
		return "", "", err
	}
	revision, err = s.newRevision()
	return encoded, revision, err
}

func encode(t *Topic) (string, error) {
	b, err := json.Marshal(t)
	if err != nil {
		return "", fmt.Errorf("encode topic: %w", err)
	}
	return string(b), nil
}

// newRevision makes a random name for the state of a hash after a change: a counter would repeat after a failover.
func (s *Store) newRevision() (string, error) {
	r, err := uuid.NewRandomFromReader(s.opt.Random)
	if err != nil {
		return "", fmt.Errorf("make revision: %w", err)
	}
	return r.String(), nil
}

// changed takes a topic as Redis has it into memory and returns it. When nothing else changed since the snapshot, the
// snapshot is at the new revision; else, or when the topic was only read (no revisions), the next heartbeat reloads: what
// was read may be older than what this store did meanwhile.
func (s *Store) changed(name, encoded, before, revision string) (*Topic, error) {
	t, err := s.decode(name, encoded)
	if err != nil {
		return nil, err
	}
	s.put(name, t, before, revision)
	return t, nil
}

// put replaces a topic in memory, or removes it when t is nil. An older version or life never replaces a newer one.
func (s *Store) put(name string, t *Topic, before, revision string) {
	s.apply.Lock()
	defer s.apply.Unlock()
	cur := s.snap.Load()
	if before != cur.revision {
		revision = ""
	}
	if t != nil {
		t.Config = s.opt.Schema.Effective(t.Name, t.Configs) // the dynamic defaults may have changed since it was decoded
	}
	if have := cur.byName[name]; have != nil && t != nil && have.newerThan(t) {
		t = have
	}
	s.snap.Store(cur.with(name, t, revision))
}

func (t *Topic) newerThan(o *Topic) bool {
	if t.ID != o.ID {
		return t.ID.String() > o.ID.String()
	}
	return t.Version > o.Version
}

// forget drops one life of a topic from memory, so that the next reader asks Redis: somebody found that it is over.
func (s *Store) forget(t *Topic) {
	s.apply.Lock()
	defer s.apply.Unlock()
	cur := s.snap.Load()
	if have := cur.byName[t.Name]; have != nil && have.ID == t.ID {
		s.snap.Store(cur.with(t.Name, nil, cur.revision))
	}
}

// decode reads the JSON of the topic that has this name, and resolves its settings.
func (s *Store) decode(name, encoded string) (*Topic, error) {
	t, err := s.decodeAny(encoded)
	if err == nil && t.Name != name {
		err = fmt.Errorf("decode topic: the entry of %q is one of %q", name, t.Name)
	}
	return t, err
}

// maxPartitions is more than any topic is created with: an entry beyond it was not written by a broker, and answers that
// list its partitions would cost the broker its memory.
const maxPartitions = 1_000_000

func (s *Store) decodeAny(encoded string) (*Topic, error) {
	t := &Topic{}
	if err := json.Unmarshal([]byte(encoded), t); err != nil {
		return nil, fmt.Errorf("decode topic: %w", err)
	}
	if t.Name == "" || t.ID == uuid.Nil || t.Partitions < 1 || t.Partitions > maxPartitions {
		return nil, fmt.Errorf("decode topic: name %q, id %s, %d partitions", t.Name, t.ID, t.Partitions)
	}
	t.Config = s.opt.Schema.Effective(t.Name, t.Configs)
	return t, nil
}

// refresh reloads the topics if any changed.
func (s *Store) refresh(ctx context.Context) error {
	r, err := s.do(ctx, s.redis.B().Hget().Key(s.topicsKey()).Field(":rev").Build())
	if err != nil {
		return fmt.Errorf("read topics' revision: %w", err)
	}
	revision, err := r.ToString()
	if err != nil && !rueidis.IsRedisNil(err) {
		return fmt.Errorf("read topics' revision: %w", err)
	}
	if cur := s.snap.Load(); cur.revision == revision && (revision != "" || len(cur.all) == 0) {
		return nil
	}
	return s.reload(ctx)
}

// reload reads all topics. It holds back other changes of the snapshot, so that it never undoes one that came after its
// reading. An entry that is not ours is logged and left out.
func (s *Store) reload(ctx context.Context) error {
	s.apply.Lock()
	defer s.apply.Unlock()
	r, err := s.do(ctx, s.redis.B().Hgetall().Key(s.topicsKey()).Build())
	if err != nil {
		return fmt.Errorf("read topics: %w", err)
	}
	entries, err := r.AsStrMap()
	if err != nil {
		return fmt.Errorf("read topics: %w", err)
	}
	topics := make([]*Topic, 0, len(entries))
	for name, encoded := range entries {
		if strings.HasPrefix(name, ":") {
			continue
		}
		t, err := s.decode(name, encoded)
		if err != nil {
			s.opt.Log.Warn("leaving out an entry that is no topic", "key", s.topicsKey(), "error", err)
			continue
		}
		topics = append(topics, t)
	}
	s.snap.Store(s.snap.Load().withTopics(topics, entries[":rev"]))
	return nil
}
