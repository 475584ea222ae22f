package main

import (
	"context"
	"time"

	"github.com/korvet-io/korvet/test/bench/load"
	"github.com/korvet-io/korvet/test/bench/proc"
	"github.com/korvet-io/korvet/test/bench/system"
)

// measureStart takes the time from a broker's start to its first accepted produce, on data that it left before, and its
// memory a little later.
func (r *runner) measureStart(ctx context.Context, s system.System, counted bool) (err error) {
	r.progress("%-7s start", s.Name())
	if err := s.Open(ctx); err != nil {
		return err
	}
	defer func() {
		if closeErr := s.Close(); err == nil {
			err = closeErr
		}
	}()
	m := &measurement{runner: r, system: s, name: s.Name(), processes: s.Processes, shape: scenario{Partitions: 1}, counted: counted}
	return m.withTopic(ctx, func(topic string) error {
		if err := load.FirstProduce(ctx, s.Address(), topic); err != nil {
			return err
		}
		var began time.Time
		first := make(chan error, 1)
		var took time.Duration
		err := s.Restart(ctx, func() {
			began = time.Now()
			go func() {
				err := load.FirstProduce(ctx, s.Address(), topic)
				took = time.Since(began)
				first <- err
			}()
		})
		if err != nil {
			return err
		}
		if err := <-first; err != nil {
			return err
		}
		select { // what a start needs for a moment is not what an idle broker holds
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(2 * time.Second):
		}
		resident, err := proc.Resident(s.Processes()["broker"])
		if err != nil {
			return err
		}
		m.shape = scenario{}
		m.add("start.first", took.Seconds())
		m.add("start.resident.broker", float64(resident))
		return nil
	})
}
