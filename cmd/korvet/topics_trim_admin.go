package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"

	"github.com/korvet-io/korvet/internal/config"
)

// trimmer moves log starts through the Kafka port.
type trimmer struct {
	client *kadm.Client
	job    trimJob
}

// plan tells for each partition where its log starts and is to start. Nothing is changed.
func (t trimmer) plan(ctx context.Context) ([]partitionTrim, error) {
	topic := t.job.scope.topic
	partitions, err := partitionsIn(ctx, t.client, []scope{t.job.scope})
	if err != nil {
		return nil, err
	}
	if err := t.mayTrim(ctx, topic); err != nil {
		return nil, err
	}
	l, err := t.logs(ctx)
	if err != nil {
		return nil, err
	}
	var plan []partitionTrim
	for _, p := range slices.Sorted(maps.Keys(partitions[topic])) {
		start, _ := l.starts.Lookup(topic, p)
		end, _ := l.ends.Lookup(topic, p)
		first, _ := l.at.Lookup(topic, p)
		if err := firstError(start.Err, end.Err, first.Err); err != nil {
			return nil, topicError(fmt.Sprintf("list offsets of partition %d of", p), topic, err, "")
		}
		to := end.Offset - t.job.keep
		if t.job.byTime {
			to = min(first.Offset, end.Offset)
		}
		to = max(to, start.Offset)
		plan = append(plan, partitionTrim{Partition: p, From: start.Offset, To: to, Removed: to - start.Offset, LogEnd: end.Offset})
	}
	return plan, nil
}

func (t trimmer) logs(ctx context.Context) (logs, error) {
	if t.job.byTime {
		return listLogsAt(ctx, t.client, t.job.before, t.job.scope.topic)
	}
	return listLogs(ctx, t.client, t.job.scope.topic)
}

// mayTrim refuses what DeleteRecords refuses, so that a dry run says so, too.
func (t trimmer) mayTrim(ctx context.Context, topic string) error {
	configs, err := t.client.DescribeTopicConfigs(ctx, topic)
	if err != nil {
		return fmt.Errorf("describe settings: %w", err)
	}
	resource, _ := configs.On(topic, nil)
	for _, c := range resource.Configs {
		if c.Key == "cleanup.policy" && c.MaybeValue() == "compact" {
			return fmt.Errorf("trim topic %s: it is compacted (cleanup.policy=compact), its records stay until newer ones of the same key replace them; with compact,delete it can be trimmed", topic)
		}
	}
	return nil
}

// trim moves the log starts of a plan and notes in it what came of that. One that is refused does not keep the others.
func (t trimmer) trim(ctx context.Context, plan []partitionTrim) error {
	topic := t.job.scope.topic
	offsets := kadm.Offsets{}
	for _, p := range plan {
		if p.To > p.From {
			offsets.AddOffset(topic, p.Partition, p.To, -1)
		}
	}
	responses, err := t.client.DeleteRecords(ctx, offsets)
	var some *kadm.ShardErrors
	if err != nil && !errors.As(err, &some) {
		return fmt.Errorf("trim topic %s: %w", topic, err)
	}
	var problems []error
	for i := range plan {
		p := &plan[i]
		if _, asked := offsets.Lookup(topic, p.Partition); !asked {
			continue
		}
		r, answered := responses.Lookup(topic, p.Partition)
		refusal := r.Err
		if !answered {
			refusal = fmt.Errorf("nothing is known of it, it may be done: %w", firstError(err, errors.New("its broker says nothing")))
		}
		if refusal != nil {
			p.To, p.Removed, p.Error = p.From, 0, refusal.Error()
			problems = append(problems, topicError(fmt.Sprintf("trim partition %d of", p.Partition), topic, refusal, ""))
			continue
		}
		p.To = r.LowWatermark
		p.Removed = max(0, p.To-p.From)
	}
	return errors.Join(problems...)
}

// parseMoment reads a time as a person gives it, in Unix milliseconds: RFC 3339, a day in UTC, a duration before now, or
// the milliseconds themselves.
func parseMoment(text string, now time.Time) (int64, error) {
	if ms, err := strconv.ParseInt(text, 10, 64); err == nil && ms >= 0 {
		return ms, nil
	}
	if back, err := config.ParseDuration(text); err == nil && back >= 0 {
		return max(0, now.Add(-back).UnixMilli()), nil
	}
	for _, form := range []string{time.RFC3339, time.DateOnly} {
		if t, err := time.Parse(form, text); err == nil {
			return max(0, t.UnixMilli()), nil // below 0 are ListOffsets' special values
		}
	}
	return 0, fmt.Errorf("%q is no time: want one as 2026-01-31T08:00:00Z, a day as 2026-01-31, 7d or 36h for so long ago, or milliseconds since 1970", text)
}
