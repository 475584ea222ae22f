package clients_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/IBM/sarama"
)

// saramaMember is Sarama as a member of a group.
func saramaMember(ctx context.Context, addr string, o memberOptions, lines *memberLines) (err error) {
	cfg := sarama.NewConfig()
	cfg.Version = sarama.MaxVersion
	cfg.Consumer.Offsets.Initial = sarama.OffsetOldest
	cfg.Consumer.Offsets.AutoCommit.Interval = 500 * time.Millisecond
	cfg.Consumer.Group.Session.Timeout = o.session
	cfg.Consumer.Group.Heartbeat.Interval = 500 * time.Millisecond
	cfg.Consumer.Group.InstanceId = o.instance
	cfg.Consumer.MaxWaitTime = 100 * time.Millisecond // closing waits for the last fetch
	if o.cooperative {
		cfg.Consumer.Group.Rebalance.GroupStrategies = []sarama.BalanceStrategy{sarama.NewBalanceStrategyCooperativeSticky()}
	}
	group, err := sarama.NewConsumerGroup([]string{addr}, o.group, cfg)
	if err != nil {
		return fmt.Errorf("make consumer group: %w", err)
	}
	defer func() { err = errors.Join(err, group.Close()) }()
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	go saramaObey(ctx, group, o.topic, lines)
	h := &saramaHandler{lines: lines, max: o.max, stop: stop}
	for ctx.Err() == nil {
		if err := group.Consume(ctx, []string{o.topic}, h); err != nil {
			return unlessAsked(ctx, err)
		}
	}
	return nil
}

// saramaObey carries out pauses and resumes.
func saramaObey(ctx context.Context, group sarama.ConsumerGroup, topic string, lines *memberLines) {
	for {
		select {
		case <-ctx.Done():
			return
		case command := <-lines.commands:
			partitions := map[string][]int32{topic: {command.partition}}
			if command.resume {
				group.Resume(partitions)
			} else {
				group.Pause(partitions)
			}
			lines.done(command)
		}
	}
}

// saramaHandler reads the partitions that the member has.
type saramaHandler struct {
	lines *memberLines
	max   int // 0: without end
	stop  func()

	mu   sync.Mutex
	read int
}

func (*saramaHandler) Setup(sarama.ConsumerGroupSession) error { return nil }

// Cleanup leaves it to Sarama to commit what is marked.
func (*saramaHandler) Cleanup(sarama.ConsumerGroupSession) error { return nil }

func (h *saramaHandler) ConsumeClaim(session sarama.ConsumerGroupSession, claim sarama.ConsumerGroupClaim) error {
	h.lines.changed("assigned", []int32{claim.Partition()})
	defer h.lines.changed("revoked", []int32{claim.Partition()})
	for {
		select {
		case m, open := <-claim.Messages():
			if !open || !h.take(session, m) {
				return nil
			}
		case <-session.Context().Done():
			return nil
		}
	}
}

// take counts, shows and marks a record, unless all that was to be read has been.
func (h *saramaHandler) take(session sarama.ConsumerGroupSession, m *sarama.ConsumerMessage) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.max > 0 && h.read == h.max {
		return false
	}
	h.read++
	h.lines.record(m.Partition, m.Offset, m.Value)
	session.MarkMessage(m, "")
	if h.read == h.max {
		h.stop()
	}
	return true
}
