package partition_test

import (
	"context"
	"log/slog"
	"sync"
	"testing"

	"github.com/korvet-io/korvet/internal/partition"
	"github.com/korvet-io/korvet/internal/redisstream"
	"github.com/korvet-io/korvet/internal/redistest"
)

// hookedShard lets a test stand between a broker and its Redis. Its fields are set before the broker uses it.
type hookedShard struct {
	*redisstream.Shard
	wrap     func(redisstream.Conn) redisstream.Conn // of every write connection handed over
	onRange  func()                                  // before entries are read
	onStart  func()                                  // before a log start is read that somebody waits for
	identity func() redisstream.Identity
}

func (h *hookedShard) Acquire(stream string, done func(redisstream.Conn, error)) {
	h.Shard.Acquire(stream, func(c redisstream.Conn, err error) {
		if err == nil && h.wrap != nil {
			c = h.wrap(c)
		}
		done(c, err)
	})
}

func (h *hookedShard) Range(ctx context.Context, stream string, from redisstream.ID, inclusive bool, count int, sink redisstream.EntrySink) (redisstream.Page, error) {
	if h.onRange != nil {
		h.onRange()
	}
	return h.Shard.Range(ctx, stream, from, inclusive, count, sink)
}

func (h *hookedShard) LogStart(ctx context.Context, keys redisstream.Keys, topicID string) (redisstream.Starts, error) {
	if h.onStart != nil {
		h.onStart()
	}
	return h.Shard.LogStart(ctx, keys, topicID)
}

func (h *hookedShard) Identity() redisstream.Identity {
	if h.identity != nil {
		return h.identity()
	}
	return h.Shard.Identity()
}

// hooked is newBroker with a hooked shard.
func hooked(t *testing.T, s *redistest.Server, h *hookedShard, change func(*partition.Settings), d partition.Dependencies) *fixture {
	h.Shard = redisstream.Open(options(t, s), slog.New(slog.DiscardHandler))
	d.Shard = h
	return newBrokerOn(t, h.Shard, "1/a", change, d)
}

// newest remembers the write connection that was handed over last.
type newest struct {
	mu   sync.Mutex
	conn redisstream.Conn
}

func (n *newest) wrap(c redisstream.Conn) redisstream.Conn {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.conn = c
	return c
}

func (n *newest) get() redisstream.Conn {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.conn
}

// hiddenConn is a connection to a provider that hides Redis's identity.
type hiddenConn struct {
	redisstream.Conn
	id redisstream.Identity
}

func (c hiddenConn) Identity() redisstream.Identity { return c.id }
