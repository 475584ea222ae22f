package catalog

import (
	"log/slog"
	"net/http"
	"net/http/httptest"
	"slices"
	"testing"
	"time"

	"github.com/korvet-io/korvet/internal/remote"
)

type seen []string

func (s *seen) CatalogRequest(operation, status string, _ time.Duration) {
	*s = append(*s, operation+" "+status)
}

func TestObserverIsToldOfFewKindsOfRequests(t *testing.T) {
	var told seen
	c := New(Settings{Namespace: "korvet", MaxRequestBytes: 1000}, func() *remote.Tier { return nil }, slog.New(slog.DiscardHandler))
	h := Observe(c, &told)
	for _, request := range [][2]string{
		{"GET", "/v1/config"}, {"PUT", "/v1/config"}, {"POST", "/v1/korvet/namespaces"}, {"GET", "/v1/nothing/of/the/kind"},
		{"GET", "/v1/korvet/namespaces/korvet/tables/orders"}, {"BREW", "/v1/%zz"},
	} {
		r := httptest.NewRequest(request[0], "http://x/v1", nil)
		r.URL.Path, r.URL.RawPath = request[1], request[1]
		h.ServeHTTP(httptest.NewRecorder(), r)
	}
	want := seen{
		"GET config 200", "other 405", "POST namespaces 406", "other 404", "GET namespaces/*/tables/* 503", "other 404",
	}
	if !slices.Equal(told, want) {
		t.Errorf("told of %q, want %q", told, want)
	}
	var _ http.Handler = h
}
