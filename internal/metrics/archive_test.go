package metrics

import (
	"errors"
	"strings"
	"testing"
	"time"
)

func TestScrapeShowsWhatIsCopied(t *testing.T) {
	m := New(full())
	m.FileArchived(time.Second, nil)
	m.FileArchived(time.Second, errors.New("no store"))
	m.Archived(3, 1000)
	m.ArchiveFailed("copy")
	m.ArchiveLag(map[string]int64{"a": 2, "b": 0, "c": 1, "d": 4}, map[string]time.Duration{"a": time.Minute, "c": time.Second, "d": time.Hour})
	got := scrape(t, m)
	for _, want := range []string{
		`korvet_storage_archive_seconds_count{result="ok"} 1`,
		`korvet_storage_archive_seconds_count{result="error"} 1`,
		`korvet_storage_archive_segments_total 3`,
		`korvet_storage_archive_bytes_total 1000`,
		`korvet_storage_archive_failures_total{operation="copy"} 1`,
		`korvet_storage_archive_failures_total{operation="commit"} 0`,
		`korvet_storage_archive_lag_segments{topic="a"} 2`,
		`korvet_storage_archive_lag_segments{topic="b"} 0`,
		`korvet_storage_archive_lag_segments{topic="_other"} 5`,
		`korvet_storage_archive_lag_oldest_seconds{topic="a"} 60`,
		`korvet_storage_archive_lag_oldest_seconds{topic="b"} 0`,
		`korvet_storage_archive_lag_oldest_seconds{topic="_other"} 3600`,
	} {
		if !strings.Contains(got, want+"\n") {
			t.Errorf("no line %s", want)
		}
	}
	m.ArchiveLag(map[string]int64{"b": 1}, nil)
	if got := scrape(t, m); strings.Contains(got, `korvet_storage_archive_lag_segments{topic="a"}`) {
		t.Error("a topic that is gone is shown")
	}
	m.WorkerLeads(false)
	if got := scrape(t, m); strings.Contains(got, `korvet_storage_archive_lag_oldest_seconds{`) {
		t.Error("a process without the lease tells of topics")
	}
}
