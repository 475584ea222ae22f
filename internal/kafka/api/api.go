// Package api serves Kafka's API keys: one file per key, one route table that drives dispatch, ApiVersions and
// docs/protocol.md, and one place (errors.go) that turns error kinds into Kafka's error codes.
package api

import (
	"io"
	"log/slog"
	"time"

	"github.com/korvet-io/korvet/internal/topicconfig"
)

// Deps is what an API needs of the rest of the broker. All fields are required.
type Deps struct {
	Logs       Logs
	Topics     Topics
	Cluster    Cluster
	Epochs     LeaderEpochs
	Groups     Groups
	Offsets    GroupOffsets
	GroupAdmin GroupAdmin
	Configs    DynamicConfigs
	Loggers    Loggers
	Schema     *topicconfig.Schema
	Now        func() time.Time
	Random     io.Reader // of session and producer ids; safe for concurrent use, as crypto/rand.Reader is
	Log        *slog.Logger
	Metrics    Metrics
}

// API serves requests. It is safe for concurrent use.
type API struct {
	logs       Logs
	topics     Topics
	cluster    Cluster
	epochs     LeaderEpochs
	groups     Groups
	offsets    GroupOffsets
	groupAdmin GroupAdmin
	configs    DynamicConfigs
	loggers    Loggers
	schema     *topicconfig.Schema
	now        func() time.Time
	random     io.Reader
	log        *slog.Logger
	metrics    Metrics
	settings   Settings
	routes     routes
	effective  effectiveCache
	sessions   *fetchSessions
	inflated   *sizeBudget // of records being produced
	control    *sizeBudget // of decoded control requests
	fetching   *sizeBudget // of fetches that are served
}

// New makes an API.
func New(d Deps, s Settings) *API {
	return &API{
		logs:       d.Logs,
		topics:     d.Topics,
		cluster:    d.Cluster,
		epochs:     d.Epochs,
		groups:     d.Groups,
		offsets:    d.Offsets,
		groupAdmin: d.GroupAdmin,
		configs:    d.Configs,
		loggers:    d.Loggers,
		schema:     d.Schema,
		now:        d.Now,
		random:     d.Random,
		log:        d.Log,
		metrics:    d.Metrics,
		settings:   s,
		routes:     newRoutes(),
		sessions:   newFetchSessions(s.MaxFetchSessions, s.FetchSessionEvictAfter, d.Random),
		inflated:   newSizeBudget(s.MaxDecompressedBytes, smallInflated),
		control:    newSizeBudget(s.MaxControlRequestBytes, smallControl),
		fetching:   newSizeBudget(maxFetchingBytes, smallFetching),
	}
}
