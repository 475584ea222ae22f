// Package catalog serves the tables of the remote tier as an Iceberg REST catalog, so that engines attach with a URL. What it
// serves is in docs/querying.md; the paths are those of the Iceberg REST specification, below any base.
//
// A request that wrote nothing is answered 4xx, never 500: engines keep the files of a commit that ended with a 500.
package catalog

import (
	"crypto/sha256"
	"crypto/subtle"
	"encoding/json"
	"log/slog"
	"net/http"
	"strings"
	"time"

	"github.com/korvet-io/korvet/internal/iceberg/tables"
	"github.com/korvet-io/korvet/internal/remote"
)

// readTimeout is how long the store may take: it ends before the HTTP server gives an answer up.
const readTimeout = 20 * time.Second

// Settings are those of a catalog.
type Settings struct {
	Namespace       string // the only one there is
	Token           string // of which clients know the secret; "": anybody
	ReadOnly        bool   // refuse commits
	MaxRequestBytes int64  // of a request's body
	// CompareBytes is about the memory that it takes to compare the rows of a commit; one does so at a time.
	CompareBytes int64
	// CommitTimeout bounds the looking at a commit before it is written.
	CommitTimeout time.Duration
	// Vended is what engines are told with each table, to reach its store.
	Vended map[string]string
	// Committed is told the location of a table that an engine has changed. It may be nil.
	Committed func(location string)
}

// Catalog is an http.Handler. It is safe for concurrent use.
type Catalog struct {
	settings Settings
	tier     func() *remote.Tier
	log      *slog.Logger
	token    [sha256.Size]byte
	config   []byte // Vended as JSON
	turns    *tables.Turns
}

// New makes a catalog. tier returns nil for as long as the tables are not known yet.
func New(s Settings, tier func() *remote.Tier, log *slog.Logger) *Catalog {
	if s.Vended == nil {
		s.Vended = map[string]string{}
	}
	config, err := json.Marshal(s.Vended)
	if err != nil {
		panic("catalog: " + err.Error()) // no map of texts fails
	}
	return &Catalog{settings: s, tier: tier, log: log, token: sha256.Sum256([]byte(s.Token)), config: config, turns: tables.NewTurns(s.CompareBytes)}
}

// ServeHTTP answers a request whose path begins with /v1.
func (c *Catalog) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Cache-Control", "no-store")
	if !c.admitted(r) {
		w.Header().Set("WWW-Authenticate", "Bearer")
		c.fail(w, r, problem{http.StatusUnauthorized, "NotAuthorizedException", "the catalog wants a bearer token: korvet.storage.remote.catalog.token"})
		return
	}
	r.Body = http.MaxBytesReader(w, r.Body, c.settings.MaxRequestBytes)
	if err := c.serve(w, r); err != nil {
		c.fail(w, r, err)
	}
}

// admitted tells whether a request may be answered. Without a token every one is: some clients send "Bearer None" then.
func (c *Catalog) admitted(r *http.Request) bool {
	if c.settings.Token == "" {
		return true
	}
	scheme, token, _ := strings.Cut(r.Header.Get("Authorization"), " ")
	given := sha256.Sum256([]byte(strings.TrimSpace(token)))
	return strings.EqualFold(scheme, "Bearer") && subtle.ConstantTimeCompare(given[:], c.token[:]) == 1
}

// fail answers with what went wrong.
func (c *Catalog) fail(w http.ResponseWriter, r *http.Request, err error) {
	p := problemOf(err)
	level := slog.LevelDebug
	if p.status >= http.StatusInternalServerError && r.Context().Err() == nil {
		level = slog.LevelWarn
	}
	c.log.Log(r.Context(), level, "catalog request refused", "method", r.Method, "path", r.URL.EscapedPath(), "status", p.status, "error", err)
	if p.status == http.StatusServiceUnavailable {
		w.Header().Set("Retry-After", "1")
	}
	writeProblem(w, p)
}
