package group

import (
	"testing"
)

func TestWhoMayCommit(t *testing.T) {
	r := newRig(t)
	wantErr(t, "unknown group, generation 1", r.commit("", 1), ErrIllegalGeneration)
	wantErr(t, "unknown group, generation 1 of a member", r.commit("who", 1), ErrIllegalGeneration)
	wantErr(t, "unknown group, v9", r.g.CheckCommit(r.now, MemberRef{MemberID: "who", Generation: 1}, true), ErrNotFound)
	wantErr(t, "unknown group, no member", r.commit("", -1), nil)
	wantErr(t, "group of offsets only, generation 1", r.commit("who", 1), ErrUnknownMember)

	a := r.mustJoin(aJoin(""))
	wantErr(t, "before SyncGroup", r.commit(a.MemberID, 1), ErrRebalanceInProgress)
	r.sync(aSync(a.MemberID, 1, nil))
	wantErr(t, "member", r.commit(a.MemberID, 1), nil)
	wantErr(t, "no member, while there are members", r.commit("", -1), ErrUnknownMember)
	wantErr(t, "unknown member", r.commit("who", 1), ErrUnknownMember)
	wantErr(t, "older generation", r.commit(a.MemberID, 0), ErrIllegalGeneration)
	wantErr(t, "newer generation", r.commit(a.MemberID, 2), ErrIllegalGeneration)
	wantErr(t, "member without generation", r.commit(a.MemberID, -1), ErrIllegalGeneration)

	r.leave(LeavingMember{MemberID: a.MemberID})
	wantErr(t, "no member, after the last one left", r.commit("", -1), nil)
	wantErr(t, "the member that left", r.commit(a.MemberID, 2), ErrUnknownMember)
}

func TestAnyoneMayFetchOffsets(t *testing.T) {
	r := newRig(t)
	r.stable(1)
	wantErr(t, "unknown member", r.g.CheckFetch(MemberRef{MemberID: "who", Generation: 5}), nil)
}

func TestDescribeShowsMetadataOfAStableGroupOnly(t *testing.T) {
	r := newRig(t)
	if d := r.g.Describe(); d.State != Empty || d.ProtocolType != "" || d.Since != epoch {
		t.Fatalf("a new group: %+v", d)
	}
	id := r.mustJoin(aJoin("")).MemberID
	d := r.g.Describe()
	if d.State != CompletingRebalance || d.Protocol != "" || d.ProtocolType != "consumer" || d.Members[0].Metadata != nil {
		t.Fatalf("before SyncGroup: %+v", d)
	}
	r.sync(aSync(id, 1, map[string]string{id: "part"}))
	d = r.g.Describe()
	m := d.Members[0]
	if d.State != Stable || d.Protocol != "range" || string(m.Metadata) != string(subscription("t")) ||
		string(m.Assignment) != "part" || m.Client != (Client{ID: "client", Host: "/127.0.0.1"}) {
		t.Fatalf("stable: %+v", d)
	}
	if s := r.g.Summary(); s.State != Stable || s.Members != nil {
		t.Fatalf("in short: %+v", s)
	}
}

func TestSubscribedTopics(t *testing.T) {
	r := newRig(t)
	if r.g.Subscribed("t") {
		t.Error("nobody is subscribed")
	}
	ids := r.stable(2)
	if !r.g.Subscribed("t") || r.g.Subscribed("u") {
		t.Error("not subscribed to exactly t")
	}
	changed := aJoin(ids[1])
	changed.Protocols[0].Metadata = []byte{0}
	r.join(changed)
	r.join(aJoin(ids[0]))
	if !r.g.Subscribed("t") || !r.g.Subscribed("u") {
		t.Error("what a consumer reads cannot be known, and is taken not to be read")
	}
	r.leave(LeavingMember{MemberID: ids[0]}, LeavingMember{MemberID: ids[1]})
	if r.g.Subscribed("t") {
		t.Error("nobody is subscribed any more")
	}
}

func FuzzSubscribedTopics(f *testing.F) {
	f.Add(subscription("t", "u"))
	f.Add([]byte{})
	f.Add([]byte{0, 1, 0x7f, 0xff, 0xff, 0xff, 0, 1})
	f.Add([]byte{0xff, 0xff, 0, 0, 0, 0})
	f.Add([]byte{0, 0, 0, 0, 0, 1, 0xff, 0xff})
	f.Fuzz(func(t *testing.T, b []byte) {
		topics, err := subscribedTopics(b)
		if err != nil {
			return
		}
		size := 6
		for _, topic := range topics {
			size += 2 + len(topic)
		}
		if size > len(b) {
			t.Fatalf("%d topics of %d bytes", len(topics), len(b))
		}
	})
}
