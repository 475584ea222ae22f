package api

import (
	"context"
	"log/slog"

	"github.com/korvet-io/korvet/internal/kafka/server"
)

// call is one request on its way: what every handler may know of it beside its body.
type call struct {
	// ctx ends with the connection.
	ctx   context.Context
	req   *server.Request
	route *route
	base  *slog.Logger
}

func (c *call) version() int16 { return c.req.Version }

// log returns a logger whose lines name the request.
func (c *call) log() *slog.Logger {
	return c.base.With(
		slog.String("api", c.route.name),
		slog.Int("version", int(c.req.Version)),
		slog.Int("correlation_id", int(c.req.CorrelationID)),
		slog.String("client_id", c.req.ClientID),
		slog.String("remote", c.req.Conn.Remote.String()),
	)
}
