package sim

import (
	"context"
	"slices"
	"strconv"
	"strings"

	"github.com/korvet-io/korvet/internal/partition"
	"github.com/korvet-io/korvet/internal/redisstream"
)

// steps is how long a run is before everything comes to rest.
const steps = 400

// Run plays one seed and returns what was found wrong.
func Run(seed uint64, opt Options, redis *redisConn, reads *redisstream.Shard) ([]string, Stats) {
	w := newWorld(seed, opt, redis, reads)
	for step := range steps {
		w.step(step)
	}
	w.rest()
	w.verdict()
	bad := make([]string, 0, len(w.bad))
	for b := range w.bad {
		bad = append(bad, b)
	}
	slices.Sort(bad)
	w.stats.Failovers-- // the first identity is none
	return bad, w.stats
}

func (w *world) step(step int) {
	if w.opt.Failover && step%80 == 40 {
		w.takeSnapshot()
	}
	if w.opt.Failover && step%80 == 60 && w.chance(0.7) {
		w.failover()
	}
	b := w.brokers[w.rnd.IntN(len(w.brokers))]
	switch x := w.rnd.Float64(); {
	case x < 0.45:
		w.deliver()
	case x < 0.55:
		w.plain.send(b)
	case x < 0.65:
		w.idempotent[w.rnd.IntN(len(w.idempotent))].step()
	case x < 0.73:
		w.readers[w.rnd.IntN(len(w.readers))].step()
	case x < 0.80:
		w.pass([]uint64{0, 0, 1, 1, 5}[w.rnd.IntN(5)])
	case x < 0.82:
		w.pass(40)
	case x < 0.86:
		b.giveUp()
	case x < 0.88:
		w.hear(b)
	case x < 0.90:
		w.confirm()
	case x < 0.92 && w.opt.Roll:
		w.roll()
	case x < 0.94 && w.opt.Foreign:
		w.stranger()
	case x < 0.95 && w.opt.Recreate:
		w.recreate()
	case x < 0.97 && len(w.deletions) > 0:
		w.delete(w.maybe)
	case x < 0.96 && w.opt.Refuse: // Redis's clock is set
		w.redisMs += uint64(w.rnd.IntN(200))
		w.redisMs -= uint64(w.rnd.IntN(150))
	default:
		b.Tick()
	}
}

// pass lets time go on, on Redis and at each broker's own pace.
func (w *world) pass(ms uint64) {
	w.redisMs += ms
	for _, b := range w.brokers {
		b.pass(ms)
		b.Tick()
	}
}

// hear lets a broker learn of the present life of the topic.
func (w *world) hear(b *broker) { b.life = len(w.lives) - 1 }

// roll seals the open segment, on a connection of its own.
func (w *world) roll() {
	open := int64(0)
	if v := w.redis.do("HGET", w.keys().Segments, "open"); !v.Null {
		open, _ = strconv.ParseInt(v.Str, 10, 64)
	}
	c := &conn{w: w, identity: w.identity}
	w.conns = append(w.conns, c)
	q := redisstream.RollRequest{TopicID: topicHex(w), Open: open, Token: w.redis.do("HGET", w.keys().Leader, "token").Str, Bytes: -1, MaxTimestamp: -1}
	redisstream.Roll(c, w.keys(), q, func(_ redisstream.Segment, rolled bool, _ error) {
		if rolled {
			w.stats.Rolls++
		}
	})
}

func topicHex(w *world) string {
	id := w.life().ID
	return strings.ReplaceAll(id.String(), "-", "")
}

// recreate deletes the topic and creates it anew. One broker does it; the others learn of it some day.
func (w *world) recreate() {
	b := w.brokers[w.rnd.IntN(len(w.brokers))]
	old := w.life()
	w.newLife()
	if w.chance(0.5) {
		w.hear(b)
	}
	w.deletions = append(w.deletions, deletion{b, old})
	w.delete(w.maybe)
}

// deletion is one that a broker has to finish, as its worker would.
type deletion struct {
	b   *broker
	ref partition.Ref
}

// atOnce is a context of what may not wait: no time passes within a step.
var atOnce = func() context.Context {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	return ctx
}()

// delete tries to finish deletions. One waits while its broker has an append under way, and none is in a hurry: a later
// life may be over before an earlier one's deletion comes.
func (w *world) delete(due func() bool) {
	left := w.deletions[:0]
	for _, d := range w.deletions {
		if !due() || d.b.DeletePartition(atOnce, d.ref) != nil { // again later, as the worker does
			left = append(left, d)
		}
	}
	w.deletions = left
}

func (w *world) maybe() bool { return w.chance(0.6) }
func always() bool           { return true }

// rest lets all that is under way come to an end.
func (w *world) rest() {
	w.opt.Refuse = false
	for range 20_000 {
		w.delete(always)
		if !w.deliver() && !w.confirm() && !w.stir() && len(w.deletions) == 0 {
			return
		}
	}
	w.complain("the brokers do not come to rest")
}

// stir lets time pass for the brokers and tells whether one waits for something.
func (w *world) stir() bool {
	busy := false
	for _, b := range w.brokers {
		b.clock += leaseMs * 1e6
		busy = b.Tick() || busy
	}
	w.redisMs += leaseMs
	return busy || slices.ContainsFunc(w.conns, func(c *conn) bool { return len(c.queue) > 0 })
}

// verdict compares the log in Redis with what clients were told.
func (w *world) verdict() {
	log := w.readLog()
	at := map[string]int64{}
	next := int64(0)
	for _, e := range log {
		if e.offset != next && w.stats.Strangers == 0 {
			w.complain("offsets are not dense")
		}
		next = e.offset + 1
		life, _, _ := strings.Cut(e.value, ".")
		if life != strconv.Itoa(len(w.lives)-1) {
			w.complain("a record of another life")
		}
		if _, twice := at[e.value]; twice {
			w.complain("a record is there twice")
		}
		at[e.value] = e.offset
		if saw, ok := w.seen[e.offset]; ok && saw != e.value {
			w.complain("a reader saw what is not in the log")
		}
	}
	for value, offset := range w.acked {
		if got, ok := at[value]; !ok || got != offset {
			w.trace("acknowledged", value, "at", offset, "is at", got, ok)
			w.complain("an acknowledged record is not at its offset")
		}
	}
	w.checkOrder(log)
}

// checkOrder looks at the order of each idempotent producer's records.
func (w *world) checkOrder(log []seenRecord) {
	last := map[string]int{}
	for _, e := range log {
		part := strings.Split(e.value, ".")
		if len(part) != 3 || !strings.HasPrefix(part[1], "i") {
			continue
		}
		n, _ := strconv.Atoi(part[2])
		if before, ok := last[part[1]]; ok && n <= before {
			w.complain("an idempotent producer's records are out of order")
		} else if ok && n != before+1 {
			w.complain("an idempotent producer's records have a gap")
		}
		last[part[1]] = n
	}
}

// readLog reads the streams of the partition, skipping entries whose offset does not rise and strangers'.
func (w *world) readLog() []seenRecord {
	var log []seenRecord
	view, err := w.reads.Look(context.Background(), w.keys())
	if err != nil {
		w.complain("the partition cannot be looked at: %v", err)
		return nil
	}
	last := int64(-1)
	for _, stream := range view.Streams(w.keys()) {
		w.trace("log", stream, brief(w.redis.do("XRANGE", stream, "-", "+").Elems))
		for _, e := range w.redis.do("XRANGE", stream, "-", "+").Elems {
			id, err := redisstream.ParseID(e.Elems[0].Str)
			if err != nil || int64(id.Seq) <= last {
				if err == nil && e.Elems[1].Elems[0].Str == "value" {
					w.complain("a record's offset does not rise")
				}
				continue
			}
			last = int64(id.Seq)
			if f := e.Elems[1].Elems; f[0].Str == "value" {
				log = append(log, seenRecord{last, f[1].Str})
			}
		}
	}
	return log
}
