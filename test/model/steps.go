package model

import (
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/redis/rueidis"

	"github.com/korvet-io/korvet/internal/partition"
	"github.com/korvet-io/korvet/internal/redisstream"
)

// restart ends the active broker in order and starts its next life, or goes on with the other one.
func (w *world) restart() (Latitude, error) {
	old := w.active
	w.say("restart broker %d", old+1)
	if err := w.broker().stop(w.ctx); err != nil {
		return Latitude{}, fmt.Errorf("stop broker: %w", err)
	}
	w.brokers[old] = w.startBroker(old + 1)
	if w.rnd.IntN(2) == 0 {
		w.active = 1 - old
		w.say("go on with broker %d", w.active+1)
	}
	return Latitude{}, w.lead()
}

// takeOver goes on with the other broker while the one that leads lives on: its lease is waited for.
func (w *world) takeOver() (Latitude, error) {
	w.active = 1 - w.active
	w.say("take over by broker %d", w.active+1)
	return Latitude{}, w.lead()
}

// lead has the active broker lead, as one does that producers write to: a batch of one record. unknown are records whose
// producer was told nothing: they are in the log before that one, all of them or none.
func (w *world) lead(unknown ...Record) error {
	p, records, opt := w.anyProducer(), w.records()[:1], w.options()
	w.say("produce %s by producer %d, sequence %d", describe(records), p.id, p.sequence)
	got, err := w.broker().deliver(w.ref, records, p.identity, opt)
	switch {
	case err != nil:
		return fmt.Errorf("producer %d: %w", p.id, err)
	case got.Duplicate:
		return errors.New("a new batch is taken for a duplicate")
	case len(unknown) > 0 && got.BaseOffset == w.log.End+int64(len(unknown)):
		if err := w.log.Append(w.log.End, unknown); err != nil {
			return err
		}
	}
	if err := w.acknowledged(p, records, got); err != nil {
		return err
	}
	return w.learnAppendTimes()
}

// crash kills the active broker while a batch is on its way. Its producer finds out at the broker's next life.
func (w *world) crash() (Latitude, error) {
	p, old := w.anyProducer(), w.broker()
	records, opt := w.records(), w.options()
	w.say("produce %s by producer %d, sequence %d", describe(records), p.id, p.sequence)
	done, err := old.send(w.ref, records, p.identity, opt)
	if err != nil {
		return Latitude{}, err
	}
	w.say("kill broker %d meanwhile", w.active+1)
	old.crash()
	if w.rnd.IntN(3) > 0 { // the file lock shows that it is dead: its lease is not waited for
		w.dead.Store(old.owner, true)
		w.say("it is known to be dead")
	}
	w.brokers[w.active] = w.startBroker(w.active + 1)
	return Latitude{}, w.findOut(p, records, opt, <-done)
}

// restartRedis kills Redis while a batch is on its way, and starts it again with what its AOF has. Nothing that was
// acknowledged is lost.
func (w *world) restartRedis() (Latitude, error) {
	p, b := w.anyProducer(), w.broker()
	records, opt := w.records(), w.options()
	w.say("produce %s by producer %d, sequence %d", describe(records), p.id, p.sequence)
	done, err := b.send(w.ref, records, p.identity, opt)
	if err != nil {
		return Latitude{}, err
	}
	w.say("restart redis meanwhile")
	w.server.Kill()
	w.server.Restart()
	for deadline := time.Now().Add(patience); ; time.Sleep(5 * time.Millisecond) {
		_, err := w.now()
		for _, p := range w.parts { // the client has several connections
			_, failed := w.newestIDs(p.keys.Stream, 1)
			err = errors.Join(err, failed)
		}
		for _, shard := range []*redisstream.Shard{w.hands, w.keeper.shard} {
			_, failed := shard.Look(w.ctx, w.keys)
			err = errors.Join(err, failed)
		}
		if err == nil {
			break
		}
		if time.Now().After(deadline) {
			return Latitude{}, fmt.Errorf("reach redis again: %w", err)
		}
	}
	return Latitude{}, w.findOut(p, records, opt, <-done)
}

// findOut has a producer learn what came of a batch that something went wrong with: an idempotent one sends it again, of
// another one it is open whether it is there.
func (w *world) findOut(p *producer, records []Record, opt partition.AppendOptions, o outcome) error {
	if o.err != nil && p.id < 0 {
		if opt.LogAppendTime {
			setTime(records, unknownTime)
		}
		return w.lead(records...)
	}
	if o.err != nil {
		o.got, o.err = w.broker().deliver(w.ref, records, p.identity, opt)
	}
	if o.err != nil {
		return fmt.Errorf("producer %d: %w", p.id, o.err)
	}
	if err := w.acknowledged(p, records, o.got); err != nil {
		return err
	}
	return w.lead()
}

// roll seals the open segment, as the worker does behind the owner's back.
func (w *world) roll() (Latitude, error) {
	view, err := w.hands.Look(w.ctx, w.keys)
	if err != nil {
		return Latitude{}, err
	}
	fence, err := w.fence()
	if err != nil {
		return Latitude{}, err
	}
	claim := redisstream.Claim{TopicID: w.topicID(), Fence: fence}
	_, rolled, err := w.hands.Roll(w.ctx, w.keys, claim, view.Open)
	if errors.Is(err, redisstream.ErrNotOpen) { // there is no life yet
		err = nil
	}
	w.say("roll segment %d: %t", view.Open, rolled)
	return Latitude{}, err
}

// fence is the newest worker's fence number; 0: none has run yet.
func (w *world) fence() (int64, error) {
	fence, err := w.redis.Do(w.ctx, w.redis.B().Hget().Key("korvet:storage:worker").Field("fence").Build()).AsInt64()
	if rueidis.IsRedisNil(err) {
		return 0, nil
	}
	return fence, err
}

func (w *world) topicID() string { return w.ref.TopicID() }

// deleteRecords asks for a log start anywhere, also where it cannot be.
func (w *world) deleteRecords() (Latitude, error) {
	offset := w.log.Start - 2 + w.rnd.Int64N(w.log.End-w.log.Start+5)
	if w.rnd.IntN(3) > 0 { // a little only, or programs had nothing left
		offset = w.log.Start + w.rnd.Int64N(min(20, w.log.End-w.log.Start)+1)
	}
	w.say("delete records before %d", offset)
	start, err := w.broker().DeleteBefore(w.ctx, w.ref, offset)
	if offset > w.log.End || offset < -1 {
		if !errors.Is(err, partition.ErrOffsetOutOfRange) {
			return Latitude{}, fmt.Errorf("delete before %d of [%d, %d]: %w", offset, w.log.Start, w.log.End, err)
		}
		return Latitude{}, nil
	}
	if err != nil {
		return Latitude{}, err
	}
	if offset == -1 {
		offset = w.log.End
	}
	w.log.StartAt(offset)
	if start != w.log.Start {
		err = fmt.Errorf("the log start is answered as %d, want %d", start, w.log.Start)
	}
	return Latitude{}, err
}

// trimByHand is what people do with redis-cli: XTRIM by count or by id, of the open segment.
func (w *world) trimByHand() (Latitude, error) {
	length, err := w.redis.Do(w.ctx, w.redis.B().Xlen().Key(w.keys.Stream).Build()).AsInt64()
	if err != nil || length == 0 {
		return Latitude{}, err
	}
	count := min(w.rnd.Int64N(length+1), 1+w.rnd.Int64N(30))
	entries, err := w.redis.Do(w.ctx, w.redis.B().Xrange().Key(w.keys.Stream).Start("-").End("+").Count(count+1).Build()).AsXRange()
	if err != nil {
		return Latitude{}, err
	}
	gone := map[int64]bool{}
	for _, e := range entries[:count] {
		id, err := redisstream.ParseID(e.ID)
		if err != nil {
			return Latitude{}, err
		}
		gone[int64(id.Seq)] = true
	}
	trim := []string{"XTRIM", w.keys.Stream, "MAXLEN", strconv.FormatInt(length-count, 10)}
	if count < length && w.rnd.IntN(2) == 0 {
		trim = []string{"XTRIM", w.keys.Stream, "MINID", entries[count].ID}
	}
	w.say("by hand: %v", trim)
	if err := w.redis.Do(w.ctx, w.redis.B().Arbitrary(trim...).Build()).Error(); err != nil {
		return Latitude{}, err
	}
	w.log.Trim(gone)
	return Latitude{StartMax: w.log.First()}, nil // it need not rise, and never passes a record that is there
}

// newestIDs are the ids of a stream's newest entries, newest first.
func (w *world) newestIDs(stream string, count int) ([]redisstream.ID, error) {
	texts, err := idsScript.Exec(w.ctx, w.redis, []string{stream}, []string{strconv.Itoa(count)}).AsStrSlice()
	if err != nil {
		return nil, fmt.Errorf("read ids of %s: %w", stream, err)
	}
	ids := make([]redisstream.ID, len(texts))
	for i, text := range texts {
		if ids[i], err = redisstream.ParseID(text); err != nil {
			return nil, err
		}
	}
	return ids, nil
}

// idsScript leaves the values in Redis.
var idsScript = rueidis.NewLuaScript(`local ids = {}
for k, e in ipairs(redis.call('XREVRANGE', KEYS[1], '+', '-', 'COUNT', ARGV[1])) do ids[k] = e[1] end
return ids`)
