package redisstream

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/korvet-io/korvet/internal/redisstream/resp"
)

// readPool bounds the reads in flight: each has a connection of its own, since a large answer holds up all behind it.
type readPool struct {
	shard *Shard
	free  chan *netConn // a nil one is to be dialled

	mu   sync.Mutex
	open map[*netConn]struct{}
}

func newReadPool(s *Shard, n int) *readPool {
	p := &readPool{shard: s, free: make(chan *netConn, n), open: map[*netConn]struct{}{}}
	for range n {
		p.free <- nil
	}
	return p
}

// do sends one request and parses its answer with read, which runs while do waits. When ctx ends, the connection is given
// up, so that read is not running any more when do returns.
func (p *readPool) do(ctx context.Context, request []byte, read func(*resp.Reader) error) error {
	var c *netConn
	select {
	case c = <-p.free:
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	defer func() {
		if c != nil && !c.Alive() {
			c = nil
		}
		p.free <- c
	}()
	if c == nil || !c.Alive() {
		fresh, err := p.dial(ctx)
		if err != nil {
			return err
		}
		c = fresh
	}
	answered := make(chan error, 1)
	c.Send(request, &readReply{read, answered})
	select {
	case err := <-answered:
		return err
	case <-ctx.Done():
		c.Close(context.Cause(ctx))
		return <-answered
	}
}

func (p *readPool) dial(ctx context.Context) (*netConn, error) {
	s := p.shard
	s.mu.Lock()
	open := s.open()
	s.mu.Unlock()
	if open {
		return nil, ErrUnavailable
	}
	c, err := dial(ctx, &s.opts, p.lost)
	if err != nil {
		return nil, errors.Join(ErrUnavailable, err)
	}
	p.mu.Lock()
	p.open[c] = struct{}{}
	p.mu.Unlock()
	s.mu.Lock()
	s.reached(c.identity)
	stopped := s.ctx.Err() != nil
	s.mu.Unlock()
	if stopped {
		c.Close(ErrConnClosed)
	}
	return c, nil
}

func (p *readPool) lost(c *netConn, _ error) {
	p.mu.Lock()
	delete(p.open, c)
	p.mu.Unlock()
}

func (p *readPool) close() {
	p.mu.Lock()
	conns := make([]*netConn, 0, len(p.open))
	for c := range p.open {
		conns = append(conns, c)
	}
	p.mu.Unlock()
	for _, c := range conns {
		c.Close(ErrConnClosed)
	}
}

// readReply runs a parser and tells how it went. An error reply of Redis leaves the connection in order.
type readReply struct {
	read     func(*resp.Reader) error
	answered chan<- error
}

func (r *readReply) Read(in *resp.Reader) error {
	err := r.read(in)
	r.answered <- err
	if _, ok := errors.AsType[resp.Error](err); ok {
		return nil
	}
	return err
}

func (r *readReply) Lost(err error) { r.answered <- fmt.Errorf("%w: %w", ErrUnavailable, err) }

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
