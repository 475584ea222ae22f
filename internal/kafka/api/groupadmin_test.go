package api

import (
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/korvet-io/korvet/internal/group"
	"github.com/korvet-io/korvet/internal/metadata"
)

func TestFindCoordinator(t *testing.T) {
	b := newBroker(t, nil)
	b.cluster.nodes = append(b.cluster.nodes, metadata.Node{ID: 2, Host: "two", Port: 9093})
	b.groups.node = 2
	for version := int16(0); version <= 6; version++ {
		req := kmsg.NewPtrFindCoordinatorRequest()
		req.CoordinatorKey, req.CoordinatorKeys = "g", []string{"g", "h"}
		got := do[*kmsg.FindCoordinatorResponse](b, req, version)
		if version < 4 {
			if got.ErrorCode != 0 || got.NodeID != 2 || got.Host != "two" || got.Port != 9093 {
				t.Errorf("version %d: %+v", version, got)
			}
			continue
		}
		for i, c := range got.Coordinators {
			if c.ErrorCode != 0 || c.Key != req.CoordinatorKeys[i] || c.NodeID != 2 || c.Host != "two" || c.Port != 9093 {
				t.Errorf("version %d: %+v", version, got)
			}
		}
	}
}

func TestFindCoordinatorErrors(t *testing.T) {
	for name, c := range map[string]struct {
		kind int8
		node int32
		want string
	}{
		"transactions":         {1, 1, "TRANSACTIONAL_ID_AUTHORIZATION_FAILED"},
		"share groups":         {2, 1, "INVALID_REQUEST"},
		"unknown kind":         {9, 1, "INVALID_REQUEST"},
		"broker that is gone":  {0, 5, "COORDINATOR_NOT_AVAILABLE"},
		"broker that is known": {0, 1, "OK"},
	} {
		b := newBroker(t, nil)
		b.groups.node = c.node
		req := kmsg.NewPtrFindCoordinatorRequest()
		req.CoordinatorKey, req.CoordinatorKeys, req.CoordinatorType = "x", []string{"x"}, c.kind
		old := do[*kmsg.FindCoordinatorResponse](b, req, 1)
		got := do[*kmsg.FindCoordinatorResponse](b, req, 6).Coordinators[0]
		if codeName(got.ErrorCode) != c.want || old.ErrorCode != got.ErrorCode || c.want != "OK" && (got.NodeID != -1 || got.Port != -1 || text(got.ErrorMessage) == "") {
			t.Errorf("%s: %+v, before v4 %+v", name, got, old)
		}
		if c.kind == 1 && !strings.Contains(text(got.ErrorMessage), "transactions are not supported") {
			t.Errorf("%s: told %q", name, text(got.ErrorMessage))
		}
	}
}

func classicGroup() group.Description {
	return group.Description{
		ID: "g", Type: group.Classic, State: group.Stable, ProtocolType: "consumer", Protocol: "range",
		Members: []group.MemberDescription{{
			MemberID: "m", InstanceID: "i", Client: group.Client{ID: "c", Host: "/1.2.3.4"}, Metadata: []byte("x"), Assignment: []byte("y"),
		}},
	}
}

func consumerGroup(topic, gone uuid.UUID) group.Description {
	return group.Description{
		ID: "k", Type: group.Consumer, State: group.Reconciling, ProtocolType: "consumer", Protocol: "uniform", Epoch: 5, AssignmentEpoch: 4, Since: time.Now(),
		Members: []group.MemberDescription{
			{MemberID: "m", Rack: "r", Epoch: 3, Topics: []string{"t"}, Regexp: "t.*", Assigned: []group.TopicPartitions{{Topic: topic, Partitions: []int32{0}}}},
			{MemberID: "n", Classic: true, Target: []group.TopicPartitions{{Topic: gone, Partitions: []int32{1}}, {Topic: topic, Partitions: []int32{0}}}},
		},
	}
}

func TestDescribeGroups(t *testing.T) {
	b := newBroker(t, nil)
	b.groups.described["g"] = classicGroup()
	b.groups.described["k"] = consumerGroup(uuid.UUID{}, uuid.UUID{})
	for version := int16(0); version <= 6; version++ {
		req := kmsg.NewPtrDescribeGroupsRequest()
		req.Groups, req.IncludeAuthorizedOperations = []string{"g", "none", "k", "g"}, version == 6
		got := do[*kmsg.DescribeGroupsResponse](b, req, version).Groups
		if len(got) != 3 {
			t.Fatalf("version %d: %d groups", version, len(got))
		}
		m := got[0].Members[0]
		if got[0].State != "Stable" || got[0].ProtocolType != "consumer" || got[0].Protocol != "range" || m.MemberID != "m" || m.ClientID != "c" ||
			m.ClientHost != "/1.2.3.4" || string(m.ProtocolMetadata) != "x" || string(m.MemberAssignment) != "y" || (text(m.InstanceID) == "i") != (version >= 4) {
			t.Errorf("version %d: %+v", version, got[0])
		}
		want := "OK"
		if version >= 6 {
			want = "GROUP_ID_NOT_FOUND"
		}
		for _, dead := range got[1:] {
			if codeName(dead.ErrorCode) != want || dead.State != "Dead" || (dead.ErrorMessage != nil) != (version >= 6) || version >= 3 && dead.AuthorizedOperations != -2147483648 {
				t.Errorf("version %d: %+v", version, dead)
			}
		}
		if operations := got[0].AuthorizedOperations; version == 6 && operations != allGroupOperations || version >= 3 && version < 6 && operations != -2147483648 {
			t.Errorf("version %d: operations %d", version, operations)
		}
	}
	b.groups.err = group.ErrLoading
	req := kmsg.NewPtrDescribeGroupsRequest()
	req.Groups = []string{"g"}
	if got := do[*kmsg.DescribeGroupsResponse](b, req, 5).Groups[0]; codeName(got.ErrorCode) != "COORDINATOR_LOAD_IN_PROGRESS" || got.State != "" {
		t.Errorf("got %+v", got)
	}
}

func TestConsumerGroupDescribe(t *testing.T) {
	b := newBroker(t, nil)
	topic := b.topic("t")
	b.groups.described["g"] = classicGroup()
	b.groups.described["k"] = consumerGroup(topic.ID, uuid.UUID{1})
	for version := int16(0); version <= 1; version++ {
		req := kmsg.NewPtrConsumerGroupDescribeRequest()
		req.Groups, req.IncludeAuthorizedOperations = []string{"k", "g", "none"}, true
		got := do[*kmsg.ConsumerGroupDescribeResponse](b, req, version).Groups
		k := got[0]
		if k.ErrorCode != 0 || k.State != "Reconciling" || k.Epoch != 5 || k.AssignmentEpoch != 4 || k.AssignorName != "uniform" || k.AuthorizedOperations != allGroupOperations || len(k.Members) != 2 {
			t.Fatalf("version %d: %+v", version, k)
		}
		m, n := k.Members[0], k.Members[1]
		if m.MemberEpoch != 3 || text(m.RackID) != "r" || text(m.SubscribedTopicRegex) != "t.*" || m.SubscribedTopics[0] != "t" || n.SubscribedTopicRegex != nil {
			t.Errorf("version %d: %+v %+v", version, m, n)
		}
		want := []kmsg.AssignmentTopicPartition{{TopicID: topic.ID, Topic: "t", Partitions: []int32{0}}}
		if !reflect.DeepEqual(m.Assignment.TopicPartitions, want) || !reflect.DeepEqual(n.TargetAssignment.TopicPartitions, want) {
			t.Errorf("version %d: %+v %+v", version, m, n)
		}
		if version == 1 && (m.MemberType != consumerMember || n.MemberType != classicMember) {
			t.Errorf("member types %d %d", m.MemberType, n.MemberType)
		}
		for _, none := range got[1:] {
			if codeName(none.ErrorCode) != "GROUP_ID_NOT_FOUND" || none.ErrorMessage == nil {
				t.Errorf("version %d: %+v", version, none)
			}
		}
	}
}

func TestListGroupsFilters(t *testing.T) {
	b := newBroker(t, nil)
	b.groups.described["g"] = classicGroup()
	b.groups.described["k"] = consumerGroup(uuid.UUID{}, uuid.UUID{})
	for name, c := range map[string]struct {
		states, types []string
		want          string
	}{
		"none":                {nil, nil, "g k"},
		"state in other case": {[]string{"sTABLE"}, nil, "g"},
		"unknown state":       {[]string{"Odd"}, nil, ""},
		"type":                {nil, []string{"Consumer"}, "k"},
		"unknown type":        {nil, []string{"odd"}, ""},
		"two states":          {[]string{"stable", "reconciling"}, nil, "g k"},
		"both":                {[]string{"stable"}, []string{"consumer"}, ""},
	} {
		req := kmsg.NewPtrListGroupsRequest()
		req.StatesFilter, req.TypesFilter = c.states, c.types
		var names []string
		for _, g := range do[*kmsg.ListGroupsResponse](b, req, 5).Groups {
			names = append(names, g.Group)
			if want := b.groups.described[g.Group]; g.GroupState != string(want.State) || g.GroupType != string(want.Type) || g.ProtocolType != "consumer" {
				t.Errorf("%s: %+v", name, g)
			}
		}
		slices.Sort(names)
		if strings.Join(names, " ") != c.want {
			t.Errorf("%s: %v", name, names)
		}
	}
	b.groups.err = group.ErrLoading
	if got := do[*kmsg.ListGroupsResponse](b, kmsg.NewPtrListGroupsRequest(), 5); codeName(got.ErrorCode) != "COORDINATOR_LOAD_IN_PROGRESS" {
		t.Errorf("%+v", got)
	}
}

func TestDeleteGroups(t *testing.T) {
	b := newBroker(t, nil)
	b.groups.described["g"] = classicGroup()
	b.groups.described["e"] = group.Description{ID: "e", Type: group.Classic, State: group.Empty}
	req := kmsg.NewPtrDeleteGroupsRequest()
	req.Groups = []string{"e", "g", "none", "e"}
	got := do[*kmsg.DeleteGroupsResponse](b, req, 3).Groups
	var list []string
	for _, g := range got {
		list = append(list, g.Group+" "+codeName(g.ErrorCode))
		if (g.ErrorMessage == nil) != (g.ErrorCode == 0) {
			t.Errorf("%+v", g)
		}
	}
	if want := "e OK, g NON_EMPTY_GROUP, none GROUP_ID_NOT_FOUND"; strings.Join(list, ", ") != want {
		t.Errorf("got %v", list)
	}
}
