package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/twmb/franz-go/pkg/kadm"
)

// topicsFlags are the flags of korvet topics, named as kafka-topics has them.
type topicsFlags struct {
	bootstrap                             string
	create, list, describe, alter, delete bool
	topics                                []string
	partitions                            int32
	replicas                              int16
	configs, deleteConfigs                []string
	ifExists, ifNotExists                 bool
	json                                  bool
	timeout                               time.Duration
}

func newTopics(e *env) *cobra.Command {
	var f topicsFlags
	cmd := &cobra.Command{
		Use:   "topics --create|--list|--describe|--alter|--delete",
		Short: "Create, list, describe, alter and delete topics",
		Example: `  korvet topics --create --topic orders --partitions 3 --config retention.ms=86400000
  korvet topics --describe --topic orders
  korvet topics --alter --topic orders --partitions 6 --config max.message.bytes=2000000 --delete-config retention.ms`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			configs, err := f.validate(cmd.Flags().Changed("partitions"))
			if err != nil {
				return usageError{err}
			}
			return f.run(cmd.Context(), configs, topicsPrinter{out: e.out, json: f.json})
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&f.bootstrap, "bootstrap-server", "localhost:9092", "brokers to connect to, `host:port` by commas")
	flags.BoolVar(&f.create, "create", false, "create topics")
	flags.BoolVar(&f.list, "list", false, "list the names of all topics")
	flags.BoolVar(&f.describe, "describe", false, "describe topics: all without --topic")
	flags.BoolVar(&f.alter, "alter", false, "change the number of partitions or settings")
	flags.BoolVar(&f.delete, "delete", false, "delete topics")
	flags.StringSliceVar(&f.topics, "topic", nil, "`names` of topics, by commas or repeated")
	flags.Int32Var(&f.partitions, "partitions", 0, "`number` of partitions; without it the broker's default")
	flags.Int16Var(&f.replicas, "replication-factor", -1, "accepted for scripts; the broker's Redis decides on replicas")
	flags.StringArrayVar(&f.configs, "config", nil, "a setting, `name=value`; repeated for several")
	flags.StringArrayVar(&f.deleteConfigs, "delete-config", nil, "a setting's `name` to set back to the default; repeated for several")
	flags.BoolVar(&f.ifExists, "if-exists", false, "with --alter, --delete and --describe: a topic that does not exist is no error")
	flags.BoolVar(&f.ifNotExists, "if-not-exists", false, "with --create: a topic that exists is no error")
	flags.BoolVar(&f.json, "json", false, "print JSON")
	flags.DurationVar(&f.timeout, "timeout", 15*time.Second, "how long all may take")
	cmd.AddCommand(newTopicsTrim(e), newTopicsStats(e))
	return cmd
}

// validate checks the flags and returns the settings to change.
func (f *topicsFlags) validate(partitionsSet bool) ([]kadm.AlterConfig, error) {
	actions := 0
	for _, wanted := range []bool{f.create, f.list, f.describe, f.alter, f.delete} {
		if wanted {
			actions++
		}
	}
	switch {
	case actions != 1:
		return nil, errors.New("topics needs one of --create, --list, --describe, --alter and --delete")
	case (f.create || f.alter || f.delete) && len(f.topics) == 0:
		return nil, errors.New("--topic is missing")
	case f.list && len(f.topics) > 0:
		return nil, errors.New("--list takes no --topic; --describe --topic does")
	case partitionsSet && !f.create && !f.alter, len(f.configs) > 0 && !f.create && !f.alter:
		return nil, errors.New("--partitions and --config go with --create and --alter")
	case len(f.deleteConfigs) > 0 && !f.alter:
		return nil, errors.New("--delete-config goes with --alter")
	case partitionsSet && f.partitions < 1:
		return nil, fmt.Errorf("--partitions must be at least 1, not %d", f.partitions)
	case f.alter && !partitionsSet && len(f.configs)+len(f.deleteConfigs) == 0:
		return nil, errors.New("--alter needs --partitions, --config or --delete-config")
	}
	var configs []kadm.AlterConfig
	for _, c := range f.configs {
		name, value, ok := strings.Cut(c, "=")
		if !ok || name == "" {
			return nil, fmt.Errorf("--config %s: want name=value", c)
		}
		configs = append(configs, kadm.AlterConfig{Op: kadm.SetConfig, Name: name, Value: &value})
	}
	for _, name := range f.deleteConfigs {
		configs = append(configs, kadm.AlterConfig{Op: kadm.DeleteConfig, Name: name})
	}
	return configs, nil
}

func (f *topicsFlags) run(ctx context.Context, configs []kadm.AlterConfig, p topicsPrinter) error {
	ctx, cancel := context.WithTimeout(ctx, f.timeout)
	defer cancel()
	client, err := openClient(ctx, f.bootstrap, "korvet-topics")
	if err != nil {
		return err
	}
	defer client.Close()
	t := topicsAdmin{client: kadm.NewClient(client), flags: f, print: p}
	switch {
	case f.create:
		return t.create(ctx, configs)
	case f.list:
		return t.list(ctx)
	case f.describe:
		return t.describe(ctx)
	case f.alter:
		return t.alter(ctx, configs)
	default:
		return t.delete(ctx)
	}
}
