package group

import (
	"maps"
	"slices"
	"testing"
	"time"
)

func TestAStableGroupGoesOnAfterARestart(t *testing.T) {
	r := newRig(t)
	static := aStatic("i")
	ids := r.stableOf(static, JoinRequest{}, JoinRequest{})
	before := r.g.Describe()
	r.now = r.now.Add(time.Hour)
	r.restart()
	after := r.g.Describe()
	if after.State != Stable || after.Epoch != 1 || after.Protocol != "range" || len(after.Members) != 3 ||
		after.Since.UnixMilli() != before.Since.UnixMilli() {
		t.Fatalf("restored %+v", after)
	}
	for _, id := range ids {
		wantErr(t, "Heartbeat", r.heartbeat(id, 1), nil)
		wantErr(t, "OffsetCommit", r.commit(id, 1), nil)
		if a := r.synced(r.sync(aSync(id, 1, nil))); string(a.Assignment) != "part "+id {
			t.Errorf("synced %+v", a)
		}
	}
	if a := r.mustJoin(aJoin(ids[1])); a.Generation != 1 || a.Leader != ids[0] {
		t.Errorf("a follower is told %+v", a)
	}
	if !r.g.Subscribed("t") || r.g.Subscribed("u") {
		t.Error("not subscribed to exactly t")
	}
	r.join(aJoin(""))
	r.join(aJoin(ids[1]))
	r.join(aJoin(ids[2]))
	to := r.join(aJoin(ids[0]))
	if g := r.joined(to).Generation; g != 2 {
		t.Errorf("generation %d", g)
	}
}

func TestSessionsBeginAnewAfterARestart(t *testing.T) {
	r := newRig(t)
	ids := r.stable(2)
	r.now = r.now.Add(time.Hour)
	r.restart()
	r.pass(9 * time.Second)
	wantErr(t, "Heartbeat", r.heartbeat(ids[0], 1), nil)
	r.pass(5 * time.Second)
	r.want(PreparingRebalance)
}

func TestAnEmptyGroupIsStoredWithoutMembers(t *testing.T) {
	r := newRig(t)
	ids := r.stable(2)
	r.leave(LeavingMember{MemberID: ids[0]}, LeavingMember{MemberID: ids[1]})
	if len(r.st.Members) != 0 || r.st.Generation != 2 {
		t.Fatalf("stored %+v", r.st)
	}
	since := r.g.Describe().Since
	r.now = r.now.Add(time.Hour)
	r.restart()
	d := r.g.Describe()
	if d.State != Empty || d.ProtocolType != "consumer" || d.Epoch != 2 || d.Since.UnixMilli() != since.UnixMilli() {
		t.Fatalf("restored %+v", d)
	}
	wantErr(t, "OffsetCommit", r.commit("", -1), nil)
	r.set.InitialDelay = 0
	if g := r.mustJoin(aJoin("")).Generation; g != 3 {
		t.Fatalf("generation %d", g)
	}
}

func TestAGroupOfOffsetsOnlyIsEmptyAfterARestart(t *testing.T) {
	r := newRig(t)
	r.restart()
	wantErr(t, "OffsetCommit", r.commit("", -1), nil)
	wantErr(t, "OffsetCommit of a member", r.commit("who", 1), ErrUnknownMember)
}

func TestMembersThatAreGoneAreRemovedFromWhatIsStored(t *testing.T) {
	r := newRig(t)
	ids := r.stable(3)
	r.leave(LeavingMember{MemberID: ids[2]})
	r.join(aJoin(ids[0]))
	r.join(aJoin(ids[1]))
	if len(r.st.Members) != 3 {
		t.Fatal("stored before the assignment is known")
	}
	r.syncAll(ids[:2], nil)
	if got := slices.Sorted(maps.Keys(r.st.Members)); !slices.Equal(got, slices.Sorted(slices.Values(ids[:2]))) {
		t.Fatalf("stored %q, want %q", got, ids[:2])
	}
}

func TestAReplacedStaticMemberIsKnownAfterARestart(t *testing.T) {
	for name, phase := range map[string]func(r *rig, ids []string){
		"stable":    func(*rig, []string) {},
		"preparing": func(r *rig, ids []string) { r.join(aJoin("")) },
		"after an assignment was given up": func(r *rig, ids []string) {
			for i, instance := range []string{"i", "j"} {
				req := aStatic(instance)
				req.MemberID = ids[i]
				req.Protocols[0].Metadata = subscription("u")
				r.join(req)
			}
			r.join(aJoin(""))
		},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t)
			ids := r.stableOf(aStatic("i"), aStatic("j"))
			phase(r, ids)
			r.join(aStatic("i"))
			id := r.classic().static["i"].id
			r.restart()
			ref := MemberRef{MemberID: id, InstanceID: "i", Generation: 1}
			wantErr(t, "Heartbeat", r.g.Heartbeat(r.now, ref), nil)
			if a := r.synced(r.sync(aSync(id, 1, nil))); string(a.Assignment) != "part "+ids[0] {
				t.Errorf("synced %+v", a)
			}
			ref.MemberID = ids[0]
			wantErr(t, "Heartbeat with the old id", r.g.Heartbeat(r.now, ref), ErrFencedInstance)
		})
	}
}

func TestAnUnfinishedRebalanceIsForgottenInARestart(t *testing.T) {
	r := newRig(t)
	ids := r.stable(1)
	extra := r.join(aJoin(""))
	r.join(aJoin(ids[0]))
	id := r.joined(extra).MemberID
	r.restart()
	wantErr(t, "Heartbeat of the newcomer", r.heartbeat(id, 2), ErrUnknownMember)
	wantErr(t, "Heartbeat in the lost generation", r.heartbeat(ids[0], 2), ErrIllegalGeneration)
	if g := r.mustJoin(aJoin(ids[0])).Generation; g != 2 {
		t.Fatalf("generation %d", g)
	}
}

func TestSavesOfOneEffectAreJoined(t *testing.T) {
	var out Effects
	out.save(&Changes{Generation: 1, Group: []byte("1"), Members: map[string][]byte{"a": {1}, "b": {1}}, Gone: []string{"c", "d"}})
	out.save(&Changes{Generation: 2, Group: []byte("2"), Members: map[string][]byte{"c": {2}}, Gone: []string{"a", "d"}})
	s := out.Save
	if s.Generation != 2 || string(s.Group) != "2" || !slices.Equal(s.Gone, []string{"d", "a"}) ||
		!slices.Equal(slices.Sorted(maps.Keys(s.Members)), []string{"b", "c"}) {
		t.Fatalf("joined to %+v", s)
	}
}

func TestAConsumerGroupBecomesAStableClassicGroup(t *testing.T) {
	r := newRig(t)
	member := func(id, instance string) *classicMember {
		return &classicMember{
			id: id, instance: instance, session: 10 * time.Second, rebalance: time.Minute, protocols: aJoin("").Protocols,
			assignment: []byte("part " + id),
		}
	}
	seed := classicSeed{Generation: 7, Stored: []string{"a", "gone"}, Members: []*classicMember{member("a", ""), member("b", "i")}}
	r.st.Members = map[string][]byte{"a": nil, "gone": nil}
	var out Effects
	r.g.m = newClassicFrom(r.g, r.now, seed, &out)
	r.apply(&out)
	if got := slices.Sorted(maps.Keys(r.st.Members)); !slices.Equal(got, []string{"a", "b"}) {
		t.Fatalf("stored %q", got)
	}
	r.restart()
	wantErr(t, "Heartbeat", r.heartbeat("b", 7), nil)
	out = Effects{}
	r.classic().rebalance(r.now, &out)
	r.apply(&out)
	wantErr(t, "Heartbeat after rebalance", r.heartbeat("b", 7), ErrRebalanceInProgress)
	if !slices.Equal(r.classic().storedIDs(), []string{"a", "b"}) {
		t.Errorf("stored %q", r.classic().storedIDs())
	}
}

// FuzzRestore restores a group from foreign text, and has members of it come, go and expire.
func FuzzRestore(f *testing.F) {
	f.Add([]byte(`{"type":"classic","state":"Stable","generation":3,"protocol_type":"consumer","protocol":"range","leader":"m"}`),
		[]byte(`{"instance_id":"i","session_ms":10000,"rebalance_ms":60000,"protocols":[{"name":"range","metadata":"AAE="}]}`))
	f.Add([]byte(`{"type":"classic","state":"Empty"}`), []byte(`{}`))
	f.Add([]byte(`{"type":"consumer"}`), []byte(`{"session_ms":-9223372036854775808}`))
	f.Fuzz(func(t *testing.T, line, member []byte) {
		r := newRig(t)
		g, err := Restore("g", &r.set, Stored{Group: line, Members: map[string][]byte{"m": member, "n": member}}, r.now)
		if err != nil || g.Type() != Classic {
			return
		}
		r.g = g
		r.join(aJoin("m"))
		r.join(aStatic("i"))
		r.sync(aSync("n", g.Describe().Epoch, nil))
		r.leave(LeavingMember{MemberID: "n"})
		r.g.Subscribed("t")
		var out Effects
		r.g.Tick(r.now.Add(time.Hour), nil, &out)
		r.apply(&out)
	})
}

func TestAStaticMemberThatExpiredAndCameBackIsNotFencedAfterARestart(t *testing.T) {
	r := newRig(t)
	ids := r.stableOf(JoinRequest{}, aStatic("i"))
	r.pass(9 * time.Second)
	wantErr(t, "Heartbeat", r.heartbeat(ids[0], 1), nil)
	r.pass(2 * time.Second)
	r.join(aStatic("i"))
	r.join(aJoin(ids[0]))
	ref := MemberRef{MemberID: r.classic().static["i"].id, InstanceID: "i", Generation: 2}
	r.restart()
	wantErr(t, "Heartbeat in the lost generation", r.g.Heartbeat(r.now, ref), ErrIllegalGeneration)
}
