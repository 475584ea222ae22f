package main

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/korvet-io/korvet/internal/app"
	"github.com/korvet-io/korvet/internal/config"
)

func newServer(e *env) *cobra.Command {
	return newProcess(e, "server", "Run a broker", `Run a broker on the Redis that korvet.redis.uri names. When none is named it uses the one that answers on
localhost:6379, else it runs a Redis of its own and says so.`)
}

// newProcess is a command that runs until it is stopped, with the settings given and those that it fixes: over a file and
// the environment, which may be those of several processes, but not over a flag that says otherwise.
func newProcess(e *env, use, short, long string, fixed ...string) *cobra.Command {
	var file string
	cmd := &cobra.Command{
		Use: use, Short: short, Long: long + settingsHelp,
		Args:        noArgs,
		Annotations: settingsAnnotation,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := contradiction(use, e.settings, fixed); err != nil {
				return usageError{err}
			}
			c, values, err := config.Load(config.Sources{File: file, Env: e.vars, Flags: slices.Concat(e.settings, fixed)})
			if err != nil {
				return err
			}
			log, err := app.NewLogger(c.Log, e.err)
			if err != nil {
				return err
			}
			return serve(cmd.Context(), app.Options{Config: c, Kafka: c.Kafka(values), Version: version(), Log: log, Out: e.err})
		},
	}
	cmd.Flags().StringVar(&file, "config", "", "`file` of settings (YAML); else "+config.DefaultFile+" if there is one")
	return cmd
}

// contradiction is an error when a flag gives a fixed setting another value.
func contradiction(use string, flags, fixed []string) error {
	for _, set := range fixed {
		name, value, _ := strings.Cut(set, "=")
		for _, flag := range flags {
			if n, v, _ := strings.Cut(flag, "="); n == name && v != value {
				return fmt.Errorf("%s contradicts korvet %s, which is korvet server with %s", flag, use, set)
			}
		}
	}
	return nil
}

// serve runs a broker until ctx ends, which is no error, or until it cannot go on.
func serve(ctx context.Context, o app.Options) error {
	broker, err := app.Start(ctx, o)
	if err != nil {
		return unlessStopped(ctx, err)
	}
	defer broker.Stop()
	select {
	case <-ctx.Done():
		o.Log.Info("stopping")
		return nil
	case err := <-broker.Failed():
		return err
	}
}

// unlessStopped drops the error of a start that was cut short on purpose.
func unlessStopped(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return nil
	}
	return err
}
