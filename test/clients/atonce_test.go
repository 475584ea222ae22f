package clients_test

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
)

const atOncePartitions = 6

// produceAtOnce lets all clients write into the partitions of one topic at the same time. Every record must be there once, each client's in its
// order within a partition, under dense offsets, and two readers must agree.
func (s *suite) produceAtOnce(t *testing.T) {
	const each = 600
	ctx, cancel := context.WithTimeout(t.Context(), s.timeout)
	defer cancel()
	topic := fmt.Sprintf("clients-%d-at-once", s.started.UnixMilli())
	if err := s.createTopic(ctx, topic, atOncePartitions, createTopic); err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	for i, c := range s.clients {
		wg.Go(func() {
			r := produceRequest{topic: topic, codec: bulkCodec(i), acks: "all", idempotent: c.lacks["idempotent"] == "", records: numbered(c, each)}
			_, err := c.produce(ctx, r)
			s.table.set("all clients at once", c.name, result(err))
			if err != nil {
				t.Errorf("%s: %v", c.name, err)
			}
		})
	}
	wg.Wait()
	ends, err := s.admin.ListEndOffsets(ctx, topic)
	if err != nil {
		t.Fatalf("list end offsets: %v", err)
	}
	var all []record
	for p := range int32(atOncePartitions) {
		end, _ := ends.Lookup(topic, p)
		got := s.agree(ctx, t, topic, p, int(end.Offset))
		for i := range got {
			if got[i].offset != int64(i) {
				t.Errorf("partition %d: record %d has offset %d", p, i, got[i].offset)
			}
		}
		all = append(all, got...)
	}
	for _, c := range s.clients {
		if err := checkNumbered(c, all, each); err != nil {
			s.table.set("all clients at once", c.name, "failed")
			t.Error(err)
		}
	}
}

// numbered are records that tell their producer and number, spread over the partitions in stretches.
func numbered(c *client, n int) []record {
	const stretch = 50 // a program such as kcat is started once for each
	records := make([]record, n)
	for i := range records {
		records[i] = record{partition: int32(i / stretch % atOncePartitions), timestamp: noTimestamp, key: []byte(c.name), value: []byte(strconv.Itoa(i) + strings.Repeat(" at once", 20))}
	}
	return records
}

// agree reads a partition with the reference reader and another one and returns what both have seen.
func (s *suite) agree(ctx context.Context, t *testing.T, topic string, partition int32, count int) []record {
	readers := slices.DeleteFunc(slices.Clone(s.clients), func(c *client) bool { return c == s.reference })
	other := readers[int(partition)%len(readers)]
	want, err := s.reference.consume(ctx, topic, partition, count)
	if err != nil {
		t.Fatalf("%s reads partition %d: %v", s.reference.name, partition, err)
	}
	got, err := other.consume(ctx, topic, partition, count)
	if err != nil {
		t.Fatalf("%s reads partition %d: %v", other.name, partition, err)
	}
	for i := range want {
		w := want[i]
		if other.seen != nil {
			w = other.seen(w)
		}
		if d := difference(w, got[i]); d != "" {
			t.Fatalf("%s and %s differ in partition %d at record %d: %s", other.name, s.reference.name, partition, i, d)
		}
	}
	return want
}

// checkNumbered looks for a client's records in all partitions, which come one after the other in all.
func checkNumbered(c *client, all []record, n int) error {
	seen := make([]bool, n)
	last := map[int32]int{}
	for _, r := range all {
		if string(r.key) != c.name {
			continue
		}
		text, _, _ := strings.Cut(string(r.value), " ")
		number, err := strconv.Atoi(text)
		switch previous, any := last[r.partition]; {
		case err != nil:
			return fmt.Errorf("%s: value %s of partition %d: %w", c.name, show(r.value), r.partition, err)
		case seen[number]:
			return fmt.Errorf("%s: record %d is there twice", c.name, number)
		case any && number < previous:
			return fmt.Errorf("%s: record %d comes after %d in partition %d", c.name, number, previous, r.partition)
		}
		seen[number], last[r.partition] = true, number
	}
	if i := slices.Index(seen, false); i >= 0 {
		return fmt.Errorf("%s: record %d is missing", c.name, i)
	}
	return nil
}
