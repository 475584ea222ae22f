// Package httpapi serves /livez, /readyz and /metrics, and where that is wished Go's profiles and the catalog of tables.
package httpapi

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/pprof"
	"strings"
	"time"
)

// Options are what the server tells.
type Options struct {
	// NotReady returns why the broker cannot serve clients at the moment, one reason a line; none: it can. It must not
	// block.
	NotReady func() []string
	// Notes returns what does not work of a broker that serves clients, a line each; nil: nothing is told. It must not block.
	Notes func() []string
	// Metrics serves /metrics.
	Metrics http.Handler
	// Profiles serves /debug/pprof/.
	Profiles bool
	// Catalog serves what is below /iceberg, which is cut off; nil: nothing is there.
	Catalog http.Handler
}

// Server serves one listener.
type Server struct {
	http *http.Server
}

// New makes a server.
func New(o Options) *Server {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /livez", func(w http.ResponseWriter, _ *http.Request) { answer(w, http.StatusOK, "ok") })
	mux.HandleFunc("GET /readyz", func(w http.ResponseWriter, _ *http.Request) {
		if reasons := o.NotReady(); len(reasons) > 0 {
			answer(w, http.StatusServiceUnavailable, strings.Join(reasons, "\n"))
			return
		}
		lines := []string{"ok"}
		if o.Notes != nil {
			lines = append(lines, o.Notes()...)
		}
		answer(w, http.StatusOK, strings.Join(lines, "\n"))
	})
	mux.Handle("GET /metrics", o.Metrics)
	if o.Profiles {
		mux.HandleFunc("GET /debug/pprof/", pprof.Index)
		mux.HandleFunc("GET /debug/pprof/profile", pprof.Profile)
		mux.HandleFunc("GET /debug/pprof/trace", pprof.Trace)
		mux.HandleFunc("GET /debug/pprof/symbol", pprof.Symbol)
	}
	if o.Catalog != nil {
		mux.Handle("/iceberg/", http.StripPrefix("/iceberg", o.Catalog))
	}
	return &Server{http: &http.Server{
		Handler:           mux,
		ReadHeaderTimeout: 5 * time.Second,
		ReadTimeout:       10 * time.Second,
		WriteTimeout:      30 * time.Second,
		IdleTimeout:       time.Minute,
		MaxHeaderBytes:    16 << 10,
	}}
}

// Serve answers until Shutdown and closes l. It returns nil after Shutdown.
func (s *Server) Serve(l net.Listener) error {
	if err := s.http.Serve(l); !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("serve http: %w", err)
	}
	return nil
}

// Shutdown lets answers that were begun be finished; when ctx ends first it cuts them.
func (s *Server) Shutdown(ctx context.Context) {
	if s.http.Shutdown(ctx) != nil {
		_ = s.http.Close() // nothing is left to save
	}
}

func answer(w http.ResponseWriter, status int, text string) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(status)
	_, _ = io.WriteString(w, text+"\n") // the client may be gone
}
