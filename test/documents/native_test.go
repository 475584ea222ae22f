package documents

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redis/rueidis"
	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/korvet-io/korvet/internal/redistest"
	"github.com/korvet-io/korvet/test/harness"
)

const nativePage = "../../docs/native-readers.md"

// native is a Redis whose topic orders a test reads with the commands of docs/native-readers.md.
type native struct {
	*harness.Broker
	t      *testing.T
	client *kgo.Client
	page   []string
	sent   int
}

func startNative(t *testing.T, segmentBytes string) *native {
	t.Helper()
	b := harness.Start(t, harness.Options{Own: true})
	client, err := kgo.NewClient(kgo.SeedBrokers(b.Addr), kgo.DefaultProduceTopic("orders"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(client.Close)
	n := &native{Broker: b, t: t, client: client}
	for line := range strings.Lines(read(t, nativePage)) {
		if command, ok := strings.CutPrefix(strings.TrimSpace(line), "redis-cli "); ok {
			n.page = append(n.page, strings.ReplaceAll(command, "'", "")) // which a shell needs around > and (
		}
	}
	configs := map[string]*string{"segment.bytes": kadm.StringPtr(segmentBytes)}
	if _, err := kadm.NewClient(client).CreateTopic(t.Context(), 1, 1, configs, "orders"); err != nil {
		t.Fatal(err)
	}
	return n
}

// produce sends records of 100 kB, whose values begin with a running number.
func (n *native) produce(records int) {
	n.t.Helper()
	ctx, cancel := context.WithTimeout(n.t.Context(), time.Minute)
	defer cancel()
	for range records {
		value := fmt.Sprintf("%d %s", n.sent, strings.Repeat("x", 100_000))
		if err := n.client.ProduceSync(ctx, kgo.StringRecord(value)).FirstErr(); err != nil {
			n.t.Fatalf("produce: %v", err)
		}
		n.sent++
	}
}

// typed runs a command of the page, with the page's example id replaced.
func (n *native) typed(command, id string) rueidis.RedisMessage {
	n.t.Helper()
	if !slices.Contains(n.page, command) {
		n.t.Fatalf("the page does not have %s typed", command)
	}
	return n.Redis.Do(strings.Fields(strings.ReplaceAll(command, "1700000000000-0", id))...)
}

// read runs XREAD or XREADGROUP and returns the ids and the records' numbers.
func (n *native) read(command, id string) (ids, numbers []string) {
	n.t.Helper()
	return n.entries(command, n.typed(command, id))
}

// entries are those of an answer.
func (n *native) entries(command string, reply rueidis.RedisMessage) (ids, numbers []string) {
	n.t.Helper()
	if reply.IsNil() {
		return nil, nil
	}
	streams, err := reply.AsXRead()
	if err != nil {
		n.t.Fatalf("%s: %v", command, err)
	}
	for _, entries := range streams {
		for _, e := range entries {
			number, _, _ := strings.Cut(e.FieldValues["value"], " ")
			ids, numbers = append(ids, e.ID), append(numbers, number)
		}
	}
	return ids, numbers
}

func upTo(from, to int) (numbers []string) {
	for i := from; i < to; i++ {
		numbers = append(numbers, fmt.Sprint(i))
	}
	return numbers
}

const (
	openStream   = "korvet:storage:local:orders:0"
	sealedStream = "korvet:storage:segment:{korvet:storage:local:orders:0}:0"
	groupRead    = "XREADGROUP GROUP billing worker1 COUNT 100 STREAMS "
)

func TestNativeReadersOfOneStreamReadAll(t *testing.T) {
	n := startNative(t, "-1")
	n.produce(15)
	n.typed("XGROUP CREATE korvet:storage:local:orders:0 billing 0", "")
	ids, numbers := n.read(groupRead+openStream+" >", "")
	if !slices.Equal(numbers, upTo(0, 15)) {
		t.Errorf("the group read %v", numbers)
	}
	acked := n.typed("XACK korvet:storage:local:orders:0 billing 1700000000000-0", ids[0])
	if count, err := acked.AsInt64(); err != nil || count != 1 {
		t.Errorf("acknowledged %d, %v", count, err)
	}
	if _, numbers := n.read("XREAD COUNT 100 STREAMS korvet:storage:local:orders:0 0", ""); !slices.Equal(numbers, upTo(0, 15)) {
		t.Errorf("without a group: %v", numbers)
	}
}

func TestNativeReadersDrainWhatARollSealed(t *testing.T) {
	n := startNative(t, "1048576")
	open := "HGET korvet:storage:segments:{korvet:storage:local:orders:0} open"
	n.produce(3)
	n.typed("XGROUP CREATE korvet:storage:local:orders:0 billing 0", "")
	ids, seen := n.read(groupRead+openStream+" >", "")
	if number := n.typed(open, ""); !number.IsNil() {
		t.Fatalf("rolled before there was anything to drain: %v", number.String())
	}
	n.produce(9)
	number := n.typed(open, "")
	if text, err := number.ToString(); err != nil || text != "1" {
		t.Fatalf("the open segment is %q, %v", text, err)
	}
	if _, pending := n.read(groupRead+sealedStream+" 0", ""); !slices.Equal(pending, seen) {
		t.Errorf("pending in the sealed segment: %v, want %v", pending, seen)
	}
	more, rest := n.read(groupRead+sealedStream+" >", "")
	if _, again := n.read(groupRead+sealedStream+" >", ""); len(again) > 0 {
		t.Errorf("drained, it gives %v", again)
	}
	_, newest := n.read(groupRead+openStream+" >", "")
	if all := slices.Concat(seen, rest, newest); !slices.Equal(all, upTo(0, n.sent)) || len(newest) == 0 {
		t.Errorf("read %v, then %v, then %v", seen, rest, newest)
	}
	for _, id := range slices.Concat(ids, more) {
		n.typed("XACK korvet:storage:segment:{korvet:storage:local:orders:0}:0 billing 1700000000000-0", id)
	}
	pending := n.typed("XPENDING korvet:storage:segment:{korvet:storage:local:orders:0}:0 billing", "")
	if summary, err := pending.ToArray(); err != nil || summary[0].String() == "" {
		t.Errorf("pending: %v", err)
	} else if count, err := summary[0].AsInt64(); err != nil || count != 0 {
		t.Errorf("%d are pending after all were acknowledged, %v", count, err)
	}
	n.goOnWithoutGroup(ids[len(ids)-1], len(seen), len(rest))
}

// goOnWithoutGroup reads on after an id, in the sealed stream and then in the open one.
func (n *native) goOnWithoutGroup(after string, seen, rest int) {
	n.t.Helper()
	reply := n.typed("XRANGE korvet:storage:segment:{korvet:storage:local:orders:0}:0 (1700000000000-0 + COUNT 100", after)
	entries, err := reply.AsXRange()
	if err != nil || len(entries) != rest {
		n.t.Fatalf("the sealed segment gave %d entries, %v, want %d", len(entries), err, rest)
	}
	_, numbers := n.read("XREAD COUNT 100 STREAMS korvet:storage:local:orders:0 1700000000000-0", entries[rest-1].ID)
	if !slices.Equal(numbers, upTo(seen+rest, n.sent)) {
		n.t.Errorf("the open segment gave %v", numbers)
	}
}

// A reader that follows the page while segments are rolled under it gets all records, once and in order.
func TestNativeReadersStayInOrderWhileSegmentsAreRolled(t *testing.T) {
	const records = 60
	n := startNative(t, "1048576")
	n.Redis.Do("XGROUP", "CREATE", openStream, "billing", "0", "MKSTREAM") // there is no record yet
	var writer sync.WaitGroup
	writer.Go(func() {
		for i := range records {
			value := fmt.Sprintf("%d %s", i, strings.Repeat("x", 100_000))
			if err := n.client.ProduceSync(t.Context(), kgo.StringRecord(value)).FirstErr(); err != nil {
				t.Errorf("produce: %v", err)
				return
			}
		}
	})
	defer writer.Wait()
	var numbers []string
	at := int64(0) // segments below are drained
	segment := func() string { return strings.TrimSuffix(sealedStream, "0") + fmt.Sprint(at) }
	risen := func() bool {
		open := n.typed("HGET korvet:storage:segments:{korvet:storage:local:orders:0} open", "")
		number, _ := open.AsInt64() // no answer: 0
		return number > at
	}
	// take reads from a stream and acknowledges, unless the stream is not any more what it was.
	take := func(stream, start string) bool {
		t.Helper()
		ids, got := n.entries(groupRead+stream, n.Redis.Do(strings.Fields(groupRead+stream+" "+start)...))
		if len(ids) == 0 || stream == openStream && risen() {
			return false
		}
		reply := n.Redis.Do(append([]string{"XACK", stream, "billing"}, ids...)...)
		if acked, err := reply.AsInt64(); err != nil || acked < int64(len(ids)) {
			n.Redis.Do(append([]string{"XACK", segment(), "billing"}, ids...)...)
		}
		numbers = append(numbers, got...)
		return true
	}
	redistest.Eventually(t, "all records to be read", func() bool {
		for ; risen(); at++ {
			for _, start := range []string{"0", ">"} {
				for take(segment(), start) {
				}
			}
		}
		_ = take(openStream, "0") || take(openStream, ">")
		return len(numbers) >= records
	})
	if !slices.Equal(numbers, upTo(0, records)) || at == 0 {
		t.Errorf("read %v over %d segments", numbers, at)
	}
}
