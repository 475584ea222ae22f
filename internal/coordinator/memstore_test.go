package coordinator

import (
	"context"
	"errors"
	"maps"
	"slices"
	"sync"

	"github.com/korvet-io/korvet/internal/group"
)

// errLost is an unknown outcome.
var errLost = errors.New("the answer was lost")

// memStore is a Store in memory with faults. It checks that each group is written by one claim at a time.
type memStore struct {
	mu     sync.Mutex
	tokens Token
	groups map[string]*memGroup
	// fault decides what happens to a call: "" it works; "refused"; "lost" it does not happen and its answer is lost;
	// "late" its answer is lost and it happens when the next call of the store comes.
	fault func(call, name string) string
	late  []func()
}

type memGroup struct {
	token      Token
	generation int32
	group      []byte
	members    map[string][]byte
	offsets    map[TopicPartition]Offset
}

func newMemStore() *memStore { return &memStore{groups: map[string]*memGroup{}} }

func (s *memStore) call(what, name string, f func(answered bool) error) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	late := s.late
	s.late = nil
	for _, l := range late {
		l()
	}
	fault := ""
	if s.fault != nil {
		fault = s.fault(what, name)
	}
	switch fault {
	case "refused":
		return ErrRefused
	case "lost":
		return errLost
	case "late":
		s.late = append(s.late, func() { _ = f(false) }) // nobody hears of it
		return errLost
	case "done":
		_ = f(false) // it happened, and nobody hears of it
		return errLost
	}
	return f(true)
}

func (s *memStore) Names(context.Context) ([]string, error) {
	var names []string
	err := s.call("names", "", func(answered bool) error {
		if answered {
			names = slices.Sorted(maps.Keys(s.groups))
		}
		return nil
	})
	return names, err
}

func (s *memStore) Exists(_ context.Context, name string) (there bool, err error) {
	err = s.call("exists", name, func(answered bool) error {
		g := s.groups[name]
		if answered {
			there = g != nil && (g.group != nil || len(g.offsets) > 0)
		}
		return nil
	})
	return there, err
}

func (s *memStore) Claim(_ context.Context, name string) (Token, Loaded, error) {
	var made Token
	var found Loaded
	err := s.call("claim", name, func(answered bool) error {
		var t Token
		var l Loaded
		g := s.groups[name]
		if g == nil {
			g = &memGroup{members: map[string][]byte{}, offsets: map[TopicPartition]Offset{}}
			s.groups[name] = g
		}
		s.tokens++
		g.token = s.tokens
		t = g.token
		l.Group = group.Stored{Generation: g.generation, Group: g.group, Members: maps.Clone(g.members)}
		for _, o := range g.offsets {
			l.Offsets = append(l.Offsets, o)
		}
		if answered { // else this runs when nobody waits for it any more
			made, found = t, l
		}
		return nil
	})
	return made, found, err
}

// Holds tells whether a claim is the newest; token 0 whether there is none.
func (s *memStore) Holds(_ context.Context, name string, t Token) error {
	return s.call("holds", name, func(bool) error {
		g := s.groups[name]
		if g == nil && t != 0 || g != nil && g.token != t {
			return ErrStale
		}
		return nil
	})
}

// owned runs f on a group if the claim is the newest.
func (s *memStore) owned(what, name string, t Token, f func(g *memGroup)) error {
	return s.call(what, name, func(bool) error {
		g := s.groups[name]
		if g == nil || g.token != t {
			return ErrStale
		}
		f(g)
		return nil
	})
}

func (s *memStore) Room(_ context.Context, name string) error {
	return s.call("room", name, func(bool) error { return nil })
}

func (s *memStore) Commit(_ context.Context, name string, t Token, set []Offset, gone []TopicPartition) error {
	return s.owned("commit", name, t, func(g *memGroup) {
		for _, o := range set {
			g.offsets[o.TopicPartition] = o
		}
		for _, p := range gone {
			delete(g.offsets, p)
		}
	})
}

func (s *memStore) Save(_ context.Context, name string, t Token, c *group.Changes) error {
	return s.owned("save", name, t, func(g *memGroup) {
		g.generation = c.Generation
		if c.Group != nil {
			g.group = c.Group
		}
		maps.Copy(g.members, c.Members)
		for _, id := range c.Gone {
			delete(g.members, id)
		}
	})
}

func (s *memStore) Delete(_ context.Context, name string, t Token) error {
	return s.owned("delete", name, t, func(*memGroup) { delete(s.groups, name) })
}
