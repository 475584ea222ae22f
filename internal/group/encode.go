package group

import (
	"encoding/json"
	"fmt"
	"slices"
	"time"
)

// decode reads a group as it was stored. The group's own line says which protocol's it is.
func decode(g *Group, st Stored, now time.Time) (machine, error) {
	if st.Group == nil {
		c := newClassic(g, now)
		c.unheard = false
		c.generation = st.Generation
		return c, nil
	}
	var line struct {
		Type Type `json:"type"`
	}
	if err := json.Unmarshal(st.Group, &line); err != nil {
		return nil, fmt.Errorf("decode group: %w", err)
	}
	switch line.Type {
	case Classic:
		return decodeClassic(g, st, now)
	case Consumer:
		return decodeConsumer(g, st, now)
	default:
		return nil, fmt.Errorf("decode group: unknown type %q", line.Type)
	}
}

// save adds changes to what is to be stored. Where earlier ones of the same effects say something else, these are right.
func (e *Effects) save(c *Changes) {
	if e.Save == nil {
		e.Save = c
		return
	}
	s := e.Save
	s.Generation, s.Group = c.Generation, c.Group
	s.Gone = slices.DeleteFunc(s.Gone, func(id string) bool { return c.Members[id] != nil })
	if s.Members == nil {
		s.Members = map[string][]byte{}
	}
	for id, m := range c.Members {
		s.Members[id] = m
	}
	for _, id := range c.Gone {
		delete(s.Members, id)
		if !slices.Contains(s.Gone, id) {
			s.Gone = append(s.Gone, id)
		}
	}
}

// encode makes JSON of a type of this package that JSON has a form for.
func encode(v any) []byte {
	b, err := json.Marshal(v)
	if err != nil {
		panic(fmt.Sprintf("encode %T: %v", v, err))
	}
	return b
}
