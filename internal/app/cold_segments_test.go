package app

import (
	"bufio"
	"fmt"
	"net"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/twmb/franz-go/pkg/kadm"

	"github.com/korvet-io/korvet/internal/redisstream"
	"github.com/korvet-io/korvet/internal/redistest"
)

// monitor keeps what Redis executes, scripts' commands included, that names a key of a sealed segment. A script may be given
// such a key without touching it.
type monitor struct {
	mu      sync.Mutex
	touched []string
	lines   int
}

func newMonitor(t *testing.T, redis *redistest.Server, sealed string) *monitor {
	t.Helper()
	c, err := net.Dial("tcp", redis.Addr())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	if _, err := fmt.Fprint(c, "MONITOR\r\n"); err != nil {
		t.Fatal(err)
	}
	m, in := &monitor{}, bufio.NewReader(c)
	if _, err := in.ReadString('\n'); err != nil { // +OK: from now on
		t.Fatal(err)
	}
	go func() {
		for {
			line, err := in.ReadString('\n')
			if err != nil {
				return
			}
			m.add(line, sealed)
		}
	}()
	return m
}

func (m *monitor) add(line, sealed string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.lines++
	_, command, _ := strings.Cut(line, "] ")
	if strings.Contains(command, sealed) && !strings.HasPrefix(command, `"EVAL`) && !strings.HasPrefix(command, `"OBJECT"`) {
		m.touched = append(m.touched, command)
	}
}

func (m *monitor) seen() (lines int, touched []string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.lines, m.touched
}

// ticks is how often the worker has looked.
func ticks(t *testing.T, b *Broker) int {
	t.Helper()
	_, rest, found := strings.Cut(get(t, b, "/metrics"), "\nkorvet_storage_worker_tick_seconds_count ")
	text, _, _ := strings.Cut(rest, "\n")
	n, err := strconv.Atoi(text)
	if !found || err != nil {
		t.Fatalf("count ticks: %q, %v", text, err)
	}
	return n
}

// idle is how long nothing has touched a key, in seconds.
func idle(t *testing.T, redis *redistest.Server, key string) int64 {
	t.Helper()
	m := redis.Do("OBJECT", "IDLETIME", key)
	n, err := m.AsInt64()
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// A Redis that puts cold keys on flash can do so with sealed segments only if nothing touches them: neither the worker at any
// of its ticks nor what a broker does with the end of the log, nor its restart.
func TestNothingTouchesASealedSegmentUntilItIsReadOrDropped(t *testing.T) {
	redis := redistest.Start(t)
	flags := []string{
		"--korvet.redis.uri=" + redis.URI(), "--korvet.broker.id=1", "--korvet.storage.worker.tick-interval=100ms",
		"--korvet.storage.worker.lease-duration=10s", "--korvet.broker.tail-cache-bytes=100kb",
	}
	first := start(t, load(t, flags...))
	n := &numbered{client: client(t, first)}
	createTopic(t, n.client, "t", map[string]*string{"segment.bytes": kadm.StringPtr("1048576"), "retention.bytes": kadm.StringPtr("100000000")})
	n.send(t, 3500)
	keys := redisstream.NewKeys("korvet", "t", 0)
	sealed := []string{keys.Segment(0), keys.Segment(1), keys.Segment(2)}
	redistest.Eventually(t, "three sealed segments", func() bool {
		m := redis.Do(append([]string{"EXISTS"}, sealed...)...)
		there, err := m.AsInt64()
		return err == nil && there == 3
	})
	settled := ticks(t, first) + 3 // it has weighed what is new
	redistest.Eventually(t, "the worker to have seen them", func() bool { return ticks(t, first) >= settled })
	seen := newMonitor(t, redis, strings.TrimSuffix(keys.Segment(0), "0"))

	useTheEnd(t, first, n)
	untouched(t, redis, first, sealed)
	first.Stop()
	second := start(t, load(t, flags...))
	n.client = client(t, second)
	useTheEnd(t, second, n)
	untouched(t, redis, second, sealed)
	if lines, touched := seen.seen(); lines == 0 || len(touched) > 0 {
		t.Errorf("of %d commands these touched a sealed segment: %q", lines, touched)
	}

	checkLog(t, second, n.next)
	if _, touched := seen.seen(); len(touched) == 0 {
		t.Error("the segments were read, and the monitor did not see it: the test shows nothing")
	}
	deleteThrough(t, second, int64(n.next))
	redistest.Eventually(t, "the segments to be dropped", func() bool {
		m := redis.Do(append([]string{"EXISTS"}, sealed...)...)
		there, err := m.AsInt64()
		return err == nil && there == 0
	})
}

// useTheEnd does what clients do without looking at old records.
func useTheEnd(t *testing.T, b *Broker, n *numbered) {
	t.Helper()
	n.send(t, 10)
	if err := fetchAt(t, b, int64(n.next)-1); err != nil {
		t.Error(err)
	}
	if got := earliest(t, b); got != 0 {
		t.Errorf("the log starts at %d", got)
	}
	if err := commitOnce(t, b, "g", int64(n.next)); err != nil {
		t.Error(err)
	}
	if _, err := kadm.NewClient(n.client).DescribeAllLogDirs(t.Context(), nil); err != nil {
		t.Error(err)
	}
}

// untouched waits while the worker looks half a dozen times, and until Redis says that nothing has touched the keys meanwhile. A
// touch at each tick would keep that from ever being so.
func untouched(t *testing.T, redis *redistest.Server, b *Broker, keys []string) {
	t.Helper()
	enough := ticks(t, b) + 6
	redistest.Eventually(t, "half a dozen ticks", func() bool { return ticks(t, b) >= enough })
	for _, key := range keys {
		redistest.Eventually(t, key+" to be idle", func() bool { return idle(t, redis, key) >= 3 })
	}
}
