package sim

import (
	"context"
	"fmt"
	"time"

	"github.com/korvet-io/korvet/internal/partition"
	"github.com/korvet-io/korvet/internal/redisstream"
)

// broker is one broker's own code on a simulated connection and clock.
type broker struct {
	w     *world
	name  string
	conn  *conn
	clock time.Duration
	pace  float64 // how fast its clock goes
	life  int     // the newest life it has heard of
	*partition.Manager
}

func newBroker(w *world, i int) *broker {
	b := &broker{w: w, name: fmt.Sprintf("%d/boot", i), pace: 0.5 + w.rnd.Float64()}
	s := partition.DefaultSettings()
	s.Owner, s.Lease, s.ProduceTimeout = b.name, leaseMs*time.Millisecond, 0
	s.RequestTimeout = time.Hour // chance gives connections up
	d := partition.Dependencies{
		Shard: shard{w.reads, b}, Replicas: replicas{w}, Observer: b, Log: w.log,
		Clock: &partition.Clock{Now: func() time.Duration { return b.clock }, RedisTime: timeMark, Token: w.nextToken},
	}
	if w.opt.Replicas {
		s.RedisReplicas = 1
		d.MinReplicas = func(partition.Ref) int { return 2 }
	}
	if w.opt.Force {
		d.Gone = func(string) bool { return w.chance(0.3) }
	}
	b.Manager = partition.NewManager(s, d)
	return b
}

func (w *world) nextToken() string {
	w.tokens++
	return fmt.Sprintf("token%d", w.tokens)
}

// pass lets ms of time pass on the broker's own clock.
func (b *broker) pass(ms uint64) {
	b.clock += time.Duration(float64(ms) * b.pace * float64(time.Millisecond))
}

// giveUp is a time-out: the connection is abandoned with what is queued on it.
func (b *broker) giveUp() {
	if b.conn != nil && !b.conn.dead {
		b.conn.Close(context.DeadlineExceeded)
	}
}

// ref is the life of the topic that the broker knows.
func (b *broker) ref() partition.Ref { return b.w.lives[b.life] }

// shard is what a broker's partitions see of Redis: its connection is simulated, reads are carried out at once.
type shard struct {
	*redisstream.Shard
	b *broker
}

func (s shard) Acquire(_ string, done func(redisstream.Conn, error)) {
	b := s.b
	if b.conn == nil || b.conn.dead {
		b.conn = &conn{w: b.w, identity: b.w.identity}
		b.w.conns = append(b.w.conns, b.conn)
	}
	done(b.conn, nil)
}

func (s shard) Identity() redisstream.Identity { return s.b.w.identity }

// Delete is carried out at once, too, however little time its caller gives it.
func (s shard) Delete(_ context.Context, keys redisstream.Keys, topicID string) error {
	if w := s.b.w; w.opt.Without == RuleEarlier {
		if there := w.redis.do("HGET", keys.Leader, "topic"); !there.Null && there.Str < topicID {
			return nil
		}
	}
	return s.Shard.Delete(context.Background(), keys, topicID)
}

// The broker's observer: metrics are not simulated.

func (b *broker) AppendDone(int, int, time.Duration, error)  {}
func (b *broker) ReadDone(string, int, time.Duration, error) {}
func (b *broker) Fenced(string)                              {}
func (b *broker) Truncated(partition.Ref, int64)             {}
func (b *broker) ValuesCompressed(partition.Ref, int, int)   {}
func (b *broker) ValueCorrupt(partition.Ref)                 {}

// replicas answers confirmations when chance says so.
type replicas struct{ w *world }

// question is one confirmation that a broker waits for.
type question struct {
	identity redisstream.Identity
	end      int64
	done     func(error)
}

func (r replicas) Connected(int) bool { return r.w.rnd.Float64() < 0.95 }

func (r replicas) Confirm(id redisstream.Identity, _ int, done func(error)) {
	end := int64(0)
	if last, err := redisstream.ParseID(r.w.lastID()); err == nil {
		end = redisstream.EndOffset(last.Seq)
	}
	r.w.questions = append(r.w.questions, question{id, end, done})
}

// confirm answers the oldest question.
func (w *world) confirm() bool {
	if len(w.questions) == 0 {
		return false
	}
	q := w.questions[0]
	w.questions = w.questions[1:]
	if q.identity != w.identity || w.chance(0.2) {
		q.done(redisstream.ErrReplicasBehind)
		return true
	}
	w.confirmed = max(w.confirmed, q.end)
	q.done(nil)
	return true
}
