package redisstream

import (
	"context"
	"errors"
	"fmt"
	"net"
	"time"

	"github.com/korvet-io/korvet/internal/redisstream/resp"
)

// readPool bounds the reads in flight: each has a connection of its own, since a large answer holds up all behind it. The
// reader's own goroutine reads the answer.
type readPool struct {
	shard *Shard
	free  chan *readConn // one without a socket is to be connected
}

// readConn is a connection for one request at a time.
type readConn struct {
	raw net.Conn // nil: not connected
	in  *resp.Reader
	// identity is that of the Redis it leads to.
	identity Identity
}

// readBuffer holds an answer of the usual size whole.
const readBuffer = 256 << 10

func newReadPool(s *Shard, n int) *readPool {
	p := &readPool{shard: s, free: make(chan *readConn, n)}
	for range n {
		p.free <- &readConn{}
	}
	return p
}

// errReadTimeout is a read that Redis did not answer within the time limit.
var errReadTimeout = fmt.Errorf("%w: no answer in time", ErrUnavailable)

// do sends one request and parses its answer with read, all before it returns. When ctx ends, or the time limit, which
// includes the wait for a connection, the connection is given up.
func (p *readPool) do(ctx context.Context, request []byte, read func(*resp.Reader) error) error {
	ctx, cancel := context.WithTimeoutCause(ctx, p.shard.opts.DialTimeout, errReadTimeout)
	defer cancel()
	var c *readConn
	select {
	case c = <-p.free:
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-p.shard.ctx.Done():
		return ErrUnavailable
	}
	defer func() { p.free <- c }()
	if id := p.shard.Identity(); c.raw != nil && c.identity != id && !id.Hidden() { // it leads to what was Redis before
		c.drop()
	}
	reused := c.raw != nil
	err := p.try(ctx, c, request, read)
	if reused && c.raw == nil && ctx.Err() == nil { // it may have been dead for long: reading again is harmless
		err = p.try(ctx, c, request, read)
	}
	return err
}

func (p *readPool) try(ctx context.Context, c *readConn, request []byte, read func(*resp.Reader) error) error {
	if c.raw == nil {
		if err := p.connect(ctx, c); err != nil {
			return err
		}
	}
	raw := c.raw
	expire := func() { _ = raw.SetDeadline(time.Unix(1, 0)) }
	stop, stopClosing := context.AfterFunc(ctx, expire), context.AfterFunc(p.shard.ctx, expire)
	_, err := raw.Write(request)
	if err == nil {
		err = read(c.in)
	}
	undisturbed := stop()
	undisturbed = stopClosing() && undisturbed
	if _, answered := errors.AsType[resp.Error](err); (err == nil || answered) && undisturbed {
		return err
	}
	c.drop()
	if err == nil {
		return nil
	}
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return fmt.Errorf("%w: %w", ErrUnavailable, err)
}

func (c *readConn) drop() {
	_ = c.raw.Close()
	c.raw, c.in = nil, nil
}

func (p *readPool) connect(ctx context.Context, c *readConn) error {
	s := p.shard
	s.mu.Lock()
	open := s.open()
	s.mu.Unlock()
	if open || s.ctx.Err() != nil {
		return ErrUnavailable
	}
	raw, in, identity, err := greet(ctx, &s.opts, readBuffer)
	if err != nil {
		return errors.Join(ErrUnavailable, err)
	}
	s.mu.Lock()
	s.reached(identity)
	s.mu.Unlock()
	c.raw, c.in, c.identity = raw, in, identity
	return nil
}

// close waits for the reads under way, which end with the shard, and closes their connections.
func (p *readPool) close() {
	var all []*readConn
	for range cap(p.free) {
		c := <-p.free
		if c.raw != nil {
			c.drop()
		}
		all = append(all, c)
	}
	for _, c := range all {
		p.free <- c
	}
}

// value sends one command and returns its generic answer; error replies are errors.
func (p *readPool) value(ctx context.Context, request []byte) (resp.Value, error) {
	var v resp.Value
	err := p.do(ctx, request, func(r *resp.Reader) error {
		var err error
		if v, err = r.Value(); err == nil {
			err = v.Err()
		}
		return err
	})
	return v, err
}
