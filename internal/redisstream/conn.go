package redisstream

import (
	"io"

	"github.com/korvet-io/korvet/internal/redisstream/resp"
)

// Conn is one connection to Redis. Requests are answered in order; none is ever sent again by the connection.
// It is safe for concurrent use.
type Conn interface {
	// Send sends one request. write is called at most once, before Send returns, with what takes the request's bytes, in
	// as many pieces as it likes; when it fails, the connection is closed. reply is called exactly once, maybe before Send
	// returns.
	Send(write func(io.Writer) error, reply Reply)
	// Close gives the connection up. What Redis made of the requests that were not answered yet is unknown.
	Close(cause error)
	// Alive is false once the connection was closed or lost.
	Alive() bool
	// Identity is that of the Redis this connection reached.
	Identity() Identity
}

// Reply takes one request's answer off a connection. Whoever waits is told exactly once: by Read that succeeds, or by Lost.
type Reply interface {
	// Read parses the answer. An error means that the stream of replies cannot be followed any more: nobody was told, the
	// connection is closed and Lost called.
	Read(r *resp.Reader) error
	// Lost tells that no answer will come: the outcome is unknown, or with ErrNotSent it is known that Redis never got the
	// request's end. The request is not being written any more.
	Lost(err error)
}

// Identity tells one life of a Redis from another. Where a provider hides it, every connection is its own identity.
type Identity struct{ RunID, ReplID string }

// Hidden tells that the provider hides it: the connection is known, not the Redis.
func (id Identity) Hidden() bool { return id.ReplID == "" }

// valueReply hands one generic reply to a function.
type valueReply struct{ done func(resp.Value, error) }

func (v valueReply) Read(r *resp.Reader) error {
	value, err := r.Value()
	if err == nil {
		v.done(value, nil)
	}
	return err
}

func (v valueReply) Lost(err error) { v.done(resp.Value{}, err) }

// whole writes a request in one piece.
func whole(buf []byte) func(io.Writer) error {
	return func(w io.Writer) error {
		_, err := w.Write(buf)
		return err
	}
}

func send(c Conn, buf []byte, done func(resp.Value, error)) { c.Send(whole(buf), valueReply{done}) }

// ask is send for one command whose error replies are errors.
func ask(c Conn, buf []byte, done func(resp.Value, error)) {
	send(c, buf, func(v resp.Value, err error) {
		if err == nil {
			err = v.Err()
		}
		done(v, err)
	})
}

// valuesReply hands several commands' replies to a function.
type valuesReply struct {
	n    int
	done func([]resp.Value, error)
}

func (v valuesReply) Read(r *resp.Reader) error {
	values := make([]resp.Value, v.n)
	for i := range values {
		value, err := r.Value()
		if err != nil {
			return err
		}
		values[i] = value
	}
	v.done(values, nil)
	return nil
}

func (v valuesReply) Lost(err error) { v.done(nil, err) }

// askEach is send for n commands in one request. Error replies are among the values.
func askEach(c Conn, buf []byte, n int, done func([]resp.Value, error)) {
	c.Send(whole(buf), valuesReply{n, done})
}

// askAll is ask for n commands in one request.
func askAll(c Conn, buf []byte, n int, done func([]resp.Value, error)) {
	askEach(c, buf, n, func(values []resp.Value, err error) {
		for i := range values {
			if err == nil {
				err = values[i].Err()
			}
		}
		if err != nil {
			values = nil
		}
		done(values, err)
	})
}
