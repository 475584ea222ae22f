package metadata

import (
	"cmp"
	"slices"

	"github.com/google/uuid"
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
	topics := slices.DeleteFunc(slices.Clone(s.all), func(o *Topic) bool { return o.Name == name })
	if t != nil {
		topics = append(topics, t)
	}
	return s.withTopics(topics, revision)
}

func (s *snapshot) withNodes(nodes []Node) *snapshot {
	next := *s
	next.nodes = nodes
	slices.SortFunc(nodes, func(a, b Node) int { return cmp.Compare(a.ID, b.ID) })
	return &next
}
