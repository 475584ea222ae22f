package group

import (
	"testing"
	"time"
)

// twoStatic is two with static members: a is instance i, b is j.
func (r *consumerRig) twoStatic() int32 {
	r.t.Helper()
	r.mustBeat(joining("a", "t000").static("i"))
	r.mustBeat(joining("b", "t000").static("j"))
	r.mustBeat(plain("a", 2).static("i"))
	r.mustBeat(has("a", 2, parts(1, 0, 1, 2)).static("i"))
	r.wantBeat(r.mustBeat(plain("b", 3).static("j")), 3, parts(1, 3, 4, 5))
	r.want(Stable)
	return 3
}

func TestInstanceIDIsItsMembersUntilThatSaysItWillBeBack(t *testing.T) {
	r := newConsumerRig(t)
	epoch := r.twoStatic()
	wantErr(t, "another member", r.beat(joining("c", "t000").static("i")).Err, ErrUnreleasedInstance)
	if resp := r.mustBeat(plain("a", -2).static("i")); resp.Epoch != -2 {
		t.Errorf("got %+v", resp)
	}
	wantErr(t, "after it left", r.beat(plain("a", epoch).static("i")).Err, ErrFencedMemberEpoch)
	r.wantBeat(r.mustBeat(joining("c", "t000").static("i")), epoch, parts(1, 0, 1, 2))
	r.want(Stable)
	r.wantBeat(r.mustBeat(plain("b", epoch).static("j")), epoch)
	wantErr(t, "the old member id", r.beat(plain("a", epoch).static("i")).Err, ErrFencedInstance)
	wantErr(t, "the old member id alone", r.beat(plain("a", epoch)).Err, ErrUnknownMember)
	wantErr(t, "an unknown instance", r.beat(plain("c", epoch).static("k")).Err, ErrUnknownMember)
	wantErr(t, "a second instance of a member", r.beat(joining("c", "t000").static("k")).Err, ErrInvalidRequest)
	wantErr(t, "an instance of another member", r.beat(plain("c", epoch).static("j")).Err, ErrFencedInstance)
}

func TestStaticMemberMayJoinAgainWithItsOwnID(t *testing.T) {
	r := newConsumerRig(t)
	epoch := r.twoStatic()
	r.wantBeat(r.mustBeat(joining("a", "t000").static("i")), epoch, parts(1, 0, 1, 2))
	r.mustBeat(plain("a", -2).static("i"))
	r.wantBeat(r.mustBeat(joining("a", "t000").static("i")), epoch, parts(1, 0, 1, 2))
	r.want(Stable)
}

func TestStaticMemberThatDoesNotComeBackIsPutOut(t *testing.T) {
	r := newConsumerRig(t)
	epoch := r.twoStatic()
	r.mustBeat(plain("a", -2).static("i"))
	for range 3 {
		r.wantBeat(r.mustBeat(plain("b", epoch).static("j")), epoch)
		r.wait(14 * time.Second)
	}
	r.wait(4 * time.Second)
	r.wantBeat(r.mustBeat(plain("b", epoch).static("j")), epoch+1, parts(1, 0, 1, 2, 3, 4, 5))
	r.wantBeat(r.mustBeat(joining("c", "t000").static("i")), epoch+2, nothing...)
}

func TestStaticMemberThatLeavesForGoodIsGone(t *testing.T) {
	r := newConsumerRig(t)
	epoch := r.twoStatic()
	wantErr(t, "another member's instance", r.beat(plain("b", -1).static("i")).Err, ErrFencedInstance)
	r.mustBeat(plain("a", -1).static("i"))
	r.wantBeat(r.mustBeat(plain("b", epoch).static("j")), epoch+1, parts(1, 0, 1, 2, 3, 4, 5))
}

func TestStaticMemberIsReplacedInAFullGroupAndAfterARestart(t *testing.T) {
	r := newConsumerRig(t)
	r.set.ConsumerMaxSize = 2
	epoch := r.twoStatic()
	r.mustBeat(plain("a", -2).static("i"))
	r.restart()
	r.wantBeat(r.mustBeat(joining("c", "t000").static("i")), epoch, parts(1, 0, 1, 2))
	r.restart()
	if r.g.Size() != 2 {
		t.Fatalf("%d members", r.g.Size())
	}
	r.wantBeat(r.mustBeat(plain("c", epoch).static("i")), epoch)
}

func TestStaticMemberWhoseSubscriptionChangedIsAssignedAnew(t *testing.T) {
	r := newConsumerRig(t)
	epoch := r.twoStatic()
	r.mustBeat(plain("a", -2).static("i"))
	r.wantBeat(r.mustBeat(joining("c", "t001").static("i")), epoch+1, parts(2, 0, 1, 2))
	r.wantBeat(r.mustBeat(plain("b", epoch).static("j")), epoch+1, parts(1, 0, 1, 2, 3, 4, 5))
	r.want(Stable)
}

func TestAdministratorRemovesAMemberByItsInstance(t *testing.T) {
	r := newConsumerRig(t)
	r.twoStatic()
	left := r.leave(LeavingMember{InstanceID: "i"}, LeavingMember{InstanceID: "x"}, LeavingMember{MemberID: "a", InstanceID: "j"}, LeavingMember{MemberID: "z"})
	for i, want := range []error{nil, ErrUnknownMember, ErrFencedInstance, ErrUnknownMember} {
		wantErr(t, left[i].MemberID+left[i].InstanceID, left[i].Err, want)
	}
	if r.g.Size() != 1 {
		t.Errorf("%d members", r.g.Size())
	}
}
