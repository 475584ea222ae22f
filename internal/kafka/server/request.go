// Package server is the Kafka listener: connections, frames, backpressure, answers in request order. It knows a
// request's header and nothing of what the APIs mean.
package server

import (
	"context"
	"net"
)

// Request is one frame whose header was decoded. Body belongs to the handler: the server neither reuses nor reads it again.
type Request struct {
	Key           int16
	Version       int16
	CorrelationID int32
	ClientID      string // empty when null
	Body          []byte // what follows the request header
	Conn          *ConnInfo
}

// ConnInfo is what handlers may know and keep of a connection.
type ConnInfo struct {
	ID     uint64
	Local  net.Addr
	Remote net.Addr
}

// Response is an answer's body with its response header's tag section where the version has one.
type Response interface {
	// AppendTo appends the encoded answer, from after the correlation id on, to dst.
	AppendTo(dst []byte) []byte
}

// Handler serves requests.
type Handler interface {
	// Serve starts serving req and returns soon: what waits goes on elsewhere. It is called in request order, by one
	// goroutine per connection. reply is called exactly once, from any goroutine: with an answer, with nil for no answer
	// (acks=0), or with an error to close the connection after the answers before it. ctx ends with the connection.
	Serve(ctx context.Context, req *Request, reply func(Response, error))
}
