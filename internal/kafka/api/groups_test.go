package api

import (
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/korvet-io/korvet/internal/group"
)

func joinOf(protocols ...string) *kmsg.JoinGroupRequest {
	req := kmsg.NewPtrJoinGroupRequest()
	req.Group, req.ProtocolType = "g", "consumer"
	req.SessionTimeoutMillis, req.RebalanceTimeoutMillis = 10_000, 60_000
	for _, name := range protocols {
		req.Protocols = append(req.Protocols, kmsg.JoinGroupRequestProtocol{Name: name, Metadata: []byte("of " + name)})
	}
	return req
}

func TestJoinGroupTellsTheGroupAllOfTheRequest(t *testing.T) {
	for version := int16(0); version <= 9; version++ {
		b := newBroker(t, nil)
		req := joinOf("range", "sticky")
		req.MemberID, req.InstanceID, req.Reason = "m", kmsg.StringPtr("i"), kmsg.StringPtr("why")
		do[*kmsg.JoinGroupResponse](b, req, version)
		want := group.JoinRequest{
			MemberID: "m", Client: group.Client{ID: "c", Host: "/1.2.3.4"}, Session: 10 * time.Second, Rebalance: time.Minute, Type: "consumer",
			Protocols:       []group.Protocol{{Name: "range", Metadata: []byte("of range")}, {Name: "sticky", Metadata: []byte("of sticky")}},
			RequireMemberID: version == 4, SkipAssignment: version >= 9,
		}
		if version == 0 {
			want.Rebalance = want.Session
		}
		if version >= 5 {
			want.InstanceID = "i"
		}
		if version >= 8 {
			want.Reason = "why"
		}
		if !reflect.DeepEqual(b.groups.asked, want) || b.groups.names[0] != "g" {
			t.Errorf("version %d:\n got %+v\nwant %+v", version, b.groups.asked, want)
		}
	}
}

func TestJoinGroupAnswersALeaderWithItsMembers(t *testing.T) {
	b := newBroker(t, nil)
	b.groups.joined = group.JoinResponse{
		Generation: 7, ProtocolType: "consumer", Protocol: "range", Leader: "m1", MemberID: "m1", SkipAssignment: true,
		Members: []group.JoinMember{{MemberID: "m1", Metadata: []byte("x")}, {MemberID: "m2", InstanceID: "i"}},
	}
	got := do[*kmsg.JoinGroupResponse](b, joinOf("range"), 9)
	if got.Generation != 7 || text(got.ProtocolType) != "consumer" || text(got.Protocol) != "range" || got.LeaderID != "m1" || got.MemberID != "m1" || !got.SkipAssignment {
		t.Errorf("got %+v", got)
	}
	if len(got.Members) != 2 || got.Members[0].InstanceID != nil || string(got.Members[0].ProtocolMetadata) != "x" || text(got.Members[1].InstanceID) != "i" {
		t.Errorf("members %+v", got.Members)
	}
}

func TestJoinGroupErrors(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*kmsg.JoinGroupRequest)
		err    error
		want   string
	}{
		"empty group id":    {func(r *kmsg.JoinGroupRequest) { r.Group = "" }, nil, "INVALID_GROUP_ID"},
		"too much metadata": {func(r *kmsg.JoinGroupRequest) { r.Protocols[0].Metadata = make([]byte, 1<<20) }, nil, "INVALID_REQUEST"},
		"too many protocols": {func(r *kmsg.JoinGroupRequest) {
			r.Protocols = make([]kmsg.JoinGroupRequestProtocol, 1<<20/protocolCost+1)
		}, nil, "INVALID_REQUEST"},
		"member id required": {nil, group.ErrMemberIDRequired, "MEMBER_ID_REQUIRED"},
		"fenced":             {nil, fmt.Errorf("x: %w", group.ErrFencedInstance), "FENCED_INSTANCE_ID"},
		"Redis is away":      {nil, group.ErrCoordinatorUnavailable, "COORDINATOR_NOT_AVAILABLE"},
		"of no known kind":   {nil, fmt.Errorf("surprise"), "COORDINATOR_NOT_AVAILABLE"},
	} {
		for _, version := range []int16{0, 5, 9} {
			b := newBroker(t, nil)
			b.groups.err = c.err
			req := joinOf("range")
			req.MemberID = "m"
			if c.change != nil {
				c.change(req)
			}
			got := do[*kmsg.JoinGroupResponse](b, req, version)
			if codeName(got.ErrorCode) != c.want || got.Generation != -1 || got.MemberID != "m" || text(got.Protocol) != "" || len(got.Members) != 0 {
				t.Errorf("%s in version %d: %+v", name, version, got)
			}
			if version >= 7 && got.Protocol != nil {
				t.Errorf("%s in version %d: protocol is not null", name, version)
			}
		}
	}
}

func TestParkedJoinHoldsNoRoomOfOtherRequests(t *testing.T) {
	b := newBroker(t, func(s *Settings) { s.MaxControlRequestBytes = 100 << 10 })
	b.groups.hold = true
	big := joinOf("range")
	big.Protocols[0].Metadata = make([]byte, 90<<10)
	var all []<-chan answer
	for range 5 { // together more than may be decoded at a time
		all = append(all, b.startRequest(big, 9))
	}
	if n := b.groups.waiting(); n != 5 {
		t.Fatalf("%d joins reached the group", n)
	}
	b.groups.release()
	for _, got := range all {
		b.decode(big, b.await(got))
	}
}

func TestLargeCommitHoldsItsRoomUntilItIsStored(t *testing.T) {
	b := newBroker(t, nil)
	b.groups.hold = true
	req := commitOf("t", 0, strings.Repeat("x", 70<<10))
	req.Topics[0].Partitions = append(req.Topics[0].Partitions, commitOf("t", 0, "").Topics[0].Partitions...)
	got := b.startRequest(req, 8)
	if b.api.control.used == 0 {
		t.Error("no room is taken")
	}
	b.groups.release()
	b.await(got)
	if b.api.control.used != 0 {
		t.Errorf("%d bytes are not given back", b.api.control.used)
	}
}

func TestWhoWaitsForMembersIsAnsweredWhenTheBrokerStops(t *testing.T) {
	b := newBroker(t, nil)
	b.groups.hold = true
	join, sync := joinOf("range"), syncOf(map[string]string{"m": "a"})
	join.MemberID = "m"
	joined, synced := b.startRequest(join, 9), b.startRequest(sync, 5)
	b.drain()
	if r := b.decode(join, b.await(joined)).(*kmsg.JoinGroupResponse); codeName(r.ErrorCode) != "COORDINATOR_NOT_AVAILABLE" || r.MemberID != "m" {
		t.Errorf("join: %+v", r)
	}
	if r := b.decode(sync, b.await(synced)).(*kmsg.SyncGroupResponse); codeName(r.ErrorCode) != "COORDINATOR_NOT_AVAILABLE" {
		t.Errorf("sync: %+v", r)
	}
	b.groups.release() // answers nobody any more
	if len(joined)+len(synced) > 0 {
		t.Error("answered twice")
	}
}

func syncOf(assignments map[string]string) *kmsg.SyncGroupRequest {
	req := kmsg.NewPtrSyncGroupRequest()
	req.Group, req.MemberID, req.Generation = "g", "m", 3
	req.ProtocolType, req.Protocol = kmsg.StringPtr("consumer"), kmsg.StringPtr("range")
	for id, a := range assignments {
		req.GroupAssignment = append(req.GroupAssignment, kmsg.SyncGroupRequestGroupAssignment{MemberID: id, MemberAssignment: []byte(a)})
	}
	return req
}

func TestSyncGroup(t *testing.T) {
	for version := int16(0); version <= 5; version++ {
		b := newBroker(t, nil)
		b.groups.synced = group.SyncResponse{Type: "consumer", Protocol: "range", Assignment: []byte("mine")}
		got := do[*kmsg.SyncGroupResponse](b, syncOf(map[string]string{"m": "a", "n": "b"}), version)
		if got.ErrorCode != 0 || string(got.MemberAssignment) != "mine" || version >= 5 && (text(got.Protocol) != "range" || text(got.ProtocolType) != "consumer") {
			t.Errorf("version %d: %+v", version, got)
		}
		want := group.SyncRequest{
			MemberRef:   group.MemberRef{MemberID: "m", Generation: 3},
			Assignments: map[string][]byte{"m": []byte("a"), "n": []byte("b")},
		}
		if version >= 5 {
			want.Type, want.Protocol, want.HasProtocol = "consumer", "range", true
		}
		if !reflect.DeepEqual(b.groups.asked, want) {
			t.Errorf("version %d:\n got %+v\nwant %+v", version, b.groups.asked, want)
		}
	}
}

func TestSyncGroupMustNameItsProtocol(t *testing.T) {
	b := newBroker(t, nil)
	for _, change := range []func(*kmsg.SyncGroupRequest){
		func(r *kmsg.SyncGroupRequest) { r.Protocol = nil },
		func(r *kmsg.SyncGroupRequest) { r.ProtocolType = nil },
	} {
		req := syncOf(nil)
		change(req)
		if got := do[*kmsg.SyncGroupResponse](b, req, 5); codeName(got.ErrorCode) != "INCONSISTENT_GROUP_PROTOCOL" {
			t.Errorf("%+v", got)
		}
	}
	if b.groups.asked != nil {
		t.Error("the group was asked")
	}
}

func TestHeartbeat(t *testing.T) {
	b := newBroker(t, nil)
	req := kmsg.NewPtrHeartbeatRequest()
	req.Group, req.MemberID, req.Generation, req.InstanceID = "g", "m", 3, kmsg.StringPtr("i")
	if got := do[*kmsg.HeartbeatResponse](b, req, 4); got.ErrorCode != 0 {
		t.Errorf("%+v", got)
	}
	if want := (group.MemberRef{MemberID: "m", InstanceID: "i", Generation: 3}); b.groups.asked != want {
		t.Errorf("asked %+v", b.groups.asked)
	}
	b.groups.err = group.ErrRebalanceInProgress
	if got := do[*kmsg.HeartbeatResponse](b, req, 0); codeName(got.ErrorCode) != "REBALANCE_IN_PROGRESS" {
		t.Errorf("%+v", got)
	}
	req.Group = ""
	if got := do[*kmsg.HeartbeatResponse](b, req, 4); codeName(got.ErrorCode) != "INVALID_GROUP_ID" {
		t.Errorf("%+v", got)
	}
}

func TestLeaveGroupAnswersEachMember(t *testing.T) {
	b := newBroker(t, nil)
	b.groups.left = []group.LeftMember{{MemberID: "m"}, {InstanceID: "i", Err: group.ErrUnknownMember}}
	req := kmsg.NewPtrLeaveGroupRequest()
	req.Group = "g"
	req.Members = []kmsg.LeaveGroupRequestMember{{MemberID: "m", Reason: kmsg.StringPtr("why")}, {InstanceID: kmsg.StringPtr("i")}}
	got := do[*kmsg.LeaveGroupResponse](b, req, 5)
	if got.ErrorCode != 0 || len(got.Members) != 2 || got.Members[0].ErrorCode != 0 || got.Members[0].InstanceID != nil ||
		codeName(got.Members[1].ErrorCode) != "UNKNOWN_MEMBER_ID" || text(got.Members[1].InstanceID) != "i" {
		t.Errorf("%+v", got)
	}
	want := []group.LeavingMember{{MemberID: "m", Reason: "why"}, {InstanceID: "i"}}
	if !reflect.DeepEqual(b.groups.asked, want) {
		t.Errorf("asked %+v", b.groups.asked)
	}
}

func TestLeaveGroupOfOneMemberAnswersOnTop(t *testing.T) {
	b := newBroker(t, nil)
	b.groups.left = []group.LeftMember{{MemberID: "m", Err: group.ErrUnknownMember}}
	req := kmsg.NewPtrLeaveGroupRequest()
	req.Group, req.MemberID = "g", "m"
	if got := do[*kmsg.LeaveGroupResponse](b, req, 2); codeName(got.ErrorCode) != "UNKNOWN_MEMBER_ID" {
		t.Errorf("%+v", got)
	}
	b.groups.err = group.ErrNotCoordinator
	if got := do[*kmsg.LeaveGroupResponse](b, req, 3); codeName(got.ErrorCode) != "NOT_COORDINATOR" {
		t.Errorf("%+v", got)
	}
}

func TestEveryErrorOfGroupsHasACodeOfItsOwn(t *testing.T) {
	kinds := []error{
		group.ErrUnknownMember, group.ErrIllegalGeneration, group.ErrRebalanceInProgress, group.ErrInconsistentProtocol, group.ErrFencedInstance,
		group.ErrMemberIDRequired, group.ErrInvalidSession, group.ErrInvalidGroupID, group.ErrGroupFull, group.ErrNonEmpty, group.ErrNotFound,
		group.ErrSubscribed, group.ErrInvalidRequest, group.ErrFencedMemberEpoch, group.ErrStaleMemberEpoch, group.ErrUnreleasedInstance,
		group.ErrUnsupportedAssignor, group.ErrInvalidRegexp, group.ErrUnsupportedVersion, group.ErrMetadataTooLarge,
		group.ErrNotCoordinator, group.ErrCoordinatorUnavailable, group.ErrLoading,
	}
	seen := map[int16]error{}
	for _, kind := range kinds {
		code := groupErrorCode(fmt.Errorf("wrapped: %w", kind))
		if other := seen[code]; other != nil {
			t.Errorf("%v and %v are both %s", kind, other, codeName(code))
		}
		seen[code] = kind
	}
	for _, kind := range []error{group.ErrNotCoordinator, group.ErrCoordinatorUnavailable, group.ErrLoading} {
		if said := *errorMessage(fmt.Errorf("%w: dial 10.1.2.3:6379", kind)); strings.Contains(said, "10.1.2.3") {
			t.Errorf("told %q", said)
		}
	}
}
