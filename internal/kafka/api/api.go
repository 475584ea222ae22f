// Package api serves Kafka's API keys: one file per key, one route table that drives dispatch, ApiVersions and
// docs/protocol.md, and one place (errors.go) that turns error kinds into Kafka's error codes.
package api

import (
	"log/slog"
	"time"

	"github.com/korvet-io/korvet/internal/topicconfig"
)

// Settings are the broker's settings that answers depend on. They do not change while the broker runs.
type Settings struct {
	// MaxControlRequestBytes bounds the body of every request but Produce, which the listener's own limit bounds.
	// Such requests are decoded into structures several times their size.
	MaxControlRequestBytes int
	Topics                 TopicSettings
}

// Deps is what an API needs of the rest of the broker. All fields are required.
type Deps struct {
	Logs    Logs
	Epochs  LeaderEpochs
	Topics  Topics
	Cluster Cluster
	Schema  *topicconfig.Schema
	Now     func() time.Time
	Log     *slog.Logger
}

// API serves requests. It is safe for concurrent use.
type API struct {
	logs     Logs
	epochs   LeaderEpochs
	topics   Topics
	cluster  Cluster
	schema   *topicconfig.Schema
	now      func() time.Time
	log      *slog.Logger
	settings Settings
	routes   routes
}

// New makes an API.
func New(d Deps, s Settings) *API {
	return &API{
		logs: d.Logs, epochs: d.Epochs, topics: d.Topics, cluster: d.Cluster, schema: d.Schema,
		now: d.Now, log: d.Log, settings: s, routes: newRoutes(),
	}
}
