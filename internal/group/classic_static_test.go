package group

import (
	"testing"
	"time"
)

func aStatic(instance string) JoinRequest {
	req := aJoin("")
	req.InstanceID = instance
	req.RequireMemberID = true // static members are not asked for their id
	req.SkipAssignment = true
	return req
}

func TestAStaticMemberComesBackWithoutARebalance(t *testing.T) {
	for name, c := range map[string]struct {
		who    int // 0 leads
		skip   bool
		leader func(old, current string) string
		told   bool // that it need not assign
	}{
		"follower":        {1, true, func(_, current string) string { return current }, false},
		"leader":          {0, true, func(_, current string) string { return current }, true},
		"leader, v8":      {0, false, func(old, _ string) string { return old }, false},
		"follower, in v8": {1, false, func(_, current string) string { return current }, false},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t)
			ids := r.stableOf(aStatic("i"), aStatic("j"))
			old := ids[c.who]
			req := aStatic([]string{"i", "j"}[c.who])
			req.SkipAssignment = c.skip
			a := r.mustJoin(req)
			if a.MemberID == old || a.Generation != 1 || a.SkipAssignment != c.told {
				t.Fatalf("told %+v", a)
			}
			current := ids[0]
			if c.who == 0 {
				current = a.MemberID
			}
			if want := c.leader(old, current); a.Leader != want {
				t.Errorf("the leader is %q, want %q", a.Leader, want)
			}
			if (len(a.Members) == 2) != c.told {
				t.Errorf("told of %d members", len(a.Members))
			}
			r.want(Stable)
			s := r.synced(r.sync(aSync(a.MemberID, 1, nil)))
			if string(s.Assignment) != "part "+old {
				t.Errorf("synced %+v", s)
			}
			wantErr(t, "the other's Heartbeat", r.heartbeat(ids[1-c.who], 1), nil)
		})
	}
}

func TestTheOldIDOfAStaticMemberIsFenced(t *testing.T) {
	r := newRig(t)
	old := r.stableOf(aStatic("i"), aStatic("j"))[1]
	id := r.mustJoin(aStatic("j")).MemberID
	ref := MemberRef{MemberID: old, InstanceID: "j", Generation: 1}
	rejoin := aStatic("j")
	rejoin.MemberID = old
	sync := aSync(old, 1, nil)
	sync.InstanceID = "j"
	wantErr(t, "JoinGroup", r.joined(r.join(rejoin)).Err, ErrFencedInstance)
	wantErr(t, "SyncGroup", r.synced(r.sync(sync)).Err, ErrFencedInstance)
	wantErr(t, "Heartbeat", r.g.Heartbeat(r.now, ref), ErrFencedInstance)
	wantErr(t, "OffsetCommit", r.g.CheckCommit(r.now, ref, false), ErrFencedInstance)
	wantErr(t, "LeaveGroup", r.leave(LeavingMember{MemberID: old, InstanceID: "j"})[0].Err, ErrFencedInstance)

	wantErr(t, "without the instance id", r.heartbeat(old, 1), ErrUnknownMember)
	unknown := MemberRef{MemberID: id, InstanceID: "k", Generation: 1}
	wantErr(t, "unknown instance id", r.g.Heartbeat(r.now, unknown), ErrUnknownMember)
	wantErr(t, "unknown instance id, OffsetCommit", r.g.CheckCommit(r.now, unknown, false), ErrUnknownMember)
	r.want(Stable)
}

func TestAReplacedStaticMembersWaitingRequestsAreFenced(t *testing.T) {
	t.Run("JoinGroup", func(t *testing.T) {
		r := newRig(t)
		ids := r.stableOf(aStatic("i"), aStatic("j"))
		req := aStatic("i")
		req.MemberID = ids[0]
		old := r.join(req)
		replacing := r.join(aStatic("i"))
		wantErr(t, "JoinGroup", r.joined(old).Err, ErrFencedInstance)
		other := aStatic("j")
		other.MemberID = ids[1]
		r.join(other)
		if a := r.joined(replacing); a.Err != nil || a.Generation != 2 || a.Leader != a.MemberID {
			t.Fatalf("told %+v", a)
		}
	})
	t.Run("SyncGroup", func(t *testing.T) {
		r := newRig(t)
		r.set.InitialDelay = time.Second
		a, b := r.join(aStatic("i")), r.join(aStatic("j"))
		r.pass(2 * time.Second)
		old := r.sync(aSync(r.joined(b).MemberID, 1, nil))
		replacing := r.join(aStatic("j"))
		wantErr(t, "SyncGroup", r.synced(old).Err, ErrFencedInstance)
		r.want(PreparingRebalance) // the leader would assign to the old id
		req := aStatic("i")
		req.MemberID = r.joined(a).MemberID
		r.join(req)
		if a := r.joined(replacing); a.Err != nil || a.Generation != 2 {
			t.Fatalf("told %+v", a)
		}
	})
}

func TestAStaticMemberThatChangesTheGroupsProtocolCausesARebalance(t *testing.T) {
	r := newRig(t)
	both := aStatic("i")
	both.Protocols = append(both.Protocols, Protocol{Name: "sticky"})
	other := aStatic("j")
	other.Protocols = both.Protocols
	r.stableOf(both, other)
	one := aStatic("j")
	one.Protocols = both.Protocols[1:]
	r.join(one)
	r.want(PreparingRebalance)
}

func TestStaticMembersMayMissARebalanceButMustSync(t *testing.T) {
	r := newRig(t)
	long := aStatic("i")
	long.Session = 30 * time.Minute
	ids := r.stableOf(JoinRequest{}, long)
	changed := aJoin(ids[0])
	changed.Protocols[0].Metadata = subscription("u")
	to := r.join(changed)
	r.pass(60 * time.Second)
	a := r.joined(to)
	if len(a.Members) != 2 {
		t.Fatalf("the static member, which is within its session, is not in %+v", a)
	}
	r.sync(aSync(ids[0], 2, map[string]string{ids[0]: "0", ids[1]: "1"}))
	for range 10 {
		r.pass(6 * time.Second)
		_ = r.heartbeat(ids[0], 2)
	}
	if r.g.Size() != 1 {
		t.Fatalf("%d members: a member that never synced keeps its partitions", r.g.Size())
	}
	r.want(PreparingRebalance)
}

func TestAGroupOfSilentStaticMembersWaitsForTheirSessions(t *testing.T) {
	r := newRig(t)
	a, b := aStatic("i"), aStatic("j")
	a.Session, b.Session = 10*time.Minute, 10*time.Second
	r.stableOf(a, b)
	r.pass(5 * time.Minute) // j expired, i is not back
	r.want(PreparingRebalance)
	if d := r.g.Describe(); d.Epoch != 1 {
		t.Fatalf("generation %d of nobody", d.Epoch)
	}
	got := r.mustJoin(a)
	if got.Generation != 2 || got.Leader != got.MemberID {
		t.Fatalf("told %+v", got)
	}
}
