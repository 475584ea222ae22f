package group

import (
	"cmp"
	"slices"

	"github.com/google/uuid"
)

// The names of the server-side assignors (KIP-848), for Settings.Assignors.
const (
	UniformAssignor = "uniform"
	RangeAssignor   = "range"
)

// assignor gives every partition of the topics, which are in the order of their ids, to one of the members subscribed to
// it, and returns what each member gets, in the members' order. From the same it makes the same. Racks are not looked at:
// no broker is nearer to the storage than another.
type assignor func(members []subscriber, topics []Topic) []partitionSet

// assignorNamed is the assignor of a known name.
func assignorNamed(name string) assignor {
	if name == RangeAssignor {
		return assignRange
	}
	return assignUniform
}

// subscriber is a member as an assignor sees it.
type subscriber struct {
	id, instance string
	topics       []int        // indexes of topics, ascending
	current      partitionSet // what it was to have by the last assignment
}

// hand collects what one member gets: partitions by the index of their topic.
type hand map[int][]int32

func (h hand) set(topics []Topic) partitionSet {
	byID := make(map[uuid.UUID][]int32, len(h))
	for t, partitions := range h {
		byID[topics[t].ID] = partitions
	}
	return setOfTopics(byID)
}

// subscribersOf lists for each topic the indexes of the members subscribed to it.
func subscribersOf(members []subscriber, topics []Topic) [][]int {
	subs := make([][]int, len(topics))
	for m := range members {
		for _, t := range members[m].topics {
			subs[t] = append(subs[t], m)
		}
	}
	return subs
}

// assignRange gives each member of a topic, in the order of instance ids and then member ids, a run of its partitions.
// Topics with as many partitions and the same members are divided alike: equal partitions go to the same member.
func assignRange(members []subscriber, topics []Topic) []partitionSet {
	order := make([]int, len(members))
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, func(a, b int) int { return compareSubscribers(&members[a], &members[b]) })
	rank := make([]int, len(members))
	for r, m := range order {
		rank[m] = r
	}

	sets := make([]partitionSet, len(members))
	for t, subs := range subscribersOf(members, topics) {
		slices.SortFunc(subs, func(a, b int) int { return cmp.Compare(rank[a], rank[b]) })
		next := int32(0)
		for i, m := range subs {
			n := share(topics[t].Partitions, len(subs), i)
			if n > 0 {
				sets[m] = append(sets[m], TopicPartitions{topics[t].ID, run(next, n)})
			}
			next += n
		}
	}
	return sets
}

// compareSubscribers puts static members first, by their instance ids, which stay when a client starts again.
func compareSubscribers(a, b *subscriber) int {
	switch {
	case a.instance != "" && b.instance != "":
		return cmp.Compare(a.instance, b.instance)
	case a.instance != "":
		return -1
	case b.instance != "":
		return 1
	}
	return cmp.Compare(a.id, b.id)
}

// share is how many of n things the i-th of k takers gets: the first ones get one more.
func share(n int32, k, i int) int32 {
	q := n / int32(k)
	if int32(i) < n%int32(k) {
		q++
	}
	return q
}

// run is n numbers from first on.
func run(first, n int32) []int32 {
	r := make([]int32, n)
	for i := range r {
		r[i] = first + int32(i)
	}
	return r
}
