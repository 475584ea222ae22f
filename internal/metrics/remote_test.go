package metrics

import (
	"errors"
	"strings"
	"testing"
	"time"
)

func TestScrapeShowsTheRemoteTier(t *testing.T) {
	m := New(full())
	m.RemoteBytes(map[string]int64{"a": 1, "b": 2, "c": 3, "d": 4})
	m.ArchiveLagOffsets(map[string]int64{"a": 7})
	m.StoreRequest("read", 100, time.Millisecond, "")
	m.StoreRequest("read", 0, time.Millisecond, "not_found")
	m.StoreRequest("write", 50, time.Millisecond, "denied")
	m.RemoteRead(30, nil)
	m.RemoteRead(0, errors.New("no store"))
	m.IndexCache(4096)
	m.CatalogRequest("loadTable", "200", time.Millisecond)
	m.EventsQueued(3)
	m.EventsPublished(2, 1)
	got := scrape(t, m)
	for _, want := range []string{
		`korvet_storage_remote_bytes{topic="a"} 1`,
		`korvet_storage_remote_bytes{topic="_other"} 7`,
		`korvet_storage_archive_lag_offsets{topic="a"} 7`,
		`korvet_storage_remote_request_seconds_count{operation="read",result="ok"} 2`,
		`korvet_storage_remote_request_seconds_count{operation="write",result="error"} 1`,
		`korvet_storage_remote_failures_total{error_type="denied",operation="write"} 1`,
		`korvet_storage_remote_request_bytes_total{operation="read"} 100`,
		`korvet_storage_remote_reads_total{result="ok"} 1`,
		`korvet_storage_remote_reads_total{result="error"} 1`,
		`korvet_storage_remote_read_bytes_total 30`,
		`korvet_storage_remote_index_cache_bytes 4096`,
		`korvet_catalog_request_seconds_count{operation="loadTable",status="200"} 1`,
		`korvet_storage_remote_events_total{step="queued"} 3`,
		`korvet_storage_remote_events_total{step="published"} 2`,
		`korvet_storage_remote_events_waiting 1`,
	} {
		if !strings.Contains(got, want+"\n") {
			t.Errorf("no line %s", want)
		}
	}
	if strings.Contains(got, `korvet_storage_remote_failures_total{error_type="not_found"`) {
		t.Error("an object that is not there counts as a failure")
	}
}

// A process without the lease tells nothing of topics: another one does. One that was deleted is told of no more.
func TestRemoteSeriesOfTopicsVanish(t *testing.T) {
	m := New(full())
	m.RemoteBytes(map[string]int64{"a": 1, "b": 2})
	m.RemoteBytes(map[string]int64{"b": 2})
	if got := scrape(t, m); strings.Contains(got, `korvet_storage_remote_bytes{topic="a"}`) {
		t.Error("a topic that is gone is shown")
	}
	m.ArchiveLagOffsets(map[string]int64{"b": 2})
	m.WorkerLeads(false)
	if got := scrape(t, m); strings.Contains(got, `topic="b"`) {
		t.Error("a process without the lease shows topics")
	}
}
