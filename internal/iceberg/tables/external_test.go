package tables

import (
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/apache/iceberg-go"
	"github.com/apache/iceberg-go/table"

	"github.com/korvet-io/korvet/internal/iceberg/catalogs"
	"github.com/korvet-io/korvet/internal/iceberg/chain"
	"github.com/korvet-io/korvet/internal/iceberg/store"
)

// openExternal is the table of another catalog, as one process sees it.
func openExternal(t *testing.T, s catalogs.Settings, location string) *Table {
	t.Helper()
	objects, err := store.Open(t.Context(), "file:///", store.S3{})
	if err != nil {
		t.Fatal(err)
	}
	c, err := catalogs.Open(s, objects)
	if err != nil {
		t.Fatal(err)
	}
	return Open(&chain.Chain{Store: objects, Hint: chain.NoHint{}, Location: location, Now: time.Now, Catalog: c.Table("korvet", "events")}, "korvet", "events")
}

func sqlSettings(t *testing.T) catalogs.Settings {
	return catalogs.Settings{Type: "sql", URI: "sqlite://" + t.TempDir() + "/catalog.db"}
}

// keeps has two workers use a table, of which one is not the newest.
func keeps(t *testing.T, s catalogs.Settings) {
	t.Helper()
	location := "file://" + t.TempDir() + "/events"
	tb, other := openExternal(t, s, location), openExternal(t, s, location)
	if _, err := tb.State(t.Context()); !errors.Is(err, chain.ErrNoTable) {
		t.Fatalf("before it is made: %v, want ErrNoTable", err)
	}
	for _, tb := range []*Table{tb, other} {
		if err := tb.Create(t.Context(), Life{Topic: "events", ID: "1"}, nil); err != nil {
			t.Fatal(err)
		}
	}
	if err := tb.Create(t.Context(), Life{Topic: "events", ID: "2"}, nil); !errors.Is(err, ErrForeign) {
		t.Errorf("another topic's: %v, want ErrForeign", err)
	}
	base, late := state(t, tb), state(t, other)
	next, err := tb.Append(t.Context(), base, 3, []Added{put(t, tb, 0, 0, 100), put(t, tb, 0, 100, 200)})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := other.Append(t.Context(), late, 2, []Added{put(t, tb, 0, 0, 100)}); err == nil {
		t.Error("a worker that slept has added the same records")
	}
	if seen := state(t, other); seen.Fence != 3 || seen.Ends[0] != 200 || seen.Snapshot() != next.Snapshot() {
		t.Errorf("the table is at %+v", seen)
	}
	next, gone, err := tb.DropBefore(t.Context(), next, 3, map[int32]int64{0: 100})
	if err != nil || len(gone) != 1 {
		t.Fatalf("%d files dropped, %v", len(gone), err)
	}
	if next, err = tb.SetProperties(t.Context(), next, map[string]string{"owner": "ann"}); err != nil {
		t.Fatal(err)
	}
	if next, _, err = tb.Expire(t.Context(), next, 3, Rules{MinCount: 1, MaxCount: 1}); err != nil || len(next.Snapshots()) != 1 {
		t.Errorf("expiry: %v", err)
	}
	if got := offsets(t, other, state(t, other), 0); len(got) != 100 || got[0] != 100 {
		t.Errorf("%d rows", len(got))
	}
}

func TestATableInADatabase(t *testing.T) { keeps(t, sqlSettings(t)) }

func TestATableInARESTCatalog(t *testing.T) {
	keeps(t, catalogs.Settings{Type: "rest", URI: restCatalog(t, sqlSettings(t))})
}

// A catalog that carries a commit out and answers 500, or nothing, is asked what there is before anything is written again: each
// file is in the table once (pitfall C79).
func TestACatalogThatCommitsWithoutAnAnswerIsAskedAgain(t *testing.T) {
	upstream, err := url.Parse(restCatalog(t, sqlSettings(t)))
	if err != nil {
		t.Fatal(err)
	}
	proxy := httputil.NewSingleHostReverseProxy(upstream)
	var mu sync.Mutex
	lose, commits := "", 0
	loses := func(how string) (seen int) {
		mu.Lock()
		defer mu.Unlock()
		seen, lose, commits = commits, how, 0
		return seen
	}
	proxy.ModifyResponse = func(r *http.Response) error {
		if r.Request.Method != http.MethodPost || !strings.HasSuffix(r.Request.URL.Path, "/tables/events") {
			return nil
		}
		mu.Lock()
		defer mu.Unlock()
		commits++
		if lose == "hang up" {
			panic(http.ErrAbortHandler)
		}
		if lose != "" {
			r.StatusCode = http.StatusInternalServerError
		}
		return nil
	}
	server := httptest.NewServer(proxy)
	t.Cleanup(server.Close)
	tb := openExternal(t, catalogs.Settings{Type: "rest", URI: server.URL}, "file://"+t.TempDir()+"/events")
	if err := tb.Create(t.Context(), Life{Topic: "events", ID: "1"}, nil); err != nil {
		t.Fatal(err)
	}
	for i, how := range []string{"answer 500", "hang up"} {
		base, first := state(t, tb), int64(i*100)
		added := []Added{put(t, tb, 0, first, first+100)}
		loses(how)
		after, err := tb.Append(t.Context(), base, 1, added)
		seen := loses("")
		if err == nil && after.Ends[0] != first+100 || errors.Is(err, chain.ErrConflict) && seen == 1 {
			t.Errorf("%s: %v", how, err)
		}
		if s := state(t, tb); s.Ends[0] != first+100 {
			t.Errorf("%s: the table ends at %d", how, s.Ends[0])
		}
		if _, err := tb.Append(t.Context(), base, 1, added); err == nil {
			t.Errorf("%s: the same was added again", how)
		}
		if seen == 0 {
			t.Errorf("%s: no commit was lost", how)
		}
	}
	if got := offsets(t, tb, state(t, tb), 0); len(got) != 200 {
		t.Errorf("%d rows", len(got))
	}
}

// restCatalog serves a catalog over HTTP, as far as this is needed.
func restCatalog(t *testing.T, s catalogs.Settings) string {
	objects, err := store.Open(t.Context(), "file:///", store.S3{})
	if err != nil {
		t.Fatal(err)
	}
	behind, err := catalogs.Open(s, objects)
	if err != nil {
		t.Fatal(err)
	}
	held := behind.Table("korvet", "events")
	answer := func(w http.ResponseWriter, status int, body any) {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(status)
		_ = json.NewEncoder(w).Encode(body)
	}
	loaded := func(w http.ResponseWriter, m table.Metadata, location string, err error) {
		status := http.StatusInternalServerError
		switch {
		case err == nil:
			answer(w, http.StatusOK, map[string]any{"metadata-location": location, "metadata": m, "config": map[string]string{}})
			return
		case errors.Is(err, chain.ErrNoTable):
			status = http.StatusNotFound
		case errors.Is(err, chain.ErrConflict) || strings.Contains(err.Error(), "equirement failed"):
			status = http.StatusConflict
		}
		answer(w, status, map[string]any{"error": map[string]any{"message": err.Error(), "type": "Error", "code": status}})
	}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /v1/config", func(w http.ResponseWriter, _ *http.Request) {
		answer(w, http.StatusOK, map[string]any{"defaults": map[string]string{}, "overrides": map[string]string{}})
	})
	mux.HandleFunc("POST /v1/namespaces", func(w http.ResponseWriter, _ *http.Request) {
		answer(w, http.StatusOK, map[string]any{"namespace": []string{"korvet"}, "properties": map[string]string{}})
	})
	mux.HandleFunc("GET /v1/namespaces/korvet/tables/events", func(w http.ResponseWriter, r *http.Request) {
		m, location, err := held.Load(r.Context())
		loaded(w, m, location, err)
	})
	mux.HandleFunc("POST /v1/namespaces/korvet/tables", func(w http.ResponseWriter, r *http.Request) {
		var q struct {
			Location   string                 `json:"location"`
			Schema     *iceberg.Schema        `json:"schema"`
			Spec       *iceberg.PartitionSpec `json:"partition-spec"`
			Order      table.SortOrder        `json:"write-order"`
			Properties iceberg.Properties     `json:"properties"`
		}
		err := json.NewDecoder(r.Body).Decode(&q)
		var m table.Metadata
		location := ""
		if err == nil {
			q.Properties["format-version"] = "2"
			m, err = table.NewMetadata(q.Schema, q.Spec, q.Order, q.Location, q.Properties)
		}
		if err == nil {
			m, location, err = held.Create(r.Context(), m)
		}
		loaded(w, m, location, err)
	})
	mux.HandleFunc("POST /v1/namespaces/korvet/tables/events", func(w http.ResponseWriter, r *http.Request) {
		var q struct {
			Requirements table.Requirements `json:"requirements"`
			Updates      table.Updates      `json:"updates"`
		}
		err := json.NewDecoder(r.Body).Decode(&q)
		var m table.Metadata
		location := ""
		if err == nil {
			m, location, err = held.Commit(r.Context(), q.Requirements, q.Updates)
		}
		loaded(w, m, location, err)
	})
	server := httptest.NewServer(mux)
	t.Cleanup(server.Close)
	return server.URL
}
