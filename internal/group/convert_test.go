package group

import (
	"slices"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// coop is a JoinGroup of a consumer of t000 that has some of its partitions.
func coop(member string, has ...int32) JoinRequest {
	m := kmsg.NewConsumerMemberMetadata()
	m.Version, m.Topics = 1, []string{"t000"}
	if len(has) > 0 {
		m.OwnedPartitions = []kmsg.ConsumerMemberMetadataOwnedPartition{{Topic: "t000", Partitions: has}}
	}
	req := aJoin(member)
	req.Protocols = []Protocol{{Name: "range", Metadata: m.AppendTo(nil)}}
	return req
}

func assignmentOf(partitions ...int32) string {
	a := kmsg.NewConsumerMemberAssignment()
	a.Topics = []kmsg.ConsumerMemberAssignmentTopic{{Topic: "t000", Partitions: partitions}}
	return string(a.AppendTo(nil))
}

// partitionsIn reads t000's partitions of an assignment.
func (r *consumerRig) partitionsIn(assignment []byte) []int32 {
	r.t.Helper()
	set, _, err := parseAssignment(assignment, r.img)
	if err != nil {
		r.t.Fatal(err)
	}
	return set.topic(topicID(1))
}

// classicPair is a stable classic group of two, with partitions 0 to 2 and 3 to 5. It returns their ids, the leader's
// first.
func (r *consumerRig) classicPair() []string {
	r.t.Helper()
	r.set.InitialDelay = time.Second
	tickets := []Ticket{r.join(coop("")), r.join(coop(""))}
	r.wait(3 * time.Second)
	ids := []string{r.joined(tickets[0]).MemberID, r.joined(tickets[1]).MemberID}
	r.syncAll(ids, map[string]string{ids[0]: assignmentOf(0, 1, 2), ids[1]: assignmentOf(3, 4, 5)})
	r.want(Stable)
	return ids
}

func (r *consumerRig) mustSync(id string, generation int32) []int32 {
	r.t.Helper()
	resp := r.synced(r.sync(aSync(id, generation, nil)))
	if resp.Err != nil {
		r.t.Fatalf("SyncGroup of %q in %d: %v", id, generation, resp.Err)
	}
	return r.partitionsIn(resp.Assignment)
}

func (r *consumerRig) wantPartitions(got []int32, want ...int32) {
	r.t.Helper()
	if !slices.Equal(got, want) {
		r.t.Fatalf("partitions %v, want %v", got, want)
	}
}

func TestEmptyClassicGroupBecomesAConsumerGroup(t *testing.T) {
	r := newConsumerRig(t)
	r.set.Migration = NoMigration
	id := r.mustJoin(aJoin("")).MemberID
	r.leave(LeavingMember{MemberID: id})
	r.want(Empty)
	wantErr(t, "a member that does not join", r.beat(plain("a", 1)).Err, ErrNotFound)
	r.wantBeat(r.mustBeat(joining("a", "t000")), 2, parts(1, 0, 1, 2, 3, 4, 5))
	r.restart()
	r.wantBeat(r.mustBeat(plain("a", 2)), 2)
}

func TestEmptyConsumerGroupBecomesAClassicGroup(t *testing.T) {
	r := newConsumerRig(t)
	r.mustBeat(joining("a", "t000"))
	r.mustBeat(plain("a", -1))
	r.set.Migration = NoMigration
	resp := r.mustJoin(aJoin(""))
	if r.g.Type() != Classic || resp.Generation != 1 || resp.Leader != resp.MemberID {
		t.Fatalf("%s: %+v", r.g.Type(), resp)
	}
	r.synced(r.sync(aSync(resp.MemberID, 1, nil)))
	r.restart()
	if d := r.g.Describe(); d.Type != Classic || len(d.Members) != 1 {
		t.Errorf("restored as %+v", d)
	}
}

func TestClassicGroupIsUpgradedOnlyIfItMay(t *testing.T) {
	for name, change := range map[string]func(r *consumerRig){
		"disabled":       func(r *consumerRig) { r.set.Migration = NoMigration },
		"downgrade only": func(r *consumerRig) { r.set.Migration = Downgrade },
		"too large":      func(r *consumerRig) { r.set.ConsumerMaxSize = 1 },
	} {
		t.Run(name, func(t *testing.T) {
			r := newConsumerRig(t)
			ids := r.classicPair()
			change(r)
			wantErr(t, "heartbeat", r.beat(joining("a", "t000")).Err, ErrUnsupportedMigration)
			wantErr(t, "classic heartbeat", r.heartbeat(ids[0], 1), nil)
		})
	}
	r := newConsumerRig(t)
	other := aJoin("")
	other.Type = "connect"
	r.mustJoin(other)
	wantErr(t, "other protocol type", r.beat(joining("a", "t000")).Err, ErrUnsupportedMigration)

	r = newConsumerRig(t)
	r.stable(2) // their assignments are none of consumers
	wantErr(t, "malformed assignment", r.beat(joining("a", "t000")).Err, ErrUnsupportedMigration)

	r = newConsumerRig(t)
	ids := r.classicPair()
	wantErr(t, "refused heartbeat", r.beat(joining("a").matching("(")).Err, ErrInvalidRegexp)
	wantErr(t, "member that does not join", r.beat(plain("a", 1)).Err, ErrNotFound)
	wantErr(t, "classic heartbeat", r.heartbeat(ids[1], 1), nil)
	if r.g.Type() != Classic {
		t.Error("a heartbeat that was refused changed the group")
	}
}

func TestClassicMembersStayInAnUpgradedGroup(t *testing.T) {
	r := newConsumerRig(t)
	ids := r.classicPair()
	r.wantBeat(r.mustBeat(joining("new", "t000")), 2, nothing...)
	if d := r.g.Describe(); d.Type != Consumer || d.State != Reconciling || len(d.Members) != 3 || !r.member(ids[0]).Classic {
		t.Fatalf("got %+v", d)
	}
	r.restart()
	r.wait(0)
	for i, id := range ids {
		own := []int32{0, 1, 2}
		if i == 1 {
			own = []int32{3, 4, 5}
		}
		wantErr(t, "commit", r.commit(id, 1), nil)
		wantErr(t, "heartbeat", r.heartbeat(id, 1), ErrRebalanceInProgress)

		resp := r.mustJoin(coop(id, own...))
		if resp.Generation != 1 || resp.Protocol != "range" || resp.ProtocolType != "consumer" || resp.Leader != "" {
			t.Fatalf("got %+v", resp)
		}
		r.wantPartitions(r.mustSync(id, 1), own[:2]...) // one is to be given up
		r.wantBeat(r.mustBeat(plain("new", 2)), 2)
		wantErr(t, "heartbeat with partitions to give up", r.heartbeat(id, 1), ErrRebalanceInProgress)

		if resp := r.mustJoin(coop(id, own[:2]...)); resp.Generation != 2 {
			t.Fatalf("got %+v", resp)
		}
		r.wantPartitions(r.mustSync(id, 2), own[:2]...)
		wantErr(t, "heartbeat", r.heartbeat(id, 2), nil)
		wantErr(t, "commit of the old generation", r.commit(id, 1), ErrIllegalGeneration)
		r.mustBeat(plain("new", 2))
	}
	if m := r.member("new"); len(m.Assigned) != 1 || len(m.Assigned[0].Partitions) != 2 {
		t.Errorf("the new member has %v", m.Assigned)
	}
	r.want(Stable)
}

func TestRequestsThatWaitInAClassicGroupAreAnsweredWhenItIsUpgraded(t *testing.T) {
	r := newConsumerRig(t)
	ids := r.classicPair()
	waiting := r.join(coop(ids[0], 0, 1, 2))
	if !r.open[waiting] {
		t.Fatal("the JoinGroup did not wait")
	}
	r.mustBeat(joining("new", "t000"))
	wantErr(t, "JoinGroup", r.joined(waiting).Err, ErrRebalanceInProgress)
	if len(r.open) != 0 {
		t.Errorf("%d requests wait", len(r.open))
	}
}

func TestClassicMemberJoinsAConsumerGroupAtOnce(t *testing.T) {
	r := newConsumerRig(t)
	r.mustBeat(joining("a", "t000"))
	first := coop("")
	first.RequireMemberID = true
	resp := r.joined(r.join(first))
	wantErr(t, "without id", resp.Err, ErrMemberIDRequired)
	id := resp.MemberID
	if r.g.Size() != 1 {
		t.Error("it is a member already")
	}
	if resp := r.mustJoin(coop(id)); resp.Generation != 3 || resp.MemberID != id {
		t.Fatalf("got %+v", resp)
	}
	r.wantPartitions(r.mustSync(id, 3))
	wantErr(t, "waits for partitions", r.heartbeat(id, 3), nil)
	r.mustBeat(plain("a", 2))
	r.wantBeat(r.mustBeat(has("a", 2, parts(1, 0, 1, 2))), 3)
	wantErr(t, "they are free", r.heartbeat(id, 3), ErrRebalanceInProgress)
	r.mustJoin(coop(id))
	r.wantPartitions(r.mustSync(id, 3), 3, 4, 5)
	wantErr(t, "stable", r.heartbeat(id, 3), nil)
	r.want(Stable)
	r.wait(time.Second)
	if m := r.member(id); m.Epoch != 3 || !m.Classic {
		t.Errorf("got %+v", m)
	}
}

func TestJoinGroupIntoAConsumerGroupThatIsRefused(t *testing.T) {
	r := newConsumerRig(t)
	r.mustBeat(joining("a", "t000"))
	r.mustJoin(coop("c"))
	short, long, other, none, alien, malformed := coop(""), coop(""), coop(""), coop(""), coop(""), coop("")
	short.Session = 5 * time.Second
	long.Session = time.Hour
	other.Type = "connect"
	none.Protocols = nil
	alien.Protocols = []Protocol{{Name: "sticky", Metadata: subscription("t000")}}
	malformed.Protocols = []Protocol{{Name: "range", Metadata: []byte{0}}}
	ghost := coop("x")
	ghost.InstanceID = "i"
	noText := coop("")
	noText.InstanceID = "i\xff"
	for name, c := range map[string]struct {
		req  JoinRequest
		want error
	}{
		"session too short": {short, ErrInvalidSession}, "too long": {long, ErrInvalidSession},
		"other type": {other, ErrInconsistentProtocol}, "no protocols": {none, ErrInconsistentProtocol},
		"no protocol in common": {alien, ErrInconsistentProtocol}, "no subscription": {malformed, ErrInconsistentProtocol},
		"unknown static member": {ghost, ErrUnknownMember}, "instance id that is no text": {noText, ErrInvalidRequest},
	} {
		resp := r.joined(r.join(c.req))
		wantErr(t, name, resp.Err, c.want)
		if resp.Generation != -1 || r.g.Size() != 2 {
			t.Errorf("%s: %+v", name, resp)
		}
	}
	r.set.ConsumerMaxSize = 2
	wantErr(t, "full", r.joined(r.join(coop(""))).Err, ErrGroupFull)
	r.mustJoin(coop("c"))
}

func TestSyncGroupAndHeartbeatOfAConsumerGroupThatAreRefused(t *testing.T) {
	r := newConsumerRig(t)
	r.mustBeat(joining("a", "t000"))
	r.mustJoin(coop("c"))
	other := aSync("c", 3, nil)
	other.Protocol = "sticky"
	for name, c := range map[string]struct {
		req  SyncRequest
		want error
	}{
		"unknown member":   {aSync("x", 3, nil), ErrUnknownMember},
		"consumer member":  {aSync("a", 2, nil), ErrUnknownMember},
		"other generation": {aSync("c", 2, nil), ErrIllegalGeneration},
		"other protocol":   {other, ErrInconsistentProtocol},
	} {
		wantErr(t, name, r.synced(r.sync(c.req)).Err, c.want)
	}
	wantErr(t, "heartbeat of an unknown member", r.heartbeat("x", 3), ErrUnknownMember)
	wantErr(t, "heartbeat of a consumer member", r.heartbeat("a", 2), ErrUnknownMember)
	wantErr(t, "heartbeat of another generation", r.heartbeat("c", 2), ErrIllegalGeneration)
	r.mustBeat(joining("b", "t000"))
	wantErr(t, "newer targets", r.synced(r.sync(aSync("c", 3, nil))).Err, ErrRebalanceInProgress)
}

func TestClassicMemberThatDoesNotGoOnIsPutOut(t *testing.T) {
	for name, prepare := range map[string]func(r *consumerRig) func(){
		"silent": func(r *consumerRig) func() {
			r.mustSync("c", 3)
			return func() {}
		},
		"does not sync": func(r *consumerRig) func() {
			return func() { wantErr(r.t, "heartbeat", r.heartbeat("c", 3), nil) }
		},
		"does not join again": func(r *consumerRig) func() {
			r.mustSync("c", 3)
			r.mustBeat(joining("b", "t000"))
			return func() {
				r.mustBeat(plain("b", 4))
				wantErr(r.t, "heartbeat", r.heartbeat("c", 3), ErrRebalanceInProgress)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			r := newConsumerRig(t)
			r.mustBeat(joining("a", "t001"))
			r.mustJoin(coop("c"))
			alive := prepare(r)
			for r.now.Before(epoch.Add(58 * time.Second)) {
				r.mustBeat(plain("a", r.member("a").Epoch))
				alive()
				r.wait(2 * time.Second)
			}
			r.wait(4 * time.Second)
			if slices.ContainsFunc(r.g.Describe().Members, func(m MemberDescription) bool { return m.MemberID == "c" }) {
				t.Error("it is a member still")
			}
		})
	}
}

func TestRestoredGroupKnowsTheTopicsBeforeClassicMembersJoin(t *testing.T) {
	r := newConsumerRig(t)
	r.mustBeat(joining("a", "t001"))
	r.mustJoin(coop("c"))
	r.restart()
	wantErr(t, "JoinGroup at once", r.joined(r.join(coop("c"))).Err, ErrLoading)
	wantErr(t, "SyncGroup at once", r.synced(r.sync(aSync("c", 3, nil))).Err, ErrLoading)
	r.wait(0)
	r.wantPartitions(r.mustSync("c", 3), 0, 1, 2, 3, 4, 5)
}

func TestStaticClassicMemberTakesTheInstanceOver(t *testing.T) {
	r := newConsumerRig(t)
	r.twoStatic()
	req := coop("")
	req.InstanceID = "i"
	resp := r.mustJoin(req)
	if resp.Generation != 3 {
		t.Fatalf("got %+v", resp)
	}
	r.wantPartitions(r.partitionsIn(r.synced(r.sync(SyncRequest{MemberRef: MemberRef{MemberID: resp.MemberID, InstanceID: "i", Generation: 3}})).Assignment), 0, 1, 2)
	wantErr(t, "the one before", r.beat(plain("a", 3).static("i")).Err, ErrFencedInstance)
	r.wantBeat(r.mustBeat(joining("d", "t000").static("i")), 3, parts(1, 0, 1, 2))
	if r.member("d").Classic {
		t.Error("it is classic still")
	}
	wantErr(t, "its heartbeat", r.g.Heartbeat(r.now, MemberRef{MemberID: resp.MemberID, InstanceID: "i", Generation: 3}), ErrFencedInstance)
}

// mixed is a consumer group of the consumer member a and the classic member c.
func (r *consumerRig) mixed() {
	r.t.Helper()
	r.mustBeat(joining("a", "t000"))
	r.mustJoin(coop("c"))
	r.mustBeat(plain("a", 2))
	r.mustBeat(has("a", 2, parts(1, 0, 1, 2)))
	r.mustJoin(coop("c"))
	r.wantPartitions(r.mustSync("c", 3), 3, 4, 5)
	r.want(Stable)
}

func TestGroupIsDowngradedWhenItsLastConsumerMemberGoes(t *testing.T) {
	for name, gone := range map[string]func(r *consumerRig){
		"leaves": func(r *consumerRig) { r.mustBeat(plain("a", -1)) },
		"is silent": func(r *consumerRig) {
			for range 6 {
				_ = r.heartbeat("c", 3)
				r.wait(8 * time.Second)
			}
		},
		"is removed": func(r *consumerRig) { r.leave(LeavingMember{MemberID: "a"}) },
	} {
		t.Run(name, func(t *testing.T) {
			r := newConsumerRig(t)
			r.mixed()
			gone(r)
			if d := r.g.Describe(); d.Type != Classic || d.State != PreparingRebalance || len(d.Members) != 1 {
				t.Fatalf("got %+v", d)
			}
			r.wantPartitions(r.partitionsIn(r.g.Describe().Members[0].Assignment), 3, 4, 5)
			wantErr(t, "heartbeat", r.heartbeat("c", 3), ErrRebalanceInProgress)
			if resp := r.mustJoin(coop("c", 3, 4, 5)); resp.Generation != 4 || resp.Leader != "c" {
				t.Errorf("got %+v", resp)
			}
			r.restart()
			if d := r.g.Describe(); d.Type != Classic || len(d.Members) != 1 {
				t.Errorf("restored as %+v", d)
			}
		})
	}
}

func TestGroupIsNotDowngradedIfItMayNot(t *testing.T) {
	for name, change := range map[string]func(s *Settings){
		"disabled":     func(s *Settings) { s.Migration = NoMigration },
		"upgrade only": func(s *Settings) { s.Migration = Upgrade },
		"too large":    func(s *Settings) { s.MaxSize = 0 },
	} {
		t.Run(name, func(t *testing.T) {
			r := newConsumerRig(t)
			r.mixed()
			change(&r.set)
			r.mustBeat(plain("a", -1))
			if r.g.Type() != Consumer {
				t.Fatal("it is classic")
			}
			wantErr(t, "heartbeat", r.heartbeat("c", 3), ErrRebalanceInProgress)
			r.mustJoin(coop("c", 3, 4, 5))
			r.wantPartitions(r.mustSync("c", 4), 0, 1, 2, 3, 4, 5)
		})
	}
}

func TestLastStaticConsumerMemberIsReplacedByAClassicOne(t *testing.T) {
	for name, others := range map[string]bool{"alone": false, "with classic ones": true} {
		t.Run(name, func(t *testing.T) {
			r := newConsumerRig(t)
			r.set.InitialDelay = 0
			r.mustBeat(joining("a", "t000").static("i"))
			if others {
				r.mustJoin(coop("c"))
			}
			req := coop("")
			req.InstanceID = "i"
			to := r.join(req)
			if r.g.Type() != Classic {
				t.Fatal("the group is a consumer group")
			}
			if others {
				r.mustJoin(coop("c"))
			}
			if resp := r.joined(to); resp.Err != nil {
				t.Errorf("got %+v", resp)
			}
			wantErr(t, "the one before", r.beat(plain("a", 2).static("i")).Err, ErrNotFound)
		})
	}
}

func TestDowngradedGroupOfTheLastConsumerMemberIsStoredWhole(t *testing.T) {
	r := newConsumerRig(t)
	r.mixed()
	r.mustBeat(plain("a", -1))
	if len(r.st.Members) != 1 || r.st.Members["c"] == nil {
		t.Fatalf("stored: %v", r.st.Members)
	}
	r.restart()
	if d := r.g.Describe(); d.Type != Classic || d.State != Stable || d.Epoch != 3 {
		t.Errorf("got %+v", d)
	}
}
