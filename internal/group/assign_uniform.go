package group

import (
	"cmp"
	"container/heap"
	"slices"

	"github.com/google/uuid"
)

// assignUniform spreads partitions evenly and moves few. Members keep what they have and are still subscribed to; what
// nobody has goes to the subscriber with the least; then partitions move from the member of a topic with the most to the
// one with the least. Subscriptions may differ: no partition is left with a member that has two more partitions than
// another subscriber of its topic.
func assignUniform(members []subscriber, topics []Topic) []partitionSet {
	u := uniform{
		topics: topics,
		subs:   subscribersOf(members, topics),
		hands:  make([]hand, len(members)),
		load:   make([]int, len(members)),
	}
	u.deal(u.keep(members))
	for moved := true; moved; {
		moved = false
		for t := range topics {
			moved = u.level(t) || moved
		}
	}
	sets := make([]partitionSet, len(members))
	for m := range members {
		sets[m] = u.hands[m].set(topics)
	}
	return sets
}

type uniform struct {
	topics []Topic
	subs   [][]int // members of each topic
	hands  []hand
	load   []int // partitions in each hand
}

// keep gives members what they have already, and returns for each topic the partitions that nobody has.
func (u *uniform) keep(members []subscriber) [][]int32 {
	index := make(map[uuid.UUID]int, len(u.topics))
	taken := make([][]bool, len(u.topics))
	for t := range u.topics {
		index[u.topics[t].ID] = t
		taken[t] = make([]bool, u.topics[t].Partitions)
	}
	for m := range members {
		u.hands[m] = make(hand, len(members[m].topics))
		for _, tp := range members[m].current {
			t, exists := index[tp.Topic]
			if !exists {
				continue
			}
			if _, subscribed := slices.BinarySearch(members[m].topics, t); !subscribed {
				continue
			}
			for _, p := range tp.Partitions {
				if int(p) < len(taken[t]) && !taken[t][p] {
					taken[t][p] = true
					u.give(m, t, p)
				}
			}
		}
	}
	free := make([][]int32, len(u.topics))
	for t := range taken {
		for p, has := range taken[t] {
			if !has {
				free[t] = append(free[t], int32(p))
			}
		}
	}
	return free
}

// deal gives away what nobody has, topics with the fewest members first: they have the least choice.
func (u *uniform) deal(free [][]int32) {
	order := make([]int, 0, len(free))
	for t := range free {
		if len(free[t]) > 0 && len(u.subs[t]) > 0 {
			order = append(order, t)
		}
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(len(u.subs[a]), len(u.subs[b])) })
	for _, t := range order {
		least := &leastLoaded{members: slices.Clone(u.subs[t]), load: u.load}
		heap.Init(least)
		for _, p := range free[t] {
			u.give(least.members[0], t, p)
			heap.Fix(least, 0)
		}
	}
}

func (u *uniform) give(m, t int, p int32) {
	u.hands[m][t] = append(u.hands[m][t], p)
	u.load[m]++
}

// move takes a partition of a topic from one member to another.
func (u *uniform) move(t, from, to int) {
	h := u.hands[from][t]
	p := h[len(h)-1]
	u.hands[from][t] = h[:len(h)-1]
	u.load[from]--
	u.give(to, t, p)
}

// level moves partitions of one topic until no member that has one has two more than another member of the topic, and
// tells whether it moved any. Each move makes the sum of the loads' squares less, so it ends.
func (u *uniform) level(t int) bool {
	moved := false
	for u.apart(t) >= 2 {
		order := slices.Clone(u.subs[t])
		slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(u.load[a], u.load[b]) })
		u.pass(t, order)
		moved = true
	}
	return moved
}

// pass goes through the members of a topic, ordered by their loads before it, and moves one partition to each of those
// with the least from those with the most. The order is not kept up, so one pass may leave something to move.
func (u *uniform) pass(t int, order []int) {
	for low, high := 0, len(order)-1; low < high; {
		from, to := order[high], order[low]
		if len(u.hands[from][t]) == 0 {
			high--
			continue
		}
		if u.load[from]-u.load[to] < 2 {
			return
		}
		u.move(t, from, to)
		low++
	}
}

// apart is how many more partitions the member with the most, of those that have one of the topic, has than the member
// of the topic with the least.
func (u *uniform) apart(t int) int {
	most, least := -1, -1
	for _, m := range u.subs[t] {
		if len(u.hands[m][t]) > 0 && (most < 0 || u.load[m] > u.load[most]) {
			most = m
		}
		if least < 0 || u.load[m] < u.load[least] {
			least = m
		}
	}
	if most < 0 {
		return 0
	}
	return u.load[most] - u.load[least]
}

// leastLoaded is a heap whose first member has the least partitions; among equals the first in the members' order.
type leastLoaded struct {
	members []int
	load    []int
}

func (l *leastLoaded) Len() int { return len(l.members) }
func (l *leastLoaded) Less(i, j int) bool {
	a, b := l.members[i], l.members[j]
	if l.load[a] != l.load[b] {
		return l.load[a] < l.load[b]
	}
	return a < b
}
func (l *leastLoaded) Swap(i, j int) { l.members[i], l.members[j] = l.members[j], l.members[i] }
func (l *leastLoaded) Push(x any)    { l.members = append(l.members, x.(int)) }
func (l *leastLoaded) Pop() any {
	last := l.members[len(l.members)-1]
	l.members = l.members[:len(l.members)-1]
	return last
}
