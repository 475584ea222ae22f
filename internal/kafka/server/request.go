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

	free func() // nil in a request that no server read
}

// Free gives the body up before the request is answered, and what it takes of the listener's budgets back. It is for
// requests that wait for other clients, whose requests might not be read otherwise.
func (r *Request) Free() {
	r.Body = nil
	if r.free != nil {
		r.free()
	}
}

// ConnInfo is what handlers may know and keep of a connection.
type ConnInfo struct {
	ID     uint64
	Local  net.Addr
	Remote net.Addr
	// Draining is done when the server wants requests that merely wait (long polls) to answer with what they have, and
	// when the connection ends. The server sets it always.
	Draining context.Context
}

// Response is an answer's body with its response header's tag section where the version has one.
type Response interface {
	// AppendTo appends the encoded answer, from after the correlation id on, to dst.
	AppendTo(dst []byte) []byte
}

// Encoded is a Response that is encoded already. The server writes its buffers as they are, without a copy, and does not
// call AppendTo.
type Encoded interface {
	Response
	// Buffers returns the encoded answer. The server may reslice the outer slice.
	Buffers() net.Buffers
	// Release tells that the buffers are no longer used. It is called once, also when nothing was written.
	Release()
}

// Failed is a Response that can tell whether it carries an error, for the result label of request metrics.
type Failed interface {
	Failed() bool
}

// Handler serves requests.
type Handler interface {
	// Serve starts serving req and returns soon: what waits goes on elsewhere. It is called in request order, by one
	// goroutine per connection. reply is called exactly once, from any goroutine, and does not block: with an answer, with
	// nil for no answer (acks=0), or with an error to close the connection after the answers before it. ctx ends with the
	// connection.
	Serve(ctx context.Context, req *Request, reply func(Response, error))
}
