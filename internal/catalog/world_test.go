package catalog

import (
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/korvet-io/korvet/internal/iceberg/chain"
	"github.com/korvet-io/korvet/internal/iceberg/tables"
	"github.com/korvet-io/korvet/internal/metadata"
	"github.com/korvet-io/korvet/internal/remote"
)

// entries is a registry of tables.
type entries []metadata.Table

func (e entries) TableOf(id uuid.UUID) (metadata.Table, bool) {
	for _, t := range e {
		if t.TopicID == id {
			return t, true
		}
	}
	return metadata.Table{}, false
}

func (e entries) Tables() []metadata.Table { return e }

// world is a catalog of a tier in a folder.
type world struct {
	t    testing.TB
	tier *remote.Tier
	list entries
	url  string
}

// newWorld makes a catalog with an empty table for each topic. Tables are called as remote tiers call them.
func newWorld(t testing.TB, s Settings, topics ...string) *world {
	t.Helper()
	w := &world{t: t}
	root := "file://" + t.TempDir()
	for _, topic := range topics {
		name := metadata.TableName(topic)
		w.list = append(w.list, metadata.Table{Name: name, Topic: topic, TopicID: uuid.New(), Location: root + "/korvet/" + name})
	}
	var err error
	if w.tier, err = remote.Open(t.Context(), remote.Settings{Path: root, Namespace: "korvet", MetadataCache: 1 << 20}, w.list, chain.NoHint{}, slog.New(slog.DiscardHandler)); err != nil {
		t.Fatal(err)
	}
	for _, e := range w.list {
		life := tables.Life{Topic: e.Topic, ID: e.TopicID.String()}
		if err := w.tier.Table(e).Create(t.Context(), life, nil); err != nil {
			t.Fatal(err)
		}
	}
	if s.Namespace == "" {
		s.Namespace = "korvet"
	}
	if s.MaxRequestBytes == 0 {
		s.MaxRequestBytes = 1 << 20
	}
	s.CompareBytes, s.CommitTimeout = 64<<20, time.Minute
	server := httptest.NewServer(New(s, func() *remote.Tier { return w.tier }, slog.New(slog.DiscardHandler)))
	t.Cleanup(server.Close)
	w.url = server.URL
	return w
}

// reply is an answer of the catalog.
type reply struct {
	status int
	header http.Header
	body   string
}

// kind is the type of the error in the answer.
func (r reply) kind() string {
	var e struct {
		Error struct {
			Type string
			Code int
		}
	}
	if json.Unmarshal([]byte(r.body), &e) != nil || e.Error.Code != r.status {
		return "not an error: " + r.body
	}
	return e.Error.Type
}

// ask sends a request; headers are "Name: value". Nothing is decompressed.
func (w *world) ask(method, path, body string, headers ...string) reply {
	w.t.Helper()
	request, err := http.NewRequestWithContext(w.t.Context(), method, w.url+path, strings.NewReader(body))
	if err != nil {
		w.t.Fatal(err)
	}
	for _, h := range headers {
		name, value, _ := strings.Cut(h, ": ")
		request.Header.Add(name, value)
	}
	transport := &http.Transport{DisableCompression: true}
	defer transport.CloseIdleConnections()
	response, err := transport.RoundTrip(request)
	if err != nil {
		w.t.Fatal(err)
	}
	defer func() { _ = response.Body.Close() }()
	data, err := io.ReadAll(response.Body)
	if err != nil {
		w.t.Fatal(err)
	}
	return reply{response.StatusCode, response.Header, string(data)}
}

// value reads an answer's JSON.
func (w *world) value(r reply) map[string]any {
	w.t.Helper()
	var v map[string]any
	if err := json.Unmarshal([]byte(r.body), &v); err != nil || r.status != http.StatusOK {
		w.t.Fatalf("status %d, %q: %v", r.status, r.body, err)
	}
	return v
}
