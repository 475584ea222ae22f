package clients_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"
)

const (
	rowSeek = "seek by time"

	seekPartitions = 2
	seekRecords    = 100 // in each partition, a second between two
	seekTo         = 50  // the first record at or after the time asked for, which lies between two
)

// seeks lets each client find the records from a time on, in all partitions of a topic.
func (s *suite) seeks(t *testing.T) {
	topic := fmt.Sprintf("clients-%d-seek", s.started.UnixMilli())
	ctx, cancel := context.WithTimeout(t.Context(), s.timeout)
	defer cancel()
	if err := s.createTopic(ctx, topic, seekPartitions, createTopic); err != nil {
		t.Fatal(err)
	}
	var all []record
	for p := range int32(seekPartitions) {
		for i := range seekRecords {
			all = append(all, record{partition: p, timestamp: firstTimestamp + int64(i)*1000, value: []byte(fedValue(p, int64(i)))})
		}
	}
	if _, err := s.reference.produce(ctx, produceRequest{topic: topic, records: all, codec: "none", acks: "all"}); err != nil {
		t.Fatal(err)
	}
	for _, c := range s.clients {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			if why := c.lacks[rowSeek]; why != "" {
				s.table.set(rowSeek, c.name, unsupported(why))
				return
			}
			err := s.seek(t.Context(), c, topic)
			s.table.set(rowSeek, c.name, result(err))
			if err != nil {
				t.Error(err)
			}
		})
	}
}

func (s *suite) seek(ctx context.Context, c *client, topic string) error {
	ctx, cancel := context.WithTimeout(ctx, s.timeout)
	defer cancel()
	want := seekPartitions * (seekRecords - seekTo)
	got, err := c.since(ctx, topic, time.UnixMilli(firstTimestamp+seekTo*1000-500), want)
	if err != nil {
		return err
	}
	if len(got) != want {
		return fmt.Errorf("read %d records, want %d", len(got), want)
	}
	next := [seekPartitions]int64{seekTo, seekTo}
	for _, r := range got {
		if r.offset != next[r.partition] || string(r.value) != fedValue(r.partition, r.offset) {
			return fmt.Errorf("partition %d: read offset %d with value %s, want offset %d", r.partition, r.offset, show(r.value), next[r.partition])
		}
		next[r.partition]++
	}
	return nil
}

// partitionwise is since for clients that read one partition at a time.
func partitionwise(since func(ctx context.Context, topic string, partition int32, at time.Time, count int) ([]record, error)) sinceFunc {
	return func(ctx context.Context, topic string, at time.Time, count int) ([]record, error) {
		var all []record
		for p := range int32(seekPartitions) {
			records, err := since(ctx, topic, p, at, count/seekPartitions)
			if err != nil {
				return nil, fmt.Errorf("partition %d: %w", p, err)
			}
			all = append(all, records...)
		}
		return all, nil
	}
}

// sinceFunc reads count records of all partitions of a topic, of which each partition's first is the first at or after the time.
type sinceFunc func(ctx context.Context, topic string, at time.Time, count int) ([]record, error)

func (s *session) since(ctx context.Context, topic string, at time.Time, count int) ([]record, error) {
	return s.records(s.call(ctx, "since", topic, fmt.Sprint(at.UnixMilli()), fmt.Sprint(count)))
}

// records parses the lines of an answer.
func (*session) records(lines []string, err error) ([]record, error) {
	records := make([]record, 0, len(lines))
	for _, line := range lines {
		r, parseErr := parseRecord(line)
		if parseErr != nil {
			return records, fmt.Errorf("%w in %q", parseErr, strings.ToValidUTF8(line, "?"))
		}
		records = append(records, r)
	}
	return records, err
}
