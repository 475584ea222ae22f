package catalog

import (
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/korvet-io/korvet/internal/remote"
)

// tried is a request to a catalog with one table. It never ends in a 500 but where the table may have changed.
func tried(t *testing.T, w *world, r *http.Request) {
	t.Helper()
	c := New(Settings{Namespace: "korvet", MaxRequestBytes: 1 << 16, CompareBytes: 1 << 20, CommitTimeout: time.Minute}, func() *remote.Tier { return w.tier }, slog.New(slog.DiscardHandler))
	answer := httptest.NewRecorder()
	c.ServeHTTP(answer, r)
	if answer.Code >= 500 {
		t.Errorf("%s %s: %d %s", r.Method, r.URL, answer.Code, answer.Body)
	}
}

func FuzzPaths(f *testing.F) {
	for _, r := range routes {
		f.Add("GET", "/v1/"+strings.ReplaceAll(r.path, "*", "korvet"), "parent=korvet")
	}
	f.Add("POST", "/v1/namespaces/korvet%1Fevents/tables/snapshots", "snapshots=all")
	f.Add("HEAD", "/v1/p/namespaces/korvet/tables/%zz%00", "pageSize=9&pageToken=%ff")
	w := newWorld(f, Settings{}, "events")
	f.Fuzz(func(t *testing.T, method, path, query string) {
		u, err := url.ParseRequestURI(path)
		if err != nil {
			return
		}
		u.RawQuery = query
		r := httptest.NewRequest("GET", "/", strings.NewReader("{}"))
		r.Method, r.URL = method, u
		tried(t, w, r)
	})
}

func FuzzCommits(f *testing.F) {
	for _, body := range []string{
		`{"requirements":[{"type":"assert-table-uuid","uuid":"00000000-0000-0000-0000-000000000001"}],"updates":[]}`,
		`{"requirements":[{"type":"assert-ref-snapshot-id","ref":"main","snapshot-id":null}],"updates":[{"action":"set-properties","updates":{"a":"b"}}]}`,
		`{"updates":[{"action":"add-snapshot","snapshot":{"snapshot-id":1,"parent-snapshot-id":2,"sequence-number":1,"timestamp-ms":1,"manifest-list":"file:///x","summary":{"operation":"append"},"schema-id":0}},{"action":"set-snapshot-ref","ref-name":"main","type":"branch","snapshot-id":1}]}`,
		`{"updates":[{"action":"remove-snapshots","snapshot-ids":[1]},{"action":"remove-statistics","snapshot-id":1},{"action":"remove-snapshot-ref","ref-name":"main"}]}`,
		`{"updates":[{"action":"set-statistics","snapshot-id":1,"statistics":{"snapshot-id":1,"statistics-path":"file:///x","file-size-in-bytes":1,"file-footer-size-in-bytes":1,"blob-metadata":[{"type":"t","snapshot-id":1,"sequence-number":1,"fields":[1]}]}}]}`,
		`{"updates":[{"action":"add-schema","schema":{"type":"struct","schema-id":1,"fields":[]}},{"action":"add-spec","spec":{}},{"action":"add-sort-order","sort-order":{}}]}`,
		`{"table-changes":[{"identifier":{"namespace":["korvet"],"name":"events"},"requirements":null,"updates":[null]}]}`,
	} {
		f.Add(body, true)
		f.Add(body, false)
	}
	w := newWorld(f, Settings{}, "events")
	f.Fuzz(func(t *testing.T, body string, one bool) {
		path := "/v1/transactions/commit"
		if one {
			path = events
		}
		tried(t, w, httptest.NewRequest("POST", path, strings.NewReader(body)))
	})
}
