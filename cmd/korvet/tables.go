package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/spf13/cobra"

	"github.com/korvet-io/korvet/internal/app"
	"github.com/korvet-io/korvet/internal/inspect"
)

// tablesFlags are the flags that the subcommands of korvet tables share.
type tablesFlags struct {
	redisFlags
	noRedis, json bool
	timeout       time.Duration
}

func newTables(e *env) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "tables list|describe|verify",
		Short: "Look at the tables of the remote tier, and verify them",
		Args:  noArgs,
		RunE:  func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(newTablesList(e), newTablesDescribe(e), newTablesVerify(e))
	return cmd
}

const tablesHelp = `

It asks the object store and Redis, which it finds by the settings of a broker, and no broker: it works while none runs. With
--no-redis it asks the store alone.` + settingsHelp

// subcommand adds what all have in common.
func (f *tablesFlags) subcommand(cmd *cobra.Command, timeout time.Duration) *cobra.Command {
	cmd.Long += tablesHelp
	cmd.Annotations = settingsAnnotation
	flags := cmd.Flags()
	f.define(flags)
	flags.BoolVar(&f.noRedis, "no-redis", false, "look at what the store has, without Redis")
	flags.BoolVar(&f.json, "json", false, "print JSON")
	flags.DurationVar(&f.timeout, "timeout", timeout, "how long all may take; 0: as long as it takes")
	return cmd
}

func newTablesList(e *env) *cobra.Command {
	var f tablesFlags
	return f.subcommand(&cobra.Command{
		Use:   "list",
		Short: "List tables: where each is, what it has, how far it is behind its log",
		Long:  "List tables: where each is, what it has, and how far it is behind its log.",
		Example: `  korvet tables list --config korvet.yml
  korvet tables list --korvet.storage.remote.path=s3://bucket/prefix --no-redis --json`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return f.with(cmd.Context(), e, func(ctx context.Context, s *inspect.Source) error {
				list, err := s.Tables(ctx, func(string, string) bool { return true })
				if err != nil {
					return err
				}
				return tablesPrinter{out: e.out, json: f.json}.list(list)
			})
		},
	}, 5*time.Minute)
}

func newTablesDescribe(e *env) *cobra.Command {
	var f tablesFlags
	return f.subcommand(&cobra.Command{
		Use:     "describe TOPIC",
		Short:   "Describe a topic's table: partitions, snapshots and files",
		Long:    "Describe the table of a topic, or the one of a table's name: its partitions beside their logs, its snapshots and its files.",
		Example: `  korvet tables describe orders --config korvet.yml`,
		Args:    oneTopic,
		RunE: func(cmd *cobra.Command, args []string) error {
			return f.with(cmd.Context(), e, func(ctx context.Context, s *inspect.Source) error {
				list, err := s.Find(ctx, args[0])
				if err != nil {
					return err
				}
				return tablesPrinter{out: e.out, json: f.json}.describe(list)
			})
		},
	}, 5*time.Minute)
}

func newTablesVerify(e *env) *cobra.Command {
	var f tablesFlags
	return f.subcommand(&cobra.Command{
		Use:   "verify TOPIC",
		Short: "Read everything of a topic's table and tell what is not as it must be",
		Long: `Read everything of a topic's table: every page of every data file, and compare it with what the table says of it (sizes,
counts, offsets, times, partition), with the log (no offset between its start and the table's end may be missing, unless an
engine deleted it), and, where Redis still has the same records, each of them byte by byte. Exit code 1: there is a problem.`,
		Example: `  korvet tables verify orders --config korvet.yml --json`,
		Args:    oneTopic,
		RunE: func(cmd *cobra.Command, args []string) error {
			return f.with(cmd.Context(), e, func(ctx context.Context, s *inspect.Source) error {
				return f.verify(ctx, e, s, args[0])
			})
		},
	}, 0)
}

// with opens what is looked at.
func (f *tablesFlags) with(ctx context.Context, e *env, do func(context.Context, *inspect.Source) error) error {
	c, err := f.load(e)
	if err != nil {
		return err
	}
	if f.timeout > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, f.timeout)
		defer cancel()
	}
	source, closeAll, err := app.Inspector(ctx, c, version(), !f.noRedis)
	if err != nil {
		return err
	}
	defer closeAll()
	return do(ctx, source)
}

func (f *tablesFlags) verify(ctx context.Context, e *env, s *inspect.Source, name string) error {
	list, err := s.Find(ctx, name)
	if err != nil {
		return err
	}
	reports, problems := []*inspect.Report{}, 0
	for _, t := range list {
		if t.State == inspect.StateNone {
			return fmt.Errorf("topic %s has no table yet: nothing of it was copied", t.Topic)
		}
		show, end := progressOf(e.err, t)
		report, err := s.Verify(ctx, t, show)
		end()
		if err != nil {
			return fmt.Errorf("verify table %s: %w", t.Name, err)
		}
		reports = append(reports, report)
		problems += len(report.Problems)
	}
	if err := (tablesPrinter{out: e.out, json: f.json}).verified(reports); err != nil {
		return err
	}
	if problems > 0 {
		return errors.New(count(problems, "problem"))
	}
	return nil
}

// progressOf tells on a terminal how far it is, in one line that goes when it ends.
func progressOf(out io.Writer, t *inspect.Table) (show inspect.Progress, end func()) {
	if !isTerminal(out) {
		return nil, func() {}
	}
	show = func(files, of int, bytes int64) {
		fmt.Fprintf(out, "\r\x1b[K%s: %d of %s, %s", t.Name, files, count(of, "file"), sizeText(bytes))
	}
	return show, func() { fmt.Fprint(out, "\r\x1b[K") }
}

// isTerminal tells whether somebody is looking.
func isTerminal(out io.Writer) bool {
	f, ok := out.(*os.File)
	if !ok {
		return false
	}
	info, err := f.Stat()
	return err == nil && info.Mode()&os.ModeCharDevice != 0
}
