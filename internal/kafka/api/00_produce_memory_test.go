package api

import (
	"bytes"
	"context"
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/korvet-io/korvet/internal/batch"
	"github.com/korvet-io/korvet/internal/kafka/server"
	"github.com/korvet-io/korvet/internal/partition"
)

// The log may keep a batch for long: a small one must not keep the frame that it came in.
func TestProducedBatchKeepsNoMoreMemoryThanTwiceItsSize(t *testing.T) {
	b := newBroker(t, nil)
	topic, err := b.topics.Topic(t.Context(), "t3")
	if err != nil {
		t.Fatal(err)
	}
	stored := func(index int32) []byte {
		return b.logs.log(partition.Ref{Topic: "t3", ID: topic.ID, Partition: index}).batches[0].Raw
	}
	req := produceOf("t3", valuesOf("small"), valuesOf(strings.Repeat("large", 100)))
	req.SetVersion(9)
	body := req.AppendTo(nil)
	if a := b.await(b.start(0, 9, body)); a.err != nil {
		t.Fatal(a.err)
	}
	clear(body)
	if !bytes.Contains(stored(0), []byte("small")) {
		t.Error("the small batch is a part of the request's body")
	}
	if bytes.Contains(stored(1), []byte("large")) {
		t.Error("the batch that is most of the request was copied")
	}
}

// inflatable is a broker that holds at most 64 KiB of decompressed records, and a small batch that takes most of it.
func inflatable(t *testing.T) (*broker, []byte) {
	b := newBroker(t, func(s *Settings) { s.MaxDecompressedBytes = 64 << 10 })
	return b, compressed(batch.Gzip, strings.Repeat("x", 50<<10))
}

// inUse tells how many bytes of decompressed records are held, and whether a batch waits for room.
func (b *broker) inUse() (used int, waits bool) {
	budget := b.api.inflated
	budget.mu.Lock()
	defer budget.mu.Unlock()
	return budget.used, budget.freed != nil
}

func TestCompressedBatchesWaitForRoomUntilThoseBeforeAreAnswered(t *testing.T) {
	b, records := inflatable(t)
	b.logs.hold = true
	first := b.startRequest(produceOf("t", records), 9)
	second := make(chan answer, 1)
	go func() { second <- <-b.startRequest(produceOf("t", records), 9) }()
	b.awaitThat("the second batch to wait", func() bool { _, waits := b.inUse(); return waits })
	if used, _ := b.inUse(); used < 50<<10 || used > 60<<10 {
		t.Errorf("%d bytes are held for a batch of 50 KiB", used)
	}
	plain := b.startRequest(produceOf("t", valuesOf("not compressed")), 9) // does not wait
	b.logs.mu.Lock()
	held := len(b.logs.held)
	b.logs.hold = false
	b.logs.mu.Unlock()
	if held != 2 {
		t.Errorf("%d batches are at the log, want the first and the plain one", held)
	}
	b.logs.release()
	for name, got := range map[string]<-chan answer{"first": first, "plain": plain, "second": second} {
		if p := b.decode(produceV9(), b.await(got)).(*kmsg.ProduceResponse).Topics[0].Partitions[0]; p.ErrorCode != 0 {
			t.Errorf("%s: %+v", name, p)
		}
	}
}

func TestRoomOfDecompressedRecordsIsGivenBackWhateverTheOutcome(t *testing.T) {
	b, records := inflatable(t)
	corrupt := changed(records, 17, 1, 2, 3, 4)
	tooLarge := compressed(batch.Gzip, strings.Repeat("x", 70<<10))
	for _, c := range []struct {
		name, topic string
		version     int16
		records     []byte
		fail        error
		want        string
	}{
		{"appended", "t", 9, records, nil, "OK"},
		{"message set", "t", 1, messageSet(strings.Repeat("x", 50<<10)), nil, "OK"},
		{"refused by its CRC", "t", 9, corrupt, nil, "CORRUPT_MESSAGE"},
		{"refused by its topic", "keyed", 9, records, nil, "INVALID_RECORD"},
		{"unknown topic", "nope", 9, records, nil, "UNKNOWN_TOPIC_OR_PARTITION"},
		{"larger than the room", "t", 9, tooLarge, nil, "OK"},
		{"refused by redis", "t", 9, records, partition.ErrStorage, "KAFKA_STORAGE_ERROR"},
		{"not appended in time", "t", 9, records, partition.ErrTimeout, "REQUEST_TIMED_OUT"},
	} {
		b.logs.fail[0] = c.fail
		if c.topic == "keyed" {
			b.create("keyed", 1, map[string]string{"cleanup.policy": "compact"})
		}
		p := b.produce(c.topic, c.version, bytes.Clone(c.records))
		if got := codeName(p.ErrorCode); got != c.want {
			t.Errorf("%s: %s, want %s", c.name, got, c.want)
		}
		if used, _ := b.inUse(); used != 0 {
			t.Fatalf("%s: %d bytes are not given back", c.name, used)
		}
	}
}

func TestCompressedBatchThatWaitsForRoomEndsWithItsConnection(t *testing.T) {
	b, records := inflatable(t)
	b.logs.hold = true
	first := b.startRequest(produceOf("t", records), 9)
	ctx, cancel := context.WithCancel(t.Context())
	req := produceOf("t", records)
	req.SetVersion(9)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		b.api.Serve(ctx, &server.Request{Version: 9, Body: req.AppendTo(nil), Conn: b.conn}, func(server.Response, error) {})
	}()
	b.awaitThat("the second batch to wait", func() bool { _, waits := b.inUse(); return waits })
	cancel()
	<-ended
	b.logs.release()
	b.await(first)
	if used, _ := b.inUse(); used != 0 {
		t.Errorf("%d bytes are not given back", used)
	}
}
