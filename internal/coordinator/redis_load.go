package coordinator

import (
	"context"
	"fmt"
	"strconv"
	"strings"
)

// Fields that one step of a load asks for: what Redis answers at once delays everybody else's commands.
const (
	offsetsAtOnce = 1000
	membersAtOnce = 100
)

// load reads what is stored of a claimed group. A field that cannot be read is logged and counted, and does not keep the
// rest from being loaded.
func (s *RedisStore) load(ctx context.Context, name, generation string) (Loaded, error) {
	l := loader{offsets: map[TopicPartition]Offset{}}
	if generation != "" {
		l.generation(fieldGeneration, generation)
	}
	if err := s.scan(ctx, s.commitsKey(name), offsetsAtOnce, l.offset); err != nil {
		return Loaded{}, fmt.Errorf("read offsets: %w", err)
	}
	if err := s.scan(ctx, s.groupKey(name), membersAtOnce, l.member); err != nil {
		return Loaded{}, fmt.Errorf("read members: %w", err)
	}
	if l.bad > 0 {
		s.unreadable.Add(l.bad)
		s.Log.Warn("skipped what cannot be read of a group", "group", name, "fields", l.bad, "first", l.firstBad)
	}
	for _, o := range l.offsets {
		l.loaded.Offsets = append(l.loaded.Offsets, o)
	}
	return l.loaded, nil
}

// scan calls field for the fields of a hash, some maybe twice.
func (s *RedisStore) scan(ctx context.Context, key string, atOnce int64, field func(name, value string)) error {
	for cursor := uint64(0); ; {
		r, err := s.do(ctx, s.client.B().Hscan().Key(key).Cursor(cursor).Count(atOnce).Build())
		if err != nil {
			return err
		}
		page, err := r.AsScanEntry()
		if err != nil {
			return fmt.Errorf("parse page: %w", err)
		}
		for i := 0; i+1 < len(page.Elements); i += 2 {
			field(page.Elements[i], page.Elements[i+1])
		}
		if cursor = page.Cursor; cursor == 0 {
			return nil
		}
	}
}

// loader makes a group of its fields.
type loader struct {
	loaded   Loaded
	offsets  map[TopicPartition]Offset
	bad      uint64
	firstBad error
}

func (l *loader) offset(field, value string) {
	if strings.HasPrefix(field, ":") {
		return
	}
	o, err := parseOffset(field, value)
	if err != nil {
		l.skip(err)
		return
	}
	l.offsets[o.TopicPartition] = o
}

func (l *loader) member(field, value string) {
	id, isMember := strings.CutPrefix(field, memberPrefix)
	switch {
	case isMember && l.loaded.Group.Members == nil:
		l.loaded.Group.Members = map[string][]byte{id: []byte(value)}
	case isMember:
		l.loaded.Group.Members[id] = []byte(value)
	case field == fieldGroup:
		l.loaded.Group.Group = []byte(value)
	case field == fieldGeneration:
		l.generation(field, value)
	}
}

func (l *loader) generation(field, value string) {
	n, err := strconv.ParseInt(value, 10, 32)
	if err != nil {
		l.skip(fmt.Errorf("parse %s: %w", field, err))
		return
	}
	l.loaded.Group.Generation = max(l.loaded.Group.Generation, int32(n))
}

func (l *loader) skip(err error) {
	if l.bad++; l.firstBad == nil {
		l.firstBad = err
	}
}
