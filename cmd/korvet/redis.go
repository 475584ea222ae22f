package main

import (
	"context"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/korvet-io/korvet/internal/app"
	"github.com/korvet-io/korvet/internal/config"
	"github.com/korvet-io/korvet/internal/redischeck"
)

func newRedis(e *env) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "redis check",
		Short: "Look at the Redis that holds, or is to hold, the log",
		Args:  noArgs,
		RunE:  func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(newRedisCheck(e))
	return cmd
}

type redisCheckFlags struct {
	redisFlags
	json    bool
	timeout time.Duration
}

func newRedisCheck(e *env) *cobra.Command {
	var f redisCheckFlags
	cmd := &cobra.Command{
		Use:   "check",
		Short: "Tell what is wrong with a Redis, why it matters and what cures it",
		Long: `Look at the Redis that a broker with these settings would use: eviction, memory, persistence, version, replicas,
latency, users and more. Each finding has what was seen, why it matters and the cure: lines of redis.conf, which
CONFIG SET takes, too. It changes nothing; a stream of its own is there for a moment. Exit code 1: there is an error.` + settingsHelp,
		Example: `  korvet redis check --redis-uri redis://user:secret@redis.internal:6379
  korvet redis check --config korvet.yml --json`,
		Args:        noArgs,
		Annotations: settingsAnnotation,
		RunE:        func(cmd *cobra.Command, _ []string) error { return f.run(cmd.Context(), e) },
	}
	flags := cmd.Flags()
	f.define(flags)
	flags.BoolVar(&f.json, "json", false, "print JSON")
	flags.DurationVar(&f.timeout, "timeout", 15*time.Second, "how long all may take")
	return cmd
}

func (f *redisCheckFlags) run(ctx context.Context, e *env) error {
	c, err := f.load(e)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, f.timeout)
	defer cancel()
	reports, err := app.CheckRedis(ctx, c)
	if err != nil {
		return err
	}
	var all []redischeck.Finding
	for _, r := range reports {
		all = append(all, r.Findings...)
	}
	if err := printReports(e.out, reports, f.json); err != nil {
		return err
	}
	if n := redischeck.Count(all, redischeck.Error); n > 0 {
		return fmt.Errorf("%s: this Redis must not hold a log as it is", count(n, "error"))
	}
	return nil
}

// redisFlags say which Redis: the settings', or one that is named.
type redisFlags struct {
	file, uri string
}

func (f *redisFlags) define(flags interface {
	StringVar(p *string, name, value, usage string)
}) {
	flags.StringVar(&f.file, "config", "", "`file` of settings (YAML); else "+config.DefaultFile+" if there is one")
	flags.StringVar(&f.uri, "redis-uri", "", "the Redis, instead of korvet.redis.uri: redis://[user:password@]host[:port][/database]")
}

// load reads the settings. A Redis that is named is used for everything.
func (f *redisFlags) load(e *env) (*config.Config, error) {
	flags := e.settings
	if f.uri != "" {
		flags = append(flags[:len(flags):len(flags)], "--korvet.redis.uri="+f.uri, "--korvet.storage.local.redis.uri="+f.uri)
	}
	c, _, err := config.Load(config.Sources{File: f.file, Env: e.vars, Flags: flags})
	return c, err
}

func printReports(out io.Writer, reports []app.RedisReport, asJSON bool) error {
	if asJSON {
		return printJSON(out, reports)
	}
	for i, r := range reports {
		if i > 0 {
			fmt.Fprintln(out)
		}
		fmt.Fprintf(out, "Redis at %s, for %s\n", r.Address, r.UsedFor)
		w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
		for _, f := range r.Findings {
			fmt.Fprintf(w, "%s\t%s\t%s\n", f.Level, f.Check, f.Seen)
			for _, line := range details(f) {
				fmt.Fprintf(w, "\t\t  %s\n", line)
			}
		}
		if err := w.Flush(); err != nil {
			return err
		}
		fmt.Fprintf(out, "%s, %s, %d ok\n", count(redischeck.Count(r.Findings, redischeck.Error), "error"),
			count(redischeck.Count(r.Findings, redischeck.Warning), "warning"), redischeck.Count(r.Findings, redischeck.OK))
	}
	return nil
}

// details are the lines below a finding: why it matters, what cures it.
func details(f redischeck.Finding) []string {
	var lines []string
	if f.Why != "" {
		lines = append(lines, "why: "+f.Why)
	}
	cure := f.Cure
	if len(f.Settings) > 0 {
		if cure != "" {
			cure += "; "
		}
		cure += "in redis.conf: " + strings.Join(f.Settings, ", ") + "; now: CONFIG SET " + strings.Join(f.Settings, ", CONFIG SET ")
	}
	if cure != "" {
		lines = append(lines, "cure: "+cure)
	}
	return lines
}
