package conformance

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/korvet-io/korvet/test/harness"
)

// boundaries is how many segments the topic has at least.
const boundaries = 200

// A consumer from the start, one from any offset, a search by time, a restart and a deletion of records meet hundreds of
// boundaries, and see none. The producer is idempotent.
func TestAClientNoticesNoBoundaryOfSegments(t *testing.T) {
	b := harness.Start(t, harness.Options{Own: true})
	client, err := kgo.NewClient(kgo.SeedBrokers(b.Addr), kgo.DefaultProduceTopic("t"), kgo.ProducerBatchCompression(kgo.NoCompression()))
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	admin := kadm.NewClient(client)
	configs := map[string]*string{"segment.bytes": kadm.StringPtr("1048576"), "retention.ms": kadm.StringPtr("-1")}
	if _, err := admin.CreateTopic(t.Context(), 1, 1, configs, "t"); err != nil {
		t.Fatal(err)
	}
	const first = 1_700_000_000_000
	body := strings.Repeat("x", 700_000) // one a segment
	for i := range boundaries + 1 {
		r := &kgo.Record{Timestamp: time.UnixMilli(first + 1000*int64(i)), Value: fmt.Appendf(nil, "%d %s", i, body)}
		if err := client.ProduceSync(t.Context(), r).FirstErr(); err != nil {
			t.Fatalf("produce: %v", err)
		}
		if i == boundaries/2 {
			b.Kill9()
			b.Restart()
		}
	}
	reply := b.Redis.Do("HGET", "korvet:storage:segments:{korvet:storage:local:t:0}", "open")
	if n, err := reply.AsInt64(); err != nil || n < boundaries {
		t.Errorf("%d segments were sealed, %v", n, err)
	}
	numbersFrom(t, b.Addr, kgo.NewOffset().AtStart(), 0)
	numbersFrom(t, b.Addr, kgo.NewOffset().At(77), 77)
	for _, i := range []int64{0, 1, 99, boundaries} {
		found, err := admin.ListOffsetsAfterMilli(t.Context(), first+1000*i-500, "t")
		if o, ok := found.Lookup("t", 0); err != nil || !ok || o.Offset != i {
			t.Errorf("time of record %d: %+v, %v", i, o, err)
		}
	}
	deleted, err := admin.DeleteRecords(t.Context(), kadm.Offsets{"t": {0: {Topic: "t", At: 150}}})
	if d, ok := deleted.Lookup("t", 0); err != nil || !ok || d.LowWatermark != 150 {
		t.Errorf("delete records: %+v, %v", d, err)
	}
	numbersFrom(t, b.Addr, kgo.NewOffset().AtStart(), 150)
}

// numbersFrom consumes from a place, which is offset from, to the end.
func numbersFrom(t *testing.T, addr string, at kgo.Offset, from int64) {
	t.Helper()
	consumer, err := kgo.NewClient(kgo.SeedBrokers(addr), kgo.ConsumePartitions(map[string]map[int32]kgo.Offset{"t": {0: at}}))
	if err != nil {
		t.Fatal(err)
	}
	defer consumer.Close()
	for next := from; next <= boundaries; {
		fetches := consumer.PollFetches(t.Context())
		if err := fetches.Err(); err != nil {
			t.Fatalf("consume from %d: %v", from, err)
		}
		for _, r := range fetches.Records() {
			if number, _, _ := strings.Cut(string(r.Value), " "); r.Offset != next || number != fmt.Sprint(next) {
				t.Fatalf("offset %d has %s where %d is next", r.Offset, number, next)
			}
			next++
		}
	}
}
