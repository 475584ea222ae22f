package sim

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net"
	"time"

	"github.com/korvet-io/korvet/internal/redisstream"
	"github.com/korvet-io/korvet/internal/redisstream/resp"
)

// message is one request on its way to Redis.
type message struct {
	commands [][]string
	reply    redisstream.Reply
}

// conn is a broker's connection: a queue whose head is delivered when chance says so.
type conn struct {
	w        *world
	identity redisstream.Identity
	queue    []message
	dead     bool
}

// Send implements redisstream.Conn.
func (c *conn) Send(write func(io.Writer) error, reply redisstream.Reply) {
	if c.dead {
		reply.Lost(errors.New("connection is dead"))
		return
	}
	var buf bytes.Buffer
	if err := write(&buf); err != nil {
		panic(fmt.Sprintf("a broker cannot write its request: %v", err))
	}
	c.queue = append(c.queue, message{parseCommands(buf.Bytes()), reply})
}

// Close gives the connection up. What is queued is delivered all the same, later.
func (c *conn) Close(cause error) {
	if c.dead {
		return
	}
	c.dead = true
	for i := range c.queue {
		reply := c.queue[i].reply
		c.queue[i].reply = nil
		if reply != nil {
			reply.Lost(cause)
		}
	}
}

// Alive implements redisstream.Conn.
func (c *conn) Alive() bool { return !c.dead }

// Identity implements redisstream.Conn.
func (c *conn) Identity() redisstream.Identity { return c.identity }

// cut is Close by a failing Redis: what is queued never arrives.
func (c *conn) cut() {
	lost := c.queue
	c.queue, c.dead = nil, true
	for _, m := range lost {
		if m.reply != nil {
			m.reply.Lost(errors.New("connection was cut"))
		}
	}
}

func parseCommands(buf []byte) [][]string {
	r := resp.NewReader(bytes.NewReader(buf))
	var commands [][]string
	for consumed := 0; consumed < len(buf); {
		v, err := r.Value()
		if err != nil {
			panic(fmt.Sprintf("a broker sent what is no command: %v", err))
		}
		args := make([]string, len(v.Elems))
		size := len(fmt.Sprintf("*%d\r\n", len(args)))
		for i, e := range v.Elems {
			args[i] = e.Str
			size += len(fmt.Sprintf("$%d\r\n", len(e.Str))) + len(e.Str) + 2
		}
		consumed += size
		commands = append(commands, args)
	}
	return commands
}

// redisConn is the one connection on which everything is carried out, at once.
type redisConn struct {
	raw net.Conn
	in  *resp.Reader
}

func dialRedis(addr string) (*redisConn, error) {
	raw, err := net.DialTimeout("tcp", addr, 5*time.Second)
	if err != nil {
		return nil, fmt.Errorf("connect to redis: %w", err)
	}
	return &redisConn{raw, resp.NewReader(raw)}, nil
}

// ask carries commands out and returns their replies as bytes that can be parsed again.
func (r *redisConn) ask(commands [][]string) []resp.Value {
	var buf []byte
	for _, c := range commands {
		buf = resp.AppendCommand(buf, c...)
	}
	if _, err := r.raw.Write(buf); err != nil {
		panic(fmt.Sprintf("write to redis: %v", err))
	}
	values := make([]resp.Value, len(commands))
	for i := range values {
		v, err := r.in.Value()
		if err != nil {
			panic(fmt.Sprintf("read from redis: %v", err))
		}
		values[i] = v
	}
	return values
}

// do carries one command out; an error reply is a fault of the simulation.
func (r *redisConn) do(args ...string) resp.Value {
	v := r.ask([][]string{args})[0]
	if err := v.Err(); err != nil {
		panic(fmt.Sprintf("%v: %v", args, err))
	}
	return v
}

// encodeReply is the inverse of resp.Reader.Value.
func encodeReply(dst []byte, v resp.Value) []byte {
	switch {
	case v.Null && v.Kind == '*':
		return append(dst, "*-1\r\n"...)
	case v.Null:
		return append(dst, "$-1\r\n"...)
	case v.Kind == ':':
		return fmt.Appendf(dst, ":%d\r\n", v.Int)
	case v.Kind == '$':
		return resp.AppendBulk(dst, v.Str)
	case v.Kind == '*':
		dst = resp.AppendArray(dst, len(v.Elems))
		for _, e := range v.Elems {
			dst = encodeReply(dst, e)
		}
		return dst
	}
	dst = append(dst, v.Kind)
	dst = append(dst, v.Str...)
	return append(dst, "\r\n"...)
}
