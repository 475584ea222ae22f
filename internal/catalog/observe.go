package catalog

import (
	"net/http"
	"strconv"
	"strings"
	"time"
)

// Observer is told of each request, for metrics. It must not block.
type Observer interface {
	// CatalogRequest tells of an answer: operation is method and path, with * for names, or "other" for what is not served.
	CatalogRequest(operation, status string, took time.Duration)
}

// Observe makes a handler that tells an observer of what the catalog answers.
func Observe(c *Catalog, o Observer) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		began, noted := time.Now(), &statusWriter{ResponseWriter: w, status: http.StatusOK}
		c.ServeHTTP(noted, r)
		o.CatalogRequest(operationOf(r), strconv.Itoa(noted.status), time.Since(began))
	})
}

// operationOf names a request in one of few ways.
func operationOf(r *http.Request) string {
	path, err := segments(r.URL.EscapedPath())
	if err != nil {
		return "other"
	}
	for _, candidate := range routes {
		if _, ok := match(strings.Split(candidate.path, "/"), path); !ok {
			continue
		}
		if _, ok := candidate.methods[r.Method]; ok {
			return r.Method + " " + candidate.path
		}
		break
	}
	return "other"
}

// statusWriter notes the status of an answer.
type statusWriter struct {
	http.ResponseWriter
	status int
}

// WriteHeader implements http.ResponseWriter.
func (w *statusWriter) WriteHeader(status int) {
	w.status = status
	w.ResponseWriter.WriteHeader(status)
}

// Unwrap is for http.ResponseController.
func (w *statusWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }
