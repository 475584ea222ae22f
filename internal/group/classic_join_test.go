package group

import (
	"fmt"
	"strings"
	"testing"
	"time"
)

func TestJoinGroupIsRefusedAsKafkaRefusesIt(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*JoinRequest)
		want   error
	}{
		"unknown member id":       {func(q *JoinRequest) { q.MemberID = "who" }, ErrUnknownMember},
		"unknown instance id":     {func(q *JoinRequest) { q.MemberID, q.InstanceID = "who", "i" }, ErrUnknownMember},
		"session 5999 ms":         {func(q *JoinRequest) { q.Session = 5999 * time.Millisecond }, ErrInvalidSession},
		"session -1 ms":           {func(q *JoinRequest) { q.Session = -time.Millisecond }, ErrInvalidSession},
		"session 1800001 ms":      {func(q *JoinRequest) { q.Session = 1800001 * time.Millisecond }, ErrInvalidSession},
		"session 6000 ms":         {func(q *JoinRequest) { q.Session = 6 * time.Second }, nil},
		"rebalance timeout -1 ms": {func(q *JoinRequest) { q.Rebalance = -time.Millisecond }, nil},
		"no subscription":         {func(q *JoinRequest) { q.Protocols[0].Metadata = []byte("x") }, nil},
		"no protocols":            {func(q *JoinRequest) { q.Protocols = nil }, ErrInconsistentProtocol},
		"empty type":              {func(q *JoinRequest) { q.Type = "" }, ErrInconsistentProtocol},
		"no member id, v4":        {func(q *JoinRequest) { q.RequireMemberID = true }, ErrMemberIDRequired},
		"too much metadata":       {func(q *JoinRequest) { q.Protocols[0].Metadata = make([]byte, 1<<20) }, ErrInvalidRequest},
		"instance id not UTF-8":   {func(q *JoinRequest) { q.InstanceID = "\xff" }, ErrInvalidRequest},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t)
			req := aJoin("")
			c.change(&req)
			wantErr(t, "JoinGroup", r.joined(r.join(req)).Err, c.want)
		})
	}
}

func TestEmptyGroupIDIsRefusedWhereThereAreMembers(t *testing.T) {
	r := newRig(t)
	r.g = New("", &r.set, r.now)
	wantErr(t, "JoinGroup", r.joined(r.join(aJoin(""))).Err, ErrInvalidGroupID)
	wantErr(t, "SyncGroup", r.synced(r.sync(aSync("m", 1, nil))).Err, ErrInvalidGroupID)
	wantErr(t, "Heartbeat", r.heartbeat("m", 1), ErrInvalidGroupID)
	wantErr(t, "OffsetCommit", r.commit("", -1), nil)
}

func TestJoinGroupOfOtherProtocolsThanTheGroupsIsRefused(t *testing.T) {
	r := newRig(t)
	r.stable(1)
	other := aJoin("")
	other.Type = "connect"
	wantErr(t, "other type", r.joined(r.join(other)).Err, ErrInconsistentProtocol)
	other = aJoin("")
	other.Protocols[0].Name = "sticky"
	wantErr(t, "no common protocol", r.joined(r.join(other)).Err, ErrInconsistentProtocol)
	r.want(Stable)
}

func TestAnOfferedMemberIDJoinsAndExpiresAfterTheSessionTimeout(t *testing.T) {
	r := newRig(t)
	req := aJoin("")
	req.RequireMemberID = true
	offer := func() string { return r.joined(r.join(req)).MemberID }
	first, second := offer(), offer()
	if first == second || !strings.HasPrefix(first, "client-") {
		t.Fatalf("member ids %q, %q", first, second)
	}
	if a := r.mustJoin(aJoin(first)); a.MemberID != first {
		t.Fatalf("joined as %q", a.MemberID)
	}
	r.pass(req.Session)
	wantErr(t, "JoinGroup with a forgotten id", r.joined(r.join(aJoin(second))).Err, ErrUnknownMember)
}

func TestARebalanceWaitsForOfferedMemberIDs(t *testing.T) {
	r := newRig(t)
	ids := r.stable(1)
	req := aJoin("")
	req.RequireMemberID = true
	offered := r.joined(r.join(req)).MemberID
	leader := r.join(aJoin(ids[0]))
	r.want(PreparingRebalance)
	follower := r.join(aJoin(offered))
	if r.joined(leader).Generation != 2 || r.joined(follower).Generation != 2 {
		t.Fatal("not one generation for both")
	}
}

func TestOfferedMemberIDsAreBounded(t *testing.T) {
	r := newRig(t)
	req := aJoin("")
	req.RequireMemberID = true
	req.Client.ID = strings.Repeat("x", 1000)
	for range maxPending + 10 {
		if id := r.joined(r.join(req)).MemberID; len(id) > maxIDPrefix+20 {
			t.Fatalf("a member id of %d bytes", len(id))
		}
	}
	if n := len(r.classic().pending); n > maxPending {
		t.Fatalf("%d ids wait", n)
	}
}

func TestTheFirstRebalanceWaitsForMembersUpToTheRebalanceTimeout(t *testing.T) {
	r := newRig(t)
	r.set.InitialDelay = 3 * time.Second
	var tickets []Ticket
	req := aJoin("")
	req.Rebalance = 10 * time.Second
	for range 20 { // one each second: each interval of the delay has new ones
		tickets = append(tickets, r.join(req))
		r.pass(time.Second)
		if !r.open[tickets[0]] {
			break
		}
	}
	if a := r.joined(tickets[0]); len(tickets) != 10 || len(a.Members) != 10 || a.Generation != 1 {
		t.Fatalf("%d members came, generation %d has %d", len(tickets), a.Generation, len(a.Members))
	}
}

func TestTheFirstRebalanceEndsWhenNobodyComesForTheDelay(t *testing.T) {
	r := newRig(t)
	r.set.InitialDelay = 3 * time.Second
	r.join(aJoin(""))
	r.pass(time.Second)
	second := r.join(aJoin(""))
	r.pass(4999 * time.Millisecond)
	r.want(PreparingRebalance)
	r.pass(time.Millisecond)
	r.want(CompletingRebalance)
	if g := r.joined(second).Generation; g != 1 {
		t.Fatalf("generation %d", g)
	}
}

func TestOnlyTheLeaderSeesTheMembers(t *testing.T) {
	r := newRig(t)
	ids := r.stable(3)
	leader := r.join(aJoin(ids[0]))
	followers := []Ticket{r.join(aJoin(ids[1])), r.join(aJoin(ids[2]))}
	a := r.joined(leader)
	if len(a.Members) != 3 || a.Leader != ids[0] || a.Generation != 2 || a.Protocol != "range" || a.ProtocolType != "consumer" {
		t.Fatalf("the leader is told %+v", a)
	}
	for _, to := range followers {
		if a := r.joined(to); a.Members != nil || a.Leader != ids[0] {
			t.Fatalf("a follower is told %+v", a)
		}
	}
}

func TestAFollowerThatJoinsAgainUnchangedGetsTheCurrentGeneration(t *testing.T) {
	r := newRig(t)
	ids := r.stable(2)
	a := r.mustJoin(aJoin(ids[1]))
	if a.Generation != 1 || a.Leader != ids[0] {
		t.Fatalf("told %+v", a)
	}
	r.want(Stable)
	changed := aJoin(ids[1])
	changed.Protocols[0].Metadata = subscription("u")
	r.join(changed)
	r.want(PreparingRebalance)
}

func TestJoiningAgainBeforeSyncGroupRepeatsTheAnswer(t *testing.T) {
	r := newRig(t)
	a := r.mustJoin(aJoin(""))
	again := r.mustJoin(aJoin(a.MemberID))
	if again.Generation != 1 || len(again.Members) != 1 {
		t.Fatalf("told %+v", again)
	}
	r.want(CompletingRebalance)
	changed := aJoin(a.MemberID)
	changed.Protocols[0].Metadata = subscription("u")
	if g := r.mustJoin(changed).Generation; g != 2 {
		t.Fatalf("generation %d after a change", g)
	}
}

func TestTheLeaderThatJoinsAgainBeginsANewGeneration(t *testing.T) {
	r := newRig(t)
	ids := r.stable(1)
	if g := r.mustJoin(aJoin(ids[0])).Generation; g != 2 {
		t.Fatalf("generation %d", g)
	}
}

func TestASecondJoinGroupOfAMemberReplacesTheOneThatWaits(t *testing.T) {
	r := newRig(t)
	ids := r.stable(2)
	first := r.join(aJoin(ids[0]))
	second := r.join(aJoin(ids[0]))
	wantErr(t, "the first", r.joined(first).Err, ErrRebalanceInProgress)
	r.join(aJoin(ids[1]))
	if a := r.joined(second); a.Err != nil || a.Generation != 2 {
		t.Fatalf("the second: %+v", a)
	}
}

func TestTheProtocolMostMembersPreferIsChosen(t *testing.T) {
	r := newRig(t)
	r.set.InitialDelay = time.Second
	protocols := func(names ...string) JoinRequest {
		req := aJoin("")
		req.Protocols = nil
		for _, n := range names {
			req.Protocols = append(req.Protocols, Protocol{Name: n})
		}
		return req
	}
	to := r.join(protocols("range", "sticky"))
	r.join(protocols("sticky", "range", "roundrobin"))
	r.join(protocols("roundrobin", "sticky", "range", "sticky"))
	r.pass(2 * time.Second)
	if p := r.joined(to).Protocol; p != "sticky" {
		t.Fatalf("chose %q", p)
	}
}

func TestGroupMaxSize(t *testing.T) {
	r := newRig(t)
	r.set.MaxSize = 2
	static := aJoin("")
	static.InstanceID = "i"
	ids := r.stableOf(static, JoinRequest{})
	wantErr(t, "a third member", r.joined(r.join(aJoin(""))).Err, ErrGroupFull)
	if a := r.mustJoin(static); a.MemberID == ids[0] {
		t.Fatal("a static member that comes back kept its id")
	}
	r.want(Stable)
}

func TestALoweredGroupMaxSizeSendsTheLastRejoiningMembersAway(t *testing.T) {
	r := newRig(t)
	ids := r.stable(3)
	r.set.MaxSize = 2
	first := r.join(aJoin(ids[0]))
	second := r.join(aJoin(ids[1]))
	wantErr(t, "the third", r.joined(r.join(aJoin(ids[2]))).Err, ErrGroupFull)
	if r.joined(first).Generation != 2 || r.joined(second).Generation != 2 {
		t.Fatal("the rebalance waits for the member that was sent away")
	}
}

func TestFiveHundredMembersJoinInOneRebalance(t *testing.T) {
	r := newRig(t)
	r.set.MaxSize = 1000
	ids := r.stable(500)
	if d := r.g.Describe(); d.Epoch != 1 || len(d.Members) != 500 {
		t.Fatalf("generation %d with %d members", d.Epoch, len(d.Members))
	}
	var tickets []Ticket
	for _, id := range ids {
		tickets = append(tickets, r.join(aJoin(id)))
	}
	for _, to := range tickets {
		if a := r.joined(to); a.Generation != 2 {
			t.Fatalf("generation %d: %v", a.Generation, a.Err)
		}
	}
}

func TestGroupsOfOtherTypesAreNotOfConsumers(t *testing.T) {
	r := newRig(t)
	req := aJoin("")
	req.Type, req.Protocols = "connect", []Protocol{{Name: "sessioned", Metadata: []byte{0xff}}}
	a := r.mustJoin(req)
	to := r.sync(SyncRequest{
		MemberRef: MemberRef{MemberID: a.MemberID, Generation: 1}, HasProtocol: true, Type: "connect", Protocol: "sessioned",
		Assignments: map[string][]byte{a.MemberID: []byte("tasks")},
	})
	if s := r.synced(to); string(s.Assignment) != "tasks" || s.Type != "connect" {
		t.Fatalf("synced %+v", s)
	}
	if r.g.Subscribed("t") {
		t.Error("subscribed")
	}
	if d := r.g.Describe(); d.ProtocolType != "connect" || d.Protocol != "sessioned" {
		t.Errorf("described as %+v", d)
	}
}

func TestRequestsBuffersAreNotKept(t *testing.T) {
	r := newRig(t)
	metadata, assignment := subscription("t"), []byte("part")
	req := aJoin("")
	req.Protocols[0].Metadata = metadata
	id := r.mustJoin(req).MemberID
	sync := aSync(id, 1, nil)
	sync.Assignments[id] = assignment
	r.sync(sync)
	clear(metadata)
	clear(assignment)
	m := r.g.Describe().Members[0]
	if string(m.Metadata) != string(subscription("t")) || string(m.Assignment) != "part" {
		t.Fatal(fmt.Sprint("changed with the request's buffer: ", m))
	}
}
