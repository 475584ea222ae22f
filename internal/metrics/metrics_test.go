package metrics

import (
	"errors"
	"flag"
	"fmt"
	"net/http/httptest"
	"os"
	"strings"
	"sync"
	"testing"
	"time"
)

var update = flag.Bool("update", false, "write docs/metrics.md")

func scrape(t *testing.T, m *Metrics) string {
	t.Helper()
	w := httptest.NewRecorder()
	m.Handler().ServeHTTP(w, httptest.NewRequest("GET", "/metrics", nil))
	if w.Code != 200 {
		t.Fatalf("status %d: %s", w.Code, w.Body)
	}
	return w.Body.String()
}

func full() Options {
	return Options{
		Version:    "1.2.3",
		MaxTopics:  2,
		Topics:     func() []string { return nil },
		Partitions: func() []Partition { return nil },
		Groups:     func() []Group { return nil },
		RedisUp:    func() bool { return true },
	}
}

func TestScrapeShowsWhatTheListenerTold(t *testing.T) {
	m := New(full())
	m.Connections(2)
	m.Connections(-1)
	m.Frame("in", 0, 100)
	m.Request(0, "ok", time.Millisecond)
	m.Request(9999, "error", time.Millisecond)
	m.Pending(7)
	m.Backpressure("pause")
	m.BackpressureConnections(1)
	m.Failure("read", "idle")
	m.Failed("produce", "NOT_LEADER_OR_FOLLOWER")
	m.Up(true)
	got := scrape(t, m)
	for _, want := range []string{
		`korvet_broker_connections 1`,
		`korvet_broker_frame_size_bytes_sum{api_key="Produce",direction="in"} 100`,
		`korvet_broker_request_seconds_count{api_key="Produce",result="ok"} 1`,
		`korvet_broker_request_seconds_count{api_key="Unknown",result="error"} 1`,
		`korvet_broker_pending_bytes 7`,
		`korvet_broker_backpressure_transitions_total{action="pause"} 1`,
		`korvet_broker_backpressure_connections 1`,
		`korvet_broker_failures_total{error_type="idle",operation="read"} 1`,
		`korvet_broker_failures_total{error_type="NOT_LEADER_OR_FOLLOWER",operation="produce"} 1`,
		`korvet_broker_up 1`,
		`korvet_redis_up 1`,
		`korvet_application_build{name="korvet",version="1.2.3"} 1`,
		`process_resident_memory_bytes`,
		`go_goroutines`,
	} {
		if !strings.Contains(got, want) {
			t.Errorf("missing %s", want)
		}
	}
}

func TestScrapeShowsWhatStorageTold(t *testing.T) {
	m := New(full())
	m.Appended(10, 1000, time.Millisecond, nil)
	m.Appended(10, 1000, time.Millisecond, errors.New("away"))
	m.Read("redis", 500, time.Millisecond, nil)
	m.Fenced("taken")
	m.Truncated(7)
	got := scrape(t, m)
	for _, want := range []string{
		`korvet_storage_write_seconds_count{result="ok"} 1`,
		`korvet_storage_write_seconds_count{result="error"} 1`,
		`korvet_storage_write_messages_total 10`,
		`korvet_storage_write_bytes_total 1000`,
		`korvet_storage_read_seconds_count{result="ok",tier="redis"} 1`,
		`korvet_storage_read_bytes_total{tier="redis"} 500`,
		`korvet_storage_fences_total{result="taken"} 1`,
		`korvet_storage_truncations_total 1`,
		`korvet_storage_truncated_records_total 7`,
	} {
		if !strings.Contains(got, want) {
			t.Errorf("missing %s", want)
		}
	}
}

func TestTopicsBeyondTheBoundShareSeries(t *testing.T) {
	o := full()
	o.Topics = func() []string { return []string{"a", "b", "c", "d"} }
	m := New(o)
	for _, topic := range []string{"a", "b", "c", "d", "a"} {
		m.Produced(topic, 3, 100, time.Millisecond)
		m.Fetched(topic, 10, time.Millisecond)
	}
	got := scrape(t, m)
	for _, want := range []string{
		`korvet_broker_produce_records_total{topic="a"} 6`,
		`korvet_broker_produce_records_total{topic="b"} 3`,
		`korvet_broker_produce_records_total{topic="_other"} 6`,
		`korvet_broker_produce_seconds_count{topic="_other"} 2`,
		`korvet_broker_fetch_bytes_total{topic="_other"} 20`,
	} {
		if !strings.Contains(got, want) {
			t.Errorf("missing %s", want)
		}
	}
	if strings.Contains(got, `topic="c"`) {
		t.Error("a topic beyond the bound has series of its own")
	}
}

func TestSeriesOfDeletedTopicsVanishAndGiveTheirPlace(t *testing.T) {
	o := full()
	topics := []string{"a", "b", "c"}
	o.Topics = func() []string { return topics }
	m := New(o)
	m.Produced("a", 1, 1, 0)
	m.Produced("b", 1, 1, 0)
	topics = []string{"b", "c"}
	if got := scrape(t, m); strings.Contains(got, `topic="a"`) || !strings.Contains(got, `topic="b"`) {
		t.Error("after the deletion of a the series of b alone should be left")
	}
	m.Produced("c", 1, 1, 0)
	if got := scrape(t, m); !strings.Contains(got, `korvet_broker_produce_records_total{topic="c"} 1`) {
		t.Error("c did not take the place of a")
	}
}

func TestPartitionsAreThoseOfTheMomentAndBounded(t *testing.T) {
	o := full()
	list := []Partition{{"a", 0, 2, 10}, {"b", 0, 0, 0}, {"b", 1, 0, 1}, {"c", 0, 0, 5}}
	o.Partitions = func() []Partition { return list }
	m := New(o)
	got := scrape(t, m)
	for _, want := range []string{
		`korvet_broker_max_offset{partition="0",topic="a"} 9`,
		`korvet_broker_log_start_offset{partition="0",topic="a"} 2`,
		`korvet_broker_max_offset{partition="0",topic="b"} -1`,
		`korvet_broker_max_offset{partition="1",topic="b"} 0`,
		`korvet_broker_partitions_not_shown 1`,
	} {
		if !strings.Contains(got, want) {
			t.Errorf("missing %s", want)
		}
	}
	list = nil
	if got := scrape(t, m); strings.Contains(got, `topic="a"`) {
		t.Error("a partition that is gone is shown")
	}
}

func TestMetricsMayBeToldAndScrapedAtOnce(t *testing.T) {
	m := New(full())
	var wg sync.WaitGroup
	for i := range 4 {
		wg.Go(func() {
			for j := range 200 {
				m.Produced(fmt.Sprint("topic", (i+j)%5), 1, 1, time.Millisecond)
				if j%50 == 0 {
					scrape(t, m)
				}
			}
		})
	}
	wg.Wait()
}

func TestDocsListEveryMetric(t *testing.T) {
	const path = "../../docs/metrics.md"
	var want strings.Builder
	want.WriteString("# Metrics\n\nMade from the code by `go test ./internal/metrics -update`; do not edit.\n\n" +
		"`/metrics` on `korvet.http.port` (8080), in Prometheus's text format or OpenMetrics. Times are in seconds, sizes in bytes.\n" +
		"Topics beyond `korvet.metrics.max-topics` share the label `topic=\"_other\"`; series of a deleted topic vanish with the first scrape after its deletion.\n" +
		"Beside these: `go_*` and `process_*` as every Go program has them.\n\n" +
		"| metric | type | labels | meaning |\n|---|---|---|---|\n")
	for _, d := range New(full()).listed {
		labels := ""
		if len(d.labels) > 0 {
			labels = "`" + strings.Join(d.labels, "`, `") + "`"
		}
		fmt.Fprintf(&want, "| `%s` | %s | %s | %s |\n", d.name, d.kind, labels, d.help)
	}
	if *update {
		if err := os.WriteFile(path, []byte(want.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if string(got) != want.String() {
		t.Errorf("%s is not what the code says: run go test ./internal/metrics -update", path)
	}
}

// A client chooses its group's name. No name may cost the operator the metrics.
func TestScrapeShowsGroupsOfAnyName(t *testing.T) {
	o := full()
	o.MaxGroups = 3
	o.Groups = func() []Group {
		return []Group{{Name: "a", State: "Empty"}, {Name: "b\xfe", State: "Empty"}, {Name: "b\xff", State: "Empty"}, {Name: "c\n\"", State: "Empty", Members: 2}, {Name: "d", State: "Empty"}}
	}
	got := scrape(t, New(o))
	for _, want := range []string{
		`korvet_groups{state="Empty"} 5`,
		`korvet_group_members{group="a"} 0`,
		"korvet_group_members{group=\"b\uFFFD\"} 0",
		`korvet_group_members{group="c\n\""} 2`,
		`korvet_groups_not_shown 2`,
	} {
		if !strings.Contains(got, want) {
			t.Errorf("missing %s", want)
		}
	}
}
