package httpapi

import (
	"context"
	"io"
	"net"
	"net/http"
	"testing"
)

func serve(t *testing.T, o Options) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := New(o)
	done := make(chan error, 1)
	go func() { done <- s.Serve(l) }()
	t.Cleanup(func() {
		s.Shutdown(context.Background())
		if err := <-done; err != nil {
			t.Errorf("Serve: %v", err)
		}
	})
	return "http://" + l.Addr().String()
}

func get(t *testing.T, url string) (int, string) {
	t.Helper()
	resp, err := http.Get(url)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, string(body)
}

func TestReadyzGivesTheReasonsWhyTheBrokerIsNotReady(t *testing.T) {
	reasons := []string{"redis is away", "not started"}
	url := serve(t, Options{NotReady: func() []string { return reasons }, Metrics: http.NotFoundHandler()})
	if code, body := get(t, url+"/readyz"); code != 503 || body != "redis is away\nnot started\n" {
		t.Errorf("got %d %q", code, body)
	}
	notes := []string{"the store is away"}
	noted := serve(t, Options{NotReady: func() []string { return reasons }, Notes: func() []string { return notes }, Metrics: http.NotFoundHandler()})
	if code, body := get(t, noted+"/readyz"); code != 503 || body != "redis is away\nnot started\n" {
		t.Errorf("got %d %q", code, body)
	}
	reasons = nil
	if code, body := get(t, noted+"/readyz"); code != 200 || body != "ok\nthe store is away\n" {
		t.Errorf("got %d %q", code, body)
	}
	if code, body := get(t, url+"/readyz"); code != 200 || body != "ok\n" {
		t.Errorf("got %d %q", code, body)
	}
}

func TestLivezAnswersAlsoWhenTheBrokerIsNotReady(t *testing.T) {
	url := serve(t, Options{NotReady: func() []string { return []string{"no"} }, Metrics: http.NotFoundHandler()})
	if code, body := get(t, url+"/livez"); code != 200 || body != "ok\n" {
		t.Errorf("got %d %q", code, body)
	}
}

func TestMetricsAreServedAndUnknownPathsAreNot(t *testing.T) {
	metrics := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "a 1\n") })
	url := serve(t, Options{NotReady: func() []string { return nil }, Metrics: metrics})
	if code, body := get(t, url+"/metrics"); code != 200 || body != "a 1\n" {
		t.Errorf("got %d %q", code, body)
	}
	if code, _ := get(t, url+"/admin"); code != 404 {
		t.Errorf("got %d for a path that is not there", code)
	}
	if resp, err := http.Post(url+"/readyz", "", nil); err != nil || resp.StatusCode != 405 {
		t.Errorf("POST: %v, %v", resp, err)
	}
}

func TestProfilesAreServedOnlyWhereThatIsWished(t *testing.T) {
	for _, wished := range []bool{false, true} {
		url := serve(t, Options{NotReady: func() []string { return nil }, Metrics: http.NotFoundHandler(), Profiles: wished})
		want := http.StatusNotFound
		if wished {
			want = http.StatusOK
		}
		for _, path := range []string{"/debug/pprof/", "/debug/pprof/heap"} {
			if code, _ := get(t, url+path); code != want {
				t.Errorf("profiles %v: %s answers %d, not %d", wished, path, code, want)
			}
		}
	}
}

func TestTheCatalogIsServedBelowIcebergWithItsPathsAsTheyWereSent(t *testing.T) {
	seen := make(chan string, 1)
	catalog := http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { seen <- r.Method + " " + r.URL.EscapedPath() })
	url := serve(t, Options{NotReady: func() []string { return nil }, Metrics: http.NotFoundHandler(), Catalog: catalog})
	if code, _ := get(t, url+"/iceberg/v1/namespaces/a%1Fb/tables/c%2Fd"); code != 200 {
		t.Errorf("got %d", code)
	}
	if got := <-seen; got != "GET /v1/namespaces/a%1Fb/tables/c%2Fd" {
		t.Errorf("the catalog was asked %s", got)
	}
	without := serve(t, Options{NotReady: func() []string { return nil }, Metrics: http.NotFoundHandler()})
	if code, _ := get(t, without+"/iceberg/v1/config"); code != 404 {
		t.Errorf("got %d where there is no catalog", code)
	}
}
