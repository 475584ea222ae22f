package model

import (
	"context"
	"errors"
	"fmt"

	"github.com/redis/rueidis"

	"github.com/korvet-io/korvet/internal/redisstream"
	"github.com/korvet-io/korvet/test/faults/cut"
)

// keepThroughProxy starts a storage worker's next life, whose commands go through a proxy that counts them.
func (w *world) keepThroughProxy() (*cut.Commands, error) {
	w.endKeeper()
	proxy, err := cut.StartCommands(w.uri.Address)
	if err != nil {
		return nil, err
	}
	w.keeper = w.startKeeper(proxy.Addr())
	if _, err := w.keeper.shard.Look(w.ctx, w.keys); err != nil { // now it is connected
		proxy.Close()
		return nil, err
	}
	return proxy, nil
}

// tickUntil runs a tick of a worker that dies after so many commands, unless it is done before, and tells how many it sent.
func (w *world) tickUntil(limit int) (commands int, err error) {
	proxy, err := w.keepThroughProxy()
	if err != nil {
		return 0, err
	}
	defer proxy.Close()
	proxy.Limit(limit)
	ctx, cancel := context.WithCancel(w.ctx)
	defer cancel()
	go func() {
		select {
		case <-proxy.Died():
			cancel()
		case <-ctx.Done():
		}
	}()
	err = w.keeper.RunOnce(ctx)
	commands = proxy.Passed()
	select {
	case <-proxy.Died():
		return commands, nil
	default:
		return commands, err
	}
}

// pausedTick has a storage worker fall asleep somewhere in its tick, and wake up behind the next one. Meanwhile the log goes
// on. It is refused at partitions that the next one has changed.
func (w *world) pausedTick() (Latitude, error) {
	commands := w.rnd.IntN(60)
	w.say("the storage worker falls asleep after %d commands of its tick", commands)
	proxy, err := w.keepThroughProxy()
	if err != nil {
		return Latitude{}, err
	}
	defer proxy.Close()
	sleeper := w.keeper
	defer sleeper.shard.Close()
	held, wake := proxy.Hold(commands)
	if w.topic.Config.RemoteStorage && w.rnd.IntN(2) == 0 {
		w.say("they are operations of the store")
		wake()
		held, wake = w.keeper.tier.shelf.hold(commands / 2)
	}
	defer wake()
	open, err := w.retaining(false, func() error {
		done := make(chan error, 1)
		go func() { done <- sleeper.RunOnce(w.ctx) }()
		select {
		case <-held:
		case err := <-done:
			done <- err
		}
		w.dead.Store(sleeper.owner, true) // so that its lease is not waited for
		w.keeper = w.startKeeper(w.uri.Address)
		for _, do := range []func() error{w.nextTick, w.someMore, w.nextTick} {
			if err := do(); err != nil {
				return err
			}
		}
		before, err := w.fenced()
		if err != nil {
			return err
		}
		w.say("the sleeper wakes up")
		wake()
		err = <-done
		if changed := w.sameWhereFenced(before); changed != nil {
			return changed
		}
		_, isHeld := errors.AsType[*redisstream.HeldError](err) // it had not worked yet
		if isHeld || errors.Is(err, redisstream.ErrFenced) || errors.Is(err, redisstream.ErrLeaseLost) {
			return nil
		}
		return err
	})
	cutShort(open)
	if err != nil {
		return Latitude{}, fmt.Errorf("sleeping worker's tick: %w", err)
	}
	return Latitude{}, w.checkAll(open)
}

func (w *world) nextTick() error { return w.keeper.RunOnce(w.ctx) }

// someMore appends and seals, so that there is more to do for the next tick.
func (w *world) someMore() error {
	before, err := w.livingBytes()
	if err != nil {
		return err
	}
	for _, do := range []func() (Latitude, error){w.produce, w.roll, w.produce} {
		if _, err := do(); err != nil {
			return err
		}
	}
	after, err := w.livingBytes()
	w.grown += sum(after) - sum(before)
	return err
}

// fenced is what Redis has of the partitions that the newest worker has changed, "" of the others.
func (w *world) fenced() ([]string, error) {
	newest, err := w.fence()
	if err != nil {
		return nil, err
	}
	all := make([]string, len(w.parts))
	return all, w.each(func(i int) error {
		fence, err := w.redis.Do(w.ctx, w.redis.B().Hget().Key(w.keys.Segments).Field("fence").Build()).AsInt64()
		if rueidis.IsRedisNil(err) || err == nil && fence != newest {
			return nil
		}
		if err == nil {
			all[i], err = w.inventory()
		}
		return err
	})
}

// sameWhereFenced tells whether something changed there.
func (w *world) sameWhereFenced(before []string) error {
	after, err := w.fenced()
	if err != nil {
		return err
	}
	for i := range before {
		if before[i] != "" && before[i] != after[i] {
			return fmt.Errorf("partition %d was changed by a worker behind the newest: it was\n%s\nand is\n%s", i, before[i], after[i])
		}
	}
	return nil
}
