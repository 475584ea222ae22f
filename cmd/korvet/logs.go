package main

import (
	"context"
	"fmt"

	"github.com/twmb/franz-go/pkg/kadm"
)

// logs are offsets of topics' partitions.
type logs struct {
	starts, ends kadm.ListedOffsets
	at           kadm.ListedOffsets // of a time, if one was asked for
}

// listLogs lists where topics' logs begin and end.
func listLogs(ctx context.Context, client *kadm.Client, topics ...string) (l logs, err error) {
	if l.starts, err = client.ListStartOffsets(ctx, topics...); err != nil {
		return l, fmt.Errorf("list log start offsets: %w", err)
	}
	if l.ends, err = client.ListEndOffsets(ctx, topics...); err != nil {
		return l, fmt.Errorf("list log end offsets: %w", err)
	}
	return l, nil
}

// listLogsAt is listLogs with the first offsets of a time, in Unix milliseconds, or later. It asks for them last: what is
// appended meanwhile is behind the ends.
func listLogsAt(ctx context.Context, client *kadm.Client, ms int64, topics ...string) (l logs, err error) {
	if l, err = listLogs(ctx, client, topics...); err != nil {
		return l, err
	}
	if l.at, err = client.ListOffsetsAfterMilli(ctx, ms, topics...); err != nil {
		return l, fmt.Errorf("list offsets by time: %w", err)
	}
	return l, nil
}
