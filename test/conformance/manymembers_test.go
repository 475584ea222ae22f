package conformance

import (
	"fmt"
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// TestFiveHundredMembersJoinInOneRebalance: the delay of a group's first rebalance is long enough for all that come at
// once, and every one of them gets its part.
func TestFiveHundredMembersJoinInOneRebalance(t *testing.T) {
	const size = 500
	c := dial(t, startOwn(t))
	group := c.newGroup()
	members, joins := make([]*member, size), make([]func() *kmsg.JoinGroupResponse, size)
	for i := range members {
		members[i] = c.newMember(group, nil)
	}
	for i, m := range members {
		joins[i] = m.startJoin()
	}
	var leader *member
	var assignments []string
	for i, m := range members {
		joined := joins[i]()
		if joined.ErrorCode != 0 || joined.Generation != 1 {
			t.Fatalf("member %d: %s generation %d, want generation 1", i, code(joined.ErrorCode), joined.Generation)
		}
		if joined.LeaderID != m.id {
			continue
		}
		leader = m
		for _, other := range joined.Members {
			assignments = append(assignments, other.MemberID, "part of "+other.MemberID)
		}
	}
	if len(assignments) != 2*size {
		t.Fatalf("the leader was told of %d members, want %d", len(assignments)/2, size)
	}
	syncs := make([]func() string, size)
	for i, m := range members {
		if m == leader {
			syncs[i] = m.startSync(assignments...)
		} else {
			syncs[i] = m.startSync()
		}
	}
	for i, m := range members {
		if got, want := syncs[i](), fmt.Sprintf("OK %q", "part of "+m.id); got != want {
			t.Fatalf("member %d got %s, want %s", i, got, want)
		}
	}
	if d := c.describeGroup(5, group); d.State != "Stable" || len(d.Members) != size {
		t.Errorf("the group is %s with %d members, want Stable with %d", d.State, len(d.Members), size)
	}
	for _, m := range members {
		if got := m.heartbeat(); got != "OK" {
			t.Fatalf("heartbeat: %s", got)
		}
	}
}

// TestGroupsDoNotWaitForAnothersRedis: while Redis answers nothing, and a commit of one group therefore waits, the members
// of another heartbeat and rebalance; nothing of that needs Redis.
func TestGroupsDoNotWaitForAnothersRedis(t *testing.T) {
	to := startOwn(t, noRebalanceDelay)
	c := dial(t, to)
	topic := c.newTopic()
	waiting, quick := c.newStable(), c.newStable()
	quick.conn = c.another()
	to.own.Redis.Pause()
	commit := waiting.commit(topic)
	id := waiting.send(commit)
	if got := quick.heartbeat(); got != "OK" {
		t.Errorf("heartbeat beside a commit that waits: %s", got)
	}
	other, first, second := quick.second(nil)
	if first.ErrorCode != 0 || second.ErrorCode != 0 || first.Generation != second.Generation {
		t.Errorf("two members join: %s %d, %s %d", code(first.ErrorCode), first.Generation, code(second.ErrorCode), second.Generation)
	}
	synced := other.startSync()
	if !waiting.another().alive() {
		t.Error("a new connection is not served")
	}
	to.own.Redis.Resume()
	resp, err := waiting.receive(commit, id)
	if err != nil {
		t.Fatalf("commit: %v", err)
	}
	if got := code(resp.(*kmsg.OffsetCommitResponse).Topics[0].Partitions[0].ErrorCode); got != "OK" {
		t.Errorf("the commit that waited: %s", got)
	}
	quick.expect(quick.sync(quick.id, "a", other.id, "b"), `OK "a"`)
	quick.expect(synced(), `OK "b"`)
}
