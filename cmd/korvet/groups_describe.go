package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"strconv"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
)

// groupDescription is a group as --describe shows it.
type groupDescription struct {
	Group           string              `json:"group"`
	Type            string              `json:"type"`
	State           string              `json:"state"`
	Coordinator     string              `json:"coordinator"` // host:port
	CoordinatorID   int32               `json:"coordinator_id"`
	Assignor        string              `json:"assignment_strategy"`
	Epoch           *int32              `json:"group_epoch"` // nil in a classic group
	AssignmentEpoch *int32              `json:"target_assignment_epoch"`
	Members         []memberDescription `json:"members"`
	Offsets         []offsetDescription `json:"offsets,omitempty"` // unless --members or --state is asked for
}

// memberDescription is one consumer of it.
type memberDescription struct {
	ConsumerID string             `json:"consumer_id"`
	InstanceID string             `json:"group_instance_id,omitempty"`
	Host       string             `json:"host"`
	ClientID   string             `json:"client_id"`
	Epoch      *int32             `json:"epoch"` // nil in a classic group
	Assignment map[string][]int32 `json:"assignment"`
	Target     map[string][]int32 `json:"target_assignment"` // nil in a classic group
}

// partitions counts what is assigned to the member.
func (m memberDescription) partitions() int {
	n := 0
	for _, partitions := range m.Assignment {
		n += len(partitions)
	}
	return n
}

// find describes groups, in the order of their names. Those that could not be described are in the error.
func (g groupsAdmin) find(ctx context.Context, names []string) ([]groupDescription, error) {
	if len(names) == 0 {
		return nil, nil // kadm would take all
	}
	var found []groupDescription
	// An error is not looked at: what was not described here is asked for as a classic group, and that answer counts.
	consumers, _ := g.client.DescribeConsumerGroups(ctx, names...)
	classic := slices.DeleteFunc(slices.Clone(names), func(name string) bool {
		d, ok := consumers[name]
		if ok = ok && d.Err == nil; ok {
			found = append(found, fromConsumerGroup(d))
		}
		return ok
	})
	if len(classic) == 0 {
		return sortedGroups(found), nil
	}
	described, err := g.client.DescribeGroups(ctx, classic...)
	if err != nil {
		return sortedGroups(found), fmt.Errorf("describe groups: %w", err)
	}
	var problems []error
	for _, name := range classic {
		d, ok := described[name]
		switch {
		case !ok, d.State == "Dead" && d.Err == nil, errors.Is(d.Err, kerr.GroupIDNotFound): // DescribeGroups before v6 says Dead
			problems = append(problems, groupError("describe", name, kerr.GroupIDNotFound, ""))
		case d.Err != nil:
			problems = append(problems, groupError("describe", name, d.Err, d.ErrMessage))
		default:
			found = append(found, fromClassicGroup(d))
		}
	}
	return sortedGroups(found), errors.Join(problems...)
}

func sortedGroups(groups []groupDescription) []groupDescription {
	slices.SortFunc(groups, func(a, b groupDescription) int { return cmp.Compare(a.Group, b.Group) })
	return groups
}

func fromConsumerGroup(d kadm.DescribedConsumerGroup) groupDescription {
	one := groupDescription{
		Group: d.Group, Type: "consumer", State: d.State, Coordinator: address(d.Coordinator), CoordinatorID: d.Coordinator.NodeID,
		Assignor: d.AssignorName, Epoch: &d.Epoch, AssignmentEpoch: &d.AssignmentEpoch, Members: []memberDescription{},
	}
	for _, m := range d.Members {
		one.Members = append(one.Members, memberDescription{
			ConsumerID: m.MemberID, InstanceID: orEmpty(m.InstanceID), Host: m.ClientHost, ClientID: m.ClientID, Epoch: &m.MemberEpoch,
			Assignment: partitionsOf(m.Assignment), Target: partitionsOf(m.TargetAssignment),
		})
	}
	return one
}

func fromClassicGroup(d kadm.DescribedGroup) groupDescription {
	one := groupDescription{
		Group: d.Group, Type: "classic", State: d.State, Coordinator: address(d.Coordinator), CoordinatorID: d.Coordinator.NodeID,
		Assignor: d.Protocol, Members: []memberDescription{},
	}
	for _, m := range d.Members {
		member := memberDescription{ConsumerID: m.MemberID, InstanceID: orEmpty(m.InstanceID), Host: m.ClientHost, ClientID: m.ClientID, Assignment: map[string][]int32{}}
		if a, ok := m.Assigned.AsConsumer(); ok {
			for _, t := range a.Topics {
				member.Assignment[t.Topic] = slices.Sorted(slices.Values(t.Partitions))
			}
		}
		one.Members = append(one.Members, member)
	}
	return one
}

func partitionsOf(set kadm.TopicsSet) map[string][]int32 {
	partitions := map[string][]int32{}
	for _, t := range set.Sorted() {
		partitions[t.Topic] = t.Partitions
	}
	return partitions
}

func address(b kadm.BrokerDetail) string { return net.JoinHostPort(b.Host, strconv.Itoa(int(b.Port))) }

func orEmpty(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}

// describe prints what is asked for of the groups.
func (g groupsAdmin) describe(ctx context.Context) error {
	names, err := g.names(ctx)
	if err != nil {
		return err
	}
	groups, err := g.find(ctx, names)
	problems := []error{err}
	if !g.flags.members && !g.flags.state.on {
		problems = append(problems, g.addOffsets(ctx, groups))
	}
	return errors.Join(append(problems, g.print.describe(groups, g.flags.members, g.flags.state.on))...)
}
