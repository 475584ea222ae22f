package group

import (
	"bytes"
	"slices"

	"github.com/google/uuid"
)

// partitionSet is a set of partitions: topics in the order of their ids without one that is empty, partitions ascending
// and each once. It is never changed once made, so that members, answers and descriptions share it.
type partitionSet []TopicPartitions

// topicPartition names one partition.
type topicPartition struct {
	topic     uuid.UUID
	partition int32
}

func compareIDs(a, b uuid.UUID) int { return bytes.Compare(a[:], b[:]) }

// setOf makes a set of what a client or a store tells, in whatever order and however often.
func setOf(tps []TopicPartitions) partitionSet {
	byID := make(map[uuid.UUID][]int32, len(tps))
	for _, t := range tps {
		byID[t.Topic] = append(byID[t.Topic], t.Partitions...)
	}
	return setOfTopics(byID)
}

// setOfTopics makes a set of partitions by topic, whose slices it takes over.
func setOfTopics(byID map[uuid.UUID][]int32) partitionSet {
	s := make(partitionSet, 0, len(byID))
	for id, partitions := range byID {
		slices.Sort(partitions)
		partitions = slices.DeleteFunc(slices.Compact(partitions), func(p int32) bool { return p < 0 })
		if len(partitions) > 0 {
			s = append(s, TopicPartitions{id, partitions})
		}
	}
	slices.SortFunc(s, func(a, b TopicPartitions) int { return compareIDs(a.Topic, b.Topic) })
	return s
}

// topic returns the set's partitions of one topic.
func (s partitionSet) topic(id uuid.UUID) []int32 {
	i, found := slices.BinarySearchFunc(s, id, func(t TopicPartitions, id uuid.UUID) int { return compareIDs(t.Topic, id) })
	if !found {
		return nil
	}
	return s[i].Partitions
}

func (s partitionSet) has(tp topicPartition) bool {
	_, found := slices.BinarySearch(s.topic(tp.topic), tp.partition)
	return found
}

func (s partitionSet) equal(o partitionSet) bool {
	return slices.EqualFunc(s, o, func(a, b TopicPartitions) bool {
		return a.Topic == b.Topic && slices.Equal(a.Partitions, b.Partitions)
	})
}

// each calls f for every partition in order until it returns false, and tells whether it never did.
func (s partitionSet) each(f func(topicPartition) bool) bool {
	for _, t := range s {
		for _, p := range t.Partitions {
			if !f(topicPartition{t.Topic, p}) {
				return false
			}
		}
	}
	return true
}

// filter returns the partitions that f keeps.
func (s partitionSet) filter(f func(topicPartition) bool) partitionSet {
	var kept partitionSet
	for _, t := range s {
		var partitions []int32
		for _, p := range t.Partitions {
			if f(topicPartition{t.Topic, p}) {
				partitions = append(partitions, p)
			}
		}
		if len(partitions) > 0 {
			kept = append(kept, TopicPartitions{t.Topic, partitions})
		}
	}
	return kept
}

// topics returns the partitions of the topics that f keeps: the set itself if that is all of it.
func (s partitionSet) topics(f func(uuid.UUID) bool) partitionSet {
	for i := range s {
		if f(s[i].Topic) {
			continue
		}
		kept := slices.Clone(s[:i])
		for _, t := range s[i+1:] {
			if f(t.Topic) {
				kept = append(kept, t)
			}
		}
		return kept
	}
	return s
}

func (s partitionSet) intersect(o partitionSet) partitionSet {
	if s.equal(o) {
		return s
	}
	return s.filter(o.has)
}

func (s partitionSet) minus(o partitionSet) partitionSet {
	if len(o) == 0 {
		return s
	}
	return s.filter(func(tp topicPartition) bool { return !o.has(tp) })
}

func (s partitionSet) union(o partitionSet) partitionSet {
	switch {
	case len(o) == 0:
		return s
	case len(s) == 0:
		return o
	}
	byID := make(map[uuid.UUID][]int32, len(s)+len(o))
	for _, set := range []partitionSet{s, o} {
		for _, t := range set {
			byID[t.Topic] = append(slices.Clip(byID[t.Topic]), t.Partitions...)
		}
	}
	return setOfTopics(byID)
}
