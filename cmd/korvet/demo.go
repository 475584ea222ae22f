package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/korvet-io/korvet/internal/app"
	"github.com/korvet-io/korvet/internal/config"
	"github.com/korvet-io/korvet/internal/demo"
	"github.com/korvet-io/korvet/internal/redisproc"
)

// demoBroker is the id of the demo's broker in somebody else's Redis: with that of a broker there it would end that one.
const demoBroker = "1000"

type demoFlags struct {
	records             int64
	rate                float64
	timeout             time.Duration
	kafkaPort, httpPort int
	redisURI, dataDir   string
	verbose             bool
}

func newDemo(e *env) *cobra.Command {
	var f demoFlags
	cmd := &cobra.Command{
		Use:   "demo",
		Short: "Start a Redis and a broker and stream made-up shop events through them, with a live view",
		Long: `Start a Redis and a broker, both on this machine's loopback address, and stream made-up shop events through the
topic "events", where a group of two consumers reads them, with a live view of how they come and go: Redis keeps them in
segments of a few seconds, their values compressed with a dictionary, which are copied to an Iceberg table in the data
directory and leave Redis soon after: consumers read one log over both, and DuckDB and others query the table. Not on a
terminal, and with --verbose, it prints one line a second. Ctrl-C stops everything; the data stays and the next run goes on
from there. With --redis-uri there is no table, for other brokers on that Redis would not know where it is, and records go
after a minute.`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return f.run(cmd.Context(), e) },
	}
	flags := cmd.Flags()
	flags.Int64Var(&f.records, "records", 0, "stop after so many records; 0: go on until stopped")
	flags.Float64Var(&f.rate, "rate", 50, "records a second; 0: as fast as possible")
	flags.DurationVar(&f.timeout, "timeout", 0, "stop after this time, with an error if --records were not reached; 0: never")
	flags.IntVar(&f.kafkaPort, "kafka-port", 9092, "port for Kafka clients; 0: any free one")
	flags.IntVar(&f.httpPort, "http-port", 8080, "port of /livez, /readyz and /metrics; 0: any free one")
	flags.StringVar(&f.redisURI, "redis-uri", "", "use this Redis instead of one of the demo's own, as broker "+demoBroker+" beside those that are there")
	flags.StringVar(&f.dataDir, "data-dir", "", "`folder` for the data of the demo's own Redis and for the table (default: korvet/demo in the user's data directory)")
	flags.BoolVar(&f.verbose, "verbose", false, "print the broker's log, and no live view")
	return cmd
}

func (f *demoFlags) run(ctx context.Context, e *env) error {
	if f.records < 0 || f.rate < 0 || f.timeout < 0 {
		return usageError{errors.New("--records, --rate and --timeout must not be negative")}
	}
	if f.timeout > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, f.timeout)
		defer cancel()
	}
	o, err := f.options(e)
	if err != nil {
		return err
	}
	logFile, err := f.log(e, &o)
	if err != nil {
		return err
	}
	defer logFile.Close()
	broker, err := app.Start(ctx, o)
	if err != nil {
		return unlessStopped(ctx, demoAdvice(err))
	}
	defer broker.Stop()
	patience := time.After(2 * time.Second)
	for {
		select {
		case <-broker.Ready():
			return f.stream(ctx, e, broker, o.Config)
		case err := <-broker.Failed():
			return err
		case <-ctx.Done():
			return f.outcome(ctx, 0)
		case <-patience:
			fmt.Fprintf(e.err, "waiting for Redis at %s\n", broker.RedisAddr())
		}
	}
}

// options are the broker's, from the flags alone: a demo is the same everywhere.
func (f *demoFlags) options(e *env) (app.Options, error) {
	if f.dataDir == "" {
		var err error
		if f.dataDir, err = redisproc.DefaultDir("demo"); err != nil {
			return app.Options{}, fmt.Errorf("%w: name one with --data-dir", err)
		}
	}
	settings := []string{
		"korvet.broker.host=127.0.0.1", "korvet.broker.port=" + strconv.Itoa(f.kafkaPort),
		"korvet.http.host=127.0.0.1", "korvet.http.port=" + strconv.Itoa(f.httpPort),
		"korvet.broker.rebalance-delay=100ms",                            // both members start at once
		"korvet.storage.worker.tick-interval=1s",                         // what retention drops goes while one looks on
		"korvet.storage.local.compression.dictionary.sample-records=500", // and values get smaller
	}
	if f.redisURI != "" {
		settings = append(settings, "korvet.redis.uri="+f.redisURI, "korvet.broker.id="+demoBroker)
	} else {
		dir, err := filepath.Abs(f.dataDir)
		if err != nil {
			return app.Options{}, fmt.Errorf("find data directory: %w", err)
		}
		settings = append(settings, "korvet.redis.data-dir="+dir, "korvet.storage.remote.path=file://"+filepath.ToSlash(filepath.Join(dir, "tier")))
	}
	if !f.verbose {
		settings = append(settings, "korvet.log.level=warn")
	}
	c, values, err := config.Load(config.Sources{NoFile: true, Flags: settings})
	if err != nil {
		return app.Options{}, err
	}
	return app.Options{Config: c, Kafka: c.Kafka(values), Version: version(), Out: e.err, OwnRedis: true}, nil
}

// log gives the broker a place for its log: with --verbose standard error, else a file, for the view has the screen.
func (f *demoFlags) log(e *env, o *app.Options) (io.Closer, error) {
	var out io.Writer = e.err
	var file io.Closer = io.NopCloser(nil)
	if !f.verbose && f.redisURI == "" {
		if err := os.MkdirAll(f.dataDir, 0o700); err != nil {
			return nil, fmt.Errorf("create data directory: %w", err)
		}
		opened, err := os.OpenFile(filepath.Join(f.dataDir, "korvet.log"), os.O_CREATE|os.O_WRONLY|os.O_TRUNC, 0o600)
		if err != nil {
			return nil, fmt.Errorf("open log: %w", err)
		}
		out, file = opened, opened
	}
	log, err := app.NewLogger(o.Config.Log, out)
	if err != nil {
		return nil, errors.Join(err, file.Close())
	}
	if !f.verbose && f.redisURI != "" {
		log = slog.New(slog.DiscardHandler)
	}
	o.Log = log
	return file, nil
}

// stream shows the demo until it ends.
func (f *demoFlags) stream(ctx context.Context, e *env, broker *app.Broker, c *config.Config) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	go func() {
		select {
		case err := <-broker.Failed():
			cancel(err)
		case <-ctx.Done():
		}
	}()
	memory, err := app.NewRedisMemory(broker.Redis())
	if err != nil {
		return err
	}
	defer memory.Close()
	_, redisPort, err := net.SplitHostPort(broker.RedisAddr())
	if err != nil {
		redisPort = broker.RedisAddr() // a socket's path
	}
	places := demo.Places{Kafka: broker.KafkaAddr(), HTTP: broker.HTTPAddr(), Redis: broker.RedisAddr(), RedisPort: redisPort, Namespace: c.Namespace, Program: os.Args[0]}
	if c.Storage.Remote.Path != "" {
		places.Catalog = "http://" + places.HTTP + "/iceberg"
	}
	var terminal *demo.Terminal
	if screen, ok := e.out.(*os.File); ok && !f.verbose {
		terminal = demo.OpenTerminal(screen, variable(e.vars, "TERM"))
	}
	if terminal == nil {
		fmt.Fprintf(e.out, "kafka %s, http %s, redis %s, topic %s\n", places.Kafka, places.HTTP, places.Redis, demo.Topic)
		if places.Catalog != "" {
			fmt.Fprintf(e.out, "tables at %s (Iceberg REST catalog), in DuckDB: %s\n", places.Catalog, strings.Join(strings.Fields(strings.Join(places.SQL(), " ")), " "))
		}
	}
	acked, err := demo.Run(ctx, demo.Options{
		Places: places, Rate: f.rate, Records: f.records,
		Memory: memory.Used, Tier: memory.Tier(c.Namespace, demo.Topic, demo.Partitions).Look, Terminal: terminal, Out: e.out,
		Random: rand.New(rand.NewPCG(uint64(time.Now().UnixNano()), 0)), Now: time.Now,
	})
	if terminal != nil {
		terminal.Close()
	}
	if cause := context.Cause(ctx); cause != nil && !errors.Is(cause, context.Canceled) && !errors.Is(cause, context.DeadlineExceeded) {
		return cause
	}
	if err != nil {
		return err
	}
	f.summary(e.out, acked)
	return f.outcome(ctx, acked)
}

func (f *demoFlags) summary(out io.Writer, acked int64) {
	fmt.Fprintf(out, "%d records were produced and acknowledged", acked)
	if f.redisURI == "" {
		fmt.Fprintf(out, "; the data is in %s, and the next run goes on from there", f.dataDir)
	}
	fmt.Fprintln(out)
}

// outcome is an error when the time was over before the records were.
func (f *demoFlags) outcome(ctx context.Context, acked int64) error {
	if acked < f.records && errors.Is(ctx.Err(), context.DeadlineExceeded) {
		return fmt.Errorf("--timeout %v is over after %d of %d records", f.timeout, acked, f.records)
	}
	return nil
}

// demoAdvice names the demo's own flags where a message names settings.
func demoAdvice(err error) error {
	text := strings.NewReplacer("korvet.broker.port", "--kafka-port", "korvet.http.port", "--http-port", "name another directory", "name another with --data-dir").Replace(err.Error())
	return errors.New(text)
}

func variable(vars []string, name string) string {
	for _, v := range vars {
		if value, ok := strings.CutPrefix(v, name+"="); ok {
			return value
		}
	}
	return ""
}
