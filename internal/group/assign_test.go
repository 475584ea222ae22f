package group

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/google/uuid"
)

// topicID is a topic id that says which it is.
func topicID(n int) uuid.UUID { return uuid.UUID{14: byte(n >> 8), 15: byte(n)} }

func topicsOf(partitions ...int32) []Topic {
	topics := make([]Topic, len(partitions))
	for i, n := range partitions {
		topics[i] = Topic{Name: fmt.Sprintf("t%03d", i), ID: topicID(i + 1), Partitions: n}
	}
	return topics
}

// randomGroup makes members with random subscriptions of random topics; alike: all with the same one.
func randomGroup(r *rand.Rand, alike bool) ([]subscriber, []Topic) {
	partitions := make([]int32, 1+r.IntN(8))
	for i := range partitions {
		partitions[i] = int32(r.IntN(20))
	}
	topics := topicsOf(partitions...)
	members := make([]subscriber, 1+r.IntN(12))
	for i := range members {
		members[i] = subscriber{id: fmt.Sprintf("m%02d", i), topics: randomTopics(r, len(topics))}
		if alike && i > 0 {
			members[i].topics = members[0].topics
		}
	}
	return members, topics
}

func randomTopics(r *rand.Rand, n int) []int {
	var list []int
	for t := range n {
		if r.IntN(3) > 0 {
			list = append(list, t)
		}
	}
	return list
}

// ownersOf checks that members have only what they are subscribed to, and nothing twice or that does not exist; it returns
// who has what.
func ownersOf(t *testing.T, members []subscriber, topics []Topic, sets []partitionSet) map[topicPartition]int {
	t.Helper()
	index := map[uuid.UUID]int{}
	for i, topic := range topics {
		index[topic.ID] = i
	}
	owners := map[topicPartition]int{}
	for m, set := range sets {
		set.each(func(tp topicPartition) bool {
			i, exists := index[tp.topic]
			switch other, taken := owners[tp]; {
			case !exists || tp.partition < 0 || tp.partition >= topics[i].Partitions:
				t.Fatalf("%v is not there", tp)
			case !slices.Contains(members[m].topics, i):
				t.Fatalf("%s is not subscribed to %v", members[m].id, tp)
			case taken:
				t.Fatalf("%v is %d's and %d's", tp, other, m)
			}
			owners[tp] = m
			return true
		})
	}
	return owners
}

// wantAll checks that each partition that somebody is subscribed to is somebody's.
func wantAll(t *testing.T, members []subscriber, topics []Topic, owners map[topicPartition]int) {
	t.Helper()
	for i, subs := range subscribersOf(members, topics) {
		for p := range topics[i].Partitions {
			if _, owned := owners[topicPartition{topics[i].ID, p}]; !owned && len(subs) > 0 {
				t.Fatalf("%s-%d is nobody's", topics[i].Name, p)
			}
		}
	}
}

func loads(sets []partitionSet) []int {
	n := make([]int, len(sets))
	for i, s := range sets {
		s.each(func(topicPartition) bool { n[i]++; return true })
	}
	return n
}

// wantLevel checks that no partition is with a member that has two more than another that could have it.
func wantLevel(t *testing.T, members []subscriber, topics []Topic, sets []partitionSet) {
	t.Helper()
	n := loads(sets)
	for i, subs := range subscribersOf(members, topics) {
		for _, a := range subs {
			for _, b := range subs {
				if len(sets[a].topic(topics[i].ID)) > 0 && n[a] > n[b]+1 {
					t.Fatalf("%s: %s has %d partitions and %s %d", topics[i].Name, members[a].id, n[a], members[b].id, n[b])
				}
			}
		}
	}
}

func TestAssignorsGiveEverySubscribedPartitionToOneSubscriber(t *testing.T) {
	for name, assign := range map[string]assignor{UniformAssignor: assignUniform, RangeAssignor: assignRange} {
		t.Run(name, func(t *testing.T) {
			for seed := range uint64(500) {
				r := rand.New(rand.NewPCG(seed, 1))
				members, topics := randomGroup(r, seed%2 == 0)
				sets := assign(members, topics)
				wantAll(t, members, topics, ownersOf(t, members, topics, sets))
				if again := assign(members, topics); !slices.EqualFunc(sets, again, partitionSet.equal) {
					t.Fatalf("seed %d: not the same again", seed)
				}
			}
		})
	}
}

func TestUniformIsLevelWhateverTheMembersHadBefore(t *testing.T) {
	for seed := range uint64(1000) {
		r := rand.New(rand.NewPCG(seed, 2))
		members, topics := randomGroup(r, seed%3 == 0)
		for m := range members {
			// What it had may be another's too, may not exist and may not be subscribed to any more.
			members[m].current = setOf([]TopicPartitions{{topicID(1 + r.IntN(9)), run(0, int32(r.IntN(30)))}})
		}
		sets := assignUniform(members, topics)
		wantAll(t, members, topics, ownersOf(t, members, topics, sets))
		wantLevel(t, members, topics, sets)
	}
}

func TestUniformMovesNoMoreThanItMust(t *testing.T) {
	for seed := range uint64(300) {
		r := rand.New(rand.NewPCG(seed, 3))
		members, topics := randomGroup(r, true)
		sets := assignUniform(members, topics)
		before := ownersOf(t, members, topics, sets)
		for m := range members {
			members[m].current = sets[m]
		}
		if again := assignUniform(members, topics); !slices.EqualFunc(sets, again, partitionSet.equal) {
			t.Fatalf("seed %d: moved without need", seed)
		}

		joined := append(slices.Clone(members), subscriber{id: "new", topics: members[0].topics})
		more := assignUniform(joined, topics)
		after := ownersOf(t, joined, topics, more)
		for tp, m := range before {
			if now := after[tp]; now != m && now != len(members) {
				t.Fatalf("seed %d: a join moved %v from %d to %d", seed, tp, m, now)
			}
		}

		left := members[1:]
		fewer := ownersOf(t, left, topics, assignUniform(left, topics))
		for tp, m := range before {
			if m > 0 && fewer[tp] != m-1 {
				t.Fatalf("seed %d: a leave moved %v", seed, tp)
			}
		}
	}
}

func TestUniformWithManyMembersOfOneMemberIsLevel(t *testing.T) {
	topics := topicsOf(1000)
	members := []subscriber{{id: "a", topics: []int{0}, current: partitionSet{{topicID(1), run(0, 1000)}}}}
	for i := range 299 {
		members = append(members, subscriber{id: fmt.Sprintf("b%03d", i), topics: []int{0}})
	}
	sets := assignUniform(members, topics)
	wantLevel(t, members, topics, sets)
	if n := loads(sets)[0]; n != 4 && n != 3 {
		t.Errorf("the one that had all has %d", n)
	}
}

func TestRangeGivesRunsAndTheSamePartitionsOfTopicsAlike(t *testing.T) {
	topics := topicsOf(7, 7, 3)
	all := []int{0, 1, 2}
	members := []subscriber{{id: "b", topics: all}, {id: "a", topics: all}, {id: "z", instance: "i", topics: all}}
	sets := assignRange(members, topics)
	want := []partitionSet{ // z is static: it comes first; a is before b
		{{topicID(1), []int32{5, 6}}, {topicID(2), []int32{5, 6}}, {topicID(3), []int32{2}}},
		{{topicID(1), []int32{3, 4}}, {topicID(2), []int32{3, 4}}, {topicID(3), []int32{1}}},
		{{topicID(1), []int32{0, 1, 2}}, {topicID(2), []int32{0, 1, 2}}, {topicID(3), []int32{0}}},
	}
	if !slices.EqualFunc(sets, want, partitionSet.equal) {
		t.Errorf("got %v", sets)
	}
}

func TestRangeLeavesMembersWithoutPartitionsWhereThereAreFew(t *testing.T) {
	members := []subscriber{{id: "a", topics: []int{0}}, {id: "b", topics: []int{0}}, {id: "c"}}
	sets := assignRange(members, topicsOf(1))
	if n := loads(sets); !slices.Equal(n, []int{1, 0, 0}) {
		t.Errorf("got %v", n)
	}
}

func TestPartitionSetsAreSets(t *testing.T) {
	a := setOf([]TopicPartitions{{topicID(2), []int32{3, 1, 1}}, {topicID(1), []int32{0}}, {topicID(2), []int32{2, -1}}, {topicID(3), nil}})
	if want := (partitionSet{{topicID(1), []int32{0}}, {topicID(2), []int32{1, 2, 3}}}); !a.equal(want) {
		t.Fatalf("got %v", a)
	}
	b := partitionSet{{topicID(2), []int32{2, 9}}}
	for name, c := range map[string]struct{ got, want partitionSet }{
		"intersect": {a.intersect(b), partitionSet{{topicID(2), []int32{2}}}},
		"minus":     {a.minus(b), partitionSet{{topicID(1), []int32{0}}, {topicID(2), []int32{1, 3}}}},
		"union":     {a.union(b), partitionSet{{topicID(1), []int32{0}}, {topicID(2), []int32{1, 2, 3, 9}}}},
		"topics":    {a.topics(func(id uuid.UUID) bool { return id == topicID(2) }), partitionSet{{topicID(2), []int32{1, 2, 3}}}},
	} {
		if !c.got.equal(c.want) {
			t.Errorf("%s: %v, want %v", name, c.got, c.want)
		}
	}
	if !a.equal(partitionSet{{topicID(1), []int32{0}}, {topicID(2), []int32{1, 2, 3}}}) {
		t.Error("the set itself changed")
	}
}

// BenchmarkUniform shows what an assignment costs in the largest group that we mean to serve well.
func BenchmarkUniform(b *testing.B) {
	partitions := make([]int32, 50)
	all := make([]int, len(partitions))
	for i := range partitions {
		partitions[i], all[i] = 100, i
	}
	topics := topicsOf(partitions...)
	fresh := make([]subscriber, 500)
	for i := range fresh {
		fresh[i] = subscriber{id: fmt.Sprintf("m%03d", i), topics: all}
	}
	joined := slices.Clone(fresh)
	for i, s := range assignUniform(fresh[:499], topics) {
		joined[i].current = s
	}
	odd := slices.Clone(joined)
	for i := range odd {
		odd[i].topics = all[i%5 : 30+i%7*3]
	}
	groups := map[string][]subscriber{"first": fresh, "join": joined, "unlike": odd}
	for _, name := range slices.Sorted(maps.Keys(groups)) {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				assignUniform(groups[name], topics)
			}
		})
	}
}
