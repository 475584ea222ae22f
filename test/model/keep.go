package model

import (
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/google/uuid"

	"github.com/korvet-io/korvet/internal/dictionary"
	"github.com/korvet-io/korvet/internal/redisstream"
	"github.com/korvet-io/korvet/internal/remote"
	"github.com/korvet-io/korvet/internal/worker"
	"github.com/korvet-io/korvet/internal/worker/compaction"
	"github.com/korvet-io/korvet/internal/worker/copying"
	"github.com/korvet-io/korvet/internal/worker/upkeep"
)

// keeper is a life of the storage worker on its own connections.
type keeper struct {
	copier *copying.Copier
	*worker.Storage
	shard *redisstream.Shard
	tier  *tier
	owner string
	log   strings.Builder // warnings: what failed at a partition is told here only
}

// done counts what happened in the background. It is the observer of storage workers.
type done struct {
	sealed, dropped, trimmed, compacted, rewritten, dictionaries, archived atomic.Int64
	upkeep                                                                 sync.Map // operation of upkeep -> *atomic.Int64
}

func (d *done) WorkerLeads(bool)            {}
func (d *done) WorkerTicked(time.Duration)  {}
func (d *done) WorkerFailed(string)         {} // the log tells more
func (d *done) SegmentSealed()              { d.sealed.Add(1) }
func (d *done) SegmentDropped()             { d.dropped.Add(1) }
func (d *done) RecordsTrimmed(n int64)      { d.trimmed.Add(n) }
func (d *done) BytesFreed(int64)            {}
func (d *done) LocalBytes(map[string]int64) {}
func (d *done) RedisFull(bool)              {}

func (d *done) CompactionPassed(_ time.Duration, _, removed int64, _ error) { d.compacted.Add(removed) }

func (d *done) StreamRewritten(_ int64, err error) {
	if err == nil {
		d.rewritten.Add(1)
	}
}

func (d *done) String() string {
	return fmt.Sprintf("%d segments sealed, %d dropped, %d records trimmed, %d compacted, %d streams rewritten, %d dictionaries, %d segments copied%s",
		d.sealed.Load(), d.dropped.Load(), d.trimmed.Load(), d.compacted.Load(), d.rewritten.Load(), d.dictionaries.Load(), d.archived.Load(), d.upkeepText())
}

// startKeeper starts a life of the storage worker, whose Redis is at an address.
func (w *world) startKeeper(address string) *keeper {
	w.lives++
	k := &keeper{shard: w.connectTo(address), owner: fmt.Sprintf("keeper/%06d", w.lives)}
	log := slog.New(slog.NewTextHandler(&k.log, &slog.HandlerOptions{Level: slog.LevelWarn}))
	k.tier = w.openTier(log)
	k.copier = copying.New(copying.Dependencies{
		Redis: k.shard, Tables: copying.NewTables(k.tier.Tier, w.store, remote.CreateTable), Settings: func() copying.Settings { return w.remote.copies },
		Observer: &w.done, Log: log, Version: "model",
		Dictionaries: dictionary.New(dictionarySettings(), dictionary.Dependencies{
			Store: k.shard, Observer: silent{}, Log: log, Now: time.Now, Alive: func(string, string) bool { return true },
		}),
	})
	keeper := upkeep.New(upkeep.Dependencies{
		Redis: k.shard, Times: k.tier, Settings: func() upkeep.Settings { return w.remote.upkeep }, Observer: &w.done, Log: log, Now: w.clock,
		Tables: func(topic uuid.UUID) (upkeep.Table, bool) {
			entry, has := w.store.TableOf(topic)
			if !has {
				return nil, false
			}
			return k.tier.Table(entry), true
		},
	})
	k.Storage = worker.NewStorage(
		worker.Settings{Namespace: "korvet", Owner: k.owner, Tick: time.Minute, Lease: 2 * time.Minute},
		worker.Dependencies{
			Topics: w.store, TableList: w.store, Redis: k.shard, Observer: &w.done, Log: log, Gone: w.isDead, Copier: k.copier, Keeper: keeper,
			Compactor: compaction.New(k.shard, 1<<20, &w.done, log),
		},
	)
	return k
}

// endKeeper ends the storage worker without giving its lease back. That it is dead is known.
func (w *world) endKeeper() {
	w.keeper.shard.Close()
	w.dead.Store(w.keeper.owner, true)
}

// tick has the storage worker do all that is due.
func (w *world) tick() (Latitude, error) {
	w.hoursPass()
	w.say("the storage worker's tick")
	open, err := w.retaining(true, func() error { return w.keeper.RunOnce(w.ctx) })
	if warnings := w.keeper.log.String(); warnings != "" {
		err = errors.Join(err, errors.New(warnings))
	}
	if err != nil {
		return Latitude{}, fmt.Errorf("tick: %w", err)
	}
	if err := w.each(func(int) error {
		return errors.Join(w.checkBytes(), w.checkKept(), w.checkKeys(), w.checkDictionaries())
	}); err != nil {
		return Latitude{}, err
	}
	return Latitude{}, w.checkAll(open)
}

// cutShort takes back what must have happened: the worker may have died, or was refused, before it did anything.
func cutShort(open []Latitude) {
	for i := range open {
		open[i].StartMin, open[i].MustLack = 0, nil
	}
}

// cutTick has a storage worker die somewhere in its tick.
func (w *world) cutTick() (Latitude, error) {
	if w.topic.Config.RemoteStorage && w.rnd.IntN(2) == 0 {
		return w.cutStore()
	}
	limit := w.rnd.IntN(60)
	w.say("the storage worker dies after %d commands of its tick", limit)
	open, err := w.retaining(false, func() error {
		_, err := w.tickUntil(limit)
		return err
	})
	cutShort(open)
	w.endKeeper()
	w.keeper = w.startKeeper(w.uri.Address)
	if err == nil {
		err = w.each(func(int) error { return w.checkDictionaries() })
	}
	if err != nil {
		return Latitude{}, err
	}
	return Latitude{}, w.checkAll(open)
}

// wokenTick has a storage worker wake up that slept while the next one took over. It is refused at partitions that the next
// one has changed, which it does not know; elsewhere it does nothing that is not due.
func (w *world) wokenTick() (Latitude, error) {
	sleeper := w.keeper
	defer sleeper.shard.Close()
	w.dead.Store(sleeper.owner, true) // so that its lease is not waited for
	w.keeper = w.startKeeper(w.uri.Address)
	if _, err := w.tick(); err != nil {
		return Latitude{}, err
	}
	w.say("the storage worker before it wakes up")
	open, err := w.retaining(false, func() error {
		err := sleeper.RunOnce(w.ctx)
		_, held := errors.AsType[*redisstream.HeldError](err) // it had not worked yet
		if held || errors.Is(err, redisstream.ErrFenced) || errors.Is(err, redisstream.ErrLeaseLost) {
			return nil
		}
		return err
	})
	cutShort(open)
	if err != nil {
		return Latitude{}, fmt.Errorf("woken worker's tick: %w", err)
	}
	return Latitude{}, w.checkAll(open)
}

// retaining carries out a step in which retention may let records go, and returns what it may and must, by partition. What it did
// to the tiers is compared; whole: nothing that is due may be left.
func (w *world) retaining(whole bool, step func() error) ([]Latitude, error) {
	was := make([]tierView, len(w.parts))
	err := w.each(func(i int) (err error) {
		w.grown = 0
		was[i], err = w.lookAtTiers()
		return err
	})
	if err != nil {
		return nil, err
	}
	before, err := w.now()
	if err != nil {
		return nil, err
	}
	if err := step(); err != nil {
		return nil, err
	}
	after, err := w.now()
	if err != nil {
		return nil, err
	}
	all := make([]Latitude, len(w.parts))
	return all, w.each(func(i int) (err error) {
		if all[i], err = w.retained(&was[i], before, after); err == nil {
			err = w.checkMove(&was[i], before, after, whole)
		}
		return err
	})
}

// retained is what retention between two moments, in Redis's time, may let go of the partition, and must.
func (w *world) retained(was *tierView, before, after uint64) (open Latitude, err error) {
	open = Latitude{StartMax: w.log.First()} // what was trimmed by hand may be found out
	c := &w.topic.Config
	if c.Delete && c.RetentionMs >= 0 {
		open.StartMin = w.log.Expired(before - uint64(c.RetentionMs))
		open.StartMax = max(open.StartMax, w.log.Young(after-uint64(c.RetentionMs)))
	}
	if c.Delete && c.RetentionBytes >= 0 {
		err = w.retainingBytes(&open, was, c.RetentionBytes)
	}
	if was.table != "" && !c.RemoteStorage && c.RemoteDeleteOnDisable { // the log is to start where Redis has it
		open.StartMin, open.StartMax = max(open.StartMin, was.view.LocalStart), max(open.StartMax, was.view.LocalStart)
	}
	w.compacting(&open, before, after)
	return open, err
}

// retainingBytes allows a log start that leaves as many bytes as retention.bytes says.
func (w *world) retainingBytes(open *Latitude, was *tierView, limit int64) error {
	bytes, err := w.livingBytes()
	byTime, rest := open.StartMax, sum(bytes)
	open.StartMax = w.log.End
	if was.table != "" && !w.topic.Config.RemoteStorage {
		return err
	}
	open.Start = func(start int64) error {
		if was.table != "" {
			rest = was.above(start) + w.grown
		}
		if start > byTime && rest < limit-w.grain(limit) {
			return fmt.Errorf("the log starts at %d and %d bytes are left, retention.bytes is %d", start, rest, limit)
		}
		return nil
	}
	return err
}

// checkBytes tells whether a whole tick has left more than it should.
func (w *world) checkBytes() error {
	bytes, err := w.livingBytes()
	c := &w.topic.Config
	if _, has := w.store.TableOf(w.topic.ID); err != nil || !c.Delete || c.RetentionBytes < 0 || has {
		return err
	}
	least, rest := c.RetentionBytes+w.grain(c.RetentionBytes), sum(bytes)
	if len(bytes) == 1 && rest > least || len(bytes) > 1 && rest-bytes[0] >= least {
		return fmt.Errorf("%d bytes are left, of which %d in the oldest segment: retention.bytes is %d", rest, bytes[0], c.RetentionBytes)
	}
	return nil
}

func sum(list []int64) (total int64) {
	for _, n := range list {
		total += n
	}
	return total
}

// grain is how exactly bytes can be kept: Redis has many records in a node, and counts them by their mean.
func (w *world) grain(limit int64) int64 {
	largest := 0
	for _, r := range w.log.Records {
		largest = max(largest, len(r.Value))
	}
	return limit/10 + int64(2*largest) + 16<<10
}

// livingBytes are the bytes that each of the partition's streams uses, oldest first, without what is below the log start.
func (w *world) livingBytes() ([]int64, error) {
	view, err := w.hands.Look(w.ctx, w.keys)
	if err != nil {
		return nil, err
	}
	bytes, err := w.hands.Weigh(w.ctx, view.Streams(w.keys), 0)
	if err != nil {
		return nil, err
	}
	for i, s := range view.Segments {
		all, below := s.Last-s.Base+1, max(0, view.LogStart-s.Base)
		bytes[i] -= bytes[i] * min(below, all) / all
	}
	return bytes, nil
}

// checkKept compares what a whole tick leaves in Redis with the log start: what is below it is gone.
func (w *world) checkKept() error {
	view, err := w.hands.Look(w.ctx, w.keys)
	if err != nil {
		return err
	}
	start := view.LogStart
	if w.topic.Config.RemoteStorage { // what the table has decided about the log start after Redis was looked at
		start = min(start, w.log.Start)
	}
	for _, s := range view.Segments {
		if s.Last < start {
			return fmt.Errorf("after the tick segment %d is there, which ends at %d, and the log starts at %d", s.Number, s.Last, view.LogStart)
		}
	}
	ids, err := w.hands.Glances(w.ctx, []redisstream.Keys{w.keys})
	if err == nil {
		err = ids[0].Err
	}
	if err != nil {
		return err
	}
	if g := ids[0]; g.Length > 0 && int64(g.First.Seq) < start {
		return fmt.Errorf("after the tick the open stream starts at %d, the log at %d", g.First.Seq, g.LogStart)
	}
	return nil
}
