package sim

import (
	"bytes"
	"fmt"
	"log/slog"
	"maps"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"

	"github.com/google/uuid"

	"github.com/korvet-io/korvet/internal/partition"
	"github.com/korvet-io/korvet/internal/redisstream"
	"github.com/korvet-io/korvet/internal/redisstream/resp"
)

// The lease of the simulated brokers, and where Redis's time starts, in ms.
const (
	leaseMs  = 30
	firstMs  = 1_000_000_000_000
	timeMark = 9_999_999_999_999 // what brokers send as Redis's time: delivery puts the real one in
)

// Options say what happens in a run beside appends, takeovers and late messages.
type Options struct {
	Roll, Failover, Foreign, Recreate, Force, Refuse, Replicas bool
	Without                                                    Rule
	Trace                                                      func(string)
}

// world is one run.
type world struct {
	opt   Options
	rnd   *rand.Rand
	redis *redisConn
	reads *redisstream.Shard // carries reads out at once
	log   *slog.Logger

	redisMs   uint64
	identity  redisstream.Identity
	conns     []*conn
	brokers   []*broker
	lives     []partition.Ref
	snap      *snapshot
	deletions []deletion

	plain      *plainClient
	idempotent []*idempotentClient
	readers    []*reader
	acked      map[string]int64 // value -> offset, of the present life
	seen       map[int64]string // what readers saw, of the present life
	confirmed  int64            // log end that the replicas have
	questions  []question
	ends       map[*conn]string // rule script: the end as it was read before the fence

	tokens int
	bad    map[string]bool
	stats  Stats
}

// Stats count what happened, to show that a run exercised what it should.
type Stats struct {
	Acked, Failed, Strangers, Failovers, Rolls, Lives, Refusals, Reads, Retries, Duplicates, Delivered int
}

func newWorld(seed uint64, opt Options, redis *redisConn, reads *redisstream.Shard) *world {
	w := &world{
		opt: opt, rnd: rand.New(rand.NewPCG(seed, 1)), redis: redis, reads: reads, log: slog.New(slog.DiscardHandler),
		redisMs: firstMs, acked: map[string]int64{}, seen: map[int64]string{}, bad: map[string]bool{}, ends: map[*conn]string{},
	}
	redis.do("FLUSHDB")
	w.newIdentity()
	w.newLife()
	for i := range 3 {
		w.brokers = append(w.brokers, newBroker(w, i))
	}
	w.plain = &plainClient{w: w}
	for i := range 2 {
		w.idempotent = append(w.idempotent, newIdempotentClient(w, int64(1000*(i+1))))
		w.readers = append(w.readers, &reader{w: w})
	}
	return w
}

func (w *world) chance(p float64) bool { return w.rnd.Float64() < p }

func (w *world) newIdentity() {
	w.stats.Failovers++
	w.identity = redisstream.Identity{RunID: strconv.Itoa(w.stats.Failovers), ReplID: "r"}
}

// newLife begins a life of the topic. Ids of later lives compare greater.
func (w *world) newLife() {
	w.stats.Lives++
	id := uuid.UUID{0, 0, 0, 0, 0, byte(w.stats.Lives)}
	w.lives = append(w.lives, partition.Ref{Topic: "t", ID: id})
	w.acked, w.seen = map[string]int64{}, map[int64]string{}
	w.confirmed = 0
}

func (w *world) life() partition.Ref { return w.lives[len(w.lives)-1] }

// keys are those of the one partition; all lives share them.
func (w *world) keys() redisstream.Keys { return redisstream.NewKeys("korvet", "t", 0) }

// trace tells what happens, for a look at one seed.
func (w *world) trace(what string, args ...any) {
	if w.opt.Trace != nil {
		w.opt.Trace(fmt.Sprintln(append([]any{w.redisMs - firstMs, what}, args...)...))
	}
}

func (w *world) complain(format string, args ...any) { w.bad[fmt.Sprintf(format, args...)] = true }

// deliver carries out the head of a random queue.
func (w *world) deliver() bool {
	waiting := slices.DeleteFunc(slices.Clone(w.conns), func(c *conn) bool { return len(c.queue) == 0 })
	if len(waiting) == 0 {
		return false
	}
	c := waiting[w.rnd.IntN(len(waiting))]
	m := c.queue[0]
	c.queue = c.queue[1:]
	w.stats.Delivered++
	values := w.carryOut(c, m.commands)
	w.trace("deliver", "conn", slices.Index(w.conns, c), "dead", c.dead, brief(m.commands), "->", brief(values))
	if m.reply == nil { // nobody waits any more
		return true
	}
	var answer []byte
	for _, v := range values {
		answer = encodeReply(answer, v)
	}
	if err := m.reply.Read(resp.NewReader(bytes.NewReader(answer))); err != nil {
		panic(fmt.Sprintf("a broker cannot read its answer: %v", err))
	}
	return true
}

// carryOut gives commands to Redis with Redis's time put in, under whatever rule is off, and maybe while it refuses writes.
func (w *world) carryOut(c *conn, commands [][]string) []resp.Value {
	mark := strconv.Itoa(timeMark)
	for _, args := range commands {
		for i := range args {
			if args[i] == mark {
				args[i] = strconv.FormatUint(w.redisMs, 10)
			}
		}
	}
	commands = w.breakRequest(c, commands)
	if w.opt.Refuse && commands[0][0] == "MULTI" && w.chance(0.1) {
		w.stats.Refusals++
		return w.refusing(commands)
	}
	return w.breakAnswer(c, commands, w.redis.ask(commands))
}

// refusing carries commands out while Redis is full, without the replicas it wants, or a replica itself.
func (w *world) refusing(commands [][]string) []resp.Value {
	states := [][2][]string{
		{{"CONFIG", "SET", "maxmemory", "1"}, {"CONFIG", "SET", "maxmemory", "0"}},
		{{"CONFIG", "SET", "min-replicas-to-write", "1"}, {"CONFIG", "SET", "min-replicas-to-write", "0"}},
		{{"REPLICAOF", "127.0.0.1", "1"}, {"REPLICAOF", "NO", "ONE"}},
	}
	state := states[w.rnd.IntN(len(states))]
	w.redis.do(state[0]...)
	values := w.redis.ask(commands)
	w.redis.do(state[1]...)
	return values
}

// snapshot is what a replica has when its master dies.
type snapshot struct {
	dump  map[string]string
	acked map[string]int64
	seen  map[int64]string
	life  int
	// deletions that were not done yet: what is to be deleted is kept in Redis, too
	deletions []deletion
}

func (w *world) takeSnapshot() {
	s := &snapshot{dump: map[string]string{}, acked: maps.Clone(w.acked), seen: maps.Clone(w.seen), life: len(w.lives), deletions: slices.Clone(w.deletions)}
	for _, k := range w.redis.do("KEYS", "*").Elems {
		s.dump[k.Str] = w.redis.do("DUMP", k.Str).Str
	}
	w.snap = s
}

// failover promotes the replica: what it had not received is lost, and every connection is cut.
func (w *world) failover() {
	s := w.snap
	w.snap = nil
	if s == nil || s.life != len(w.lives) {
		return
	}
	w.redis.do("FLUSHDB")
	for k, v := range s.dump {
		w.redis.do("RESTORE", k, "0", v)
	}
	w.acked, w.seen, w.deletions = s.acked, s.seen, s.deletions
	for _, r := range w.readers {
		r.next = min(r.next, int64(len(w.seen)))
	}
	w.newIdentity()
	if w.opt.Without == RuleCut { // a library carries queued requests over
		for _, c := range w.conns {
			c.identity = w.identity
		}
		return
	}
	for _, c := range w.conns {
		c.cut()
	}
}

// stranger adds an entry that is not korvet's, in a later ms than the newest entry. In the same ms it would take the very
// id that the owner takes next, which is not survivable.
func (w *world) stranger() {
	stream := w.keys().Stream
	if w.redis.do("EXISTS", stream).Int == 0 {
		return
	}
	last, _ := redisstream.ParseID(w.lastID())
	if last.Ms < w.redisMs && last.Seq != redisstream.BeforeFirst {
		w.redis.do("XADD", stream, strconv.FormatUint(w.redisMs, 10)+"-0", "f", "stranger")
		w.stats.Strangers++
	}
}

// lastID is the stream's last id, or "".
func (w *world) lastID() string {
	v := w.redis.ask([][]string{{"XINFO", "STREAM", w.keys().Stream}})[0]
	last := ""
	v.Pairs(func(field string, value resp.Value) {
		if field == "last-generated-id" {
			last = value.Str
		}
	})
	return last
}

// brief prints commands and answers without scripts' texts and what all keys share.
func brief(v any) string {
	_, text := redisstream.FenceScript()
	s := strings.ReplaceAll(fmt.Sprint(v), text, "FENCE")
	return strings.NewReplacer("korvet:storage:local:t:0", "B", "korvet:storage:", "", strconv.Itoa(firstMs)[:10], "T", " false ", " ", " 0 []", "").Replace(s)
}
