package coordinator

import (
	"sync/atomic"

	"github.com/google/uuid"

	"github.com/korvet-io/korvet/internal/group"
	"github.com/korvet-io/korvet/internal/metadata"
)

// Images makes views of the topics for the machines, one for each list of topics. It is safe for concurrent use.
type Images struct {
	last atomic.Pointer[image]
}

// Of returns the view of a list of topics in the order of their names, which must not be changed any more. ids are the
// same topics by id.
func (s *Images) Of(topics []*metadata.Topic) group.Image {
	for {
		last := s.last.Load()
		if last != nil && same(last.from, topics) {
			return last
		}
		next := newImage(topics)
		if last != nil {
			next.version = last.version + 1
		}
		if s.last.CompareAndSwap(last, next) {
			return next
		}
	}
}

// same tells that two lists are one.
func same(a, b []*metadata.Topic) bool {
	return len(a) == len(b) && (len(a) == 0 || &a[0] == &b[0])
}

// image is a group.Image.
type image struct {
	version uint64
	from    []*metadata.Topic
	topics  []group.Topic
	byName  map[string]int
	byID    map[uuid.UUID]int
}

func newImage(topics []*metadata.Topic) *image {
	i := &image{from: topics, byName: make(map[string]int, len(topics)), byID: make(map[uuid.UUID]int, len(topics))}
	for n, t := range topics {
		i.topics = append(i.topics, group.Topic{Name: t.Name, ID: t.ID, Partitions: t.Partitions})
		i.byName[t.Name], i.byID[t.ID] = n, n
	}
	return i
}

func (i *image) Topic(name string) (group.Topic, bool) {
	n, ok := i.byName[name]
	if !ok {
		return group.Topic{}, false
	}
	return i.topics[n], true
}

func (i *image) ByID(id uuid.UUID) (group.Topic, bool) {
	n, ok := i.byID[id]
	if !ok {
		return group.Topic{}, false
	}
	return i.topics[n], true
}

func (i *image) All() []group.Topic { return i.topics }

func (i *image) Version() uint64 { return i.version }
