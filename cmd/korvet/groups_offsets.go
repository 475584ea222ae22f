package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/twmb/franz-go/pkg/kadm"
)

// offsetDescription is how far a group is in one partition.
type offsetDescription struct {
	Topic       string `json:"topic"`
	Partition   int32  `json:"partition"`
	LeaderEpoch *int32 `json:"leader_epoch"`
	Committed   *int64 `json:"current_offset"` // nil: nothing is committed
	LogEnd      *int64 `json:"log_end_offset"` // nil: unknown
	Lag         *int64 `json:"lag"`
	Metadata    string `json:"metadata,omitempty"`
	ConsumerID  string `json:"consumer_id,omitempty"`
	Host        string `json:"host,omitempty"`
	ClientID    string `json:"client_id,omitempty"`
}

// addOffsets adds to each group the partitions it has committed or its members read, in order.
func (g groupsAdmin) addOffsets(ctx context.Context, groups []groupDescription) error {
	names := make([]string, len(groups))
	for i, one := range groups {
		names[i] = one.Group
	}
	var problems []error
	topics := map[string]bool{}
	fetched := g.client.FetchManyOffsets(ctx, names...)
	for i := range groups {
		committed, err := fetched.On(groups[i].Group, func(r *kadm.FetchOffsetsResponse) error { return r.Err })
		if err != nil {
			problems = append(problems, groupError("fetch offsets of", groups[i].Group, err, ""))
		}
		groups[i].Offsets = progress(groups[i].Members, committed.Fetched)
		for _, o := range groups[i].Offsets {
			topics[o.Topic] = true
		}
	}
	if len(topics) == 0 {
		return errors.Join(problems...)
	}
	ends, err := g.client.ListEndOffsets(ctx, slices.Sorted(maps.Keys(topics))...)
	if err != nil {
		problems = append(problems, fmt.Errorf("list log end offsets: %w", err))
	}
	for _, one := range groups {
		for i := range one.Offsets {
			one.Offsets[i].measure(ends)
		}
	}
	return errors.Join(problems...)
}

// progress puts together what is committed and who reads it.
func progress(members []memberDescription, committed kadm.OffsetResponses) []offsetDescription {
	type partition struct {
		topic  string
		number int32
	}
	all := map[partition]*offsetDescription{}
	at := func(topic string, number int32) *offsetDescription {
		key := partition{topic, number}
		if all[key] == nil {
			all[key] = &offsetDescription{Topic: topic, Partition: number}
		}
		return all[key]
	}
	committed.Each(func(r kadm.OffsetResponse) {
		if r.Err != nil || r.At < 0 {
			return
		}
		o := at(r.Topic, r.Partition)
		o.Committed, o.Metadata = &r.At, r.Metadata
		if r.LeaderEpoch >= 0 {
			o.LeaderEpoch = &r.LeaderEpoch
		}
	})
	for _, m := range members {
		for topic, numbers := range m.Assignment {
			for _, number := range numbers {
				o := at(topic, number)
				o.ConsumerID, o.Host, o.ClientID = m.ConsumerID, m.Host, m.ClientID
			}
		}
	}
	offsets := make([]offsetDescription, 0, len(all))
	for _, o := range all {
		offsets = append(offsets, *o)
	}
	slices.SortFunc(offsets, func(a, b offsetDescription) int {
		return cmp.Or(cmp.Compare(a.Topic, b.Topic), cmp.Compare(a.Partition, b.Partition))
	})
	return offsets
}

// measure fills in the log's end, and the lag where something is committed.
func (o *offsetDescription) measure(ends kadm.ListedOffsets) {
	end, ok := ends.Lookup(o.Topic, o.Partition)
	if !ok || end.Err != nil {
		return
	}
	o.LogEnd = &end.Offset
	if o.Committed != nil {
		lag := max(0, end.Offset-*o.Committed)
		o.Lag = &lag
	}
}
