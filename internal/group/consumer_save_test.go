package group

import (
	"encoding/json"
	"fmt"
	"slices"
	"testing"
	"time"
)

func TestMembersHeartbeatOnAfterARestart(t *testing.T) {
	r := newConsumerRig(t)
	epoch := r.two()
	since := r.g.Describe().Since.UnixMilli()
	r.now = r.now.Add(time.Hour)
	r.restart()
	r.want(Stable)
	if got := r.g.Describe().Since.UnixMilli(); got != since {
		t.Errorf("since %d, want %d", got, since)
	}
	saves := r.saves
	for _, id := range []string{"a", "b"} {
		r.wantBeat(r.mustBeat(plain(id, epoch)), epoch)
		wantErr(t, "commit", r.g.CheckCommit(r.now, MemberRef{MemberID: id, Generation: epoch}, true), nil)
	}
	if r.saves != saves {
		t.Error("it stored the group again")
	}
}

func TestRestartsInTheMiddleOfAReassignmentChangeNothing(t *testing.T) {
	r := newConsumerRig(t)
	r.mustBeat(joining("a", "t000").matching("t000").preferring(RangeAssignor))
	r.restart()
	r.mustBeat(joining("b", "t000"))
	r.restart()
	r.wantBeat(r.mustBeat(plain("a", 2)), 2, parts(1, 0, 1, 2))
	r.restart()
	r.wantBeat(r.mustBeat(plain("b", 3)), 3)
	r.wantBeat(r.mustBeat(has("a", 2, parts(1, 0, 1, 2, 3))), 2)
	r.restart()
	r.wantBeat(r.mustBeat(has("a", 2, parts(1, 0, 1, 2))), 3)
	r.restart()
	r.wantBeat(r.mustBeat(has("a", 2, parts(1, 0, 1, 2))), 3) // the answer was lost
	r.restart()
	r.wantBeat(r.mustBeat(plain("b", 3)), 3, parts(1, 3, 4, 5))
	r.want(Stable)
}

func TestMemberThatHasPartitionsToGiveUpHasItsTimeAgainAfterARestart(t *testing.T) {
	r := newConsumerRig(t)
	r.mustBeat(joining("a", "t000"))
	r.mustBeat(joining("b", "t000"))
	r.mustBeat(plain("a", 2))
	r.wait(30 * time.Second)
	r.restart()
	for range 5 {
		r.mustBeat(plain("a", 2))
		r.mustBeat(plain("b", 3))
		r.wait(11 * time.Second)
	}
	r.mustBeat(plain("a", 2))
	r.wait(5 * time.Second)
	wantErr(t, "after the time", r.beat(plain("a", 2)).Err, ErrUnknownMember)
}

func TestTopicsThatChangedWhileThereWasNoCoordinatorAreNoticed(t *testing.T) {
	r := newConsumerRig(t)
	r.mustBeat(joining("a", "t002"))
	r.restart()
	r.img = r.img.with(Topic{Name: "t002", ID: topicID(3), Partitions: 2})
	r.wantBeat(r.mustBeat(plain("a", 2)), 3, parts(3, 0, 1))
}

func TestHeartbeatsThatChangeNothingStoreNothing(t *testing.T) {
	r := newConsumerRig(t)
	epoch := r.two()
	saves := r.saves
	for range 10 {
		r.mustBeat(plain("a", epoch))
		r.mustBeat(has("b", epoch, parts(1, 3, 4, 5)))
		r.wait(5 * time.Second)
	}
	if r.saves != saves {
		t.Errorf("%d saves", r.saves-saves)
	}
	var out Effects
	n := testing.AllocsPerRun(100, func() {
		out.Heartbeats = out.Heartbeats[:0]
		r.g.ConsumerHeartbeat(r.now, r.img, plain("a", epoch), 1, &out)
	})
	if n > 0 {
		t.Errorf("%v allocations a heartbeat", n)
	}
}

func TestOnlyMembersThatChangedAreStored(t *testing.T) {
	r := newConsumerRig(t)
	r.two()
	var out Effects
	req := plain("a", 3)
	req.Rebalance = 30 * time.Second
	r.g.ConsumerHeartbeat(r.now, r.img, req, 1, &out)
	if out.Save == nil || len(out.Save.Members) != 1 || out.Save.Members["a"] == nil || len(out.Save.Gone) != 0 {
		t.Errorf("got %+v", out.Save)
	}
	out = Effects{}
	r.g.ConsumerHeartbeat(r.now, r.img, plain("a", -1), 2, &out)
	if out.Save == nil || len(out.Save.Members) != 0 || !slices.Equal(out.Save.Gone, []string{"a"}) || out.Save.Generation != 4 {
		t.Errorf("got %+v", out.Save)
	}
}

func TestPartitionsAreWrittenAsRanges(t *testing.T) {
	for text, want := range map[string][]int32{"0": {0}, "0-2": {0, 1, 2}, "0,2-3,9": {0, 2, 3, 9}} {
		got, err := parsePartitions(text)
		if err != nil || !slices.Equal(got, want) {
			t.Errorf("%q: %v, %v", text, got, err)
		}
		if back := formatPartitions(want); back != text {
			t.Errorf("%v: %q", want, back)
		}
	}
	for _, text := range []string{"", "a", "-1", "2-1", "1,", "0-1048576", "99999999999"} {
		if _, err := parsePartitions(text); err == nil {
			t.Errorf("%q was read", text)
		}
	}
}

func TestWhatIsNoStoredGroupIsAnError(t *testing.T) {
	line := []byte(`{"type":"consumer","epoch":2,"assignment_epoch":2}`)
	for name, st := range map[string]Stored{
		"group":       {Group: []byte(`{"type":"consumer","epoch":"x"}`)},
		"member":      {Group: line, Members: map[string][]byte{"a": []byte("{")}},
		"expression":  {Group: line, Members: map[string][]byte{"a": []byte(`{"regexp":"t["}`)}},
		"partitions":  {Group: line, Members: map[string][]byte{"a": []byte(`{"target":{"00000000-0000-0000-0000-000000000001":"x"}}`)}},
		"no protocol": {Group: line, Members: map[string][]byte{"a": []byte(`{"classic":{"session_ms":6000}}`)}},
	} {
		r := newConsumerRig(t)
		if _, err := Restore("g", &r.set, st, r.now); err == nil {
			t.Errorf("%s was read", name)
		}
	}
}

// FuzzRestoreConsumer restores groups from any text: it is an error, or a group that lives.
func FuzzRestoreConsumer(f *testing.F) {
	f.Add([]byte(`{"type":"consumer","epoch":2,"assignment_epoch":2}`), []byte(`{"epoch":2,"topics":["t000"],"target":{"00000000-0000-0000-0000-000000000001":"0-5"}}`))
	f.Add([]byte(`{"type":"consumer","epoch":9}`), []byte(`{"instance_id":"i","classic":{"session_ms":6000,"protocols":[{"name":"range","metadata":"AAA="}]},"state":2,"revoking":{"00000000-0000-0000-0000-000000000001":"0"}}`))
	f.Fuzz(func(t *testing.T, line, member []byte) {
		var l consumerLine
		if json.Unmarshal(line, &l) != nil || l.Type != Consumer {
			return
		}
		r := newConsumerRig(t)
		g, err := Restore("g", &r.set, Stored{Group: line, Members: map[string][]byte{"a": member, "b": member}}, r.now)
		if err != nil {
			return
		}
		var out Effects
		g.Tick(r.now, r.img, &out)
		for i, id := range []string{"a", "b", "c"} {
			g.ConsumerHeartbeat(r.now, r.img, joining(id, "t000"), Ticket(i), &out)
			_ = g.Heartbeat(r.now, MemberRef{MemberID: id})
			g.Sync(r.now, SyncRequest{MemberRef: MemberRef{MemberID: id}}, Ticket(10+i), &out)
		}
		_ = fmt.Sprint(g.Describe())
	})
}
