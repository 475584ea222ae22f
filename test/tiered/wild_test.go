package tiered

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/korvet-io/korvet/internal/redistest"
)

// send sends a request as it is written, so that no client puts it right, and reads the answer.
func (w *world) send(method, path, headers string, body io.Reader) (status int, kind string, err error) {
	c, err := net.Dial("tcp", w.HTTPAddr)
	if err != nil {
		return 0, "", err
	}
	defer func() { _ = c.Close() }()
	go func() { // the broker may answer before it has read all
		_, _ = fmt.Fprintf(c, "%s %s HTTP/1.1\r\nHost: korvet\r\nConnection: close\r\n%s\r\n", method, path, headers)
		_, _ = io.Copy(c, body)
	}()
	response, err := http.ReadResponse(bufio.NewReader(c), &http.Request{Method: method})
	if err != nil {
		return 0, "", err
	}
	defer func() { _ = response.Body.Close() }()
	raw, err := io.ReadAll(response.Body)
	if err != nil {
		return 0, "", err
	}
	var e struct {
		Error struct {
			Type string
			Code int
		}
	}
	if json.Unmarshal(raw, &e) == nil && e.Error.Code == response.StatusCode {
		kind = e.Error.Type
	}
	return response.StatusCode, kind, nil
}

// sized is a body with its length before it.
func sized(body string) (headers string, r io.Reader) {
	return fmt.Sprintf("Content-Type: application/json\r\nContent-Length: %d\r\n", len(body)), strings.NewReader(body)
}

// wants sends a request and wants an answer of the specification: below 500, and an error of its model where it is one.
func (w *world) wants(method, path, body string) {
	w.Helper()
	headers, r := sized(body)
	status, kind, err := w.send(method, path, headers, r)
	switch {
	case err != nil:
		w.Errorf("%s %s %.60s: %v", method, path, body, err)
	case status >= 500, status >= 400 && kind == "" && method != http.MethodHead:
		w.Errorf("%s %s %.60s: %d, type %q", method, path, body, status, kind)
	}
}

// Whatever is asked of the catalog, the answer is of the specification, and the broker goes on.
func TestTheCatalogAnswersWildRequests(t *testing.T) {
	w := start(t, places["file"](t))
	w.create("t", 1, tiered("segment.ms=1000"))
	w.produce("t", 0, 0, 10)
	e := &engine{url: "http://" + w.HTTPAddr + "/iceberg/v1/namespaces/korvet/tables/t"}
	redistest.Eventually(t, "the table to be there", func() bool {
		m, _, err := e.ask(t.Context(), "GET", nil)
		return err == nil && m.CurrentSnapshot() != nil
	})
	version := func() string {
		_, location, err := e.ask(t.Context(), "GET", nil)
		if err != nil {
			t.Fatal(err)
		}
		return location
	}
	before := version()
	const table = "/iceberg/v1/namespaces/korvet/tables/t"
	for _, path := range []string{
		"/iceberg/", "/iceberg/v1", "/iceberg/v2/config", "/iceberg/v1/config", "/iceberg/v1/namespaces", "/iceberg/v1/namespaces/korvet", "/iceberg/v1/namespaces/none", "/iceberg/v1/namespaces/none/tables/t",
		"/iceberg/v1/namespaces/korvet/properties", "/iceberg/v1/namespaces/korvet/register", "/iceberg/v1/namespaces/korvet/tables", table, table + "/metrics", table + "/plan", table + "/credentials", table + "/x/y",
		"/iceberg/v1/namespaces/korvet/tables/none", "/iceberg/v1/namespaces/korvet/views", "/iceberg/v1/namespaces/korvet/views/v", "/iceberg/v1/tables/rename", "/iceberg/v1/transactions/commit", "/iceberg/v1/oauth/tokens",
		"/iceberg/v1/prefix/namespaces/korvet/tables/t", "/iceberg/v1/namespaces/korvet%1Fa/tables/t", "/iceberg/v1/namespaces/korvet/tables/%2e%2e%2fother", "/iceberg/v1/namespaces/%00/tables/%ff%fe", "/iceberg/v1/namespaces/korvet/tables/t%20",
		"/iceberg/v1/namespaces?parent=%ff&pageToken=%00&pageSize=9999999999999999999", "/iceberg/v1/namespaces/korvet/tables?pageSize=0", "/iceberg/v1/namespaces/korvet/tables?pageToken=%F0%9F%92%A9", table + "?snapshots=%zz",
		"/iceberg/v1/namespaces/" + strings.Repeat("a", 8000) + "/tables/t",
	} {
		for _, method := range []string{"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE", "BREW"} {
			w.wants(method, path, "{}")
		}
	}
	deep := func(open, end string, n int) string { return strings.Repeat(open, n) + strings.Repeat(end, n) }
	for _, body := range []string{
		"", "{", "[]", "null", "1", `"x"`, "\x00\xff", `{"updates":`, `{"updates":{}}`, `{"updates":[[]]}`, `{"updates":[null]}`, `{"updates":[{}]}`, `{"updates":[{"action":1}]}`, `{"requirements":[null]}`, `{"requirements":[{"type":7}]}`,
		`{"requirements":` + deep("[", "]", 100_000) + `}`, `{"updates":` + deep(`[{"action":"add-schema","schema":`, "}]", 9000) + `}`, deep(`{"a":`, "}", 20_000),
		`{"requirements":[{"type":"assert-table-uuid","uuid":"nothing"}],"updates":[]}`, `{"requirements":[{"type":"assert-ref-snapshot-id","ref":"main","snapshot-id":-1}],"updates":[]}`,
		`{"requirements":[{"type":"assert-create"}],"updates":[]}`, `{"requirements":[{"type":"assert-last-assigned-field-id","last-assigned-field-id":1e400}],"updates":[]}`, `{"requirements":[{"type":"assert-current-schema-id","current-schema-id":99}],"updates":[]}`,
		`{"updates":[{"action":"add-snapshot","snapshot":{"snapshot-id":1,"sequence-number":9223372036854775807,"timestamp-ms":-1,"manifest-list":"file:///dev/zero","summary":{"operation":"append"}}},{"action":"set-snapshot-ref","ref-name":"main","type":"branch","snapshot-id":1}]}`,
		`{"updates":[{"action":"set-snapshot-ref","ref-name":"main","type":"tag","snapshot-id":0}]}`, `{"updates":[{"action":"set-statistics","statistics":null}]}`,
		`{"updates":[{"action":"add-spec","spec":{"spec-id":1,"fields":[{"source-id":9,"field-id":1,"name":"x","transform":"bucket[0]"}]}}]}`, `{"updates":[{"action":"upgrade-format-version","format-version":-9}]}`, `{"updates":[{"action":"set-location","location":"\u0000"}]}`,
		`{"table-changes":[{"identifier":{"namespace":["korvet"],"name":"t"},"updates":[null]},{"identifier":null}]}`, `{"table-changes":[{"identifier":{"namespace":[],"name":""}}]}`,
	} {
		w.wants("POST", table, body)
		w.wants("POST", "/iceberg/v1/transactions/commit", body)
		w.wants("POST", table+"/metrics", body)
		if after := version(); after != before {
			t.Errorf("%.100s made %s of %s", body, after, before)
			before = after
		}
	}
	for _, path := range []string{table, "/iceberg/v1/transactions/commit"} { // far above what the catalog takes, with its length before it and without
		status, kind, err := w.send("POST", path, fmt.Sprintf("Content-Length: %d\r\n", 1<<40), io.LimitReader(zeros{}, 64<<20))
		if err != nil || status != 413 || kind == "" {
			t.Errorf("a huge body: %d %s, %v", status, kind, err)
		}
	}
	if after := version(); after != before {
		t.Errorf("nothing but refusals made %s of %s", after, before)
	}
	w.wants("POST", table, `{"updates":[{"action":"remove-snapshots","snapshot-ids":[`+strings.Repeat("1,", 100_000)+`1]}]}`) // of none that is there: nothing goes
	w.commitAtOnce(table)
	w.produce("t", 0, 10, 20)
	w.consume("t", 0, 0, 20)
	if strings.Contains(w.Logs(), "panic") {
		t.Error("a request made the broker panic")
	}
}

// zeros is a body that does not end.
type zeros struct{}

func (zeros) Read(p []byte) (int, error) {
	clear(p)
	return len(p), nil
}

// commitAtOnce has many clients set properties at once: each is there, or was answered 409.
func (w *world) commitAtOnce(table string) {
	w.Helper()
	var wait sync.WaitGroup
	status := make([]int, 24)
	for i := range status {
		wait.Go(func() {
			headers, body := sized(fmt.Sprintf(`{"requirements":[],"updates":[{"action":"set-properties","updates":{"owner.%d":"x"}}]}`, i))
			status[i], _, _ = w.send("POST", table, headers, body)
		})
	}
	wait.Wait()
	e := &engine{url: "http://" + w.HTTPAddr + table}
	m, _, err := e.ask(w.Context(), "GET", nil)
	if err != nil {
		w.Fatal(err)
	}
	for i, code := range status {
		there := m.Properties()[fmt.Sprintf("owner.%d", i)] == "x"
		if code != 200 && code != 409 || there != (code == 200) {
			w.Errorf("client %d of many: %d, its property is there: %t", i, code, there)
		}
	}
}
