package model

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"time"

	"github.com/korvet-io/korvet/internal/batch"
	"github.com/korvet-io/korvet/internal/dictionary"
	"github.com/korvet-io/korvet/internal/partition"
	"github.com/korvet-io/korvet/internal/redisstream"
)

// broker is one broker's partitions on their own connections.
type broker struct {
	*partition.Manager
	shard        *redisstream.Shard
	dictionaries *dictionary.Registry
	owner        string
	fresh        bool // all it knows is what Redis says
	end          context.CancelFunc
	log          complaints
}

// complaints keep what a broker logs as an error: none of it may happen while nobody but korvet writes.
type complaints struct {
	mu   sync.Mutex
	text strings.Builder
}

func (c *complaints) Write(line []byte) (int, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.text.Write(line)
}

func (c *complaints) err() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.text.Len() == 0 {
		return nil
	}
	return errors.New("a broker complains: " + c.text.String())
}

// silent is an observer that nobody asks.
type silent struct{}

func (silent) AppendDone(int, int, time.Duration, error)  {}
func (silent) ReadDone(string, int, time.Duration, error) {}
func (silent) Fenced(string)                              {}
func (silent) Truncated(partition.Ref, int64)             {}
func (silent) DictionaryTrained(string)                   {}
func (silent) ValuesCompressed(partition.Ref, int, int)   {}
func (silent) ValueCorrupt(partition.Ref)                 {}

// lease is short, so that a takeover need not wait long.
const lease = 100 * time.Millisecond

// startBroker starts a life of a broker. A tail cache of few bytes makes it read from Redis what it wrote itself.
func (w *world) startBroker(id int) *broker { return w.startBrokerAt(id, 0) }

// startBrokerAt starts a broker that takes a time, in ms, for Redis's; 0: it asks Redis.
func (w *world) startBrokerAt(id int, ms uint64) *broker {
	w.lives++
	b := &broker{shard: w.connectTo(w.uri.Address), owner: fmt.Sprintf("%d/%06d", id, w.lives)}
	settings := partition.DefaultSettings()
	settings.Owner, settings.Lease, settings.TailCacheBytes = b.owner, lease, w.cacheBytes
	settings.RemoteMaxWait = time.Minute // the program waits for what it asked for
	log := slog.New(slog.NewTextHandler(&b.log, &slog.HandlerOptions{Level: slog.LevelError}))
	b.dictionaries = dictionary.New(dictionarySettings(), dictionary.Dependencies{
		Store: b.shard, Observer: silent{}, Log: log, Now: time.Now, Alive: func(string, string) bool { return true },
	})
	var ctx context.Context
	ctx, b.end = context.WithCancel(w.ctx)
	go b.dictionaries.Run(ctx)
	d := partition.Dependencies{
		Shard: b.shard, Remote: w.openTier(log).reader(w), Tiered: func(ref partition.Ref) bool { return w.store.TableMayHave(ref.ID, ref.Partition) },
		Dictionaries: b.dictionaries, Observer: silent{}, Log: log, Gone: w.isDead,
	}
	if ms > 0 {
		start := time.Now()
		d.Clock = &partition.Clock{Now: func() time.Duration { return time.Since(start) }, RedisTime: ms, Token: rand.Text}
	}
	b.Manager = partition.NewManager(settings, d)
	return b
}

// dictionarySettings let brokers soon find what the program publishes. A program is too short for their own training.
func dictionarySettings() dictionary.Settings {
	s := dictionary.DefaultSettings()
	s.Poll = 20 * time.Millisecond
	return s
}

// connectTo opens connections to the Redis at an address.
func (w *world) connectTo(address string) *redisstream.Shard {
	o := w.uri
	o.Address = address
	o.WriteConnections, o.ReadConnections, o.DialTimeout = 1, 2, time.Minute
	return redisstream.Open(o, slog.New(slog.DiscardHandler))
}

// stop ends a broker in order.
func (b *broker) stop(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	defer b.end()
	err := b.Close(ctx)
	b.shard.Close()
	return err
}

// crash ends a broker as kill -9 does: what it sent may arrive, and nobody hears.
func (b *broker) crash() {
	b.end()
	b.shard.Close()
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	_ = b.Close(ctx) // whatever waited is given up, which is what its error says
}

// outcome is what a producer is told.
type outcome struct {
	got partition.Appended
	err error
}

// send appends a batch and returns where its outcome will be.
func (b *broker) send(ref partition.Ref, records []Record, by identity, opt partition.AppendOptions) (<-chan outcome, error) {
	raw, err := encode(records, by)
	if err != nil {
		return nil, err
	}
	return b.sendBatch(ref, raw, opt), nil
}

func (b *broker) sendBatch(ref partition.Ref, raw *batch.Batch, opt partition.AppendOptions) <-chan outcome {
	done := make(chan outcome, 1)
	b.Append(ref, raw, opt, func(a partition.Appended, err error) { done <- outcome{a, err} })
	return done
}

// retriable tells whether a producer sends its batch again.
func retriable(err error) bool {
	return errors.Is(err, partition.ErrNotLeader) || errors.Is(err, partition.ErrTimeout) || errors.Is(err, partition.ErrStorage)
}

// patience bounds how long a producer tries again. Reaching it fails the program.
const patience = 20 * time.Second

// deliver sends a batch until it is acknowledged, as a producer does.
func (b *broker) deliver(ref partition.Ref, records []Record, by identity, opt partition.AppendOptions) (partition.Appended, error) {
	for deadline := time.Now().Add(patience); ; time.Sleep(5 * time.Millisecond) {
		done, err := b.send(ref, records, by, opt)
		if err != nil {
			return partition.Appended{}, err
		}
		o := <-done
		if o.err == nil || !retriable(o.err) || time.Now().After(deadline) {
			return o.got, o.err
		}
	}
}
