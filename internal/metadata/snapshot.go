package metadata

import (
	"cmp"
	"maps"
	"slices"

	"github.com/google/uuid"

	"github.com/korvet-io/korvet/internal/topicconfig"
)

// snapshot is what this broker knows. It is immutable; the maps may be nil.
type snapshot struct {
	revision string // of korvet:topics; a change that was not seen whole leaves an older one, so that the next look reloads
	byName   map[string]*Topic
	byID     map[uuid.UUID]*Topic
	all      []*Topic // by name
	nodes    []Node   // by id
}

// withTopics returns a snapshot of other topics.
func (s *snapshot) withTopics(topics []*Topic, revision string) *snapshot {
	next := &snapshot{
		revision: revision,
		byName:   make(map[string]*Topic, len(topics)),
		byID:     make(map[uuid.UUID]*Topic, len(topics)),
		all:      topics,
		nodes:    s.nodes,
	}
	slices.SortFunc(topics, func(a, b *Topic) int { return cmp.Compare(a.Name, b.Name) })
	for _, t := range topics {
		next.byName[t.Name], next.byID[t.ID] = t, t
	}
	return next
}

// with returns a snapshot with one topic added or replaced, or removed when t is nil.
func (s *snapshot) with(name string, t *Topic, revision string) *snapshot {
	next := &snapshot{
		revision: revision,
		byName:   make(map[string]*Topic, len(s.byName)+1),
		byID:     make(map[uuid.UUID]*Topic, len(s.byID)+1),
		all:      slices.Clone(s.all),
		nodes:    s.nodes,
	}
	maps.Copy(next.byName, s.byName)
	maps.Copy(next.byID, s.byID)
	i, found := slices.BinarySearchFunc(next.all, name, func(o *Topic, name string) int { return cmp.Compare(o.Name, name) })
	if found {
		delete(next.byName, name)
		delete(next.byID, next.all[i].ID)
		next.all = slices.Delete(next.all, i, i+1)
	}
	if t != nil {
		next.byName[t.Name], next.byID[t.ID] = t, t
		next.all = slices.Insert(next.all, i, t)
	}
	return next
}

// resolved returns a snapshot of the same topics with their settings resolved anew.
func (s *snapshot) resolved(schema *topicconfig.Schema) *snapshot {
	topics := make([]*Topic, len(s.all))
	for i, t := range s.all {
		next := *t
		next.Config = schema.Effective(t.Name, t.Configs)
		topics[i] = &next
	}
	return s.withTopics(topics, s.revision)
}

func (s *snapshot) withNodes(nodes []Node) *snapshot {
	next := *s
	next.nodes = nodes
	slices.SortFunc(nodes, func(a, b Node) int { return cmp.Compare(a.ID, b.ID) })
	return &next
}
