package group

import (
	"testing"
	"time"
)

func TestFirstHeartbeatOfANewGroupIsAnsweredWithEpoch2AndAnAssignment(t *testing.T) {
	r := newConsumerRig(t)
	resp := r.mustBeat(joining("a", "t000"))
	r.wantBeat(resp, 2, parts(1, 0, 1, 2, 3, 4, 5))
	if resp.Interval != 5*time.Second || resp.MemberID != "a" {
		t.Errorf("got %+v", resp)
	}
	r.want(Stable)
	if r.g.Type() != Consumer || r.g.Size() != 1 {
		t.Errorf("type %s, size %d", r.g.Type(), r.g.Size())
	}
}

func TestMemberIDIsMintedForVersion0Only(t *testing.T) {
	r := newConsumerRig(t)
	req := joining("", "t000")
	wantErr(t, "without id", r.beat(req).Err, ErrInvalidRequest)
	req.MintMemberID = true
	if resp := r.mustBeat(req); resp.MemberID != "id1" {
		t.Errorf("got %q", resp.MemberID)
	}
	req.Epoch = 2
	wantErr(t, "later without id", r.beat(req).Err, ErrInvalidRequest)
}

func TestHeartbeatOfUnknownGroupOrMember(t *testing.T) {
	r := newConsumerRig(t)
	for _, epoch := range []int32{5, -1} {
		wantErr(t, "unknown group", r.beat(plain("a", epoch)).Err, ErrNotFound)
	}
	r.mustBeat(joining("a", "t000"))
	for _, epoch := range []int32{2, -1} {
		wantErr(t, "unknown member", r.beat(plain("b", epoch)).Err, ErrUnknownMember)
	}
	r.mustBeat(plain("a", -1))
	wantErr(t, "empty group", r.beat(plain("a", 2)).Err, ErrUnknownMember)
}

func TestHeartbeatThatIsNone(t *testing.T) {
	empty, some := "", []TopicPartitions{parts(1, 0)}
	noTimeout, noTopics, noOwned, owns, rack := joining("a"), joining("a"), joining("a"), joining("a"), joining("a")
	noTimeout.Rebalance = -time.Millisecond
	noTopics.Topics = nil
	noOwned.Owned = nil
	owns.Owned = &some
	rack.Rack = &empty
	noText, bytes := joining("a"), "r\xff"
	noText.Rack = &bytes
	for name, c := range map[string]struct {
		req  HeartbeatRequest
		want error
	}{
		"epoch -3":                    {plain("a", -3), ErrInvalidRequest},
		"-2 of one not static":        {plain("a", -2), ErrInvalidRequest},
		"first without timeout":       {noTimeout, ErrInvalidRequest},
		"first without subscription":  {noTopics, ErrInvalidRequest},
		"first without partitions":    {noOwned, ErrInvalidRequest},
		"first with partitions":       {owns, ErrInvalidRequest},
		"empty rack":                  {rack, ErrInvalidRequest},
		"instance id that is no text": {joining("a").static("i\xff"), ErrInvalidRequest},
		"rack that is no text":        {noText, ErrInvalidRequest},
		"unknown assignor":            {joining("a").preferring("sticky"), ErrUnsupportedAssignor},
		"regular expression":          {joining("a").matching("t["), ErrInvalidRegexp},
		"two halves of one":           {joining("a").matching("t)(t"), ErrInvalidRegexp},
	} {
		t.Run(name, func(t *testing.T) {
			r := newConsumerRig(t)
			wantErr(t, "in a new group", r.beat(c.req).Err, c.want)
			if r.g.Type() != Classic {
				t.Error("it made a group of it")
			}
			r.mustBeat(joining("b", "t000"))
			saves := r.saves
			wantErr(t, "in a group", r.beat(c.req).Err, c.want)
			if r.saves != saves || r.g.Size() != 1 {
				t.Error("it changed the group")
			}
		})
	}
	r := newConsumerRig(t)
	r.g.name = ""
	wantErr(t, "group id", r.beat(joining("a")).Err, ErrInvalidRequest)
}

func TestEpochsOfHeartbeats(t *testing.T) {
	r := newConsumerRig(t)
	epoch := r.two()
	wantErr(t, "too new", r.beat(plain("a", epoch+1)).Err, ErrFencedMemberEpoch)
	wantErr(t, "one too old", r.beat(plain("a", epoch-1)).Err, ErrFencedMemberEpoch)
	wantErr(t, "one too old with more than it has", r.beat(has("a", epoch-1, parts(1, 3))).Err, ErrFencedMemberEpoch)
	wantErr(t, "two too old", r.beat(has("a", epoch-2)).Err, ErrFencedMemberEpoch)
	r.wantBeat(r.beat(has("a", epoch-1, parts(1, 0))), epoch)
	r.wantBeat(r.beat(plain("a", epoch)), epoch)
	r.wantBeat(r.beat(joining("a", "t000")), epoch, parts(1, 0, 1, 2))
	full := joining("a", "t000")
	full.Epoch, full.Owned = epoch, &[]TopicPartitions{parts(1, 0, 1, 2)}
	r.wantBeat(r.beat(full), epoch, parts(1, 0, 1, 2))
}

func TestLastMemberThatLeavesLeavesTheGroupEmpty(t *testing.T) {
	r := newConsumerRig(t)
	r.mustBeat(joining("a", "t000"))
	if resp := r.mustBeat(plain("a", -1)); resp.Epoch != -1 || resp.Assignment != nil {
		t.Errorf("got %+v", resp)
	}
	r.want(Empty)
	if r.g.Type() != Consumer || !r.g.Deadline().IsZero() {
		t.Errorf("type %s, deadline %v", r.g.Type(), r.g.Deadline())
	}
	r.restart()
	r.want(Empty)
	if resp := r.mustBeat(joining("b", "t000")); resp.Epoch != 4 {
		t.Errorf("epoch %d", resp.Epoch)
	}
}

func TestPartitionsGoToANewMemberWhenTheOldOneHasGivenThemUp(t *testing.T) {
	r := newConsumerRig(t)
	r.wantBeat(r.mustBeat(joining("a", "t000")), 2, parts(1, 0, 1, 2, 3, 4, 5))
	r.wantBeat(r.mustBeat(joining("b", "t000")), 3, nothing...)
	r.want(Reconciling)
	r.wantBeat(r.mustBeat(plain("a", 2)), 2, parts(1, 0, 1, 2))
	r.wantBeat(r.mustBeat(plain("b", 3)), 3)
	r.wantBeat(r.mustBeat(has("a", 2, parts(1, 0, 1, 2, 3))), 2)
	r.wantBeat(r.mustBeat(plain("b", 3)), 3)
	r.wantBeat(r.mustBeat(has("a", 2, parts(1, 0, 1, 2))), 3)
	r.wantBeat(r.mustBeat(plain("b", 3)), 3, parts(1, 3, 4, 5))
	r.want(Stable)
}

func TestMemberThatGoesLeavesItsPartitionsToOthers(t *testing.T) {
	r := newConsumerRig(t)
	epoch := r.two()
	r.mustBeat(plain("a", -1))
	r.want(Assigning)
	r.wantBeat(r.mustBeat(plain("b", epoch)), epoch+1, parts(1, 0, 1, 2, 3, 4, 5))
	r.want(Stable)
}

func TestSilentMemberIsPutOut(t *testing.T) {
	r := newConsumerRig(t)
	epoch := r.two()
	r.wait(30 * time.Second)
	r.mustBeat(plain("b", epoch))
	r.wait(20 * time.Second)
	if r.g.Size() != 1 {
		t.Fatalf("%d members", r.g.Size())
	}
	wantErr(t, "its heartbeat", r.beat(plain("a", epoch)).Err, ErrUnknownMember)
	r.wantBeat(r.mustBeat(plain("b", epoch)), epoch+1, parts(1, 0, 1, 2, 3, 4, 5))
	r.wait(time.Minute)
	r.want(Empty)
}

func TestMemberThatDoesNotGiveUpPartitionsInTimeIsPutOut(t *testing.T) {
	r := newConsumerRig(t)
	r.mustBeat(joining("a", "t000"))
	r.mustBeat(joining("b", "t000"))
	for range 6 {
		r.mustBeat(plain("a", 2))
		r.mustBeat(plain("b", 3))
		r.wait(10 * time.Second)
	}
	wantErr(t, "its heartbeat", r.beat(plain("a", 2)).Err, ErrUnknownMember)
	r.wantBeat(r.mustBeat(plain("b", 3)), 4, parts(1, 0, 1, 2, 3, 4, 5))
}

func TestFullGroupTakesMembersThatItHas(t *testing.T) {
	r := newConsumerRig(t)
	r.set.ConsumerMaxSize = 2
	r.two()
	wantErr(t, "a third", r.beat(joining("c", "t000")).Err, ErrGroupFull)
	r.mustBeat(joining("a", "t000"))
}

func TestSubscriptionThatChangesChangesTheAssignment(t *testing.T) {
	r := newConsumerRig(t)
	epoch := r.two()
	req := plain("a", epoch)
	req.Topics = &[]string{"t001"}
	r.wantBeat(r.mustBeat(req), epoch, nothing...) // t000 is to be given up first
	r.wantBeat(r.mustBeat(plain("b", epoch)), epoch+1)
	r.wantBeat(r.mustBeat(has("a", epoch)), epoch+1, parts(2, 0, 1, 2))
	r.wantBeat(r.mustBeat(plain("b", epoch+1)), epoch+1, parts(1, 0, 1, 2, 3, 4, 5))
	r.want(Stable)
	again := plain("a", epoch+1)
	again.Topics = &[]string{"t001", "t001"}
	r.wantBeat(r.mustBeat(again), epoch+1)
	r.want(Stable)
}

func TestAssignorIsTheOneThatMostMembersPrefer(t *testing.T) {
	r := newConsumerRig(t)
	epoch := r.two()
	if d := r.g.Describe(); d.Protocol != UniformAssignor {
		t.Errorf("got %s", d.Protocol)
	}
	vote := plain("a", epoch).preferring(RangeAssignor)
	r.mustBeat(vote)
	if d := r.g.Describe(); d.Protocol != RangeAssignor || d.Epoch != epoch+1 {
		t.Errorf("got %s in epoch %d", d.Protocol, d.Epoch)
	}
	r.mustBeat(plain("b", epoch).preferring(UniformAssignor))
	if d := r.g.Describe(); d.Protocol != UniformAssignor {
		t.Errorf("of two equal ones not the first: %s", d.Protocol)
	}
}

func TestStateAndSinceFollowTheMembers(t *testing.T) {
	r := newConsumerRig(t)
	r.two()
	began := r.now
	r.wait(10 * time.Second)
	r.mustBeat(plain("a", 3))
	if d := r.g.Summary(); d.Since != began || d.State != Stable || d.ProtocolType != "consumer" || len(d.Members) != 0 {
		t.Errorf("got %+v", d)
	}
	r.mustBeat(plain("a", -1))
	if d := r.g.Summary(); d.Since != r.now || d.State != Assigning {
		t.Errorf("got %+v", d)
	}
}

func TestDescribeShowsMembersWithTheirTargets(t *testing.T) {
	r := newConsumerRig(t)
	req := joining("b", "t000").static("i")
	rack := "r1"
	req.Rack = &rack
	r.mustBeat(joining("a", "t000"))
	r.mustBeat(req)
	m := r.member("b")
	if m.InstanceID != "i" || m.Rack != "r1" || m.Client.ID != "client" || m.Epoch != 3 || m.Classic || len(m.Topics) != 1 {
		t.Errorf("got %+v", m)
	}
	if !partitionSet(m.Target).equal(partitionSet{parts(1, 3, 4, 5)}) || len(m.Assigned) != 0 {
		t.Errorf("target %v, assigned %v", m.Target, m.Assigned)
	}
	if d := r.g.Describe(); d.Members[0].MemberID != "a" || d.AssignmentEpoch != 3 {
		t.Errorf("got %+v", d)
	}
}

func TestBurstOfJoinsIsAssignedOnceAnInterval(t *testing.T) {
	r := newConsumerRig(t)
	r.set.AssignmentInterval = time.Second
	r.wantBeat(r.mustBeat(joining("a", "t000")), 2, parts(1, 0, 1, 2, 3, 4, 5))
	for _, id := range []string{"b", "c"} {
		resp := r.mustBeat(joining(id, "t000"))
		r.wantBeat(resp, 2, nothing...)
		if resp.Interval > 1100*time.Millisecond {
			t.Errorf("it is to come again after %v", resp.Interval)
		}
	}
	if d := r.g.Describe(); d.State != Assigning || d.Epoch != 4 || d.AssignmentEpoch != 2 {
		t.Errorf("got %+v", d)
	}
	r.wait(time.Second)
	if resp := r.mustBeat(plain("b", 2)); resp.Epoch != 4 || resp.Interval != 5*time.Second {
		t.Errorf("got %+v", resp)
	}
	r.wantBeat(r.mustBeat(plain("a", 2)), 2, parts(1, 0, 1))
}
