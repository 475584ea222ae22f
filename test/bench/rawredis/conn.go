// Package rawredis is the benchmark's ceiling: the cheapest client that can be written for the two commands that a
// record layout of one entry per record needs. It does nothing but move bytes, so what it reaches is what Redis and the
// loopback give.
package rawredis

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"strconv"
)

// Conn is a connection whose replies are read from one reused buffer. It is not safe for concurrent use, but one
// goroutine may write while another reads.
type Conn struct {
	net  net.Conn
	in   io.Reader
	buf  []byte // what is unread is buf[r:w]
	r, w int
}

// Dial connects to a Redis at host:port.
func Dial(ctx context.Context, address string) (*Conn, error) {
	var dialer net.Dialer
	conn, err := dialer.DialContext(ctx, "tcp", address)
	if err != nil {
		return nil, fmt.Errorf("dial redis: %w", err)
	}
	return &Conn{net: conn, in: conn, buf: make([]byte, 1<<20)}, nil
}

// Close ends the connection.
func (c *Conn) Close() error { return c.net.Close() }

// Do sends one command and returns the first line of its reply, without its CRLF.
func (c *Conn) Do(args ...string) (string, error) {
	if _, err := c.net.Write(appendCommand(nil, args...)); err != nil {
		return "", fmt.Errorf("write %s: %w", args[0], err)
	}
	line, err := c.line()
	if err != nil {
		return "", fmt.Errorf("read reply to %s: %w", args[0], err)
	}
	return string(line), nil
}

// Text sends one command whose reply is a bulk string and returns that.
func (c *Conn) Text(args ...string) (string, error) {
	if _, err := c.net.Write(appendCommand(nil, args...)); err != nil {
		return "", fmt.Errorf("write %s: %w", args[0], err)
	}
	text, err := c.bulk()
	if err != nil {
		return "", fmt.Errorf("read reply to %s: %w", args[0], err)
	}
	return string(text), nil
}

// line reads a reply's line and returns it without its CRLF; it is valid until the next read. An error reply is an error.
func (c *Conn) line() ([]byte, error) {
	scanned := 0
	for {
		if i := bytes.IndexByte(c.buf[c.r+scanned:c.w], '\n'); i >= 0 {
			line := c.buf[c.r : c.r+scanned+i]
			c.r += scanned + i + 1
			line = bytes.TrimSuffix(line, []byte{'\r'})
			if len(line) > 0 && line[0] == '-' {
				return nil, errors.New(string(line[1:]))
			}
			return line, nil
		}
		scanned = c.w - c.r
		if err := c.fill(); err != nil {
			return nil, err
		}
	}
}

// header reads a line of the form <kind><number>.
func (c *Conn) header(kind byte) (int, error) {
	line, err := c.line()
	if err != nil {
		return 0, err
	}
	if len(line) < 2 || line[0] != kind {
		return 0, fmt.Errorf("reply %.40q where %q and a number were expected", line, kind)
	}
	n := 0
	for _, digit := range line[1:] {
		if digit < '0' || digit > '9' || n > 1<<29 {
			return 0, fmt.Errorf("reply %.40q has no usable number", line)
		}
		n = n*10 + int(digit-'0')
	}
	return n, nil
}

// bulk reads a bulk string; it is valid until the next read.
func (c *Conn) bulk() ([]byte, error) {
	n, err := c.header('$')
	if err != nil {
		return nil, err
	}
	for c.w-c.r < n+2 {
		if err := c.fill(); err != nil {
			return nil, err
		}
	}
	value := c.buf[c.r : c.r+n]
	c.r += n + 2
	return value, nil
}

// fill reads more, after making room by moving what is unread to the front or doubling the buffer.
func (c *Conn) fill() error {
	if c.w == len(c.buf) {
		if c.r > 0 {
			c.w = copy(c.buf, c.buf[c.r:c.w])
			c.r = 0
		} else {
			c.buf = append(c.buf, make([]byte, len(c.buf))...)
		}
	}
	n, err := c.in.Read(c.buf[c.w:])
	c.w += n
	if n > 0 {
		return nil
	}
	if err == nil {
		err = io.ErrNoProgress
	}
	return err
}

func appendCommand(dst []byte, args ...string) []byte {
	dst = append(dst, '*')
	dst = strconv.AppendInt(dst, int64(len(args)), 10)
	dst = append(dst, '\r', '\n')
	for _, arg := range args {
		dst = appendBulk(dst, arg)
	}
	return dst
}

func appendBulk[T string | []byte](dst []byte, value T) []byte {
	dst = append(dst, '$')
	dst = strconv.AppendInt(dst, int64(len(value)), 10)
	dst = append(dst, '\r', '\n')
	dst = append(dst, value...)
	return append(dst, '\r', '\n')
}
