package group

import (
	"testing"
	"time"
)

func TestHeartbeatsTellOfARebalance(t *testing.T) {
	r := newRig(t)
	ids := r.stable(1)
	second := r.join(aJoin(""))
	wantErr(t, "while members join", r.heartbeat(ids[0], 1), ErrRebalanceInProgress)
	wantErr(t, "commit while members join", r.commit(ids[0], 1), nil)
	first := r.join(aJoin(ids[0]))
	if r.joined(first).Generation != 2 || r.joined(second).Generation != 2 {
		t.Fatal("not both in generation 2")
	}
	wantErr(t, "between JoinGroup and SyncGroup", r.heartbeat(ids[0], 2), nil)
	wantErr(t, "old generation", r.heartbeat(ids[0], 1), ErrIllegalGeneration)
	wantErr(t, "unknown member", r.heartbeat("who", 2), ErrUnknownMember)
}

func TestFollowersGetTheirAssignmentsWhoeverSyncsFirst(t *testing.T) {
	for name, leaderFirst := range map[string]bool{"the leader": true, "the followers": false} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t)
			r.set.InitialDelay = time.Second
			a, b := r.join(aJoin("")), r.join(aJoin(""))
			r.pass(2 * time.Second)
			leader, follower := r.joined(a).MemberID, r.joined(b).MemberID
			parts := map[string]string{leader: "0", follower: "1"}
			var tl, tf Ticket
			if leaderFirst {
				tl = r.sync(aSync(leader, 1, parts))
				tf = r.sync(aSync(follower, 1, nil))
			} else {
				tf = r.sync(aSync(follower, 1, nil))
				tl = r.sync(aSync(leader, 1, parts))
			}
			if string(r.synced(tl).Assignment) != "0" || string(r.synced(tf).Assignment) != "1" {
				t.Fatalf("assigned %q and %q", r.synced(tl).Assignment, r.synced(tf).Assignment)
			}
		})
	}
}

func TestSyncGroupIsAnsweredAsKafkaAnswersIt(t *testing.T) {
	r := newRig(t)
	wantErr(t, "unknown group", r.synced(r.sync(aSync("who", 1, nil))).Err, ErrUnknownMember)
	id := r.stable(1)[0]
	change := func(f func(*SyncRequest)) SyncResponse {
		req := aSync(id, 1, nil)
		f(&req)
		return r.synced(r.sync(req))
	}
	if a := change(func(*SyncRequest) {}); string(a.Assignment) != "part "+id || a.Type != "consumer" || a.Protocol != "range" {
		t.Errorf("again: %+v", a)
	}
	wantErr(t, "unknown member", change(func(q *SyncRequest) { q.MemberID = "who" }).Err, ErrUnknownMember)
	wantErr(t, "other generation", change(func(q *SyncRequest) { q.Generation = 2 }).Err, ErrIllegalGeneration)
	wantErr(t, "other protocol", change(func(q *SyncRequest) { q.Protocol = "x" }).Err, ErrInconsistentProtocol)
	wantErr(t, "other type", change(func(q *SyncRequest) { q.Type = "x" }).Err, ErrInconsistentProtocol)
	wantErr(t, "null protocol", change(func(q *SyncRequest) { q.Protocol = "" }).Err, ErrInconsistentProtocol)
	wantErr(t, "null type", change(func(q *SyncRequest) { q.Type = "" }).Err, ErrInconsistentProtocol)
	wantErr(t, "v4", change(func(q *SyncRequest) { q.HasProtocol, q.Type, q.Protocol = false, "", "" }).Err, nil)
	r.join(aJoin(""))
	wantErr(t, "while members join", change(func(*SyncRequest) {}).Err, ErrRebalanceInProgress)
}

func TestALeaderWithoutAssignmentsAssignsNothing(t *testing.T) {
	r := newRig(t)
	id := r.mustJoin(aJoin("")).MemberID
	if a := r.synced(r.sync(aSync(id, 1, nil))); a.Err != nil || len(a.Assignment) != 0 {
		t.Fatalf("synced %+v", a)
	}
	r.want(Stable)
}

func TestASecondSyncGroupOfAMemberReplacesTheOneThatWaits(t *testing.T) {
	r := newRig(t)
	ids := r.stable(2)
	r.join(aJoin(ids[0]))
	changed := aJoin(ids[1])
	changed.Protocols[0].Metadata = subscription("u")
	r.join(changed)
	first, second := r.sync(aSync(ids[1], 2, nil)), r.sync(aSync(ids[1], 2, nil))
	wantErr(t, "the first", r.synced(first).Err, ErrRebalanceInProgress)
	r.sync(aSync(ids[0], 2, map[string]string{ids[1]: "all"}))
	if a := r.synced(second); string(a.Assignment) != "all" {
		t.Fatalf("the second: %+v", a)
	}
}

func TestAMemberIsRemovedWhenNothingIsHeardOfIt(t *testing.T) {
	r := newRig(t)
	id := r.stable(1)[0]
	for name, sign := range map[string]func(){
		"Heartbeat":    func() { wantErr(t, "Heartbeat", r.heartbeat(id, 1), nil) },
		"SyncGroup":    func() { r.sync(aSync(id, 1, nil)) },
		"OffsetCommit": func() { wantErr(t, "OffsetCommit", r.commit(id, 1), nil) },
	} {
		r.pass(9 * time.Second)
		sign()
		r.pass(9 * time.Second)
		if r.state() != Stable {
			t.Fatalf("%s was no sign of life", name)
		}
		sign()
	}
	r.pass(10 * time.Second)
	r.want(Empty)
	if !r.g.Deadline().IsZero() {
		t.Errorf("an empty group has a deadline")
	}
	wantErr(t, "Heartbeat", r.heartbeat(id, 1), ErrUnknownMember)
}

func TestMembersThatWaitDoNotExpire(t *testing.T) {
	r := newRig(t)
	ids := r.stable(2)
	leader := r.join(aJoin(ids[0]))
	for range 7 { // the other lives but does not join
		r.pass(8 * time.Second)
		_ = r.heartbeat(ids[1], 1)
	}
	r.pass(4 * time.Second)
	if a := r.joined(leader); a.Err != nil || a.Generation != 2 || len(a.Members) != 1 {
		t.Fatalf("told %+v", a)
	}
	r.pass(9 * time.Second) // its session begins with the answer
	wantErr(t, "Heartbeat", r.heartbeat(ids[0], 2), nil)
}

func TestMembersThatDoNotJoinAgainAreRemovedAfterTheRebalanceTimeout(t *testing.T) {
	r := newRig(t)
	ids := r.stable(3)
	to := r.join(aJoin(ids[1]))
	if r.open[to] {
		t.Fatal("an unchanged follower waits")
	}
	changed := aJoin(ids[1])
	changed.Protocols[0].Metadata = subscription("u")
	to = r.join(changed)
	for range 10 {
		r.pass(6 * time.Second)
		_, _ = r.heartbeat(ids[0], 1), r.heartbeat(ids[2], 1)
	}
	a := r.joined(to)
	if a.Leader != ids[1] || len(a.Members) != 1 {
		t.Fatalf("told %+v", a)
	}
	wantErr(t, "a removed member", r.heartbeat(ids[0], 2), ErrUnknownMember)
}

func TestANewMemberThatWaitsTooLongHasToJoinAnew(t *testing.T) {
	r := newRig(t)
	old := aJoin("")
	old.Rebalance = time.Hour
	ids := r.stableOf(old)
	to := r.join(aJoin(""))
	for range 60 {
		r.pass(5 * time.Second)
		_ = r.heartbeat(ids[0], 1)
	}
	wantErr(t, "JoinGroup", r.joined(to).Err, ErrUnknownMember)
	if r.g.Size() != 1 {
		t.Fatalf("%d members", r.g.Size())
	}
}

func TestMembersThatJoinAndNeverSyncAreRemovedAfterTheRebalanceTimeout(t *testing.T) {
	for name, silent := range map[string]int{"the leader": 0, "a follower": 1} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t)
			r.set.InitialDelay = time.Second
			a, b := r.join(aJoin("")), r.join(aJoin(""))
			r.pass(2 * time.Second)
			ids := []string{r.joined(a).MemberID, r.joined(b).MemberID}
			good := ids[1-silent]
			to := r.sync(aSync(good, 1, nil))
			for range 10 { // both live
				r.pass(6 * time.Second)
				_, _ = r.heartbeat(ids[0], 1), r.heartbeat(ids[1], 1)
			}
			if silent == 0 {
				wantErr(t, "the follower's SyncGroup", r.synced(to).Err, ErrRebalanceInProgress)
			}
			wantErr(t, "the member that did not sync", r.heartbeat(ids[silent], 1), ErrUnknownMember)
			if a := r.mustJoin(aJoin(good)); a.Generation != 2 || a.Leader != good {
				t.Fatalf("told %+v", a)
			}
		})
	}
}

func TestALeaderThatDiesBeforeItAssignsIsReplaced(t *testing.T) {
	r := newRig(t)
	r.set.InitialDelay = time.Second
	r.join(aJoin(""))
	b := r.join(aJoin(""))
	r.pass(2 * time.Second)
	id := r.joined(b).MemberID
	to := r.sync(aSync(id, 1, nil))
	r.pass(11 * time.Second) // the leader's session, while the follower waits
	wantErr(t, "SyncGroup", r.synced(to).Err, ErrRebalanceInProgress)
	if a := r.mustJoin(aJoin(id)); a.Leader != id {
		t.Fatalf("told %+v", a)
	}
}

func TestAGroupWhoseMembersAllDieInARebalanceBecomesEmpty(t *testing.T) {
	for name, phase := range map[string]func(*rig, []string){
		"stable":  func(r *rig, ids []string) {},
		"joining": func(r *rig, ids []string) { r.join(aJoin(ids[0])) },
		"joined": func(r *rig, ids []string) {
			for _, id := range ids {
				r.join(aJoin(id))
			}
		},
		"syncing": func(r *rig, ids []string) {
			for _, id := range ids {
				r.join(aJoin(id))
			}
			r.sync(aSync(ids[1], 2, nil))
		},
		"new": func(r *rig, ids []string) { r.join(aJoin("")) },
	} {
		for _, static := range []bool{false, true} {
			t.Run(name, func(t *testing.T) {
				r := newRig(t)
				reqs := []JoinRequest{aJoin(""), aJoin(""), aJoin("")}
				for i := range reqs {
					if static {
						reqs[i].InstanceID = string(rune('a' + i))
					}
				}
				phase(r, r.stableOf(reqs...))
				// the rebalance timeout, that of syncing, and the sessions after
				r.pass(60*time.Second + 60*time.Second + 20*time.Second)
				r.want(Empty)
				if len(r.open) > 0 {
					t.Errorf("%d requests wait for ever", len(r.open))
				}
				r.set.InitialDelay = 0
				id := r.mustJoin(aJoin("")).MemberID
				r.sync(aSync(id, r.g.Describe().Epoch, nil))
				r.want(Stable)
			})
		}
	}
}

func TestARebalanceTimeoutOfZeroDoesNotSpin(t *testing.T) {
	r := newRig(t)
	req := aJoin("")
	req.InstanceID, req.Rebalance = "i", 0
	ids := r.stableOf(req, JoinRequest{Type: "consumer", InstanceID: "j", Session: req.Session, Protocols: req.Protocols})
	r.leave(LeavingMember{MemberID: ids[1], InstanceID: "j"})
	ticks := 0
	for r.state() != Empty {
		r.now = r.g.Deadline()
		var out Effects
		r.g.Tick(r.now, nil, &out)
		r.apply(&out)
		if ticks++; ticks > 30 {
			t.Fatal("does not end")
		}
	}
}

func TestLeaveGroup(t *testing.T) {
	r := newRig(t)
	wantErr(t, "unknown group", r.leave(LeavingMember{MemberID: "who"})[0].Err, ErrUnknownMember)
	static := aJoin("")
	static.InstanceID = "i"
	ids := r.stableOf(JoinRequest{}, static, JoinRequest{})
	if left := r.leave(); len(left) != 0 {
		t.Fatalf("nobody left, but %v", left)
	}
	left := r.leave(
		LeavingMember{MemberID: ids[0]}, LeavingMember{MemberID: "who"}, LeavingMember{InstanceID: "i"},
		LeavingMember{InstanceID: "j"}, LeavingMember{})
	for i, want := range []error{nil, ErrUnknownMember, nil, ErrUnknownMember, ErrUnknownMember} {
		wantErr(t, "member "+string(rune('0'+i)), left[i].Err, want)
	}
	r.want(PreparingRebalance)
	if a := r.mustJoin(aJoin(ids[2])); a.Generation != 2 || a.Leader != ids[2] {
		t.Fatalf("told %+v", a)
	}
	r.leave(LeavingMember{MemberID: ids[2]})
	r.want(Empty)
}

func TestAMemberThatLeavesWhileItsRequestsWaitIsAnswered(t *testing.T) {
	r := newRig(t)
	ids := r.stable(2)
	join := r.join(aJoin(ids[0]))
	r.leave(LeavingMember{MemberID: ids[0]})
	wantErr(t, "JoinGroup", r.joined(join).Err, ErrUnknownMember)
	r.join(aJoin(ids[1]))
	extra := r.join(aJoin(""))
	r.join(aJoin(ids[1]))
	id := r.joined(extra).MemberID
	sync := r.sync(aSync(id, 3, nil))
	r.leave(LeavingMember{MemberID: id})
	wantErr(t, "SyncGroup", r.synced(sync).Err, ErrUnknownMember)
}

func TestAnOfferedMemberIDThatIsGivenBackHoldsNothingUp(t *testing.T) {
	r := newRig(t)
	ids := r.stable(1)
	req := aJoin("")
	req.RequireMemberID = true
	offered := r.joined(r.join(req)).MemberID
	to := r.join(aJoin(ids[0]))
	wantErr(t, "LeaveGroup", r.leave(LeavingMember{MemberID: offered})[0].Err, nil)
	if r.joined(to).Generation != 2 {
		t.Fatal("no new generation")
	}
}

func TestAbandonAnswersWhatWaits(t *testing.T) {
	r := newRig(t)
	ids := r.stable(2)
	join := r.join(aJoin(ids[0]))
	var out Effects
	r.g.Abandon(&out)
	r.apply(&out)
	wantErr(t, "JoinGroup", r.joined(join).Err, ErrCoordinatorUnavailable)
}
