// Package groups is the benchmark's load of consumer groups: members that join, heartbeat and commit over a connection
// each, as consumers have one to their coordinator. It speaks the protocol itself, because a real client per member would
// cost more than the broker under test.
package groups

import (
	"bufio"
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"net"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// clientID is what all members call themselves.
const clientID = "bench"

// maxFrame bounds an answer's length: that of a leader of thousands of members is some 100 KB.
const maxFrame = 64 << 20

// conn is a connection with at most one request on its way. One goroutine may send while another receives.
type conn struct {
	nc     net.Conn
	in     *bufio.Reader
	format *kmsg.RequestFormatter
	next   int32  // correlation id
	out    []byte // reused
	frame  []byte // reused; an answer is decoded before the next is read
}

func dial(ctx context.Context, address string) (*conn, error) {
	var dialer net.Dialer
	nc, err := dialer.DialContext(ctx, "tcp", address)
	if err != nil {
		return nil, fmt.Errorf("dial broker: %w", err)
	}
	return &conn{nc: nc, in: bufio.NewReaderSize(nc, 512), format: kmsg.NewRequestFormatter(kmsg.FormatterClientID(clientID))}, nil
}

func (c *conn) close() { _ = c.nc.Close() } // nothing more is to be said

func (c *conn) send(req kmsg.Request) error {
	c.next++
	c.out = c.format.AppendRequest(c.out[:0], req, c.next)
	if _, err := c.nc.Write(c.out); err != nil {
		return fmt.Errorf("send %s: %w", kmsg.NameForKey(req.Key()), err)
	}
	return nil
}

// receive reads the next answer into resp, whose version is set.
func (c *conn) receive(resp kmsg.Response) error {
	if err := c.read(resp); err != nil {
		return fmt.Errorf("receive answer to %s: %w", kmsg.NameForKey(resp.Key()), err)
	}
	return nil
}

func (c *conn) read(resp kmsg.Response) error {
	var prefix [4]byte
	if _, err := io.ReadFull(c.in, prefix[:]); err != nil {
		return err
	}
	size := int(binary.BigEndian.Uint32(prefix[:]))
	if size < 4 || size > maxFrame {
		return fmt.Errorf("frame of %d bytes", size)
	}
	if cap(c.frame) < size {
		c.frame = make([]byte, size)
	}
	frame := c.frame[:size]
	if _, err := io.ReadFull(c.in, frame); err != nil {
		return err
	}
	body := frame[4:] // after the correlation id
	if resp.IsFlexible() {
		if len(body) == 0 || body[0] != 0 {
			return fmt.Errorf("header with tags: % x", frame[:min(len(frame), 16)])
		}
		body = body[1:]
	}
	return resp.ReadFrom(body)
}

// ask sends a request and waits for its answer. Closing the connection ends that.
func ask[R kmsg.Response](c *conn, req kmsg.Request) (R, error) {
	resp := req.ResponseKind().(R)
	resp.SetVersion(req.GetVersion())
	if err := c.send(req); err != nil {
		return resp, err
	}
	return resp, c.receive(resp)
}

// refusal is the error of an answer's code; nil: there is none.
func refusal(what string, code int16) error {
	if err := kerr.ErrorForCode(code); err != nil {
		return fmt.Errorf("%s: %w", what, err)
	}
	return nil
}

// notYet tells that a coordinator is still being found or loaded.
func notYet(err error) bool { return kerr.IsRetriable(err) }
