package main

import (
	"github.com/spf13/cobra"

	"github.com/korvet-io/korvet/internal/app"
	"github.com/korvet-io/korvet/internal/config"
)

func newWorker(e *env) *cobra.Command {
	var file string
	cmd := &cobra.Command{
		Use:   "worker",
		Short: "Run the storage worker without a broker",
		Long: `Run the storage worker alone: retention, compaction and rolling of idle segments of all topics on the Redis that
korvet.redis.uri names. Brokers run one, too, unless korvet.storage.worker.enabled=false; of all processes one works at a
time. It is the same as korvet server with korvet.broker.enabled=false.` + settingsHelp,
		Args:        noArgs,
		Annotations: settingsAnnotation,
		RunE: func(cmd *cobra.Command, _ []string) error {
			flags := append(e.settings[:len(e.settings):len(e.settings)], "--korvet.broker.enabled=false")
			c, values, err := config.Load(config.Sources{File: file, Env: e.vars, Flags: flags})
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
