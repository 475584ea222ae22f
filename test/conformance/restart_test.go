package conformance

import (
	"fmt"
	"strings"
	"testing"

	"github.com/korvet-io/korvet/test/harness"
)

// restarts are the ways a broker comes back; what it had answered before must still hold.
var restarts = []struct {
	name string
	do   func(*harness.Broker)
}{
	{"after a stop", func(b *harness.Broker) { b.Restart() }},
	{"after SIGKILL", func(b *harness.Broker) { b.Kill9(); b.Restart() }},
}

// TestProducerStateSurvivesARestart: the last five batches of a producer are recognised by the next life of the broker.
func TestProducerStateSurvivesARestart(t *testing.T) {
	to := startOwn(t)
	for _, r := range restarts {
		t.Run(r.name, func(t *testing.T) {
			c := dial(t, to)
			topic, id := c.newTopic(), c.newProducer()
			for sequence := range int32(5) {
				c.must(topic, one(0, sequence).batch(id))
			}
			r.do(to.own)
			c = dial(t, to)
			c.awaitWrites(topic)
			var answers []string
			for _, sequence := range []int32{0, 1, 2, 3, 4, 7, 5} {
				answers = append(answers, c.base(topic, -1, one(0, sequence).batch(id)))
			}
			answers = append(answers, fmt.Sprintf("end %d", c.end(topic)))
			if got, want := strings.Join(answers, " "), "0 1 2 3 4 OUT_OF_ORDER_SEQUENCE_NUMBER 6 end 7"; got != want {
				t.Errorf("got %s, want %s", got, want)
			}
		})
	}
}

// awaitWrites appends one record once the broker accepts it: after SIGKILL it may have to wait for its old lease to end.
func (c *conn) awaitWrites(t topic) {
	c.t.Helper()
	c.eventually("broker accepts writes", func() bool {
		got := c.produced(produceTo(9, t, -1, values("after the restart").bytes()))
		if got == "NOT_LEADER_OR_FOLLOWER" {
			return false
		}
		if !strings.HasPrefix(got, "OK") {
			c.t.Fatalf("produce after restart: %s", got)
		}
		return true
	})
}

// TestEndsOfTheLogSurviveARestart: an emptied log does not start over at offset 0.
func TestEndsOfTheLogSurviveARestart(t *testing.T) {
	to := startOwn(t)
	for _, r := range restarts {
		t.Run(r.name, func(t *testing.T) {
			c := dial(t, to)
			topic := c.newTopic()
			c.must(topic, values("0", "1", "2", "3", "4", "5", "6", "7", "8", "9"))
			if got := c.deleted(topic, -1); got != "OK 10" {
				t.Fatalf("delete records: %s", got)
			}
			r.do(to.own)
			c = dial(t, to)
			if first, end := c.listOffset(9, topic, earliest).Offset, c.end(topic); first != 10 || end != 10 {
				t.Errorf("log is from %d to %d, want 10 to 10", first, end)
			}
			c.awaitWrites(topic)
			if end := c.end(topic); end != 11 {
				t.Errorf("log end %d after one more record, want 11", end)
			}
		})
	}
}

// TestEveryOffsetCanBeFetchedAfterARestart: batches are then rebuilt from records, and a fetch at any offset begins with a
// batch that holds it.
func TestEveryOffsetCanBeFetchedAfterARestart(t *testing.T) {
	to := startOwn(t)
	c := dial(t, to)
	topic := c.newTopic()
	var sent []record
	for i, n := range []int{1, 2, 7, 50} {
		var batch []record
		for j := range n {
			batch = append(batch, record{key: fmt.Appendf(nil, "%d", i), value: fmt.Appendf(nil, "%d.%d", i, j), timestamp: now() + int64(j)})
		}
		c.must(topic, batchOf(batch...).codec(int16(i)))
		sent = append(sent, batch...)
	}
	to.own.Kill9()
	to.own.Restart()
	c = dial(t, to)
	for offset := range int64(len(sent)) {
		got := c.batches(topic, offset)
		if len(got) == 0 || got[0].FirstOffset > offset || got[0].last() < offset {
			t.Fatalf("fetch from %d does not begin with a batch that holds it", offset)
		}
		next := got[0].FirstOffset
		for _, b := range got {
			for _, r := range b.records {
				if at := b.FirstOffset + int64(r.OffsetDelta); at != next {
					t.Fatalf("fetch from %d: offset %d where %d is next", offset, at, next)
				}
				want := sent[next]
				if diff := compare(want, r); diff != "" || b.FirstTimestamp+r.TimestampDelta64 != want.timestamp {
					t.Fatalf("fetch from %d: record %d came back with %s, timestamp %d", offset, next, diff, b.FirstTimestamp+r.TimestampDelta64)
				}
				next++
			}
		}
		if next != int64(len(sent)) {
			t.Fatalf("fetch from %d ends at %d of %d", offset, next, len(sent))
		}
	}
}

// TestTopicSettingsSurviveARestart: topics, their ids and settings are durable once they were answered.
func TestTopicSettingsSurviveARestart(t *testing.T) {
	to := startOwn(t)
	c := dial(t, to)
	topic := c.newTopicOf(3, "retention.ms=1000")
	c.alter(alterConfigs(1, topicResource, topic.name, set("max.message.bytes", "4096")))
	gone := c.newTopic()
	c.remove(gone.name)
	to.own.Kill9()
	to.own.Restart()
	c = dial(t, to)
	if id := c.awaitTopic(topic.name, 3); id != topic.id {
		t.Errorf("topic id %x, was %x", id, topic.id)
	}
	for name, want := range map[string]string{
		"retention.ms":      "OK retention.ms=1000 DYNAMIC_TOPIC_CONFIG",
		"max.message.bytes": "OK max.message.bytes=4096 DYNAMIC_TOPIC_CONFIG",
	} {
		if got := c.setting(topic, name); got != want {
			t.Errorf("setting %s, want %s", got, want)
		}
	}
	if got := code(c.metadata(12, gone.name).Topics[0].ErrorCode); got != "UNKNOWN_TOPIC_OR_PARTITION" {
		t.Errorf("deleted topic: %s", got)
	}
}
