// Package compaction compacts partitions: of each key the newest record stays at its offset, and the memory of what went is given back.
package compaction

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strconv"
	"time"

	"github.com/korvet-io/korvet/internal/redisstream"
	"github.com/korvet-io/korvet/internal/worker/replicas"
	"github.com/korvet-io/korvet/internal/worker/tick"
)

// Observer is told what compaction did, for metrics. Its methods must not block.
type Observer interface {
	// CompactionPassed reports a pass: how long it took, how many records it looked at and removed, and the error that
	// ended it early.
	CompactionPassed(took time.Duration, scanned, removed int64, err error)
	// StreamRewritten reports the bytes that a rewrite gave back, and why there was none.
	StreamRewritten(bytes int64, err error)
}

// Compactor compacts partitions: of each key the newest record stays. It keeps nothing between two calls, so that any
// process may make the next pass.
type Compactor struct {
	shard    *redisstream.Shard
	memory   int64 // of the map of keys, in bytes
	now      func() time.Time
	observer Observer
	log      *slog.Logger
	replicas replicas.Confirmer // nil: none are waited for
	most     int                // how many replicas Redis is run with
}

// New makes one for the Redis that holds the messages. memory bounds the map of keys of a pass, in bytes; a pass
// that finds more keys ends early and the next goes on.
func New(s *redisstream.Shard, memory int64, o Observer, log *slog.Logger) *Compactor {
	return &Compactor{shard: s, memory: memory, now: time.Now, observer: o, log: log}
}

// AwaitReplicas has passes compact only what as many replicas have as min.insync.replicas asks for, of those that Redis is
// run with: what lies below the high watermark. It is called before the first pass.
func (c *Compactor) AwaitReplicas(r replicas.Confirmer, run int) { c.replicas, c.most = r, run }

// Compact makes one pass over a partition if one is due, and gives back the memory of what passes removed.
func (c *Compactor) Compact(ctx context.Context, t *tick.Target) error {
	g := &t.Glance
	if g.Err != nil || !g.Exists || g.TopicID != t.TopicID {
		return nil
	}
	p := &pass{
		Compactor: c, began: c.now(), view: &g.View, state: newState(t), identity: c.shard.Identity(),
		redis: redisstream.Compaction{Shard: c.shard, Keys: t.Keys, Claim: t.Claim(), Open: g.Open},
	}
	err := p.tidy(ctx, g.Copied)
	if err == nil {
		err = p.passIfDue(ctx, t)
	}
	if err == nil {
		err = p.rewrite(ctx)
	}
	if errors.Is(err, redisstream.ErrRolled) || errors.Is(err, redisstream.ErrDeleted) { // the next tick sees what is there now
		return nil
	}
	if err != nil {
		return fmt.Errorf("compact topic %s partition %d: %w", t.Ref.Topic, t.Ref.Partition, err)
	}
	return nil
}

// passIfDue makes the pass that is due, and reports it.
func (p *pass) passIfDue(ctx context.Context, t *tick.Target) error {
	due, err := p.plan(ctx)
	if err != nil || !due {
		return err
	}
	err = p.make(ctx)
	log, took := p.log.With("topic", t.Ref.Topic, "partition", t.Ref.Partition), p.now().Sub(p.began)
	if errors.Is(err, redisstream.ErrReplicasBehind) {
		log.Debug("compaction waits for Redis's replicas", "error", err)
		return nil
	}
	p.observer.CompactionPassed(took, p.scanned, p.removed, err)
	if err == nil {
		log.Info("compacted", "below", p.to, "records", p.scanned, "removed", p.removed, "took", took)
	}
	return err
}

// tidy removes what a rewrite has left whose worker died, before anything else: a copy that would be begun anew takes memory
// meanwhile.
func (p *pass) tidy(ctx context.Context, copied bool) error {
	if !copied {
		return nil
	}
	return p.shard.DropCopy(ctx, p.redis.Keys, p.redis.Claim)
}

// A stream whose nodes are used to less than this is written anew, unless they are few.
const (
	worthRewriting = 0.7
	fewNodes       = 8
)

// rewrite gives the memory of holes back where passes left many, if Redis has room for the copy.
func (p *pass) rewrite(ctx context.Context) error {
	maps.Copy(p.holes, p.view.Clean.Holes)
	for _, number := range slices.Sorted(maps.Keys(p.holes)) {
		freed, err := p.rewriteStream(ctx, number)
		p.observer.StreamRewritten(freed, err)
		switch {
		case errors.Is(err, redisstream.ErrPending), errors.Is(err, redisstream.ErrChanged), errors.Is(err, errNoRoom):
			p.log.Debug("a compacted stream is written anew later", "stream", p.redis.Stream(number), "reason", err)
		case err != nil:
			return err
		}
	}
	return nil
}

// errNoRoom puts a rewrite off.
var errNoRoom = errors.New("redis has no room for the copy")

// smallCopy is how much a rewrite may take beyond what Redis has room for: it gives back more at once.
const smallCopy = 16 << 20

// rewriteTries is how often a rewrite is begun anew when the log's head was trimmed meanwhile.
const rewriteTries = 3

func (p *pass) rewriteStream(ctx context.Context, number int64) (freed int64, err error) {
	before, err := p.weigh(ctx, number)
	if err != nil {
		return 0, err
	}
	used, limit, err := p.shard.Memory(ctx)
	if err != nil {
		return 0, err
	}
	percent, _ := strconv.ParseInt(p.holes[number], 10, 64)
	if need := before / 100 * percent; limit > 0 && need > max(limit-used, smallCopy) {
		return 0, errNoRoom
	}
	for range rewriteTries {
		if _, err = p.redis.Rewrite(ctx, number); !errors.Is(err, redisstream.ErrChanged) {
			break
		}
	}
	if err != nil {
		return 0, err
	}
	after, err := p.weigh(ctx, number)
	if err == nil && number != p.redis.Open {
		_, err = p.redis.Settle(ctx, number, after)
	}
	return max(0, before-after), err
}

// weigh tells the bytes that a stream uses in Redis.
func (p *pass) weigh(ctx context.Context, number int64) (int64, error) {
	weights, err := p.shard.Weigh(ctx, []string{p.redis.Stream(number)}, 0)
	if err != nil {
		return 0, err
	}
	return weights[0], nil
}
