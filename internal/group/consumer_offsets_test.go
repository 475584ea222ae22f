package group

import "testing"

func TestCommitsAndFetchesAreOfMembersInTheirEpoch(t *testing.T) {
	r := newConsumerRig(t)
	anyone := MemberRef{Generation: -1}
	r.mustBeat(joining("a", "t000"))
	for name, c := range map[string]struct {
		ref    MemberRef
		epochs bool
		commit error
		fetch  error
	}{
		"member":                    {MemberRef{MemberID: "a", Generation: 2}, true, nil, nil},
		"member, v8":                {MemberRef{MemberID: "a", Generation: 2}, false, ErrUnsupportedVersion, nil},
		"other epoch":               {MemberRef{MemberID: "a", Generation: 3}, true, ErrStaleMemberEpoch, ErrStaleMemberEpoch},
		"other epoch, v8":           {MemberRef{MemberID: "a", Generation: 3}, false, ErrUnsupportedVersion, ErrStaleMemberEpoch},
		"unknown member":            {MemberRef{MemberID: "b", Generation: 2}, true, ErrUnknownMember, ErrUnknownMember},
		"unknown member, v8":        {MemberRef{MemberID: "b", Generation: 2}, false, ErrUnknownMember, ErrUnknownMember},
		"no member":                 {anyone, true, ErrUnknownMember, nil},
		"no member, but generation": {MemberRef{Generation: 2}, true, ErrUnknownMember, ErrUnknownMember},
	} {
		wantErr(t, name+" commits", r.g.CheckCommit(r.now, c.ref, c.epochs), c.commit)
		wantErr(t, name+" fetches", r.g.CheckFetch(c.ref), c.fetch)
	}
	r.mustBeat(plain("a", -1))
	wantErr(t, "no member in an empty group", r.g.CheckCommit(r.now, anyone, false), nil)
	wantErr(t, "a member that left", r.g.CheckCommit(r.now, MemberRef{MemberID: "a", Generation: 2}, true), ErrUnknownMember)
}

func TestPausedStaticMemberDoesNotCommit(t *testing.T) {
	r := newConsumerRig(t)
	epoch := r.twoStatic()
	r.mustBeat(plain("a", -2).static("i"))
	wantErr(t, "commit", r.g.CheckCommit(r.now, MemberRef{MemberID: "a", InstanceID: "i", Generation: epoch}, true), ErrStaleMemberEpoch)
}
