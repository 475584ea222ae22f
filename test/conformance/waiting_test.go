package conformance

import (
	"strconv"
	"strings"
	"testing"
)

// TestAWaitingFetchIsAnsweredSeldom counts the answers that a consumer at the end of a quiet log gets while another waits
// twenty times as long: one for each wait, not a stream of empty ones.
func TestAWaitingFetchIsAnsweredSeldom(t *testing.T) {
	to := start(t)
	slow, quick := dial(t, to), dial(t, to)
	topic := slow.newTopic()
	o := fetchAt(0)
	o.waitMs = 2000
	slow.send(o.request(topic))
	done := make(chan error, 1)
	go func() {
		_, err := slow.readFrame()
		done <- err
	}()
	o.waitMs = 100
	for answers := 0; ; answers++ {
		select {
		case err := <-done:
			if err != nil {
				t.Fatalf("slow fetch: %v", err)
			}
			if answers > 25 {
				t.Errorf("%d answers to the quick consumer, want about 20", answers)
			}
			return
		default:
		}
		if got := quick.fetched(topic, o); got != "OK" {
			t.Fatalf("quick fetch: %s", got)
		}
	}
}

// TestWaitingConsumersCostRedisNothing: consumers at the end are woken by appends and served from memory.
func TestWaitingConsumersCostRedisNothing(t *testing.T) {
	to := startOwn(t)
	topic := dial(t, to).newTopic()
	dial(t, to).must(topic, values("0"))
	o := fetchAt(1)
	o.waitMs = long
	var waiting []*conn
	for range 200 {
		c := dial(t, to)
		c.send(o.request(topic))
		waiting = append(waiting, c)
	}
	before := commands(t, to)
	dial(t, to).must(topic, values("wakes all"))
	for _, c := range waiting {
		if _, err := c.readFrame(); err != nil {
			t.Fatalf("waiting consumer: %v", err)
		}
		o.offset = 2
		c.send(o.request(topic))
	}
	quiet := fetchAt(2)
	quiet.waitMs = 2000 // the span that is measured
	dial(t, to).fetched(topic, quiet)
	if used := commands(t, to) - before; used >= int64(len(waiting)) {
		t.Errorf("Redis served %d commands for one append and %d waiting consumers", used, len(waiting))
	}
}

// commands tells how many commands the broker's Redis has served.
func commands(t *testing.T, to *target) int64 {
	t.Helper()
	answer := to.own.Redis.Do("INFO", "stats")
	info, err := answer.ToString()
	if err != nil {
		t.Fatalf("ask Redis for its statistics: %v", err)
	}
	_, rest, _ := strings.Cut(info, "total_commands_processed:")
	digits, _, _ := strings.Cut(rest, "\r")
	n, err := strconv.ParseInt(digits, 10, 64)
	if err != nil {
		t.Fatalf("read Redis's statistics: %v", err)
	}
	return n
}

// TestFetchSessionsAreBounded opens far more sessions than a broker keeps: memory stays flat, every answer is full data,
// and a session that is in use goes on or is reported as gone.
func TestFetchSessionsAreBounded(t *testing.T) {
	to := startOwn(t)
	c := dial(t, to)
	topic := c.newTopicOf(10)
	partitions := []int32{0, 1, 2, 3, 4, 5, 6, 7, 8, 9}
	used := dial(t, to).open(topic, partitions...)
	open := func(n int) {
		for range n {
			s := &session{conn: c, options: fetchAt(0)}
			resp := s.full(topic, partitions...)
			if resp.ErrorCode != 0 || len(resp.Topics) != 1 || len(resp.Topics[0].Partitions) != len(partitions) {
				t.Fatalf("new session answered %s, %d topics", code(resp.ErrorCode), len(resp.Topics))
			}
		}
	}
	open(1500)
	before := residentBytes(t, to.own.Pid())
	open(3500)
	if grown := residentBytes(t, to.own.Pid()) - before; grown > 16<<20 {
		t.Errorf("resident memory grew by %d MiB", grown>>20)
	}
	switch got := used.describe(used.incremental(nil)); got {
	case "same session, 0 topics", "FETCH_SESSION_ID_NOT_FOUND":
	default:
		t.Errorf("session in use: %s", got)
	}
}
