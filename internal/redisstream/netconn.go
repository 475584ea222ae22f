package redisstream

import (
	"context"
	"crypto/rand"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/korvet-io/korvet/internal/redisstream/resp"
)

// ErrConnClosed is the cause of a connection that was closed on purpose.
var ErrConnClosed = errors.New("redis connection closed")

// netConn is a pipelined connection: senders write under a lock, one goroutine reads answers in order.
type netConn struct {
	raw      net.Conn
	identity Identity
	limit    time.Duration // of writing one request
	onLost   func(*netConn, error)

	writing sync.Mutex // orders writes and the replies they queue

	mu      sync.Mutex // guards what follows; taken inside writing
	replies []Reply    // waiting, oldest first, from head on
	head    int
	sent    int  // requests ever sent
	taken   int  // of these, whose answer is read or was
	torn    bool // the newest request was not written to its end: nothing may follow
	dead    error
}

// dial opens a pipelined connection.
func dial(ctx context.Context, o *Options, onLost func(*netConn, error)) (*netConn, error) {
	raw, in, identity, err := greet(ctx, o, pipelineBuffer)
	if err != nil {
		return nil, err
	}
	c := &netConn{raw: raw, identity: identity, limit: o.DialTimeout, onLost: onLost}
	go c.readLoop(in)
	return c, nil
}

// pipelineBuffer is enough for many answers to appends at once.
const pipelineBuffer = 32 << 10

// greet connects, authenticates and learns Redis's identity, all within the options' time limit.
func greet(ctx context.Context, o *Options, buffer int) (net.Conn, *resp.Reader, Identity, error) {
	ctx, cancel := context.WithTimeout(ctx, o.DialTimeout)
	defer cancel()
	raw, err := (&net.Dialer{KeepAlive: 15 * time.Second}).DialContext(ctx, o.Network, o.Address)
	if err != nil {
		return nil, nil, Identity{}, fmt.Errorf("connect to redis: %w", err)
	}
	if o.TLS != nil {
		raw = tls.Client(raw, o.TLS)
	}
	deadline, _ := ctx.Deadline()
	_ = raw.SetDeadline(deadline)
	in := resp.NewReaderSize(raw, buffer)
	identity, err := handshake(raw, in, o)
	if err != nil {
		_ = raw.Close()
		return nil, nil, Identity{}, fmt.Errorf("greet redis at %s: %w", o.Address, err)
	}
	_ = raw.SetDeadline(time.Time{})
	return raw, in, identity, nil
}

func handshake(raw net.Conn, r *resp.Reader, o *Options) (Identity, error) {
	var commands [][]string
	if o.Password != "" {
		auth := []string{"AUTH", o.Password}
		if o.Username != "" {
			auth = []string{"AUTH", o.Username, o.Password}
		}
		commands = append(commands, auth)
	}
	if o.DB != 0 {
		commands = append(commands, []string{"SELECT", strconv.Itoa(o.DB)})
	}
	commands = append(commands, []string{"INFO", "server"}, []string{"INFO", "replication"})
	var buf []byte
	for _, c := range commands {
		buf = resp.AppendCommand(buf, c...)
	}
	if _, err := raw.Write(buf); err != nil {
		return Identity{}, fmt.Errorf("send greeting: %w", err)
	}
	var info string
	for _, c := range commands {
		v, err := r.Value()
		if err == nil {
			err = v.Err()
		}
		if err != nil {
			return Identity{}, fmt.Errorf("%s: %w", strings.ToLower(c[0]), err)
		}
		info += v.Str + "\n"
	}
	return identityOf(info), nil
}

// identityOf reads INFO. Where a provider hides the fields, no two connections are the same Redis.
func identityOf(info string) Identity {
	id := Identity{RunID: infoField(info, "run_id"), ReplID: infoField(info, "master_replid")}
	if id.RunID == "" || id.ReplID == "" {
		return Identity{RunID: rand.Text()}
	}
	return id
}

func infoField(info, name string) string {
	_, rest, ok := strings.Cut("\n"+info, "\n"+name+":")
	if !ok {
		return ""
	}
	value, _, _ := strings.Cut(rest, "\n")
	return strings.TrimSpace(value)
}

func (c *netConn) Identity() Identity { return c.identity }

func (c *netConn) Alive() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.dead == nil
}

func (c *netConn) Send(write func(io.Writer) error, reply Reply) {
	c.writing.Lock()
	c.mu.Lock()
	if c.dead != nil || c.torn {
		err := notSent(c.dead)
		c.mu.Unlock()
		c.writing.Unlock()
		reply.Lost(err)
		return
	}
	c.replies = append(c.replies, reply)
	c.sent++
	c.mu.Unlock()
	_ = c.raw.SetWriteDeadline(time.Now().Add(c.limit)) // whoever sends must not wait for ever on a frozen Redis
	err := write(c.raw)
	if err != nil {
		c.mu.Lock()
		c.torn = true
		c.mu.Unlock()
	}
	c.writing.Unlock()
	if err != nil {
		c.Close(fmt.Errorf("write to redis: %w", err))
	}
}

// notSent makes the error of a request that was not written to its end.
func notSent(cause error) error {
	if cause == nil {
		cause = ErrConnClosed
	}
	return fmt.Errorf("%w: %w", ErrNotSent, cause)
}

func (c *netConn) Close(cause error) {
	c.mu.Lock()
	if c.dead != nil {
		c.mu.Unlock()
		return
	}
	c.dead = cause
	c.mu.Unlock()
	_ = c.raw.Close()
	lost, torn := c.unanswered()
	if c.onLost != nil {
		c.onLost(c, cause)
	}
	for i, r := range lost {
		if torn && i == len(lost)-1 {
			r.Lost(notSent(cause))
			return
		}
		r.Lost(cause)
	}
}

// awaitWriter returns when nothing is being written to a closed connection any more: a request that is uses its batches
// until the write has failed.
func (c *netConn) awaitWriter() {
	c.writing.Lock()
	defer c.writing.Unlock()
}

// unanswered takes the replies of a closed connection, and tells whether the last one's request was torn.
func (c *netConn) unanswered() (lost []Reply, torn bool) {
	c.awaitWriter()
	c.mu.Lock()
	defer c.mu.Unlock()
	lost = c.replies[c.head:]
	c.replies, c.head = nil, 0
	return lost, c.torn
}

// tornInReading tells whether the request whose answer is being read was torn: Redis had begun to answer its first commands.
func (c *netConn) tornInReading() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.torn && c.taken == c.sent
}

func (c *netConn) readLoop(r *resp.Reader) {
	for {
		if len(r.Buffered()) == 0 {
			if err := r.More(1); err != nil {
				c.Close(fmt.Errorf("read from redis: %w", err))
				return
			}
		}
		reply := c.takeReply()
		if reply == nil {
			c.Close(fmt.Errorf("%w: an answer nobody asked for", resp.ErrProtocol))
			return
		}
		if err := reply.Read(r); err != nil {
			err = fmt.Errorf("read answer from redis: %w", err)
			c.Close(err)
			c.awaitWriter() // Close does not, when somebody else closed before
			if c.tornInReading() {
				err = notSent(err)
			}
			reply.Lost(err)
			return
		}
	}
}

func (c *netConn) takeReply() Reply {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.dead != nil || c.head == len(c.replies) {
		return nil
	}
	reply := c.replies[c.head]
	c.replies[c.head] = nil
	c.head++
	c.taken++
	if c.head == len(c.replies) || c.head == 1024 {
		c.replies, c.head = append(c.replies[:0], c.replies[c.head:]...), 0
	}
	return reply
}
