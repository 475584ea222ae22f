package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/korvet-io/korvet/internal/migrate"
)

// migrateJob does what korvet migrate is asked for.
type migrateJob struct {
	flags   *migrateFlags
	options migrate.Options
	print   migratePrinter
}

func (j migrateJob) plan(ctx context.Context) error {
	plan, err := migrate.MakePlan(ctx, j.options, !j.flags.quick)
	if err != nil {
		return err
	}
	if err := j.print.plan(plan); err != nil {
		return err
	}
	if len(plan.Problems) > 0 {
		return fmt.Errorf("%s in the way of migrating %s to %s", count(len(plan.Problems), "problem"), plan.Source, plan.Target)
	}
	return nil
}

// run copies. Ended by a signal it is as good as ended by itself: the next run goes on.
func (j migrateJob) run(ctx context.Context) error {
	m, err := migrate.Open(ctx, j.options)
	if err != nil {
		return err
	}
	err = m.Copy(ctx, !j.flags.stopWhenCaughtUp)
	switch {
	case err == nil:
		j.print.say("everything is copied; --cutover ends the migration, --run follows the source")
	case ctx.Err() != nil:
		j.print.say("stopped; --run goes on from here")
	case errors.Is(err, migrate.ErrTakenOver):
		j.print.say("stopped: another run of this migration, or its cutover, has taken over")
	default:
		return err
	}
	return j.print.copied(m.Progress())
}

func (j migrateJob) cutover(ctx context.Context) error {
	if _, err := migrate.ReadStatus(ctx, j.options.From, j.options.To, j.flags.to); err != nil {
		return err
	}
	m, err := migrate.Open(ctx, j.options)
	if err != nil {
		return err
	}
	result, err := m.Cutover(ctx, migrate.CutoverOptions{
		Quiet: j.flags.quiet, Timeout: j.flags.timeout, SkipActive: j.flags.skipActive,
		Ready: func() {
			j.print.say(fmt.Sprintf("all that is there is copied and verified; waiting up to %v until nothing is written to %s for %v", j.flags.timeout, j.flags.topic, j.flags.quiet))
		},
	})
	if result == nil {
		return err
	}
	return errors.Join(j.print.cutover(result, j.options.From.Name, j.options.To.Name), err)
}

func (j migrateJob) status(ctx context.Context) error {
	status, err := migrate.ReadStatus(ctx, j.options.From, j.options.To, j.flags.to)
	if err != nil {
		return err
	}
	return j.print.status(status)
}

func (j migrateJob) verify(ctx context.Context) error {
	checked, err := migrate.Verify(ctx, j.options.From, j.options.To, j.flags.to)
	if checked == nil {
		return err
	}
	return errors.Join(j.print.checked(checked), err)
}
