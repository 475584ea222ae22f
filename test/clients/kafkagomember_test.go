package clients_test

import (
	"context"
	"errors"
	"time"

	"github.com/segmentio/kafka-go"
)

// kafkaGoMember is kafka-go as a member of a group.
func kafkaGoMember(ctx context.Context, addr string, o memberOptions, lines *memberLines) (err error) {
	r := kafka.NewReader(kafka.ReaderConfig{
		Brokers: []string{addr}, GroupID: o.group, Topic: o.topic, StartOffset: kafka.FirstOffset,
		SessionTimeout: o.session, HeartbeatInterval: 500 * time.Millisecond, RebalanceTimeout: 10 * time.Second,
		MinBytes: 1, MaxBytes: 10 << 20, MaxWait: 200 * time.Millisecond,
	})
	defer func() { err = errors.Join(err, r.Close()) }()
	for n := 0; o.max == 0 || n < o.max; n++ {
		m, err := r.FetchMessage(ctx)
		if err != nil {
			return unlessAsked(ctx, err)
		}
		lines.record(int32(m.Partition), m.Offset, m.Value)
		if err := r.CommitMessages(ctx, m); err != nil {
			return unlessAsked(ctx, err)
		}
	}
	return nil
}
