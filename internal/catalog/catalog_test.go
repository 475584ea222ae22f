package catalog

import (
	"compress/gzip"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http/httptest"
	"reflect"
	"strings"
	"testing"

	"github.com/google/uuid"

	"github.com/korvet-io/korvet/internal/remote"
)

const events = "/v1/namespaces/korvet/tables/events"

func TestConfigNamesDefaultsOverridesAndEndpointsForAnyWarehouse(t *testing.T) {
	w := newWorld(t, Settings{})
	for _, query := range []string{"", "?warehouse=", "?warehouse=anything"} {
		got := w.value(w.ask("GET", "/v1/config"+query, ""))
		if len(got["defaults"].(map[string]any)) != 0 || len(got["overrides"].(map[string]any)) != 0 || len(got["endpoints"].([]any)) != 7 {
			t.Errorf("%q: got %v", query, got)
		}
	}
	readOnly := newWorld(t, Settings{ReadOnly: true})
	if got := readOnly.ask("GET", "/v1/config", ""); strings.Contains(got.body, "POST") {
		t.Errorf("a catalog that takes no commits announces them: %s", got.body)
	}
}

func TestAnswersOfEachPath(t *testing.T) {
	w := newWorld(t, Settings{}, "events", "Page.Views")
	for _, c := range []struct {
		request string
		status  int
		want    string // of the body, or the type of its error
	}{
		{"GET /v1/namespaces", 200, `{"namespaces":[["korvet"]]}`},
		{"GET /v1/namespaces?pageToken=", 200, `{"namespaces":[["korvet"]]}`},
		{"GET /v1/namespaces?parent=korvet", 200, `{"namespaces":[]}`},
		{"GET /v1/namespaces?parent=other", 404, "NoSuchNamespaceException"},
		{"GET /v1/namespaces/korvet", 200, `{"namespace":["korvet"],"properties":{}}`},
		{"GET /v1/namespaces/KORVET", 200, `{"namespace":["korvet"],"properties":{}}`},
		{"GET /v1/namespaces/other", 404, "NoSuchNamespaceException"},
		{"GET /v1/namespaces/korvet%1Fevents", 404, "NoSuchNamespaceException"},
		{"GET /v1/namespaces/korvet%1Fevents/tables/snapshots", 404, "NoSuchTableException"},
		{"HEAD /v1/namespaces/korvet", 204, ""},
		{"HEAD /v1/namespaces/other", 404, ""},
		{"GET /v1/namespaces/korvet/tables?pageToken=", 200, `{"identifiers":[{"namespace":["korvet"],"name":"events"},{"namespace":["korvet"],"name":"page_views"}]}`},
		{"GET /v1/namespaces/korvet/tables?pageSize=1", 200, `{"identifiers":[{"namespace":["korvet"],"name":"events"}],"next-page-token":"events"}`},
		{"GET /v1/namespaces/korvet/tables?pageSize=1&pageToken=events", 200, `{"identifiers":[{"namespace":["korvet"],"name":"page_views"}]}`},
		{"GET /v1/namespaces/korvet/tables?pageSize=-1", 400, "BadRequestException"},
		{"GET /v1/namespaces/other/tables", 404, "NoSuchNamespaceException"},
		{"HEAD " + events, 204, ""},
		{"HEAD /v1/namespaces/korvet/tables/nothing", 404, ""},
		{"HEAD /v1/namespaces/korvet/tables/Page.Views", 204, ""},
		{"HEAD /v1/namespaces/korvet/tables/PAGE_VIEWS", 204, ""},
		{"HEAD /v1/anyprefix/namespaces/korvet/tables/events", 204, ""},
		{"GET /v1/namespaces/korvet/tables/nothing", 404, "NoSuchTableException"},
		{"GET /v1/namespaces/korvet/tables/a%2Fb%00", 404, "NoSuchTableException"},
		{"POST " + events + "/metrics", 204, ""},
		{"GET /v1/namespaces/korvet/views", 404, "NoSuchViewException"},
		{"GET /v1/namespaces/korvet/views/v", 404, "NoSuchViewException"},
		{"POST /v1/namespaces", 406, "UnsupportedOperationException"},
		{"DELETE /v1/namespaces/korvet", 406, "UnsupportedOperationException"},
		{"POST /v1/namespaces/korvet/properties", 406, "UnsupportedOperationException"},
		{"POST /v1/namespaces/korvet/tables", 406, "UnsupportedOperationException"},
		{"POST /v1/namespaces/korvet/register", 406, "UnsupportedOperationException"},
		{"POST /v1/namespaces/korvet/views", 406, "UnsupportedOperationException"},
		{"DELETE " + events, 406, "UnsupportedOperationException"},
		{"POST /v1/tables/rename", 406, "UnsupportedOperationException"},
		{"PUT " + events, 405, "UnsupportedOperationException"},
		{"POST /v1/oauth/tokens", 404, "NoSuchEndpointException"},
		{"GET /", 404, "NoSuchEndpointException"},
		{"GET /v2/config", 404, "NoSuchEndpointException"},
	} {
		method, path, _ := strings.Cut(c.request, " ")
		got := w.ask(method, path, "")
		said := got.body
		if got.status >= 400 && method != "HEAD" {
			said = got.kind()
		}
		if got.status != c.status || said != c.want {
			t.Errorf("%s: %d %s, want %d %s", c.request, got.status, said, c.status, c.want)
		}
	}
}

func TestATableIsLoadedAsItsMetadataFileIs(t *testing.T) {
	vended := map[string]string{"s3.endpoint": "http://127.0.0.1:1/", "client.region": "us-east-1"}
	w := newWorld(t, Settings{Vended: vended}, "events")
	got := w.value(w.ask("GET", events+"?snapshots=all", "", "X-Iceberg-Access-Delegation: vended-credentials"))
	location := w.list[0].Location + "/metadata/v1.metadata.json"
	if got["metadata-location"] != location {
		t.Errorf("metadata-location %v, want %s", got["metadata-location"], location)
	}
	raw, err := w.tier.Store.Read(t.Context(), location)
	if err != nil {
		t.Fatal(err)
	}
	var want any
	if err := json.Unmarshal(raw, &want); err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(got["metadata"], want) {
		t.Errorf("metadata is %v", got["metadata"])
	}
	if config := fmt.Sprint(got["config"]); config != fmt.Sprint(vended) {
		t.Errorf("config is %v", config)
	}
}

func TestATableThatDidNotChangeIsNotSentAgain(t *testing.T) {
	w := newWorld(t, Settings{}, "events")
	first := w.ask("GET", events, "")
	tag := first.header.Get("ETag")
	if again := w.ask("GET", events, "", "If-None-Match: "+tag); again.status != 304 || again.body != "" {
		t.Errorf("unchanged: %d %q", again.status, again.body)
	}
	done := w.ask("POST", events, `{"requirements":[],"updates":[{"action":"set-properties","updates":{"owner":"analysts"}}]}`)
	if w.value(done); done.header.Get("ETag") == tag {
		t.Error("a commit did not change the tag")
	}
	changed := w.ask("GET", events, "", "If-None-Match: "+tag)
	if changed.status != 200 || changed.header.Get("ETag") == tag || !strings.Contains(changed.body, `"owner":"analysts"`) {
		t.Errorf("changed: %d %q", changed.status, changed.body)
	}
}

func TestAnswersAreCompressedOnlyWhenAsked(t *testing.T) {
	w := newWorld(t, Settings{}, "events")
	plain := w.ask("GET", events, "")
	for _, c := range []struct {
		offer string
		want  bool
	}{{"gzip", true}, {"deflate, gzip;q=0.5", true}, {"identity", false}, {"gzip;q=0", false}, {"GZIP", true}, {"", false}} {
		got := w.ask("GET", events, "", "Accept-Encoding: "+c.offer)
		if compressed := got.header.Get("Content-Encoding") == "gzip"; compressed != c.want {
			t.Errorf("%q: compressed %v", c.offer, compressed)
			continue
		}
		if !c.want {
			continue
		}
		z, err := gzip.NewReader(strings.NewReader(got.body))
		if err != nil {
			t.Fatal(err)
		}
		if body, err := io.ReadAll(z); err != nil || string(body) != plain.body {
			t.Errorf("%q: %q, %v", c.offer, body, err)
		}
	}
}

func TestATokenIsAskedForOnlyWhereThereIsOne(t *testing.T) {
	open := newWorld(t, Settings{})
	if got := open.ask("GET", "/v1/config", "", "Authorization: Bearer None"); got.status != 200 {
		t.Errorf("without a token: %d", got.status)
	}
	w := newWorld(t, Settings{Token: "secret"})
	for header, want := range map[string]int{"": 401, "Bearer None": 401, "Basic secret": 401, "Bearer secrets": 401, "Bearer secret": 200, "bearer secret": 200} {
		if got := w.ask("GET", "/v1/config", "", "Authorization: "+header); got.status != want || want == 401 && got.kind() != "NotAuthorizedException" {
			t.Errorf("%q: %d %s", header, got.status, got.body)
		}
	}
}

func TestCommitsThatWriteNothingAre4xx(t *testing.T) {
	w := newWorld(t, Settings{MaxRequestBytes: 5000}, "events")
	const transaction = "/v1/transactions/commit"
	for _, c := range []struct {
		path, body string
		status     int
		kind       string
	}{
		{events, ``, 400, "BadRequestException"},
		{events, `{"requirements":{}}`, 400, "BadRequestException"},
		{events, `{"requirements":[{"type":"assert-nothing"}]}`, 400, "BadRequestException"},
		{events, `{"updates":[{"action":"unheard-of"}]}`, 400, "BadRequestException"},
		{events, `{"updates":[{"action":"add-snapshot","snapshot":{}}]}`, 400, "BadRequestException"},
		{events, `{"updates":[{"action":"add-snapshot","snapshot":{"snapshot-id":1,"timestamp-ms":1,"manifest-list":"file:///etc/passwd"}},{"action":"set-snapshot-ref","ref-name":"main","type":"branch","snapshot-id":1}]}`, 400, "BadRequestException"},
		{events, `{"updates":[{"action":"set-location","location":"file:///elsewhere"}]}`, 400, "BadRequestException"},
		{events, `{"updates":[{"action":"set-properties","updates":{"korvet.fence":"9"}}]}`, 400, "BadRequestException"},
		{events, `{"updates":[{"action":"upgrade-format-version","format-version":3}]}`, 400, "BadRequestException"},
		{events, `{"requirements":[{"type":"assert-table-uuid","uuid":"00000000-0000-0000-0000-000000000001"}],"updates":[]}`, 409, "CommitFailedException"},
		{events, `{"requirements":[{"type":"assert-ref-snapshot-id","ref":"main","snapshot-id":5}],"updates":[]}`, 409, "CommitFailedException"},
		{events, `{"updates":"` + strings.Repeat("x", 5000) + `"}`, 413, "BadRequestException"},
		{"/v1/namespaces/korvet/tables/nothing", `{"requirements":[],"updates":[]}`, 404, "NoSuchTableException"},
		{transaction, `{}`, 400, "BadRequestException"},
		{transaction, `{"table-changes":[{"updates":[]}]}`, 400, "BadRequestException"},
		{transaction, `{"table-changes":[{"identifier":{"namespace":["korvet","events"],"name":"x"},"updates":[]}]}`, 404, "NoSuchTableException"},
		{transaction, `{"table-changes":[{"identifier":{"namespace":["korvet"],"name":"events"}},{"identifier":{"namespace":["korvet"],"name":"events"}}]}`, 400, "BadRequestException"},
	} {
		if got := w.ask("POST", c.path, c.body); got.status != c.status || got.kind() != c.kind {
			t.Errorf("POST %s %.100s: %d %s", c.path, c.body, got.status, got.body)
		}
	}
	change := `{"table-changes":[{"identifier":{"namespace":["korvet"],"name":"events"},"requirements":[],"updates":[{"action":"set-properties","updates":{"a":"b"}}]}]}`
	if got := w.ask("POST", transaction, change); got.status != 204 {
		t.Errorf("a commit of one table: %d %s", got.status, got.body)
	}
}

func TestACatalogThatOnlyReadsRefusesCommits(t *testing.T) {
	w := newWorld(t, Settings{ReadOnly: true}, "events")
	body := `{"requirements":[],"updates":[{"action":"set-properties","updates":{"a":"b"}}]}`
	if got := w.ask("POST", events, body); got.status != 403 || got.kind() != "ForbiddenException" {
		t.Errorf("%d %s", got.status, got.body)
	}
}

func TestATableThatIsReservedButNotCreatedDoesNotExist(t *testing.T) {
	w := newWorld(t, Settings{}, "events")
	w.list[0].Location += "-not-there"
	if got := w.ask("GET", events, ""); got.status != 404 || got.kind() != "NoSuchTableException" {
		t.Errorf("%d %s", got.status, got.body)
	}
}

func TestABrokerThatStartsSaysSo(t *testing.T) {
	c := New(Settings{Namespace: "korvet", MaxRequestBytes: 100}, func() *remote.Tier { return nil }, slog.New(slog.DiscardHandler))
	for _, want := range []struct {
		method string
		status int
	}{{"GET", 503}, {"HEAD", 503}, {"POST", 409}} {
		w := httptest.NewRecorder()
		c.ServeHTTP(w, httptest.NewRequest(want.method, events, strings.NewReader(`{}`)))
		if w.Code != want.status {
			t.Errorf("%s: %d %s", want.method, w.Code, w.Body)
		}
	}
}

func TestNamesThatDifferInCaseAloneAreFoundAsTheyAreWritten(t *testing.T) {
	c := New(Settings{Namespace: "korvet"}, nil, slog.New(slog.DiscardHandler))
	list := entries{{Name: "events", Topic: "events", TopicID: uuid.New()}, {Name: "events_2", Topic: "Events", TopicID: uuid.New()}}
	c.tier = func() *remote.Tier { return &remote.Tier{Registry: list} }
	for name, want := range map[string]string{"events": "events", "Events": "events_2", "EVENTS": "events", "EVENTS_2": "events_2"} {
		if _, got, err := c.find("korvet", name); err != nil || got.Name != want {
			t.Errorf("%s: %v, %v", name, got, err)
		}
	}
}
