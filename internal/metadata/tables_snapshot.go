package metadata

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/google/uuid"
	"github.com/redis/rueidis"
)

// tableSnapshot is what this broker knows of korvet:storage:tables. It is immutable; the map may be nil.
type tableSnapshot struct {
	revision string  // as in snapshot: an older one makes the next heartbeat reload
	all      []Table // those that topics have, by name
	dropped  []Table
	byTopic  map[uuid.UUID]Table
}

func newTableSnapshot(tables, dropped []Table, revision string) *tableSnapshot {
	slices.SortFunc(tables, byName)
	next := &tableSnapshot{revision: revision, all: tables, dropped: dropped, byTopic: make(map[uuid.UUID]Table, len(tables))}
	for _, t := range tables {
		next.byTopic[t.TopicID] = t
	}
	return next
}

func byName(a, b Table) int { return cmp.Compare(a.Name, b.Name) }

func (s *tableSnapshot) has(name string) bool {
	_, found := slices.BinarySearchFunc(s.all, Table{Name: name}, byName)
	return found
}

// putTable adds a table to memory. When there was another change in between the next heartbeat reloads, as in put.
func (s *Store) putTable(t Table, before, revision string) {
	s.apply.Lock()
	defer s.apply.Unlock()
	cur := s.tables.Load()
	if before != cur.revision {
		revision = ""
	}
	others := slices.DeleteFunc(slices.Clone(cur.all), func(o Table) bool { return o.Name == t.Name })
	s.tables.Store(newTableSnapshot(append(others, t), cur.dropped, revision))
}

// refreshTables reloads the tables if any changed.
func (s *Store) refreshTables(ctx context.Context) error {
	r, err := s.do(ctx, s.redis.B().Hget().Key(s.tablesKey()).Field(":rev").Build())
	if err != nil {
		return fmt.Errorf("read tables' revision: %w", err)
	}
	revision, err := r.ToString()
	if err != nil && !rueidis.IsRedisNil(err) {
		return fmt.Errorf("read tables' revision: %w", err)
	}
	if cur := s.tables.Load(); cur.revision == revision && (revision != "" || len(cur.all) == 0) {
		return nil
	}
	return s.reloadTables(ctx)
}

// reloadTables reads all tables, holding back other changes, as reload does. An entry that is not ours is logged and left out.
func (s *Store) reloadTables(ctx context.Context) error {
	s.apply.Lock()
	defer s.apply.Unlock()
	r, err := s.do(ctx, s.redis.B().Hgetall().Key(s.tablesKey()).Build())
	if err != nil {
		return fmt.Errorf("read tables: %w", err)
	}
	entries, err := r.AsStrMap()
	if err != nil {
		return fmt.Errorf("read tables: %w", err)
	}
	var tables, dropped []Table
	for field, encoded := range entries {
		folder, isDropped := strings.CutPrefix(field, ":dropped:")
		if !isDropped && strings.HasPrefix(field, ":") {
			continue
		}
		t, err := decodeTable(encoded)
		if err == nil && (isDropped && (t.folder() != folder || t.DroppedMs == 0) || !isDropped && (t.Name != field || t.DroppedMs != 0)) {
			err = fmt.Errorf("decode table: the entry of %q is one of %q at %s", field, t.Name, t.Location)
		}
		switch {
		case err != nil:
			s.opt.Log.Warn("leaving out an entry that is no table", "key", s.tablesKey(), "error", err)
		case isDropped:
			dropped = append(dropped, t)
		default:
			tables = append(tables, t)
		}
	}
	s.tables.Store(newTableSnapshot(tables, dropped, entries[":rev"]))
	return nil
}
