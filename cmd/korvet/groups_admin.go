package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
)

// groupsAdmin does what korvet groups is asked for.
type groupsAdmin struct {
	client *kadm.Client
	flags  *groupsFlags
	job    groupsJob
	print  groupsPrinter
}

func (g groupsAdmin) list(ctx context.Context) error {
	groups, err := g.client.ListGroupsByType(ctx, g.flags.kind.values, g.flags.state.values...)
	if err != nil {
		return fmt.Errorf("list groups: %w", err)
	}
	return g.print.list(groups.Sorted(), g.flags.kind.on, g.flags.state.on)
}

// names are the groups that are asked for, each once and in order.
func (g groupsAdmin) names(ctx context.Context) ([]string, error) {
	if !g.flags.allGroups {
		return sortedSet(g.flags.groups), nil
	}
	groups, err := g.client.ListGroups(ctx)
	if err != nil {
		return nil, fmt.Errorf("list groups: %w", err)
	}
	return groups.Groups(), nil
}

func (g groupsAdmin) delete(ctx context.Context) error {
	names, err := g.names(ctx)
	if err != nil {
		return err
	}
	all := []groupDone{}
	var problems []error
	var responses kadm.DeleteGroupResponses
	if len(names) > 0 {
		if responses, err = g.client.DeleteGroups(ctx, names...); err != nil {
			return fmt.Errorf("delete groups: %w", err)
		}
	}
	for _, r := range responses.Sorted() {
		one := groupDone{Group: r.Group, Done: "deleted"}
		if r.Err != nil {
			err := groupError("delete", r.Group, r.Err, r.ErrMessage)
			problems = append(problems, err)
			one = groupDone{Group: r.Group, Error: err.Error()}
		}
		all = append(all, one)
	}
	return g.print.done(all, problems)
}

func (g groupsAdmin) deleteOffsets(ctx context.Context) error {
	group := g.flags.groups[0]
	partitions, err := partitionsIn(ctx, g.client, g.job.scopes)
	if err != nil {
		return err
	}
	responses, err := g.client.DeleteOffsets(ctx, group, partitions)
	if err != nil {
		return groupError("delete offsets of", group, err, "")
	}
	deleted := []offsetDeletion{}
	var problems []error
	for _, t := range partitions.Sorted() {
		for _, p := range t.Partitions {
			one := offsetDeletion{Group: group, Topic: t.Topic, Partition: p, Done: "deleted"}
			err, ok := responses.Lookup(t.Topic, p)
			if !ok {
				err = errors.New("the broker does not say")
			}
			if err != nil {
				one.Done, one.Error = "", err.Error()
				problems = append(problems, groupError(fmt.Sprintf("delete offset of %s-%d of", t.Topic, p), group, err, ""))
			}
			deleted = append(deleted, one)
		}
	}
	return errors.Join(append([]error{g.print.deletedOffsets(deleted)}, problems...)...)
}

// partitionsIn are those that scopes stand for. One that does not exist is an error.
func partitionsIn(ctx context.Context, client *kadm.Client, scopes []scope) (kadm.TopicsSet, error) {
	set := kadm.TopicsSet{}
	var topics []string
	for _, s := range scopes {
		topics = append(topics, s.topic)
	}
	details, err := client.ListTopicsWithInternal(ctx, sortedSet(topics)...)
	if err != nil {
		return nil, fmt.Errorf("describe topics: %w", err)
	}
	var problems []error
	for _, s := range scopes {
		d := details[s.topic]
		if d.Err != nil {
			problems = append(problems, topicError("describe", s.topic, d.Err, ""))
			continue
		}
		numbers := s.partitions
		if len(numbers) == 0 {
			numbers = d.Partitions.Numbers()
		}
		for _, p := range numbers {
			if _, ok := d.Partitions[p]; !ok {
				problems = append(problems, fmt.Errorf("topic %s has no partition %d: its last one is %d", s.topic, p, len(d.Partitions)-1))
			}
			set.Add(s.topic, p)
		}
	}
	return set, errors.Join(problems...)
}

// groupError says what is wrong with a group: for common codes in words of its own, which are the same for every broker.
func groupError(verb, group string, err error, message string) error {
	switch {
	case errors.Is(err, kerr.GroupIDNotFound):
		message = "there is no such group"
	case errors.Is(err, kerr.NonEmptyGroup), errors.Is(err, kerr.UnknownMemberID): // the latter for commits from outside
		message = "it has members, stop them first"
	case errors.Is(err, kerr.CoordinatorNotAvailable):
		message = "its coordinator is not available: Redis may be full or away, the broker's log says so"
	}
	return &brokerError{doing: verb + " group " + group, message: message, err: err}
}
