package clients_test

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"
)

// adminFunc makes an administrative call: a verb and its words. It returns what the call has told, one item each.
type adminFunc func(ctx context.Context, verb string, words ...string) ([]string, error)

// adminCall is a row of the table. The other calls of a client do not depend on it: what it was to do is made sure of by prepare of the next ones.
type adminCall struct {
	verb string
	row  string
	// prepare puts the broker into the state that the call needs, with a client that is trusted. Nil: nothing to do.
	prepare func(*adminRun, context.Context) error
	// words follow the verb.
	words func(*adminRun) []string
	// check looks at what the call has told and at what it has done.
	check func(*adminRun, context.Context, []string) error
}

// adminRun is one client's turn.
type adminRun struct {
	admin    *kadm.Client
	producer *kgo.Client
	topic    string
	group    string
}

// Partition 0 of the topic has these records, and the group these offsets.
const (
	adminRecords   = 10
	adminTrimmed   = 4
	adminCommitted = 5
	adminReset     = 7
	adminRetention = "3600000"
	adminAltered   = "7200000"
)

func adminCalls() []adminCall {
	topic := func(more ...string) func(*adminRun) []string {
		return func(r *adminRun) []string { return append([]string{r.topic}, more...) }
	}
	group := func(r *adminRun) []string { return []string{r.group} }
	place := func(more ...string) func(*adminRun) []string {
		return func(r *adminRun) []string { return append([]string{r.group, r.topic, "0"}, more...) }
	}
	return []adminCall{
		{"create", "admin: create a topic", nil, topic("2", "retention.ms="+adminRetention), (*adminRun).created},
		{"topics", "admin: list topics", (*adminRun).haveTopic, topic(), func(r *adminRun, _ context.Context, told []string) error { return contains(told, r.topic) }},
		{"partitions", "admin: describe a topic", (*adminRun).haveTopic, topic(), tells("2")},
		{"grow", "admin: add partitions", (*adminRun).haveTopic, topic("4"), (*adminRun).grown},
		{"config", "admin: describe configs", (*adminRun).haveTopic, topic("retention.ms"), tells(adminRetention)},
		{"alter", "admin: alter configs", (*adminRun).haveTopic, topic("retention.ms", adminAltered), (*adminRun).altered},
		{"end", "admin: list offsets", (*adminRun).haveRecords, topic("0"), tells(strconv.Itoa(adminRecords))},
		{"trim", "admin: delete records", (*adminRun).haveRecords, topic("0", strconv.Itoa(adminTrimmed)), (*adminRun).trimmed},
		{"groups", "admin: list groups", (*adminRun).haveGroup, group, func(r *adminRun, _ context.Context, told []string) error { return contains(told, r.group) }},
		{"group", "admin: describe a group", (*adminRun).haveGroup, group, tells("empty")},
		{"committed", "admin: list a group's offsets", (*adminRun).haveGroup, place(), tells(strconv.Itoa(adminCommitted))},
		{"reset", "admin: alter a group's offsets", (*adminRun).haveGroup, place(strconv.Itoa(adminReset)), (*adminRun).wasReset},
		{"forget", "admin: delete a group's offsets", (*adminRun).haveGroup, place(), (*adminRun).forgotten},
		{"ungroup", "admin: delete a group", (*adminRun).haveGroup, group, (*adminRun).ungrouped},
		{"brokers", "admin: describe the cluster", nil, func(*adminRun) []string { return nil }, (*adminRun).toldBrokers},
		{"delete", "admin: delete a topic", (*adminRun).haveTopic, topic(), (*adminRun).deleted},
	}
}

// administer lets each client make all calls that it has.
func (s *suite) administer(t *testing.T) {
	for _, c := range s.clients {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			name := fmt.Sprintf("clients-%d-admin-%s", s.started.UnixMilli(), strings.ReplaceAll(strings.ToLower(c.name), " ", "-"))
			r := &adminRun{admin: s.admin, producer: s.producer, topic: name, group: name}
			for _, call := range adminCalls() {
				if why := c.lacksAdmin[call.verb]; why != "" {
					s.table.set(call.row, c.name, unsupported(why))
					continue
				}
				t.Run(call.verb, func(t *testing.T) {
					ctx, cancel := context.WithTimeout(t.Context(), s.timeout)
					defer cancel()
					err := r.try(ctx, c.admin, call)
					s.table.set(call.row, c.name, result(err))
					if err != nil {
						t.Error(err)
					}
				})
			}
		})
	}
}

func (r *adminRun) try(ctx context.Context, admin adminFunc, call adminCall) error {
	if call.prepare != nil {
		if err := call.prepare(r, ctx); err != nil {
			return fmt.Errorf("prepare: %w", err)
		}
	}
	told, err := admin(ctx, call.verb, call.words(r)...)
	if err != nil {
		return err
	}
	return call.check(r, ctx, told)
}

// tells checks that the call has told one thing.
func tells(want string) func(*adminRun, context.Context, []string) error {
	return func(_ *adminRun, _ context.Context, told []string) error {
		if len(told) != 1 || told[0] != want {
			return fmt.Errorf("told %q, want %q", told, want)
		}
		return nil
	}
}

func contains(told []string, want string) error {
	if !slices.Contains(told, want) {
		return fmt.Errorf("told %q, want %q among them", told, want)
	}
	return nil
}

func equal[T comparable](what string, got, want T) error {
	if got != want {
		return fmt.Errorf("%s is %v, want %v", what, got, want)
	}
	return nil
}
