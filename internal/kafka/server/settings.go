package server

import "time"

// Settings are the listener's limits. Of these only those of connections change while it runs (SetMaxConnections). All must
// be set; DefaultSettings has the defaults.
type Settings struct {
	// MaxRequestBytes bounds one frame, without its size prefix (socket.request.max.bytes).
	MaxRequestBytes int
	// MaxPendingBytes of requests that were read and not answered yet stop all reading, until ResumePendingBytes are left.
	MaxPendingBytes, ResumePendingBytes int64
	// MaxInFlight bounds the requests of one connection that were read and not answered yet.
	MaxInFlight int
	// MaxUnsentBytes of encoded answers that a connection's client has not taken yet stop reading from that connection.
	MaxUnsentBytes int64
	// MaxConnections makes new connections wait (max.connections), MaxConnectionsPerIP closes them
	// (max.connections.per.ip). 0: no limit.
	MaxConnections, MaxConnectionsPerIP int
	// IdleTimeout closes a connection without traffic and without a request in flight (connections.max.idle.ms).
	IdleTimeout time.Duration
	// FrameTimeout closes a connection whose frame has begun and does not complete.
	FrameTimeout time.Duration
	// WriteTimeout closes a connection whose client takes no part of an answer for so long.
	WriteTimeout time.Duration
}

// DefaultSettings returns the defaults.
func DefaultSettings() Settings {
	return Settings{
		MaxRequestBytes:    100 << 20,
		MaxPendingBytes:    100 << 20,
		ResumePendingBytes: 50 << 20,
		MaxInFlight:        64,
		MaxUnsentBytes:     1 << 20,
		IdleTimeout:        10 * time.Minute,
		FrameTimeout:       30 * time.Second,
		WriteTimeout:       10 * time.Second,
	}
}
