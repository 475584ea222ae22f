package tiered

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/korvet-io/korvet/internal/redistest"
)

// odd are records of every shape that programs get wrong: null and empty keys and values, headers that are repeated, empty and
// null, in an order of their own, and times before the epoch or of no meaning.
func odd(n int64) *kgo.Record {
	headers := [][]kgo.RecordHeader{
		nil,
		{{Key: "a"}, {Key: "a", Value: []byte{}}, {Key: "a", Value: []byte("1")}},
		{{Key: "z", Value: []byte("1")}, {Key: "", Value: nil}, {Key: "b", Value: []byte{0xff}}, {Key: "z", Value: []byte("0")}},
	}
	bytes := [][]byte{nil, {}, []byte("x"), value(0, n)}
	times := []int64{0, 1, -14_182_940_000, 1_700_000_000_123, 4_102_444_799_999}
	return &kgo.Record{Key: bytes[n%3], Value: bytes[n/3%4], Headers: headers[n/12%3], Timestamp: time.UnixMilli(times[n%5])}
}

// text has all of a record that a producer gave it.
func text(r *kgo.Record) string {
	return fmt.Sprintf("%#v %#v %#v %d", r.Key, r.Value, r.Headers, r.Timestamp.UnixMilli())
}

// Null is not empty, headers stay in their order with those that are there twice, and times are what they were: from Redis, and
// from a table (pitfalls C25 and C85).
func TestOddRecordsComeBackFromATableAsTheyWere(t *testing.T) {
	t.Parallel()
	w := start(t, places["file"](t), noCache)
	w.create("odd", 1, tiered("message.timestamp.after.max.ms=9223372036854775807"))
	const records = 5000
	var list []*kgo.Record
	for n := range int64(records) {
		r := odd(n)
		r.Topic = "odd"
		list = append(list, r)
	}
	if err := w.client.ProduceSync(t.Context(), list...).FirstErr(); err != nil {
		t.Fatal(err)
	}
	w.awaitDropped("odd", 0, 1000)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	c, err := kgo.NewClient(kgo.SeedBrokers(w.Addr), kgo.ConsumePartitions(map[string]map[int32]kgo.Offset{"odd": {0: kgo.NewOffset().At(0)}}))
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	for next := int64(0); next < records; {
		fetches := c.PollFetches(ctx)
		if err := fetches.Err(); err != nil {
			t.Fatalf("consume at %d: %v", next, err)
		}
		for _, r := range fetches.Records() {
			if want := odd(next); r.Offset != next || text(r) != text(want) {
				t.Fatalf("offset %d where %d was due is\n%s, want\n%s", r.Offset, next, text(r), text(want))
			}
			next++
		}
	}
}

// Lookups by time answer alike in whichever tier a record is, also while it moves; the largest timestamp and the ends of the tiers
// count what the table has; a time to come is found without a look at a file (pitfalls C42 and C43).
func TestTimesAreFoundInAllTiersWhileRecordsMove(t *testing.T) {
	t.Parallel()
	w := start(t, places["s3"](t), noCache)
	w.create("times", 1, tiered())
	const records, largest = 6000, 77
	late := &kgo.Record{Topic: "times", Value: value(0, largest), Timestamp: time.UnixMilli(1_700_000_100_000)}
	w.produce("times", 0, 0, largest)
	if err := w.client.ProduceSync(t.Context(), late).FirstErr(); err != nil {
		t.Fatal(err)
	}
	var all sync.WaitGroup
	done := make(chan struct{})
	ask := func(o int64) {
		if got := w.offset("times", 0, 1_700_000_000_000+o); got != o && (o < largest || got != largest) {
			t.Errorf("the time of %d is that of %d", o, got)
		}
		if got := w.offset("times", 0, -3); got != largest {
			t.Errorf("the largest timestamp is that of %d", got)
		}
	}
	all.Go(func() {
		for {
			select {
			case <-done:
				return
			default:
				ask(rand.Int64N(largest))
			}
		}
	})
	for from := int64(largest + 1); from < records; from += 100 {
		w.produce("times", 0, from, min(records, from+100))
	}
	w.awaitDropped("times", 0, records/2)
	close(done)
	all.Wait()
	begins, local, last, pending := w.offset("times", 0, earliest), w.offset("times", 0, earliestLocal), w.offset("times", 0, latestTiered), w.offset("times", 0, earliestPending)
	if end := w.offset("times", 0, -1); begins != 0 || last < local-1 || pending != -1 && (pending <= last || pending > end) || end != records {
		t.Errorf("the log has %d to %d, Redis from %d, the last tiered is %d, the first that is not %d", begins, end, local, last, pending)
	}
	for o := range int64(largest) {
		ask(o)
	}
	reads := func() string { return w.metric(`korvet_storage_remote_reads_total{result="ok"}`) }
	before := reads()
	if got := w.offset("times", 0, 1_800_000_000_000); got != -1 || reads() != before {
		t.Errorf("a time to come is that of %d, remote reads %s, %s before", got, reads(), before)
	}
}

// metrics are all that the broker tells.
func (w *world) metrics() string {
	w.Helper()
	_, all := w.Get("/metrics")
	return all
}

// metric is the value of a series; "": there is none.
func (w *world) metric(series string) string {
	w.Helper()
	for line := range strings.Lines(w.metrics()) {
		if rest, ok := strings.CutPrefix(line, series+" "); ok {
			return strings.TrimSpace(rest)
		}
	}
	return ""
}

// Series of a topic's tiers are there while it has them, and go with the topic (pitfall C97).
func TestMetricsTellOfTheTiers(t *testing.T) {
	t.Parallel()
	w := start(t, places["file"](t))
	w.create("kept", 1, tiered())
	w.create("gone", 1, tiered())
	for _, topic := range []string{"kept", "gone"} {
		w.produce(topic, 0, 0, 2500)
		w.awaitDropped(topic, 0, 900)
	}
	names := []string{
		"korvet_storage_remote_bytes", "korvet_storage_archive_lag_offsets", "korvet_storage_archive_lag_segments", "korvet_storage_archive_lag_oldest_seconds",
		"korvet_storage_remote_snapshots", "korvet_storage_remote_files", "korvet_storage_local_bytes",
	}
	for _, name := range names {
		for _, topic := range []string{"kept", "gone"} {
			series := name + `{topic="` + topic + `"}`
			redistest.Eventually(t, series, func() bool { return w.metric(series) != "" })
		}
	}
	if _, err := w.admin.DeleteTopic(t.Context(), "gone"); err != nil {
		t.Fatal(err)
	}
	redistest.Eventually(t, "the series of the deleted topic to go", func() bool { return !strings.Contains(w.metrics(), `topic="gone"`) })
	if w.metric(`korvet_storage_remote_bytes{topic="kept"}`) == "0" {
		t.Error("nothing is told of the topic that is left")
	}
}
