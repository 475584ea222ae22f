package clients_test

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
)

// franzMember is franz-go as a member of a group.
func franzMember(ctx context.Context, addr string, o memberOptions, lines *memberLines) error {
	opts := []kgo.Opt{
		kgo.SeedBrokers(addr), kgo.ConsumerGroup(o.group), kgo.ConsumeTopics(o.topic),
		kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()),
		kgo.SessionTimeout(o.session), kgo.HeartbeatInterval(500 * time.Millisecond), kgo.AutoCommitInterval(500 * time.Millisecond),
		kgo.OnPartitionsAssigned(func(_ context.Context, _ *kgo.Client, ps map[string][]int32) { lines.changed("assigned", ps[o.topic]) }),
		kgo.OnPartitionsLost(func(_ context.Context, _ *kgo.Client, ps map[string][]int32) { lines.changed("revoked", ps[o.topic]) }),
		kgo.OnPartitionsRevoked(func(ctx context.Context, c *kgo.Client, ps map[string][]int32) {
			if err := c.CommitUncommittedOffsets(ctx); err != nil {
				lines.say("error %q", err)
			}
			lines.changed("revoked", ps[o.topic])
		}),
		kgo.BlockRebalanceOnPoll(),
	}
	switch {
	case o.consumerProtocol:
		opts = append(opts, kgo.ServerSideBalancer(), kgo.Balancers(kgo.StickyBalancer()))
	case !o.cooperative:
		opts = append(opts, kgo.Balancers(kgo.RangeBalancer()))
	}
	if o.instance != "" {
		opts = append(opts, kgo.InstanceID(o.instance))
	}
	if o.max > 0 {
		opts = append(opts, kgo.DisableAutoCommit())
	}
	c, err := kgo.NewClient(opts...)
	if err != nil {
		return fmt.Errorf("make client: %w", err)
	}
	defer c.CloseAllowingRebalance()
	if err := franzReadGroup(ctx, c, o, lines); err != nil {
		return err
	}
	c.AllowRebalance()
	return c.LeaveGroupContext(context.Background())
}

// franzReadGroup reads until it is told to close or has read all that it was to read.
func franzReadGroup(ctx context.Context, c *kgo.Client, o memberOptions, lines *memberLines) error {
	var read []*kgo.Record
	for {
		pollCtx, cancel := context.WithTimeout(ctx, 100*time.Millisecond)
		limit := 0
		if o.max > 0 {
			limit = o.max - len(read)
		}
		fetches := c.PollRecords(pollCtx, limit)
		cancel()
		if err := fetches.Err(); err != nil && !errors.Is(err, context.DeadlineExceeded) {
			return unlessAsked(ctx, err)
		}
		fetches.EachRecord(func(r *kgo.Record) {
			lines.record(r.Partition, r.Offset, r.Value)
			read = append(read, r)
		})
		c.AllowRebalance()
		if o.max > 0 && len(read) == o.max {
			return c.CommitRecords(ctx, read...)
		}
		select {
		case command := <-lines.commands:
			partitions := map[string][]int32{o.topic: {command.partition}}
			if command.resume {
				c.ResumeFetchPartitions(partitions)
			} else {
				c.PauseFetchPartitions(partitions)
			}
			lines.done(command)
		default:
		}
	}
}
