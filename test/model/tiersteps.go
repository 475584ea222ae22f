package model

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"strconv"
	"strings"
	"time"

	"github.com/korvet-io/korvet/internal/iceberg/store"
	"github.com/korvet-io/korvet/internal/iceberg/storetest"
	"github.com/korvet-io/korvet/internal/worker/deletion"
)

// hoursPass puts the clock of the tables' upkeep forward, now and then.
func (w *world) hoursPass() {
	if !w.remote.wanted || w.rnd.IntN(2) == 0 {
		return
	}
	d := [...]time.Duration{11 * time.Minute, 2 * time.Hour, 30 * time.Hour}[w.rnd.IntN(3)]
	w.say("%v pass by the clock of the store", d)
	w.remote.ahead.Add(int64(d))
}

// toTheRemoteTier appends, seals and ticks, so that more is in the remote tier alone.
func (w *world) toTheRemoteTier() (Latitude, error) {
	if !w.remote.wanted {
		return w.produce()
	}
	for range 1 + w.rnd.IntN(3) {
		if err := w.someMore(); err != nil {
			return Latitude{}, err
		}
	}
	if _, err := w.roll(); err != nil {
		return Latitude{}, err
	}
	for range 1 + w.rnd.IntN(2) {
		if open, err := w.tick(); err != nil {
			return open, err
		}
	}
	return Latitude{}, nil
}

// switchRemote turns the remote tier off, and its data with it, or on again.
func (w *world) switchRemote() (Latitude, error) {
	if !w.remote.wanted {
		return w.produce()
	}
	settings := maps.Clone(w.topic.Configs)
	on := strconv.FormatBool(!w.topic.Config.RemoteStorage)
	settings["remote.storage.enable"], settings["remote.log.delete.on.disable"], settings["local.retention.ms"] = on, "true", "1"
	w.say("turn the remote tier on: %s", on)
	if err := w.alterIfPermitted(settings); err != nil {
		return Latitude{}, err
	}
	return w.tick()
}

// cutStore has a storage worker die with an operation of the store, before it is carried out or before the answer comes.
func (w *world) cutStore() (Latitude, error) {
	limit, how := w.rnd.IntN(40), storetest.How(w.rnd.IntN(2))
	w.say("the storage worker dies with operation %d of the store, %s", limit+1, [...]string{"before it", "before its answer"}[how])
	ctx, cancel := context.WithCancel(w.ctx)
	defer cancel()
	w.keeper.tier.cut.Limit(limit, how, cancel)
	open, err := w.retaining(false, func() error {
		err := w.keeper.RunOnce(ctx)
		if w.keeper.tier.cut.Dead() {
			return nil
		}
		return err
	})
	cutShort(open)
	w.endKeeper()
	w.keeper = w.startKeeper(w.uri.Address)
	if err != nil {
		return Latitude{}, fmt.Errorf("tick that is cut off at the store: %w", err)
	}
	return Latitude{}, w.checkAll(open)
}

// clearTables deletes the objects of tables that are no topic's any more.
func (w *world) clearTables() (Latitude, error) {
	dropped := w.store.DroppedTables()
	w.say("delete the objects of %d tables", len(dropped))
	var log strings.Builder
	t := w.openTier(slog.New(slog.DiscardHandler))
	finisher := deletion.New(nil, nil, slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelWarn})))
	finisher.AfterTables(w.store, t)
	if err := finisher.FinishTables(w.ctx); err != nil {
		return Latitude{}, err
	}
	if log.Len() > 0 {
		return Latitude{}, errors.New(log.String())
	}
	for _, d := range dropped {
		err := t.Store.List(w.ctx, d.Location+"/", func(o store.Object) error { return fmt.Errorf("%s is left of a deleted table", o.Location) })
		if err != nil {
			return Latitude{}, err
		}
	}
	return Latitude{}, nil
}
