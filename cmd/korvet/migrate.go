package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/korvet-io/korvet/internal/migrate"
)

// migrateFlags are the flags of korvet migrate.
type migrateFlags struct {
	bootstrap, toBootstrap             string
	plan, run, cutover, status, verify bool
	topic, to                          string
	partitions                         int32
	configs                            []string
	appendTime                         bool
	quick                              bool
	stopWhenCaughtUp                   bool
	quiet                              time.Duration
	skipActive                         bool
	json                               bool
	timeout                            time.Duration
}

func newMigrate(e *env) *cobra.Command {
	var f migrateFlags
	cmd := &cobra.Command{
		Use:   "migrate --plan|--run|--cutover|--status|--verify",
		Short: "Copy a topic to one with other settings or partitions, and take consumer groups along",
		Example: `  korvet migrate --plan --topic orders --to orders-v2 --partitions 12 --config storage.compression.type=zstd
  korvet migrate --run --topic orders --to orders-v2 --partitions 12 --config storage.compression.type=zstd
  korvet migrate --status --to orders-v2
  korvet migrate --cutover --topic orders --to orders-v2`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			configs, err := f.validate(cmd.Flags().Changed)
			if err != nil {
				return usageError{err}
			}
			return f.start(cmd.Context(), configs, migratePrinter{out: e.out, err: e.err, json: f.json})
		},
	}
	f.define(cmd)
	return cmd
}

func (f *migrateFlags) define(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringVar(&f.bootstrap, "bootstrap-server", "localhost:9092", "brokers to connect to, `host:port` by commas")
	flags.StringVar(&f.toBootstrap, "to-bootstrap-server", "", "brokers of the target where they are others, `host:port` by commas")
	flags.BoolVar(&f.plan, "plan", false, "tell what --run would do, and what keeps it from it; reads the source unless --quick")
	flags.BoolVar(&f.run, "run", false, "create the target, copy, and follow until --cutover is called elsewhere; repeated, it goes on")
	flags.BoolVar(&f.cutover, "cutover", false, "copy the rest, verify, and commit the groups' offsets in the target; producers must stop")
	flags.BoolVar(&f.status, "status", false, "tell how far a migration is")
	flags.BoolVar(&f.verify, "verify", false, "compare what was copied with the source")
	flags.StringVar(&f.topic, "topic", "", "`name` of the topic that is copied; it stays as it is")
	flags.StringVar(&f.to, "to", "", "`name` of the topic to copy to")
	flags.Int32Var(&f.partitions, "partitions", 0, "`number` of partitions of the target; without it that of the source")
	flags.StringArrayVar(&f.configs, "config", nil, "a setting of the target, `name=value`; repeated for several; the others are the source's own")
	flags.BoolVar(&f.appendTime, "allow-log-append-time", false, "allow a target with message.timestamp.type=LogAppendTime, which loses the timestamps")
	flags.BoolVar(&f.quick, "quick", false, "with --plan: do not read the source")
	flags.BoolVar(&f.stopWhenCaughtUp, "stop-when-caught-up", false, "with --run: end when everything is copied")
	flags.DurationVar(&f.quiet, "quiet", 5*time.Second, "with --cutover: how long nothing may be written to the source")
	flags.BoolVar(&f.skipActive, "skip-active-groups", false, "with --cutover: leave groups that have members as they are")
	flags.BoolVar(&f.json, "json", false, "print JSON")
	flags.DurationVar(&f.timeout, "timeout", 5*time.Minute, "with --cutover: how long to wait until the producers have stopped")
}

// validate checks the flags and returns the settings to change.
func (f *migrateFlags) validate(changed func(string) bool) (map[string]*string, error) {
	actions := 0
	for _, wanted := range []bool{f.plan, f.run, f.cutover, f.status, f.verify} {
		if wanted {
			actions++
		}
	}
	creating := f.plan || f.run
	switch {
	case actions != 1:
		return nil, errors.New("migrate needs one of --plan, --run, --cutover, --status and --verify")
	case f.to == "":
		return nil, errors.New("--to is missing")
	case f.topic == "" && (creating || f.cutover):
		return nil, errors.New("--topic is missing")
	case f.topic == f.to && f.toBootstrap == "":
		return nil, errors.New("--to must be another topic")
	case (changed("partitions") || len(f.configs) > 0) && !creating:
		return nil, errors.New("--partitions and --config go with --plan and --run")
	case changed("partitions") && f.partitions < 1:
		return nil, fmt.Errorf("--partitions must be at least 1, not %d", f.partitions)
	case f.quick && !f.plan, f.stopWhenCaughtUp && !f.run:
		return nil, errors.New("--quick goes with --plan, --stop-when-caught-up with --run")
	case (changed("quiet") || changed("timeout") || f.skipActive) && !f.cutover:
		return nil, errors.New("--quiet, --timeout and --skip-active-groups go with --cutover")
	case f.quiet < 0 || f.timeout < 0:
		return nil, errors.New("--quiet and --timeout must not be negative")
	}
	configs := map[string]*string{}
	for _, c := range f.configs {
		name, value, ok := strings.Cut(c, "=")
		if !ok || name == "" {
			return nil, fmt.Errorf("--config %s: want name=value", c)
		}
		configs[name] = &value
	}
	return configs, nil
}

// start connects and does what is asked for.
func (f *migrateFlags) start(ctx context.Context, configs map[string]*string, p migratePrinter) error {
	from, err := openClient(ctx, f.bootstrap, "korvet-migrate")
	if err != nil {
		return err
	}
	defer from.Close()
	source := migrate.NewCluster(from)
	source.Name = f.bootstrap
	target := source
	if f.toBootstrap != "" {
		to, err := openClient(ctx, f.toBootstrap, "korvet-migrate")
		if err != nil {
			return err
		}
		defer to.Close()
		target = migrate.NewCluster(to)
		target.Name = f.toBootstrap
	}
	job := migrateJob{flags: f, print: p, options: migrate.Options{
		From: source, To: target, Source: f.topic, Target: f.to, Partitions: f.partitions, Configs: configs, AppendTime: f.appendTime,
		Follow: 500 * time.Millisecond, ReportEvery: 5 * time.Second, OnProgress: p.progress,
	}}
	switch {
	case f.plan:
		return job.plan(ctx)
	case f.run:
		return job.run(ctx)
	case f.cutover:
		return job.cutover(ctx)
	case f.status:
		return job.status(ctx)
	default:
		return job.verify(ctx)
	}
}
