package model

import (
	"context"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/redis/rueidis"

	"github.com/korvet-io/korvet/internal/metadata"
	"github.com/korvet-io/korvet/internal/partition"
	"github.com/korvet-io/korvet/internal/redisstream"
	"github.com/korvet-io/korvet/internal/redistest"
	"github.com/korvet-io/korvet/internal/topicconfig"
)

// stage is a Redis on which programs are played, one after the other.
type stage struct {
	redis  rueidis.Client
	uri    redisstream.Options
	schema *topicconfig.Schema
	done   done
}

func newStage(t *testing.T) *stage {
	server := redistest.Start(t)
	uri, err := redisstream.ParseURI(server.URI())
	if err != nil {
		t.Fatal(err)
	}
	schema, problems := topicconfig.New(topicconfig.Options{})
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	return &stage{redis: server.Client(), uri: uri, schema: schema}
}

// world is what one program runs in: a partition, the brokers that may lead it, and the log it should be.
type world struct {
	*stage
	ctx        context.Context
	rnd        *rand.Rand
	store      *metadata.Store
	topic      *metadata.Topic
	ref        partition.Ref
	keys       redisstream.Keys
	brokers    [2]*broker
	active     int   // the broker that producers and consumers talk to
	lives      int   // of brokers so far
	cacheBytes int64 // of a broker's tail cache
	dead       sync.Map
	keeper     *keeper
	hands      *redisstream.Shard // nobody's: what is done to the partition from outside goes this way

	log       Log
	producers []*producer
	said      []string // what the program did
}

// producer is one producer's memory of what it sent.
type producer struct {
	identity             // of its next batch
	sent     []sentBatch // newest last; idempotent ones only
}

// sentBatch is one acknowledged batch of an idempotent producer.
type sentBatch struct {
	by      identity
	base    int64
	records []Record
}

// open empties Redis and sets up the world of one program, whose topic has these settings, or some by chance.
func (s *stage) open(ctx context.Context, seed uint64, settings map[string]string) (*world, error) {
	w := &world{stage: s, ctx: ctx, rnd: rand.New(rand.NewPCG(seed, 1))}
	w.cacheBytes = [...]int64{1, 16 << 10, 64 << 20}[w.rnd.IntN(3)]
	if settings == nil {
		settings = w.anySettings()
	}
	if err := s.redis.Do(ctx, s.redis.B().Flushall().Build()).Error(); err != nil {
		return nil, fmt.Errorf("empty redis: %w", err)
	}
	var err error
	w.store, err = metadata.Open(ctx, s.redis, metadata.Options{
		Namespace: "korvet", BrokerID: 1, Host: "localhost", Port: 1, Timeout: 20 * time.Second, Schema: s.schema, Log: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		return nil, err
	}
	if w.topic, err = w.store.Create(ctx, "t", 1, settings); err != nil {
		return nil, err
	}
	w.say("create the topic with %v, tail cache %d B", settings, w.cacheBytes)
	w.ref = partition.Ref{Topic: w.topic.Name, ID: w.topic.ID}
	w.keys = redisstream.NewKeys("korvet", w.ref.Topic, w.ref.Partition)
	w.hands, w.keeper = w.connectTo(s.uri.Address), w.startKeeper(s.uri.Address)
	for i := range w.brokers {
		w.brokers[i] = w.startBroker(i + 1)
	}
	for i := range int64(4) {
		w.producers = append(w.producers, &producer{identity: identity{id: i - 1}}) // the first is not idempotent
	}
	return w, nil
}

// close ends what open started.
func (w *world) close() {
	for _, b := range w.brokers {
		b.crash()
	}
	w.keeper.shard.Close()
	w.hands.Close()
}

func (w *world) say(format string, args ...any) {
	w.said = append(w.said, fmt.Sprintf(format, args...))
}

func (w *world) broker() *broker { return w.brokers[w.active] }

func (w *world) isDead(owner string) bool {
	_, dead := w.dead.Load(owner)
	return dead
}

// now is Redis's time in ms.
func (w *world) now() (uint64, error) {
	t, err := w.redis.Do(w.ctx, w.redis.B().Time().Build()).AsIntSlice()
	if err != nil || len(t) != 2 {
		return 0, fmt.Errorf("ask redis for its time: %w", err)
	}
	return uint64(t[0]*1000 + t[1]/1000), nil
}
