package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/korvet-io/korvet/internal/app"
	"github.com/korvet-io/korvet/internal/recovery"
)

type recoverFlags struct {
	redisFlags
	dryRun, json bool
	timeout      time.Duration
}

func newRecover(e *env) *cobra.Command {
	var f recoverFlags
	cmd := &cobra.Command{
		Use:   "recover",
		Short: "Rebuild topics and logs from the tables after Redis was lost",
		Long: `Read the tables of the remote tier and put back into an empty Redis what they know: topics with their ids and settings,
which table is whose, and where each partition's log begins and goes on. Records stay where they are. Stop all brokers and
workers first; none starts before the recovery has ended. Nothing that Redis has is changed: where it has something else in
the place of a topic or a partition, nothing is done at all. It may be ended at any moment and run again. Records that were
acknowledged and not copied yet are lost with Redis, and so are consumer groups: docs/recovering.md. Exit code 1: something is
in the way.` + settingsHelp,
		Example: `  korvet recover --config korvet.yml --dry-run
  korvet recover --config korvet.yml`,
		Args:        noArgs,
		Annotations: settingsAnnotation,
		RunE:        func(cmd *cobra.Command, _ []string) error { return f.run(cmd.Context(), e) },
	}
	flags := cmd.Flags()
	f.define(flags)
	flags.BoolVar(&f.dryRun, "dry-run", false, "only show what would be done")
	flags.BoolVar(&f.json, "json", false, "print JSON")
	flags.DurationVar(&f.timeout, "timeout", 10*time.Minute, "how long all may take")
	return cmd
}

func (f *recoverFlags) run(ctx context.Context, e *env) error {
	c, err := f.load(e)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, f.timeout)
	defer cancel()
	plan, err := app.Recover(ctx, c, version(), f.dryRun)
	if plan == nil || err != nil && !errors.Is(err, recovery.ErrRefused) {
		return err
	}
	out := recovered{Plan: plan, DryRun: f.dryRun, Done: err == nil && !f.dryRun}
	if f.json {
		return errors.Join(err, printJSON(e.out, out))
	}
	return errors.Join(err, out.print(e.out))
}

// recovered is what korvet recover tells.
type recovered struct {
	*recovery.Plan
	DryRun bool `json:"dry_run"`
	Done   bool `json:"done"`
}

func (r *recovered) print(out io.Writer) error {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	if len(r.Topics) > 0 {
		fmt.Fprintln(w, "topic\tpartition\tstart\tend\trecords\taction\t")
	}
	partitions := 0
	for _, t := range r.Topics {
		fmt.Fprintf(w, "%s\t\t\t\t\t%s\tid %s, %s, changed %s\n", t.Name, t.Action, t.ID, t.Table.Location, time.UnixMilli(t.UpdatedMs).UTC().Format(time.RFC3339))
		if t.Why != "" {
			fmt.Fprintf(w, "\t\t\t\t\t\t  %s\n", t.Why)
		}
		for _, l := range t.Logs {
			fmt.Fprintf(w, "\t%d\t%d\t%d\t%d\t%s\t%s\n", l.Partition, l.Start, l.End, l.Records, l.Action, l.Why)
			if l.Action == recovery.Restore {
				partitions++
			}
		}
	}
	if err := w.Flush(); err != nil {
		return err
	}
	for _, l := range r.Left {
		fmt.Fprintf(out, "left alone: %s (%s): %s\n", l.Location, l.Topic, l.Why)
	}
	topics := 0
	for _, t := range r.Topics {
		if t.Action == recovery.Restore {
			topics++
		}
	}
	what := "not done"
	switch {
	case r.Done:
		what = "restored"
	case r.DryRun:
		what = "would be restored"
	}
	_, err := fmt.Fprintf(out, "%s and %s: %s\n", count(topics, "topic"), count(partitions, "partition"), what)
	return err
}
