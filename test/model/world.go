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
	"github.com/korvet-io/korvet/internal/redisstream"
	"github.com/korvet-io/korvet/internal/redistest"
	"github.com/korvet-io/korvet/internal/topicconfig"
)

// stage is a Redis on which programs are played, one after the other.
type stage struct {
	server *redistest.Server
	redis  rueidis.Client
	uri    redisstream.Options
	schema *topicconfig.Schema
	done   done
	dir    string // of the remote tier
	opened int    // programs
}

func newStage(t *testing.T) *stage {
	server := redistest.Start(t, "--appendonly", "yes", "--appendfsync", "no") // the process dies only, not the machine
	uri, err := redisstream.ParseURI(server.URI())
	if err != nil {
		t.Fatal(err)
	}
	schema, problems := topicconfig.New(topicconfig.Options{RemoteStorage: true})
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	return &stage{server: server, redis: server.Client(), uri: uri, schema: schema, dir: t.TempDir()}
}

// world is what one program runs in: a topic's partitions, the brokers that may lead them, and the logs they should be.
type world struct {
	*stage
	*part      // the one that the step is about
	parts      []*part
	ctx        context.Context
	rnd        *rand.Rand
	store      *metadata.Store
	topic      *metadata.Topic
	brokers    [2]*broker
	lives      int   // of brokers so far
	cacheBytes int64 // of a broker's tail cache
	dead       sync.Map
	keeper     *keeper
	hands      *redisstream.Shard // nobody's: what is done to the partition from outside goes this way
	said       []string           // what the program did
	remote     remoteTier
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
	w.prepareTier()
	partitions := 1
	if settings == nil {
		settings, partitions = w.anySettings(), 1+w.rnd.IntN(3)
	}
	if err := s.redis.Do(ctx, s.redis.B().Flushall().Build()).Error(); err != nil {
		return nil, fmt.Errorf("empty redis: %w", err)
	}
	var err error
	w.store, err = metadata.Open(ctx, s.redis, metadata.Options{
		Namespace: "korvet", BrokerID: 1, Host: "localhost", Port: 1, Timeout: 20 * time.Second, Schema: s.schema, Log: slog.New(slog.DiscardHandler),
		Tables: w.remote.path + "/korvet",
	})
	if err != nil {
		return nil, err
	}
	if w.topic, err = w.store.Create(ctx, "t", int32(partitions), settings); err != nil {
		return nil, err
	}
	w.said = append(w.said, fmt.Sprintf("create the topic with %d partitions and %v, tail cache %d B, %v", partitions, settings, w.cacheBytes, &w.remote))
	for range partitions {
		w.addPart()
	}
	w.part = w.parts[0]
	if partitions > 1 || w.rnd.IntN(2) == 0 {
		if err := w.beginAt(bases[w.rnd.IntN(len(bases))]); err != nil {
			return nil, err
		}
	}
	w.hands, w.keeper = w.connectTo(s.uri.Address), w.startKeeper(s.uri.Address)
	for i := range w.brokers {
		w.brokers[i] = w.startBroker(i + 1)
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
	w.removeTier()
}

func (w *world) say(format string, args ...any) {
	w.said = append(w.said, fmt.Sprintf("%d: ", w.ref.Partition)+fmt.Sprintf(format, args...))
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
