package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// topicsAdmin does what korvet topics is asked for.
type topicsAdmin struct {
	client *kadm.Client
	flags  *topicsFlags
	print  topicsPrinter
}

func (t topicsAdmin) create(ctx context.Context, configs []kadm.AlterConfig) error {
	values := map[string]*string{}
	for _, c := range configs {
		values[c.Name] = c.Value
	}
	partitions := t.flags.partitions
	if partitions == 0 {
		partitions = -1 // the broker's default
	}
	responses, err := t.client.CreateTopics(ctx, partitions, t.flags.replicas, values, t.flags.topics...)
	if err != nil {
		return fmt.Errorf("create topics: %w", err)
	}
	all := []topicDone{}
	var problems []error
	for _, r := range responses.Sorted() {
		switch {
		case r.Err == nil:
			all = append(all, topicDone{Topic: r.Topic, ID: topicID(r.ID), Partitions: r.NumPartitions, Done: "created"})
		case errors.Is(r.Err, kerr.TopicAlreadyExists) && t.flags.ifNotExists:
			all = append(all, topicDone{Topic: r.Topic, Done: "exists"})
		default:
			err := topicError("create", r.Topic, r.Err, r.ErrMessage)
			problems = append(problems, err)
			all = append(all, topicDone{Topic: r.Topic, Error: err.Error()})
		}
	}
	return t.print.done(all, problems)
}

func (t topicsAdmin) list(ctx context.Context) error {
	topics, err := t.client.ListTopicsWithInternal(ctx)
	if err != nil {
		return fmt.Errorf("list topics: %w", err)
	}
	return t.print.list(topics.Sorted())
}

func (t topicsAdmin) alter(ctx context.Context, configs []kadm.AlterConfig) error {
	all := []topicDone{}
	var problems []error
	for _, topic := range t.flags.topics {
		err := t.alterOne(ctx, topic, configs)
		switch {
		case err == nil:
			all = append(all, topicDone{Topic: topic, Partitions: t.flags.partitions, Done: "altered"})
		case errors.Is(err, kerr.UnknownTopicOrPartition) && t.flags.ifExists:
			all = append(all, topicDone{Topic: topic, Done: "does not exist"})
		default:
			problems = append(problems, err)
			all = append(all, topicDone{Topic: topic, Error: err.Error()})
		}
	}
	return t.print.done(all, problems)
}

// alterOne changes the settings first: they can be set back, partitions cannot be taken away.
func (t topicsAdmin) alterOne(ctx context.Context, topic string, configs []kadm.AlterConfig) error {
	if len(configs) > 0 {
		responses, err := t.client.AlterTopicConfigs(ctx, configs, topic)
		if err != nil {
			return fmt.Errorf("alter topic %s: %w", topic, err)
		}
		for _, r := range responses {
			if r.Err != nil {
				return topicError("alter", topic, r.Err, r.ErrMessage)
			}
		}
	}
	if t.flags.partitions == 0 {
		return nil
	}
	responses, err := t.client.UpdatePartitions(ctx, int(t.flags.partitions), topic)
	if err != nil {
		return fmt.Errorf("alter topic %s: %w", topic, err)
	}
	if r := responses[topic]; r.Err != nil {
		return topicError("alter", topic, r.Err, r.ErrMessage)
	}
	return nil
}

func (t topicsAdmin) delete(ctx context.Context) error {
	responses, err := t.client.DeleteTopics(ctx, t.flags.topics...)
	if err != nil {
		return fmt.Errorf("delete topics: %w", err)
	}
	all := []topicDone{}
	var problems []error
	for _, r := range responses.Sorted() {
		switch {
		case r.Err == nil:
			all = append(all, topicDone{Topic: r.Topic, Done: "deleted"})
		case errors.Is(r.Err, kerr.UnknownTopicOrPartition) && t.flags.ifExists:
			all = append(all, topicDone{Topic: r.Topic, Done: "does not exist"})
		default:
			err := topicError("delete", r.Topic, r.Err, r.ErrMessage)
			problems = append(problems, err)
			all = append(all, topicDone{Topic: r.Topic, Error: err.Error()})
		}
	}
	return t.print.done(all, problems)
}

func (t topicsAdmin) describe(ctx context.Context) error {
	details, err := t.client.ListTopicsWithInternal(ctx, t.flags.topics...)
	if err != nil {
		return fmt.Errorf("describe topics: %w", err)
	}
	var problems []error
	for _, d := range details.Sorted() {
		if d.Err == nil {
			continue
		}
		if !errors.Is(d.Err, kerr.UnknownTopicOrPartition) || !t.flags.ifExists {
			problems = append(problems, topicError("describe", d.Topic, d.Err, ""))
		}
		delete(details, d.Topic)
	}
	described, err := t.withOffsets(ctx, details)
	if err != nil {
		return errors.Join(append(problems, err)...)
	}
	return errors.Join(append(problems, t.print.describe(described))...)
}

// withOffsets adds settings and offsets to what Metadata says.
func (t topicsAdmin) withOffsets(ctx context.Context, details kadm.TopicDetails) ([]topicDescription, error) {
	if len(details) == 0 {
		return []topicDescription{}, nil
	}
	configs, err := t.client.DescribeTopicConfigs(ctx, details.Names()...)
	if err != nil {
		return nil, fmt.Errorf("describe settings: %w", err)
	}
	l, err := listLogs(ctx, t.client, details.Names()...)
	if err != nil {
		return nil, err
	}
	described := []topicDescription{}
	for _, d := range details.Sorted() {
		one := topicDescription{Topic: d.Topic, ID: topicID(d.ID), Configs: map[string]string{}, Partitions: []partitionDescription{}}
		resource, _ := configs.On(d.Topic, nil)
		for _, c := range resource.Configs {
			if c.Source == kmsg.ConfigSourceDynamicTopicConfig {
				one.Configs[c.Key] = c.MaybeValue()
			}
		}
		for _, p := range d.Partitions.Sorted() {
			start, _ := l.starts.Lookup(d.Topic, p.Partition)
			end, _ := l.ends.Lookup(d.Topic, p.Partition)
			description := partitionDescription{Partition: p.Partition, Leader: p.Leader, LeaderEpoch: p.LeaderEpoch, LogStart: start.Offset, LogEnd: end.Offset}
			if err := firstError(p.Err, start.Err, end.Err); err != nil {
				description.Error = err.Error()
			}
			one.Partitions = append(one.Partitions, description)
		}
		described = append(described, one)
	}
	return described, nil
}

// firstError returns the first error that is not nil.
func firstError(errs ...error) error {
	i := slices.IndexFunc(errs, func(err error) bool { return err != nil })
	if i < 0 {
		return nil
	}
	return errs[i]
}

// brokerError is what a broker answered: its own words where it has some, else Kafka's, and the name of the code.
type brokerError struct {
	doing, message string
	err            error
}

func (e *brokerError) Error() string {
	text := e.message
	var code *kerr.Error
	if !errors.As(e.err, &code) {
		return e.doing + ": " + e.err.Error()
	}
	if text == "" {
		text = code.Description
	}
	return fmt.Sprintf("%s: %s (%s)", e.doing, strings.TrimSuffix(text, "."), code.Message)
}

func (e *brokerError) Unwrap() error { return e.err }

func topicError(verb, topic string, err error, message string) error {
	if errors.Is(err, kerr.UnknownTopicOrPartition) { // whose text in Kafka speaks of servers
		message = "there is no such topic"
	}
	return &brokerError{doing: verb + " topic " + topic, message: message, err: err}
}
