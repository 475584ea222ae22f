package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
)

// reset plans where each group's offsets go and, with --execute, commits them. A group that has members, or for which
// there is no plan, is left alone; the others are reset.
func (g groupsAdmin) reset(ctx context.Context) error {
	names, err := g.names(ctx)
	if err != nil {
		return err
	}
	if g.job.way == "by-duration" {
		g.job.at = max(0, time.Now().Add(-g.job.back).UnixMilli())
	}
	all := []resetOffset{}
	var problems []error
	for _, name := range names {
		plan, err := g.planReset(ctx, name)
		if err == nil && g.flags.reset.execute {
			err = g.commit(ctx, name, plan)
		}
		if err != nil {
			problems = append(problems, err)
			continue
		}
		all = append(all, plan...)
	}
	return errors.Join(append(problems, g.print.reset(all, &g.flags.reset, g.flags.allGroups || len(names) > 1))...)
}

// planReset tells where a group's offsets go.
func (g groupsAdmin) planReset(ctx context.Context, group string) ([]resetOffset, error) {
	found, err := g.find(ctx, []string{group})
	if err != nil && !errors.Is(err, kerr.GroupIDNotFound) { // its first commit makes a group
		return nil, err
	}
	for _, one := range found {
		if one.State != "Empty" {
			return nil, fmt.Errorf("reset offsets of group %s: it is %s with %s: stop its members first, offsets can only be reset while a group has none", group, one.State, count(len(one.Members), "member"))
		}
	}
	committed, err := g.client.FetchOffsets(ctx, group)
	if err != nil {
		return nil, groupError("fetch offsets of", group, err, "")
	}
	wanted, partitions, err := g.resetScope(ctx, group, committed)
	if err != nil || len(partitions) == 0 {
		return nil, err
	}
	logs, err := g.logs(ctx, partitions.Topics())
	if err != nil {
		return nil, err
	}
	var plan []resetOffset
	var problems []error
	for _, t := range partitions.Sorted() {
		for _, p := range t.Partitions {
			one := resetOffset{Group: group, Topic: t.Topic, Partition: p}
			if o, ok := committed.Lookup(t.Topic, p); ok && o.Err == nil && o.At >= 0 {
				one.Committed = &o.At
			}
			if err := g.aim(&one, wanted, logs); err != nil {
				problems = append(problems, fmt.Errorf("reset offset of %s-%d of group %s: %w", t.Topic, p, group, err))
			}
			plan = append(plan, one)
		}
	}
	return plan, errors.Join(problems...)
}

// resetScope tells which partitions are to be reset and, of a plan from a file, where to.
func (g groupsAdmin) resetScope(ctx context.Context, group string, committed kadm.OffsetResponses) (kadm.Offsets, kadm.TopicsSet, error) {
	if g.flags.allTopics {
		return nil, committed.Partitions(), nil
	}
	if g.job.way != "from-file" {
		partitions, err := partitionsIn(ctx, g.client, g.job.scopes)
		return nil, partitions, err
	}
	wanted := kadm.Offsets{}
	var scopes []scope
	for _, p := range g.job.plan {
		if p.group == "" || p.group == group {
			wanted.AddOffset(p.topic, p.partition, p.offset, -1)
			scopes = append(scopes, scope{topic: p.topic, partitions: []int32{p.partition}})
		}
	}
	if len(scopes) == 0 {
		return nil, nil, fmt.Errorf("reset offsets of group %s: %s says nothing of it", group, g.flags.reset.fromFile)
	}
	partitions, err := partitionsIn(ctx, g.client, scopes)
	return wanted, partitions, err
}

// logs lists offsets, between which resets can go.
func (g groupsAdmin) logs(ctx context.Context, topics []string) (logs, error) {
	if g.job.way == "to-datetime" || g.job.way == "by-duration" {
		return listLogsAt(ctx, g.client, g.job.at, topics...)
	}
	return listLogs(ctx, g.client, topics...)
}

// aim sets the new offset of one partition, which is within its log.
func (g groupsAdmin) aim(one *resetOffset, wanted kadm.Offsets, l logs) error {
	start, startKnown := l.starts.Lookup(one.Topic, one.Partition)
	end, endKnown := l.ends.Lookup(one.Topic, one.Partition)
	at, _ := l.at.Lookup(one.Topic, one.Partition)
	if err := firstError(start.Err, end.Err, at.Err); err != nil {
		return err
	}
	if !startKnown || !endKnown {
		return kerr.UnknownTopicOrPartition
	}
	switch g.job.way {
	case "to-earliest":
		one.Offset = start.Offset
	case "to-latest":
		one.Offset = end.Offset
	case "to-datetime", "by-duration":
		if one.Offset = at.Offset; at.Offset >= end.Offset {
			one.Note = "the log's end, for no record is that young"
		}
	case "to-offset":
		one.Offset = g.flags.reset.toOffset
	case "from-file":
		o, _ := wanted.Lookup(one.Topic, one.Partition)
		one.Offset = o.At
	default:
		if err := g.aimFromCommitted(one, end.Offset); err != nil {
			return err
		}
	}
	one.keepWithin(start.Offset, end.Offset)
	return nil
}

// aimFromCommitted is for the ways that begin at what is committed.
func (g groupsAdmin) aimFromCommitted(one *resetOffset, end int64) error {
	switch {
	case g.job.way == "shift-by" && one.Committed == nil:
		return errors.New("there is no committed offset to shift")
	case g.job.way == "shift-by":
		one.Offset = *one.Committed + g.flags.reset.shiftBy
		if g.flags.reset.shiftBy > 0 && one.Offset < *one.Committed { // past the largest number
			one.Offset = end + 1
		}
	case one.Committed == nil:
		one.Offset, one.Note = end, "the log's end, for nothing is committed"
	default:
		one.Offset = *one.Committed
	}
	return nil
}

// keepWithin moves an offset outside of the log to its nearer end.
func (o *resetOffset) keepWithin(start, end int64) {
	if asked := o.Offset; asked < start {
		o.Offset, o.Note = start, fmt.Sprintf("the log's start, for %d is below it", asked)
	} else if asked > end {
		o.Offset, o.Note = end, fmt.Sprintf("the log's end, for %d is beyond it", asked)
	}
}

// commit stores a plan's offsets as one without members does, in one request.
func (g groupsAdmin) commit(ctx context.Context, group string, plan []resetOffset) error {
	if len(plan) == 0 {
		return nil
	}
	offsets := kadm.Offsets{}
	for _, one := range plan {
		offsets.AddOffset(one.Topic, one.Partition, one.Offset, -1)
	}
	responses, err := g.client.CommitOffsets(ctx, group, offsets)
	if err != nil {
		return groupError("reset offsets of", group, err, "")
	}
	var problems []error
	for _, r := range responses.Sorted() {
		if r.Err != nil {
			problems = append(problems, groupError(fmt.Sprintf("reset offset of %s-%d of", r.Topic, r.Partition), group, r.Err, ""))
		}
	}
	return errors.Join(problems...)
}
