package main

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/korvet-io/korvet/internal/app"
	"github.com/korvet-io/korvet/internal/topicstats"
)

// statsFlags are the flags of korvet topics stats.
type statsFlags struct {
	redisFlags
	bootstrap  string
	partitions []int32
	records    int64
	noRedis    bool
	json       bool
	timeout    time.Duration
}

const mostSampled = 100_000

func newTopicsStats(e *env) *cobra.Command {
	var f statsFlags
	cmd := &cobra.Command{
		Use:   "stats TOPIC",
		Short: "Tell what each codec at rest would make of a topic's values",
		Long: `Read records from all over a topic's log and tell, for each codec of storage.compression.type and for zstd with a
dictionary, the bytes of a value, the time to compress and decompress it, and how much memory a record then takes in
Redis. A dictionary is trained on one half of the records, and everything is measured on the other. The memory is
measured in that Redis, in a stream of its own that is removed at once; --no-redis leaves it out.` + settingsHelp,
		Example: `  korvet topics stats orders
  korvet topics stats orders --records 5000 --partition 0,1 --redis-uri redis://localhost:6379 --json`,
		Args:        oneTopic,
		Annotations: settingsAnnotation,
		RunE: func(cmd *cobra.Command, args []string) error {
			if f.records < 1 || f.records > mostSampled {
				return usageError{fmt.Errorf("--records must be 1 to %d, not %d", mostSampled, f.records)}
			}
			return f.run(cmd.Context(), e, scope{topic: args[0], partitions: f.partitions})
		},
	}
	flags := cmd.Flags()
	f.define(flags)
	flags.StringVar(&f.bootstrap, "bootstrap-server", "localhost:9092", "brokers to connect to, `host:port` by commas")
	flags.Int32SliceVar(&f.partitions, "partition", nil, "`numbers` of partitions, by commas or repeated; all without it")
	flags.Int64Var(&f.records, "records", 1000, "how many `records` are read")
	flags.BoolVar(&f.noRedis, "no-redis", false, "measure no memory in Redis")
	flags.BoolVar(&f.json, "json", false, "print JSON")
	flags.Bool("no-interactive", true, "accepted for scripts: it never asks")
	flags.DurationVar(&f.timeout, "timeout", 2*time.Minute, "how long all may take")
	return cmd
}

func (f *statsFlags) run(ctx context.Context, e *env, s scope) error {
	ctx, cancel := context.WithTimeout(ctx, f.timeout)
	defer cancel()
	stats, training, measured, err := f.sample(ctx, s)
	if err != nil {
		return err
	}
	methods, err := topicstats.Methods(training)
	if err != nil {
		return err
	}
	for _, m := range methods {
		if err := ctx.Err(); err != nil {
			return err
		}
		row, err := topicstats.Measure(m, measured, time.Now)
		if err != nil {
			return fmt.Errorf("measure topic %s: %w", s.topic, err)
		}
		row.Present = row.Codec == stats.Codec && row.Dictionary == stats.Dictionary
		stats.Rows = append(stats.Rows, row)
		if m.Dictionary != nil {
			stats.DictionaryBytes = len(m.Dictionary.Blob())
		}
	}
	if !f.noRedis {
		if err := f.measureRedis(ctx, e, &stats, methods, measured); err != nil {
			stats.RedisProblem = err.Error()
		}
	}
	stats.Recommended = topicstats.Recommend(stats.Rows)
	if err := stats.print(e.out, f.json); err != nil {
		return err
	}
	if stats.RedisProblem != "" {
		return fmt.Errorf("no memory was measured in Redis, --no-redis leaves it out: %s", stats.RedisProblem)
	}
	return nil
}

// sample reads the topic's settings and records.
func (f *statsFlags) sample(ctx context.Context, s scope) (stats topicStats, training, measured []topicstats.Record, err error) {
	client, err := openClient(ctx, f.bootstrap, "korvet-topics", kgo.FetchMaxPartitionBytes(1<<20), kgo.FetchMaxWait(time.Second))
	if err != nil {
		return stats, nil, nil, err
	}
	defer client.Close()
	admin := kadm.NewClient(client)
	partitions, err := sampledPartitions(ctx, admin, s)
	if err != nil {
		return stats, nil, nil, err
	}
	shares(partitions, f.records)
	stats = topicStats{Topic: s.topic, Partitions: len(partitions), Codec: "none"}
	for _, p := range partitions {
		stats.Offsets += p.end - p.start
	}
	configs, err := admin.DescribeTopicConfigs(ctx, s.topic)
	if err != nil {
		return stats, nil, nil, fmt.Errorf("describe settings: %w", err)
	}
	resource, _ := configs.On(s.topic, nil)
	for _, c := range resource.Configs {
		switch c.Key {
		case "storage.compression.type":
			stats.Codec = c.MaybeValue()
		case "storage.compression.dictionary.enabled":
			stats.Dictionary = c.MaybeValue() == "true"
		}
	}
	reader := sampler{client: client, topic: s.topic}
	if err := reader.read(ctx, partitions); err != nil {
		return stats, nil, nil, err
	}
	stats.count(reader.taken)
	if stats.Sampled == stats.Nulls {
		return stats, nil, nil, fmt.Errorf("measure topic %s: %s of %s were read: %w", s.topic, count(stats.Sampled, "record"), count(int(stats.Offsets), "offset"), topicstats.ErrNoValues)
	}
	training, measured = topicstats.Split(reader.taken)
	return stats, training, measured, nil
}

// measureRedis adds the memory of a record to each row.
func (f *statsFlags) measureRedis(ctx context.Context, e *env, stats *topicStats, methods []topicstats.Method, records []topicstats.Record) error {
	c, err := f.load(e)
	if err != nil {
		return err
	}
	client, address, err := app.MessagesRedis(c)
	if err != nil {
		return err
	}
	defer client.Close()
	stats.Redis = address
	for i, m := range methods {
		scratch := topicstats.Scratch{Client: client, Key: c.Namespace + ":storage:scratch:" + strings.ToLower(rand.Text()), Now: time.Now}
		bytes, err := scratch.Measure(ctx, m, records)
		if err != nil {
			for j := range stats.Rows {
				stats.Rows[j].RedisBytes = 0 // all or none: they are compared
			}
			return errors.Join(ctx.Err(), err)
		}
		stats.Rows[i].RedisBytes = bytes
	}
	return nil
}
