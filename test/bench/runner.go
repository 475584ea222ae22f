package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/korvet-io/korvet/test/bench/system"
)

// runner goes through rounds and scenarios and measures the systems one after the other, so that what disturbs the
// machine for a while disturbs them alike.
type runner struct {
	*options
	dir     string // scratch, removed at the end
	systems []system.System
	redis   *system.Redis // under the bare client
	korvet  *system.Korvet
	samples *samples
	notes   []string // what was left out, and why
	topics  int
	began   time.Time
}

func newRunner(o *options) (*runner, error) {
	dir, err := os.MkdirTemp("", "korvet-bench-")
	if err != nil {
		return nil, fmt.Errorf("make scratch folder: %w", err)
	}
	r := &runner{options: o, dir: dir, samples: newSamples(), began: time.Now()}
	ports := system.NewPorts(o.ports)
	first, err := ports.Take(6)
	if err != nil {
		return nil, err
	}
	newRedis := func(name string, port int) *system.Redis {
		return &system.Redis{Program: o.redis, Dir: filepath.Join(dir, name), Port: port, AOF: o.AOF}
	}
	for _, name := range o.Systems {
		switch name {
		case "raw":
			r.redis = newRedis("raw", first)
		case "korvet":
			r.korvet = &system.Korvet{
				Program: o.korvet, Dir: filepath.Join(dir, "korvet"), Port: first + 1, HTTPPort: first + 2,
				Redis: newRedis("redis", first+3), Settings: o.KorvetSettings,
			}
			r.systems = append(r.systems, r.korvet)
		case "kafka":
			if o.kafka == "" {
				r.note("Apache Kafka is left out: KORVET_BENCH_KAFKA names no script that runs it")
				continue
			}
			r.systems = append(r.systems, &system.Kafka{Script: o.kafka, Dir: filepath.Join(dir, "kafka"), Port: first + 4})
		}
	}
	return r, nil
}

func (r *runner) note(format string, args ...any) {
	text := fmt.Sprintf(format, args...)
	if !slices.Contains(r.notes, text) {
		r.notes = append(r.notes, text)
	}
}

// progress tells on stderr what is being done.
func (r *runner) progress(format string, args ...any) {
	fmt.Fprintf(os.Stderr, "%6.0fs  %s\n", time.Since(r.began).Seconds(), fmt.Sprintf(format, args...))
}

// close stops what still runs.
func (r *runner) close() error {
	var err error
	for _, s := range r.systems {
		if stopErr := s.Shutdown(); err == nil {
			err = stopErr
		}
	}
	if r.redis != nil {
		if stopErr := r.redis.Close(); err == nil {
			err = stopErr
		}
	}
	if rmErr := os.RemoveAll(r.dir); err == nil {
		err = rmErr
	}
	return err
}

// scenarios are all combinations of sizes, partitions and producers.
func (r *runner) scenarios() []scenario {
	var all []scenario
	for _, size := range r.Sizes {
		for _, partitions := range r.Partitions {
			for _, producers := range r.Producers {
				all = append(all, scenario{Size: size, Partitions: partitions, Producers: producers})
			}
		}
	}
	return all
}

func (r *runner) runAll(ctx context.Context) error {
	if r.wanted["start"] { // first, because it stops brokers that should stay warm later
		for round := -r.Warmup; round < r.Rounds; round++ {
			for _, s := range rotated(r.systems, round+r.Warmup) {
				if err := r.measureStart(ctx, s, round >= 0); err != nil {
					return fmt.Errorf("%s, start: %w", s.Name(), err)
				}
			}
		}
	}
	if err := r.runGroups(ctx); err != nil {
		return err
	}
	if err := r.runStorage(ctx); err != nil {
		return err
	}
	if err := r.runTier(ctx); err != nil {
		return err
	}
	if !slices.ContainsFunc(r.Measures, func(measure string) bool { return !slices.Contains(onceMeasures, measure) }) {
		return nil
	}
	for round := -r.Warmup; round < r.Rounds; round++ {
		for _, scenario := range r.scenarios() {
			if err := r.runScenario(ctx, scenario, round); err != nil {
				return err
			}
		}
	}
	return nil
}

func (r *runner) runScenario(ctx context.Context, shape scenario, round int) error {
	visits := []func() error{}
	if r.redis != nil {
		visits = append(visits, func() error { return r.visitRaw(ctx, shape, round >= 0) })
	}
	for _, s := range r.systems {
		visits = append(visits, func() error { return r.visit(ctx, s, shape, round >= 0) })
	}
	for _, visit := range rotated(visits, round+r.Warmup) {
		if err := visit(); err != nil {
			return fmt.Errorf("round %d, %s: %w", round, shape, err)
		}
	}
	return nil
}

// rotated starts each round with another one, as the first pays for what the machine did before.
func rotated[T any](all []T, by int) []T {
	if len(all) == 0 {
		return nil
	}
	by %= len(all)
	return append(slices.Clone(all[by:]), all[:by]...)
}
