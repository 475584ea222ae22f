package main

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/korvet-io/korvet/internal/record"
	"github.com/korvet-io/korvet/internal/topicstats"
)

const (
	sampleRanges = 10       // that a partition's log is read in, from its start to its end
	sampleBytes  = 64 << 20 // of keys, values and headers at most
	sampleIdle   = 3 * time.Second
)

// sampler reads records from ranges that lie evenly over a topic's partitions.
type sampler struct {
	client *kgo.Client // that consumes nothing yet
	topic  string
	taken  []topicstats.Record
	bytes  int
}

// sampledPartition is a partition and how many of its records are wanted.
type sampledPartition struct {
	number             int32
	start, end, wanted int64
}

// shares divides n records among partitions by their length; one that has any gives at least one.
func shares(partitions []sampledPartition, n int64) {
	var total int64
	for _, p := range partitions {
		total += p.end - p.start
	}
	for i := range partitions {
		p := &partitions[i]
		length := p.end - p.start
		if length > 0 {
			p.wanted = min(length, max(1, int64(float64(n)*float64(length)/float64(total)+0.5)))
		}
	}
}

// window is the i-th range of a partition: records from first on, none from the next range's first on, at most n.
func (p sampledPartition) window(i int64) (first, next, n int64) {
	ranges := min(sampleRanges, p.wanted)
	if i >= ranges {
		return 0, 0, 0
	}
	length := p.end - p.start
	at := func(i int64) int64 { return p.start + int64(float64(length)*float64(i)/float64(ranges)) }
	first, next = at(i), at(i+1)
	if i+1 == ranges {
		next = p.end
	}
	return first, next, p.wanted*(i+1)/ranges - p.wanted*i/ranges
}

// read takes the samples. The ranges of all partitions with the same number are read together.
func (s *sampler) read(ctx context.Context, partitions []sampledPartition) error {
	for i := range int64(sampleRanges) {
		wanted := map[int32]*openWindow{}
		offsets := map[int32]kgo.Offset{}
		var numbers []int32
		for _, p := range partitions {
			if first, next, n := p.window(i); n > 0 {
				wanted[p.number] = &openWindow{next: next, left: n}
				offsets[p.number] = kgo.NewOffset().At(first)
				numbers = append(numbers, p.number)
			}
		}
		if len(offsets) == 0 || s.bytes >= sampleBytes {
			return nil
		}
		s.client.AddConsumePartitions(map[string]map[int32]kgo.Offset{s.topic: offsets})
		err := s.fill(ctx, wanted)
		s.client.RemoveConsumePartitions(map[string][]int32{s.topic: numbers})
		if err != nil {
			return err
		}
	}
	return nil
}

// openWindow is a range that is being read.
type openWindow struct{ next, left int64 }

// fill polls until each range has given what is wanted of it, or is over. A range without a record, in a compacted or
// trimmed log, is over when nothing came for a while.
func (s *sampler) fill(ctx context.Context, wanted map[int32]*openWindow) error {
	for len(wanted) > 0 && s.bytes < sampleBytes {
		patience, cancel := context.WithTimeout(ctx, sampleIdle)
		fetches := s.client.PollFetches(patience)
		cancel()
		if err := ctx.Err(); err != nil {
			return err
		}
		for _, e := range fetches.Errors() {
			if errors.Is(e.Err, context.DeadlineExceeded) {
				return nil
			}
			return topicError(fmt.Sprintf("read partition %d of", e.Partition), s.topic, e.Err, "")
		}
		fetches.EachRecord(func(r *kgo.Record) {
			w := wanted[r.Partition]
			if w == nil {
				return
			}
			if r.Offset < w.next {
				s.take(r)
				w.left--
			}
			if w.left == 0 || r.Offset+1 >= w.next {
				delete(wanted, r.Partition)
			}
		})
	}
	return nil
}

func (s *sampler) take(r *kgo.Record) {
	headers := headerSection(r.Headers)
	s.bytes += len(r.Key) + len(r.Value) + len(headers)
	s.taken = append(s.taken, topicstats.Record{
		Key: r.Key, Value: r.Value, Headers: headers, Offset: r.Offset, Timestamp: r.Timestamp.UnixMilli(), Stamped: r.Attrs.TimestampType() == 1,
	})
}

// headerSection is how a record's headers are stored: as in Kafka's record format v2.
func headerSection(headers []kgo.RecordHeader) []byte {
	if len(headers) == 0 {
		return nil
	}
	b := binary.AppendVarint(nil, int64(len(headers)))
	for _, h := range headers {
		b = record.AppendHeader(b, h.Key, h.Value)
	}
	return b
}

// sampledPartitions are a topic's partitions, all or those of a scope, with their log's ends.
func sampledPartitions(ctx context.Context, client *kadm.Client, s scope) ([]sampledPartition, error) {
	set, err := partitionsIn(ctx, client, []scope{s})
	if err != nil {
		return nil, err
	}
	l, err := listLogs(ctx, client, s.topic)
	if err != nil {
		return nil, err
	}
	var all []sampledPartition
	for _, p := range slices.Sorted(maps.Keys(set[s.topic])) {
		start, _ := l.starts.Lookup(s.topic, p)
		end, _ := l.ends.Lookup(s.topic, p)
		if err := firstError(start.Err, end.Err); err != nil {
			return nil, topicError(fmt.Sprintf("list offsets of partition %d of", p), s.topic, err, "")
		}
		all = append(all, sampledPartition{number: p, start: start.Offset, end: end.Offset})
	}
	return all, nil
}
