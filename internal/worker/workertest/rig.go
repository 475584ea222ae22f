// Package workertest is a Redis with partitions for tests of the worker and of its rooms. It imports none of them.
package workertest

import (
	"context"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/redis/rueidis"

	"github.com/korvet-io/korvet/internal/metadata"
	"github.com/korvet-io/korvet/internal/redisstream"
	"github.com/korvet-io/korvet/internal/redistest"
	"github.com/korvet-io/korvet/internal/topicconfig"
)

// Rig is a real Redis whose streams a test fills with records of any age, for a storage worker that the test makes.
type Rig struct {
	*testing.T
	Redis  *redistest.Server
	Client rueidis.Client
	Shard  *redisstream.Shard
	Schema *topicconfig.Schema
	Topics Topics
	Seen   *Observer
	Logged *strings.Builder
	// Work has the worker do what is due.
	Work func(ctx context.Context) error
}

// OpenShard opens a shard on a Redis until the test ends.
func OpenShard(t testing.TB, uri string) *redisstream.Shard {
	t.Helper()
	o, err := redisstream.ParseURI(uri)
	if err != nil {
		t.Fatal(err)
	}
	o.WriteConnections, o.ReadConnections, o.DialTimeout = 1, 2, 20*time.Second
	s := redisstream.Open(o, slog.New(slog.DiscardHandler))
	t.Cleanup(s.Close)
	return s
}

// New starts a Redis, with these arguments if there are any.
func New(t *testing.T, args ...string) *Rig {
	t.Helper()
	r := &Rig{T: t, Redis: redistest.Start(t, args...), Seen: &Observer{}, Logged: &strings.Builder{}}
	r.Client = r.Redis.Client()
	schema, problems := topicconfig.New(topicconfig.Options{})
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	r.Schema, r.Shard = schema, OpenShard(t, r.Redis.URI())
	return r
}

// Logger writes what the test finds in Logged.
func (r *Rig) Logger() *slog.Logger { return slog.New(slog.NewTextHandler(r.Logged, nil)) }

// Create makes a topic of one partition that was written to.
func (r *Rig) Create(name string, configs map[string]string) *Part {
	r.Helper()
	id := uuid.Must(uuid.NewV7())
	topic := &metadata.Topic{Name: name, ID: id, Configs: configs, Config: r.Schema.Effective(name, configs)}
	r.Topics.List = append(r.Topics.List, topic)
	return r.Another(topic)
}

// Another makes one more partition of a topic, which was written to.
func (r *Rig) Another(topic *metadata.Topic) *Part {
	r.Helper()
	p := &Part{Rig: r, Keys: redisstream.NewKeys("korvet", topic.Name, topic.Partitions), Topic: topic, Number: topic.Partitions}
	topic.Partitions++
	r.Do("HSET", p.Keys.Leader, "topic", fmt.Sprintf("%x", topic.ID[:]), "owner", "1/x", "token", "T", "epoch", "0")
	r.Do("XGROUP", "CREATE", p.Keys.Stream, "x", "0", "MKSTREAM")
	r.Do("XGROUP", "DESTROY", p.Keys.Stream, "x")
	r.Do("XSETID", p.Keys.Stream, "1-18446744073709551615")
	return p
}

// Do sends a command.
func (r *Rig) Do(args ...string) rueidis.RedisMessage {
	r.Helper()
	m, err := r.Client.Do(r.Context(), r.Client.B().Arbitrary(args...).Build()).ToMessage()
	if err != nil && !rueidis.IsRedisNil(err) {
		r.Fatalf("%s: %v", strings.Join(args, " "), err)
	}
	return m
}

// Now is the time in ms.
func (r *Rig) Now() int64 { return time.Now().UnixMilli() }

// Tick has the worker do what is due.
func (r *Rig) Tick() {
	r.Helper()
	if err := r.Work(r.Context()); err != nil {
		r.Fatalf("tick: %v", err)
	}
}

// Hours is a setting in ms.
func Hours(n int) string { return fmt.Sprint((time.Duration(n) * time.Hour).Milliseconds()) }
