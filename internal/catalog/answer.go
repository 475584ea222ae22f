package catalog

import (
	"compress/gzip"
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"strings"
)

// answer writes a value as JSON.
func (q *call) answer(v any) error {
	body, err := json.Marshal(v)
	if err != nil {
		return fmt.Errorf("encode answer: %w", err)
	}
	return q.write(body)
}

// write answers with JSON, compressed where the client offers that: some send no Accept-Encoding and understand none.
func (q *call) write(body []byte) error {
	h := q.w.Header()
	h.Set("Content-Type", "application/json")
	h.Set("Vary", "Accept-Encoding")
	if !wantsGzip(q.r) {
		h.Set("Content-Length", strconv.Itoa(len(body)))
		q.w.WriteHeader(http.StatusOK)
		_, _ = q.w.Write(body) // the client may be gone
		return nil
	}
	h.Set("Content-Encoding", "gzip")
	q.w.WriteHeader(http.StatusOK)
	z, err := gzip.NewWriterLevel(q.w, gzip.BestSpeed)
	if err != nil {
		panic("catalog: " + err.Error()) // the level is one
	}
	_, _ = z.Write(body)
	_ = z.Close()
	return nil
}

// wantsGzip reads Accept-Encoding (RFC 9110, 12.5.3).
func wantsGzip(r *http.Request) bool {
	for _, list := range r.Header.Values("Accept-Encoding") {
		for one := range strings.SplitSeq(list, ",") {
			coding, weight, _ := strings.Cut(one, ";")
			if !strings.EqualFold(strings.TrimSpace(coding), "gzip") {
				continue
			}
			name, text, _ := strings.Cut(strings.TrimSpace(weight), "=")
			q, err := strconv.ParseFloat(text, 64)
			return !strings.EqualFold(name, "q") || err == nil && q > 0
		}
	}
	return false
}
